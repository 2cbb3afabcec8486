package scrubber

import (
	"testing"

	"larder/store"
)

func agreed(sequence uint64, twin bool) store.Claim {
	return store.Claim{Kind: store.Agreed, Name: sequence * 7919, Sequence: sequence, Twin: twin}
}

// TestJoinRemembersWhichRecordsAgree over many blocks, with gaps, for both rows
// of a record.
func TestJoinRemembersWhichRecordsAgree(t *testing.T) {
	t.Parallel()
	var l agreedList
	has := func(n uint64) (row, body bool) { return n%3 == 0, n%5 == 0 }
	for n := range uint64(5000) {
		row, body := has(n)
		if body {
			l.add(agreed(n, true))
		}
		if row {
			l.add(agreed(n, false))
			l.add(agreed(n, false)) // a step that was taken twice
		}
	}
	for n := range uint64(6000) {
		row, body := has(n)
		if n >= 5000 {
			row, body = false, false
		}
		if l.has(agreed(n, false)) != row || l.has(agreed(n, true)) != body {
			t.Fatalf("record %d: %v, %v", n, l.has(agreed(n, false)), l.has(agreed(n, true)))
		}
	}
	other := agreed(3, false)
	other.Name++
	if l.has(other) {
		t.Error("another row of the same record agrees")
	}
	if perRow := len(l.bytes) / l.count; perRow > 4 {
		t.Errorf("%d bytes for a row", perRow)
	}
}

// TestJoinAccusesOnlyWhatNothingExplains.
func TestJoinAccusesOnlyWhatNothingExplains(t *testing.T) {
	t.Parallel()
	absent := func(name, sequence uint64) store.Claim {
		return store.Claim{Kind: store.Absent, Name: name, Sequence: sequence}
	}
	ended := func(name, sequence uint64) store.Claim {
		return store.Claim{Kind: store.Ended, Name: name, Sequence: sequence}
	}
	j := newJoin(0, 1, maxAgreed)
	j.record(store.Inspected{Through: 9, Claims: []store.Claim{absent(1, 1), absent(2, 2), ended(1, 3), absent(3, 5), absent(3, 6)}})
	got := j.missing(store.Inspected{Through: 12, Claims: []store.Claim{ended(2, 11), absent(4, 12)}})
	if len(got) != 2 || got[0].Sequence != 6 || got[1].Sequence != 12 || got[0].Checked != 12 {
		t.Errorf("%+v", got)
	}
	broken := store.Defect{Harm: store.HarmGarbage, Sequence: 7, Last: 8}
	got = j.missing(store.Inspected{Through: 12, Defects: []store.Defect{broken}, Claims: []store.Claim{absent(4, 12)}})
	if len(got) != 2 || got[0].Sequence != 2 && got[1].Sequence != 12 {
		for _, d := range got {
			if d.Sequence < 8 {
				t.Errorf("record %d is missed, though what ended it may be what cannot be read", d.Sequence)
			}
		}
	}
}

// TestSharesCoverAllNames: with little memory every name is looked at by exactly
// one of the joins.
func TestSharesCoverAllNames(t *testing.T) {
	t.Parallel()
	for name := range uint64(100) {
		seen := 0
		for share := range uint64(4) {
			j := newJoin(share, 4, maxAgreed)
			j.record(store.Inspected{Claims: []store.Claim{{Kind: store.Absent, Name: name, Sequence: 1}}})
			seen += len(j.missing(store.Inspected{}))
		}
		if seen != 1 {
			t.Errorf("name %d is looked at %d times", name, seen)
		}
	}
}
