package index

import (
	"context"
	"fmt"
	"hash/crc32"

	"larder/fault"

	"zombiezen.com/go/sqlite"
)

// References tells how many bodies the row of a version or part refers to, one
// for each extent, and whether the one is the body that its own record brought.
type References func(meta []byte, sequence uint64, size int64) (refs int64, own bool, err error)

// audit adds references up on both sides, and what says of records that they
// stand, each with a weight of its own.
type audit struct {
	of             References
	wanted, had    int64
	stand, vouched uint64
	blobs, listed  uint64 // blobs that bodies name, and those that the way by blob finds
}

// weight spreads a sequence over 64 bits (the finalizer of splitmix64), so that
// sums of them tell which went in.
func weight(n uint64) uint64 {
	n += 0x9e3779b97f4a7c15
	n = (n ^ n>>30) * 0xbf58476d1ce4e5b9
	n = (n ^ n>>27) * 0x94d049bb133111eb
	return n ^ n>>31
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
	for _, table := range []func() error{v.allObjects, v.allBodies, v.allUploads, v.allParts, v.allBuckets, v.listedBlobs} {
		if err := table(); err != nil {
			return err
		}
	}
	if a := v.audit; a.wanted != a.had {
		return corrupt("index.Sound", "", fmt.Errorf("rows refer to bodies %d times, the bodies count %d", a.wanted, a.had))
	}
	if v.audit.blobs != v.audit.listed {
		return corrupt("index.Sound", "", errBlobs)
	}
	if v.audit.stand != v.audit.vouched {
		return corrupt("index.Sound", "", errVouched)
	}
	return nil
}

// refer counts the references of a version or part.
func (v *verifier) refer(meta []byte, sequence uint64, size int64, version bool) error {
	if v.audit == nil {
		return nil
	}
	n, own, err := v.audit.of(meta, sequence, size)
	v.audit.wanted += n
	if version || !own {
		v.audit.stand += weight(sequence)
	}
	return err
}

// counted takes what a body says.
func (v *verifier) counted(b *Body) {
	if v.audit == nil {
		return
	}
	v.audit.had += b.Refs
	if b.Blob != "" {
		v.audit.blobs += weighBlob(b.Sequence, b.Blob)
	}
	if b.Current {
		v.audit.vouched += weight(b.Sequence)
	}
}

// listedBlobs goes by the index that HasBlob asks, whose pages may be old ones
// too.
func (v *verifier) listedBlobs() error {
	s, _, err := v.db.PrepareTransient(`SELECT sequence, blob FROM bodies INDEXED BY bodies_blob WHERE blob IS NOT NULL`)
	if err != nil {
		return err
	}
	defer s.Finalize()
	_, err = each("index.Sound", s, func(s *sqlite.Stmt) (uint64, error) {
		return weighBlob(uint64(s.ColumnInt64(0)), s.ColumnText(1)), nil
	}, func(weight uint64) { v.audit.listed += weight })
	return err
}

func weighBlob(sequence uint64, blob string) uint64 {
	return weight(sequence ^ uint64(crc32.ChecksumIEEE([]byte(blob)))<<32)
}
