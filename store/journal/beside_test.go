package journal_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"larder/store/journal"
	"larder/store/vfs"
)

// TestAppendsBesideCompact: while a compaction waits for its throttle, records
// are appended, made durable and read, and heads are sealed.
func TestAppendsBesideCompact(t *testing.T) {
	t.Parallel()
	m := vfs.NewMem()
	j, h := old(t, m, 60)
	segs := j.Segments()
	c := journal.Compaction{Inputs: numbersOf(segs[:3]), AsOf: 60}
	first := true
	c.Throttle = func(context.Context, int) error {
		if first {
			h.append(t, j, 20)
		}
		first = false
		return nil
	}
	// The verdicts are as of before: what was overwritten since is kept.
	live := map[uint64]bool{}
	for _, seq := range h.live {
		live[seq] = true
	}
	c.Keep = func(r *journal.Record, _ journal.Location) (journal.Verdict, error) {
		if live[r.Sequence] {
			return journal.Keep, nil
		}
		return journal.Drop, nil
	}
	out, _, err := j.Compact(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	if now := j.Segments(); len(now) <= len(segs) || now[len(now)-1].Number <= out.Number {
		t.Errorf("segments %+v, output %+v: no head was sealed meanwhile", now, out)
	}
	j.Adopt(out.Number)
	h.check(t, m)
	for _, s := range j.Superseded() {
		if err := j.Remove(s.Number); err != nil {
			t.Fatal(err)
		}
	}
	h.check(t, m)
}

// TestReadsBesideCompact reads bodies and scans segments from many goroutines
// while compactions move them, on the real system.
func TestReadsBesideCompact(t *testing.T) {
	t.Parallel()
	osfs, err := vfs.OS(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	j, h := old(t, osfs, 60)
	var mu sync.Mutex // guards v; held over a read, as a store's pins are
	v := viewOf(t, h, j)
	done := make(chan struct{})
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				mu.Lock()
				v.read(t, h, j)
				mu.Unlock()
				for _, s := range j.Segments() {
					_, err := j.Scan(context.Background(), s.Number, 0, func(it journal.Scanned) error {
						if it.Damage != nil {
							return fmt.Errorf("segment %+v: %w", s, it.Damage)
						}
						return nil
					})
					if err != nil && !gone(err) {
						t.Error(err)
					}
				}
			}
		})
	}
	for len(j.Segments()) > 3 {
		inputs := j.Segments()[:2]
		out, moves, err := h.compact(j, 0, 2)
		if err != nil {
			t.Error(err)
			break
		}
		mu.Lock()
		_, v = v.swap(inputs, out, moves)
		mu.Unlock()
		j.Adopt(out.Number)
		for _, s := range j.Superseded() {
			if err := j.Remove(s.Number); err != nil {
				t.Error(err)
			}
		}
		put(t, j, &journal.Record{Kind: journal.Abort, Upload: "more"})
	}
	close(done)
	readers.Wait()
	j.Close()
	h.checkAborts(t, osfs)
}

func gone(err error) bool { return errors.Is(err, journal.ErrGone) }

// TestReadersKeepARemovedSegment: a reader that has the file goes on.
func TestReadersKeepARemovedSegment(t *testing.T) {
	t.Parallel()
	osfs, err := vfs.OS(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	j, h := old(t, osfs, 60)
	inputs := j.Segments()[:2]
	var seen []uint64
	_, err = j.Scan(context.Background(), inputs[0].Number, 0, func(it journal.Scanned) error {
		if it.Damage != nil {
			return it.Damage
		}
		if len(seen) == 0 {
			h.mustCompact(t, j, 0, 2)
		}
		seen = append(seen, it.Record.Sequence)
		return nil
	})
	if err != nil || uint64(len(seen)) != inputs[0].Last || !slices.IsSorted(seen) {
		t.Errorf("%v, %v", seen, err)
	}
	if _, err := j.Scan(context.Background(), inputs[0].Number, 0, nil); !gone(err) {
		t.Errorf("a Scan of it afterwards: %v", err)
	}
	if n := j.OpenFilesForTest(); n > len(j.Segments()) {
		t.Errorf("%d files are open", n)
	}
	if b, err := j.ReadBody(journal.Location{Segment: inputs[0].Number, Offset: 64, Length: 64, BodyOffset: 52, BodyLength: 12}, nil); err == nil || !bytes.Equal(b, nil) {
		t.Error("a removed segment can be read")
	}
}
