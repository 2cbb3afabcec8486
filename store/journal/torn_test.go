package journal_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"larder/fault"
	"larder/store/journal"
	"larder/store/vfs"
)

// batches makes a journal of three batches of 1, 3 and 2 records in one segment
// and returns its bytes up to the last record, and where the records lie.
func batches(tb testing.TB) (file []byte, locs []journal.Location) {
	tb.Helper()
	m := vfs.NewMem()
	j, _ := replay(tb, config(m))
	locs = append(locs, put(tb, j, samplePut("a", 100))...)
	locs = append(locs, put(tb, j, samplePut("b", 0), samplePut("c", 777), samplePut("d", 9))...)
	locs = append(locs, put(tb, j, samplePut("e", 300), samplePut("f", 50))...)
	if err := j.Close(); err != nil {
		tb.Fatal(err)
	}
	return readFile(tb, m, segmentName(1)), locs
}

func end(l journal.Location) int64 { return l.Offset + l.Length }

// TestTornAtEveryByte cuts the last batch at every byte, before zeros and at the
// end of the file, and reverses that: the first bytes missing, the rest there.
func TestTornAtEveryByte(t *testing.T) {
	t.Parallel()
	file, locs := batches(t)
	start, stop := locs[4].Offset, end(locs[5])
	for cut := start; cut <= stop; cut++ {
		low, high := 4, 4 // a cut within the padding may leave a whole record
		for _, l := range locs[4:] {
			if cut >= end(l) {
				low++
			}
			if cut >= l.Offset+l.BodyOffset+l.BodyLength {
				high++
			}
		}
		zeroed := bytes.Clone(file)
		clear(zeroed[cut:])
		checkTorn(t, fmt.Sprintf("zeros from %d", cut), zeroed, low, high)
		checkTorn(t, fmt.Sprintf("end at %d", cut), file[:cut:cut], low, high)
		front := bytes.Clone(file)
		clear(front[start:cut])
		checkTorn(t, fmt.Sprintf("zeros up to %d", cut), front, 4, 6)
	}
}

// TestTornByHoles zeroes every single aligned piece of the last batch.
func TestTornByHoles(t *testing.T) {
	t.Parallel()
	file, locs := batches(t)
	for off := locs[4].Offset; off < end(locs[5]); off += 8 {
		holed := bytes.Clone(file)
		clear(holed[off : off+8])
		checkTorn(t, fmt.Sprintf("hole at %d", off), holed, 4, 6)
		for i := range 8 {
			holed[off+int64(i)] = 0xa5
		}
		checkTorn(t, fmt.Sprintf("garbage at %d", off), holed, 4, 5)
	}
}

// checkTorn opens a journal of one segment and expects between low and high
// records, and that what was cut stays away when the numbers are used again.
func checkTorn(t *testing.T, what string, file []byte, low, high int) {
	t.Helper()
	m := segments(t, file)
	j, recs, err := tryReplay(config(m), journal.Position{})
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	if len(recs) < low || len(recs) > high {
		t.Fatalf("%s: %d records, want %d to %d", what, len(recs), low, high)
	}
	checkAll(t, j, recs)
	j.NoZeroAheadForTest()
	// As long as record e, so that a leftover of f would stand in its place.
	put(t, j, samplePut("g", 300))
	j.Close()
	j, again, err := tryReplay(config(m), journal.Position{})
	if err != nil {
		t.Fatalf("%s: after one more record: %v", what, err)
	}
	defer j.Close()
	if len(again) != len(recs)+1 || again[len(recs)].rec.Key != "g" {
		t.Fatalf("%s: %d records after one more", what, len(again))
	}
	checkAll(t, j, again)
}

// TestFlipsBeforeTheTail flips a bit in each byte of the batches that others
// follow, and expects to be told which record of which segment is broken.
func TestFlipsBeforeTheTail(t *testing.T) {
	t.Parallel()
	file, locs := batches(t)
	for i, l := range locs[:4] {
		for off := l.Offset; off < end(l); off++ {
			broken := bytes.Clone(file)
			broken[off] ^= 1 << (off % 8)
			m := segments(t, broken)
			_, recs, err := tryReplay(config(m), journal.Position{})
			wantDamage(t, err, 1, l.Offset)
			if len(recs) != i {
				t.Fatalf("flip at %d: %d records came before it, want %d", off, len(recs), i)
			}
			if !bytes.Equal(readFile(t, m, segmentName(1)), broken) {
				t.Fatalf("flip at %d: the file was changed", off)
			}
		}
	}
}

// TestFlipsInTheTail cannot tell damage from a torn tail, but nothing wrong is
// given back, and with an index that had the record it can tell.
func TestFlipsInTheTail(t *testing.T) {
	t.Parallel()
	file, locs := batches(t)
	for i, l := range locs[4:] {
		for off := l.Offset; off < end(l); off++ {
			broken := bytes.Clone(file)
			broken[off] ^= 1 << (off % 8)
			j, recs, err := tryReplay(config(segments(t, broken)), journal.Position{})
			if err == nil {
				if len(recs) != 4+i {
					t.Fatalf("flip at %d: %d records", off, len(recs))
				}
				checkAll(t, j, recs)
				j.Close()
			} else if fault.CodeOf(err) != fault.Corrupt {
				t.Fatalf("flip at %d: %v", off, err)
			}
		}
		for off := l.Offset; off < l.Offset+l.BodyOffset; off++ {
			broken := bytes.Clone(file)
			broken[off] ^= 1 << (off % 8)
			from := journal.Position{Sequence: 6, Segment: 1, Offset: end(locs[5])}
			_, _, err := tryReplay(config(segments(t, broken)), from)
			wantDamage(t, err, 1, l.Offset)
		}
	}
}

func TestFlipsInTheSegmentHeader(t *testing.T) {
	t.Parallel()
	file, _ := batches(t)
	for off := range 64 {
		broken := bytes.Clone(file)
		broken[off] ^= 0x10
		_, _, err := tryReplay(config(segments(t, broken)), journal.Position{})
		wantDamage(t, err, 1, 0)
	}
}

// wantDamage expects fault.Corrupt that names the segment and the offset.
func wantDamage(t *testing.T, err error, segment uint64, offset int64) {
	t.Helper()
	var d *journal.Damage
	if fault.CodeOf(err) != fault.Corrupt || !errors.As(err, &d) {
		t.Fatalf("got %v, want a report of damage", err)
	}
	if d.Segment != segment || d.Offset != offset {
		t.Fatalf("got %v, want segment %d at offset %d", err, segment, offset)
	}
	if fault.HintOf(err) == "" {
		t.Fatalf("%v: no hint", err)
	}
}

// TestSwappedRecords: a whole record at another's place is not taken for it.
func TestSwappedRecords(t *testing.T) {
	t.Parallel()
	m := vfs.NewMem()
	j, _ := replay(t, config(m))
	a := put(t, j, samplePut("a", 100))[0]
	b := put(t, j, samplePut("b", 100))[0]
	j.Close()
	file := readFile(t, m, segmentName(1))
	first := bytes.Clone(file[a.Offset:end(a)])
	copy(file[a.Offset:], file[b.Offset:end(b)])
	copy(file[b.Offset:], first)
	_, _, err := tryReplay(config(segments(t, file)), journal.Position{})
	wantDamage(t, err, 1, a.Offset)

	from := journal.Position{Sequence: 2, Segment: 1, Offset: end(b)}
	_, _, err = tryReplay(config(segments(t, file)), from)
	wantDamage(t, err, 1, a.Offset)
}

// TestOldRecordBehindTheEnd: leftovers are zeroed before their numbers are used
// again, so a whole record of the past there is damage.
func TestOldRecordBehindTheEnd(t *testing.T) {
	t.Parallel()
	file, locs := batches(t)
	copy(file[end(locs[5]):], file[locs[0].Offset:end(locs[0])])
	_, _, err := tryReplay(config(segments(t, file)), journal.Position{})
	wantDamage(t, err, 1, end(locs[5]))
}

// TestBodyThatHoldsASegment: a copy of the journal, stored in the journal, is
// not taken for records when the record that holds it is torn.
func TestBodyThatHoldsASegment(t *testing.T) {
	t.Parallel()
	m := vfs.NewMem()
	c := config(m)
	c.SegmentSize = 1 << 20
	j, _ := replay(t, c)
	put(t, j, samplePut("a", 1000))
	put(t, j, samplePut("b", 1000))
	inner := readFile(t, m, segmentName(1))[64:j.Position().Offset]
	for pad := range 8 {
		outer := &journal.Record{Kind: journal.Put, Key: "copy", Body: append(make([]byte, pad), inner...)}
		l := put(t, j, outer)[0]
		file := readFile(t, m, segmentName(1))
		for _, hole := range []int64{l.Offset, l.Offset + 60, end(l) - 16} {
			torn := bytes.Clone(file[:end(l)])
			clear(torn[hole : hole+8])
			j, recs, err := tryReplay(config(segments(t, torn)), journal.Position{})
			if err != nil || len(recs) != 2+pad {
				t.Fatalf("%d records, %v", len(recs), err)
			}
			j.Close()
		}
	}
}
