package store_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"testing"
	"testing/synctest"

	"larder/fault"
	"larder/store/journal"
	"larder/store/vfs"
)

// TestSimDamage breaks a byte of every record that was synced before another
// batch, and demands that the start stops and names the place. Of the last batch
// it demands the same of headers and meta parts as long as the index knows it;
// bodies that it knows are left to their readers. That a torn tail is never
// taken for damage is what every state of TestSim demands.
func TestSimDamage(t *testing.T) {
	c := newSimCampaign(t)
	c.run(t, func(yield func(simWorkload) bool) {
		macros := map[string]simMacro{}
		for _, m := range simMacros() {
			macros[m.name] = m
		}
		for i, names := range [][3]string{
			{"put-blob", "over-inline", "delete-blob"}, {"upload", "abort", "metadata"},
			{"over-inline", "compact", "put-inline"}, {"unfinished", "delete-inline", "compact-run"},
		} {
			yield(sequence(simSegment(i), macros[names[0]], macros[names[1]], macros[names[2]]))
		}
	}, c.damage)
}

// damage breaks the records that a script leaves, one byte after the other.
func (c *simCampaign) damage(t *testing.T, w simWorkload) {
	r, err := w.run()
	if err != nil {
		t.Fatal(err)
	}
	all := func(int) bool { return true }
	disk := r.files.Image()
	places, last, err := recordsOn(disk.Crash(all, nil))
	if err != nil {
		t.Fatal(err)
	}
	broken := 0
	for _, loc := range places {
		for _, off := range bytesToBreak(loc, loc.Sequence < last) {
			files := disk.Crash(all, nil)
			flipRecord(t, files, loc.Segment, loc.Offset+off)
			index := newSimIndex(noTables)
			if loc.Sequence >= last {
				index = newSimIndex(r.index.now())
			}
			st := simDisk{files, index, w.segment}
			s, err := st.start()
			if err == nil {
				s.Close()
			}
			synctest.Wait()
			var d *journal.Damage
			if fault.CodeOf(err) != fault.Corrupt || !errors.As(err, &d) || d.Segment != loc.Segment || d.Offset != loc.Offset {
				c.fail(t, w.name, fmt.Errorf("%s: byte %d of record %d at %d of segment %d is broken, and the start says %v",
					w.name, off, loc.Sequence, loc.Offset, loc.Segment, err))
			}
			broken++
		}
	}
	c.add(0, map[string]int{"broken record": broken})
}

// bytesToBreak are bytes of the header, the meta part and perhaps the body of a
// record.
func bytesToBreak(loc journal.Location, body bool) []int64 {
	out := []int64{0, 9, 48, loc.BodyOffset - 1}
	if body && loc.BodyLength > 0 {
		out = append(out, loc.BodyOffset, loc.BodyOffset+loc.BodyLength-1)
	}
	return out
}

// recordsOn finds all records of a disk, and the first one of the last batch.
func recordsOn(files *vfs.Mem) (places []journal.Location, last uint64, err error) {
	f, err := files.Open("VERSION")
	if err != nil {
		return nil, 0, err
	}
	text, err := io.ReadAll(io.NewSectionReader(f, 0, 256))
	if err != nil {
		return nil, 0, err
	}
	_, rest, _ := bytes.Cut(text, []byte("store "))
	var id [16]byte
	if _, err := hex.Decode(id[:], rest[:32]); err != nil {
		return nil, 0, err
	}
	j, err := journal.Open(context.Background(), journal.Config{FS: files, StoreID: id}, journal.Position{},
		func(r *journal.Record, loc journal.Location) error {
			places, last = append(places, loc), r.Batch
			return nil
		})
	if err == nil {
		err = j.Close()
	}
	return places, last, err
}

func flipRecord(t *testing.T, files *vfs.Mem, segment uint64, off int64) {
	t.Helper()
	f, err := files.OpenWrite(fmt.Sprintf("segments/%010d.seg", segment))
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 1)
	if _, err := f.ReadAt(b, off); err != nil {
		t.Fatal(err)
	}
	b[0] ^= 0x40
	if _, err := f.WriteAt(b, off); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		t.Fatal(err)
	}
}
