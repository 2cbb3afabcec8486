package scrubber

import (
	"encoding/binary"
	"maps"
	"slices"
	"sort"

	"larder/store"
)

// The bounds of what a join remembers: bytes for rows that agree with their
// records, about three each, and entries for records without a row.
const (
	maxAgreed = 32 << 20
	maxAbsent = 1 << 18
	maxBroken = 1 << 14
)

// join holds records and rows against each other, which an inspection meets in
// different orders. Records come first, in the order of their sequences; what
// they claim is kept in memory until the rows come. Where that is too much, only
// names of one share out of several are looked at, and the journal is skimmed
// again for each of the others.
type join struct {
	share, shares uint64 // names with this remainder count
	room          int    // for agreed, in bytes

	agreed agreedList
	absent map[uint64]absence // by name
	end    uint64             // the last record that was looked at
	broken []span             // records that could not be read
	skip   bool               // agreed is not kept
	full   bool               // more than it may remember: good for nothing

	tally  store.Tally
	rows   int    // steps through the rows
	quiet  uint64 // the store's sequence during all of them, 0 when it changed
	second bool   // the rows are added up for the second time
}

// span is a run of records.
type span struct{ first, last uint64 }

// absence is the last record of a name that has no row.
type absence struct {
	sequence, segment uint64
	offset            int64
}

func newJoin(share, shares uint64, room int) *join {
	return &join{share: share, shares: shares, room: room, absent: map[uint64]absence{}}
}

// record takes the claims of a step through the journal.
func (j *join) record(in store.Inspected) {
	j.end = max(j.end, in.Through)
	for _, d := range in.Defects {
		if d.Harm != store.HarmIndex && !d.Body && d.Sequence <= d.Last {
			j.broken = append(j.broken, span{d.Sequence, d.Last})
			j.end = max(j.end, d.Last)
		}
	}
	for _, c := range in.Claims {
		if c.Name%j.shares != j.share || j.full {
			continue
		}
		switch c.Kind {
		case store.Agreed:
			if !j.skip {
				j.agreed.add(c)
			}
		case store.Absent:
			j.absent[c.Name] = absence{c.Sequence, c.Segment, c.Offset}
		case store.Ended:
			delete(j.absent, c.Name)
		}
		j.full = len(j.agreed.bytes) > j.room || len(j.absent) > maxAbsent || len(j.broken) > maxBroken
	}
}

// missing returns what has no row and was not ended, as defects to be looked
// at, once the last step's claims are known too. What would be ended by a record
// that cannot be read is not among them.
func (j *join) missing(in store.Inspected) []store.Defect {
	j = &join{share: j.share, shares: j.shares, room: j.room, absent: maps.Clone(j.absent), broken: j.broken, end: j.end, skip: true}
	j.record(in)
	var lost uint64
	for _, b := range j.broken {
		lost = max(lost, b.last)
	}
	var out []store.Defect
	for _, a := range j.absent {
		if a.sequence < lost {
			continue
		}
		out = append(out, store.Defect{
			Harm: store.HarmIndex, Sequence: a.sequence, Last: a.sequence, Version: a.sequence,
			Segment: a.segment, At: a.offset, Offset: -1, Length: -1, Checked: j.end,
		})
	}
	sort.Slice(out, func(i, k int) bool { return out[i].Sequence < out[k].Sequence })
	return out
}

// strangers returns the rows that no record agrees with. What was stored behind
// the records that were looked at is left to the next pass.
func (j *join) strangers(in store.Inspected) []store.Defect {
	var out []store.Defect
	for _, c := range in.Claims {
		if c.Kind != store.Stands || c.Sequence > j.end || c.Name%j.shares != j.share || j.unread(c.Sequence) || j.agreed.has(c) {
			continue
		}
		out = append(out, store.Defect{
			Harm: store.HarmIndex, Sequence: c.Sequence, Last: c.Sequence, Version: c.Sequence,
			Offset: -1, Length: -1, Row: c.Row,
		})
	}
	return out
}

// unread tells whether a record could not be read.
func (j *join) unread(sequence uint64) bool {
	return slices.ContainsFunc(j.broken, func(b span) bool { return b.first <= sequence && sequence <= b.last })
}

// row adds a step through the rows up.
func (j *join) row(in store.Inspected) {
	if j.rows == 0 {
		j.quiet = in.Quiet
	}
	j.rows++
	if in.Quiet != j.quiet {
		j.quiet = 0
	}
	j.tally.Add(in.Tally)
}

// again lets the rows be added up anew.
func (j *join) again() { j.tally, j.rows, j.quiet, j.second = store.Tally{}, 0, 0, true }

// odd tells whether references or counters are wrong for certain: only a store
// in which nothing happened meanwhile can tell.
func (j *join) odd() bool { return j.quiet != 0 && !j.tally.Fits() }

// agreedList remembers which records have rows that agree with them: a list in
// ascending order, as differences, with 16 bits of the row's name each. Each
// block begins with an entry in full.
type agreedList struct {
	bytes  []byte
	blocks []agreedBlock
	last   uint64
	count  int
}

type agreedBlock struct {
	first  uint64
	offset int
}

const agreedPerBlock = 256

// keyOf orders the two rows that a record may have: its body's is met first.
func keyOf(c store.Claim) uint64 {
	if c.Twin {
		return c.Sequence << 1
	}
	return c.Sequence<<1 | 1
}

// add appends a claim. One that is not behind the last was met before.
func (l *agreedList) add(c store.Claim) {
	k := keyOf(c)
	if l.count > 0 && k <= l.last {
		return
	}
	if l.count%agreedPerBlock == 0 {
		l.blocks = append(l.blocks, agreedBlock{k, len(l.bytes)})
		l.last = k
	}
	l.bytes = binary.AppendUvarint(l.bytes, k-l.last)
	l.bytes = append(l.bytes, byte(c.Name), byte(c.Name>>8))
	l.last = k
	l.count++
}

// has tells whether a record agreed with the row of a claim.
func (l *agreedList) has(c store.Claim) bool {
	k := keyOf(c)
	n := sort.Search(len(l.blocks), func(i int) bool { return l.blocks[i].first > k }) - 1
	if n < 0 {
		return false
	}
	end := len(l.bytes)
	if n+1 < len(l.blocks) {
		end = l.blocks[n+1].offset
	}
	at := l.blocks[n].first
	for b := l.bytes[l.blocks[n].offset:end]; len(b) > 0; {
		d, size := binary.Uvarint(b)
		at += d
		if at >= k {
			return at == k && b[size] == byte(c.Name) && b[size+1] == byte(c.Name>>8)
		}
		b = b[size+2:]
	}
	return false
}
