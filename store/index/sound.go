package index

import (
	"context"
	"fmt"

	"larder/fault"

	"zombiezen.com/go/sqlite"
)

// References tells how many bodies the row of a version or part refers to, one
// for each extent.
type References func(meta []byte, sequence uint64, size int64) (int64, error)

// audit adds references up on both sides.
type audit struct {
	of          References
	wanted, had int64
}

// Sound reads every row in one transaction and holds them against one another:
// checksums, the counters of the buckets, and the references of all bodies
// against those that count them. So rows that are missing, or are older than the
// others, are noticed though each is whole. It returns fault.Corrupt for what
// does not fit. About 5 µs a row; it holds no lock that a writer waits for, but
// keeps the log from being reset.
func (x *Index) Sound(ctx context.Context, of References) error {
	const op = "index.Sound"
	if x.isClosed() {
		return fault.New(op, fault.Unavailable, "", errClosed)
	}
	c, err := connect(x.path, sqlite.OpenReadWrite, connPragmas(inspectCache, "query_only = ON")...)
	if err != nil {
		return failure(op, x.path, err)
	}
	defer c.close()
	v := &verifier{conn: c, ctx: ctx, counts: make(map[uint64]counts), audit: &audit{of: of}}
	c.db.SetInterrupt(ctx.Done())
	err = v.sound()
	if ctx.Err() != nil {
		return fault.New(op, fault.Canceled, "", ctx.Err())
	}
	return x.note(failure(op, x.path, err))
}

func (v *verifier) sound() error {
	if err := v.script("BEGIN"); err != nil {
		return err
	}
	for _, table := range []func() error{v.allObjects, v.allBodies, v.allUploads, v.allParts, v.allBuckets} {
		if err := table(); err != nil {
			return err
		}
	}
	if a := v.audit; a.wanted != a.had {
		return corrupt("index.Sound", "", fmt.Errorf("rows refer to bodies %d times, the bodies count %d", a.wanted, a.had))
	}
	return nil
}

// refer counts the references of a version or part.
func (v *verifier) refer(meta []byte, sequence uint64, size int64) error {
	if v.audit == nil {
		return nil
	}
	n, err := v.audit.of(meta, sequence, size)
	v.audit.wanted += n
	return err
}

// counted takes the references that a body counts.
func (v *verifier) counted(refs int64) {
	if v.audit != nil {
		v.audit.had += refs
	}
}
