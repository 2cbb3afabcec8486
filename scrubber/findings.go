package scrubber

import (
	"slices"
	"time"

	"larder/store"
)

// The bounds of what is listed. What does not fit is counted.
const (
	maxOpen   = 1000
	maxHealed = 100
)

// entry is a finding with what it takes to look at it again.
type entry struct {
	Finding
	Defect  store.Defect `json:"defect"`
	checked time.Time    // when it was last looked at again, in this process
}

// identity tells whether two defects are the same piece of damage.
type identity struct {
	index   bool
	segment uint64
	at      int64
	blob    string
	table   store.Table
	id      int64
	key     string
	upload  string
	number  int64
	version uint64
}

func identityOf(d store.Defect) identity {
	r := d.Row
	id := identity{
		index: d.Harm == store.HarmIndex, blob: d.Blob, table: r.Table, id: r.ID,
		key: string(r.Key), upload: r.Upload, number: r.Number, version: d.Version,
	}
	if d.Blob != "" {
		return id // its record's place may change
	}
	if !id.index {
		id.segment, id.at = d.Segment, d.Offset
	} else {
		id.version = 0 // a row has one place
	}
	return id
}

// book lists findings. Its owner guards it.
type book struct {
	Open       []*entry `json:"open"`   // oldest first
	Healed     []*entry `json:"healed"` // oldest first
	Next       uint64   `json:"next"`   // ID of the next one
	Overflowed int64    `json:"overflowed"`
}

// find returns the open finding of a defect, or nil.
func (b *book) find(d store.Defect) *entry {
	id := identityOf(d)
	for _, e := range b.Open {
		if identityOf(e.Defect) == id {
			return e
		}
	}
	if id.index || d.Row.Table != store.NoTable {
		return nil
	}
	for _, e := range b.Open { // a piece is listed under the versions that it hurts
		if named := identityOf(e.Defect); named.blob == id.blob && named.segment == id.segment && named.at == id.at && !named.index {
			return e
		}
	}
	return nil
}

// unnamed returns the open finding of the same piece of damage that names no
// version yet, or nil.
func (b *book) unnamed(d store.Defect) *entry {
	if d.Row.Table == store.NoTable || d.Harm == store.HarmIndex {
		return nil
	}
	bare := d
	bare.Row, bare.Version = store.RowName{}, 0
	if e := b.find(bare); e != nil && e.Defect.Row.Table == store.NoTable {
		return e
	}
	return nil
}

// add lists confirmed damage and returns its entry, or nil when there is no
// room. Damage that is listed already is seen again; a version that a listed
// piece is found to hurt gives the piece its name.
func (b *book) add(d store.Defect, now time.Time) (e *entry, fresh bool) {
	e = b.find(d)
	if e == nil {
		e = b.unnamed(d)
	}
	if e != nil {
		e.fill(d, now)
		return e, false
	}
	if len(b.Open) >= maxOpen {
		b.Overflowed++
		return nil, false
	}
	b.Next++
	e = &entry{Finding: Finding{ID: b.Next, Found: now}}
	e.fill(d, now)
	b.Open = append(b.Open, e)
	return e, true
}

// fill brings an entry up to what was seen last.
func (e *entry) fill(d store.Defect, now time.Time) {
	e.checked, e.Seen = now, now
	if d.Row.Table == store.NoTable && e.Defect.Row.Table != store.NoTable {
		return // the piece alone, which is known to hurt a version
	}
	e.Defect = d
	e.Kind, e.Bucket, e.Key, e.Reason = d.Harm, d.Bucket, d.Key, d.Reason
	e.Sequence = d.Sequence
	if d.Version != 0 {
		e.Sequence = d.Version
	}
	e.File, e.Offset, e.Length = d.File, d.Offset, d.Length
}

// heal closes a finding.
func (b *book) heal(e *entry, how string, now time.Time) {
	e.Finding.Healed, e.How = now, how
	b.Open = slices.DeleteFunc(b.Open, func(o *entry) bool { return o == e })
	b.Healed = append(b.Healed, e)
	if extra := len(b.Healed) - maxHealed; extra > 0 {
		b.Healed = slices.Delete(b.Healed, 0, extra)
	}
}

// known are the defects that inspections must know of.
func (b *book) known() []store.Defect {
	var out []store.Defect
	for _, e := range b.Open {
		if e.Defect.Harm != store.HarmIndex {
			out = append(out, e.Defect)
		}
	}
	return out
}

func (b *book) has(is func(store.Defect) bool) bool {
	return slices.ContainsFunc(b.Open, func(e *entry) bool { return is(e.Defect) })
}

// stale returns the open finding that was not looked at for longest, if that is
// at least age ago.
func (b *book) stale(now time.Time, age time.Duration) *entry {
	var oldest *entry
	for _, e := range b.Open {
		if oldest == nil || e.checked.Before(oldest.checked) {
			oldest = e
		}
	}
	if oldest == nil || now.Sub(oldest.checked) < age {
		return nil
	}
	return oldest
}

// list returns the open findings, oldest first, then the healed, newest first.
func (b *book) list() []Finding {
	out := make([]Finding, 0, len(b.Open)+len(b.Healed))
	for _, e := range b.Open {
		out = append(out, e.Finding)
	}
	for i := len(b.Healed) - 1; i >= 0; i-- {
		out = append(out, b.Healed[i].Finding)
	}
	return out
}

// since returns the open findings, and those that healed since a time.
func (b *book) since(t time.Time) []Finding {
	return slices.DeleteFunc(b.list(), func(f Finding) bool { return !f.Open() && f.Healed.Before(t) })
}
