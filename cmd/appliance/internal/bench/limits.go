package bench

import (
	"context"
	"errors"
	"fmt"

	"larder/store/vfs"
)

// The names of the limits, which stand in the reports and in baselines.
const (
	limitAppend      = "append 1 KiB, fdatasync"
	limitAppend64    = "append 64 KiB, fdatasync"
	limitWrite1      = "write 1 MiB durably"
	limitWrite10     = "write 10 MiB durably"
	limitWrite1Many  = "write 1 MiB durably, 4 at once"
	limitWrite10Many = "write 10 MiB durably, 4 at once"
	limitSend1       = "sendfile 1 MiB"
	limitSend10      = "sendfile 10 MiB"
	limitSend1Many   = "sendfile 1 MiB, 4 at once"
	limitSend10Many  = "sendfile 10 MiB, 4 at once"
	limitExchange    = "loopback there and back, 1 KiB"
	limitChatter     = "loopback there and back, 1 KiB, 4 at once"
	limitMD5         = "MD5 of 1 MiB"
	limitSHA256      = "SHA-256 of 1 MiB"
	limitCRC32C      = "CRC32C of 1 MiB"
	limitCRC64       = "CRC64-NVME of 1 MiB"
)

const (
	kib = int64(1) << 10
	mib = int64(1) << 20

	manyAtOnce = 4 // workers of the limits that more than one client is held against

	// limitShare is the part of a contender's time that a limit gets: it is simpler,
	// and so needs fewer turns.
	limitShare = 0.25
)

// limits measures what disk, kernel and processor can do at best. Every run
// begins with it, and keeps its means: in each cell the limit takes turns with
// those that are held against it, so that the fractions are of the same moment.
func (b *bench) limits(ctx context.Context, bare *bare) error {
	b.say("limits of this disk and kernel")
	if err := b.needRoom(512 * mib); err != nil {
		return err
	}
	contenders, err := bare.contenders(ctx)
	if err != nil {
		return err
	}
	b.bare = map[string]*contender{}
	for i := range contenders {
		contenders[i].apart = true
		b.bare[contenders[i].name] = &contenders[i]
	}
	quick := *b
	quick.cfg.Seconds *= limitShare
	b.report.Limits, err = quick.measure(ctx, contenders)
	if err != nil {
		return err
	}
	for _, f := range b.report.Limits {
		if f.Errors > 0 {
			return noFolder(b.cfg.Dir, errors.New(f.Name+": "+f.FirstError))
		}
	}
	return nil
}

// reportLimits prints them; they have been measured.
func (b *bench) reportLimits(context.Context) error {
	return b.print("limits", []Cell{{Part: "limits", Contenders: b.report.Limits}})
}

// bare does without Larder what Larder does.
type bare struct {
	files   vfs.FS
	opened  []vfs.File
	senders []*sender
	made    int // names given so far
}

// contenders sets everything up that the limits need.
func (r *bare) contenders(ctx context.Context) ([]contender, error) {
	var out []contender
	for _, make := range []func(context.Context) ([]contender, error){r.appends, r.writes, r.sends, r.exchanges, r.hashes} {
		some, err := make(ctx)
		if err != nil {
			return nil, err
		}
		out = append(out, some...)
	}
	return out, nil
}

func (r *bare) close() {
	for _, s := range r.senders {
		s.close()
	}
	for _, f := range r.opened {
		_ = f.Close() // nothing in it is needed any more
	}
}

// name is one that no other file has.
func (r *bare) name() string {
	r.made++
	return fmt.Sprintf("bare-%d", r.made)
}

// create makes a file with room for so many bytes.
func (r *bare) create(size int64) (vfs.File, error) {
	f, err := r.files.Create(r.name())
	if err != nil {
		return nil, err
	}
	r.opened = append(r.opened, f)
	if err := f.Preallocate(size); err != nil {
		return nil, err
	}
	return f, f.Sync()
}

const appendRoom = 64 * mib // of the file that is appended to, like a segment of the journal

// appends are what a journal does: write behind the last record of a preallocated
// file, and sync the data.
func (r *bare) appends(context.Context) ([]contender, error) {
	var out []contender
	for _, size := range []int64{kib, 64 * kib} {
		f, err := r.create(appendRoom)
		if err != nil {
			return nil, err
		}
		record, at := noise(size, size).block, int64(0)
		name := limitAppend
		if size > kib {
			name = limitAppend64
		}
		out = append(out, contender{name: name, workers: 1, op: func(context.Context, turn) (outcome, error) {
			_, err := f.WriteAt(record, at)
			if at += size; at+size > appendRoom {
				at = 0
			}
			return outcome{bytes: size}, errors.Join(err, f.Sync())
		}})
	}
	return out, nil
}

// writes are what a large body needs: a new file with room, its bytes, a sync.
func (r *bare) writes(context.Context) ([]contender, error) {
	var out []contender
	for _, w := range []struct {
		name    string
		size    int64
		workers int
	}{
		{limitWrite1, mib, 1}, {limitWrite10, 10 * mib, 1},
		{limitWrite1Many, mib, manyAtOnce}, {limitWrite10Many, 10 * mib, manyAtOnce},
	} {
		body, prefix := noise(1, w.size).block, r.name()
		name := func(t turn) string { return fmt.Sprintf("%s-%d-%d", prefix, t.worker, t.n) }
		made := make([][]string, w.workers)
		out = append(out, contender{
			name: w.name, workers: w.workers,
			op: func(_ context.Context, t turn) (outcome, error) {
				made[t.worker] = append(made[t.worker], name(t))
				return outcome{bytes: w.size}, r.write(name(t), body)
			},
			end: func(context.Context, int) error { return r.remove(made) },
		})
	}
	return out, nil
}

// remove removes the files of a round.
func (r *bare) remove(made [][]string) error {
	var errs []error
	for w, names := range made {
		for _, name := range names {
			errs = append(errs, r.files.Remove(name))
		}
		made[w] = nil
	}
	return errors.Join(errs...)
}

// write makes a file durable, but for its name.
func (r *bare) write(name string, body []byte) (err error) {
	f, err := r.files.Create(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := f.Preallocate(int64(len(body))); err != nil {
		return err
	}
	for at := 0; at < len(body); at += int(mib) {
		if _, err := f.WriteAt(body[at:min(at+int(mib), len(body))], int64(at)); err != nil {
			return err
		}
	}
	return f.Sync()
}
