package store_test

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"larder/fault"
	"larder/store"
	"larder/store/index"
)

// simTables is one committed state of a simulated index. It never changes.
type simTables struct {
	applied  index.Position
	rows     map[simKey]index.Row
	bodies   map[uint64]index.Body
	buckets  map[uint64]index.Bucket
	uploads  map[string]index.Upload
	parts    map[simPart]index.Part
	segments map[uint64]bool
}

type simKey struct {
	bucket uint64
	key    string
}

type simPart struct {
	upload string
	number int
}

func (t *simTables) clone() *simTables {
	c := *t
	c.rows, c.bodies, c.buckets = copyMap(t.rows), copyMap(t.bodies), copyMap(t.buckets)
	c.uploads, c.parts, c.segments = copyMap(t.uploads), copyMap(t.parts), copyMap(t.segments)
	return &c
}

func copyMap[K comparable, V any](m map[K]V) map[K]V {
	out := make(map[K]V, len(m)+1)
	maps.Copy(out, m)
	return out
}

// simIndex is an index.db on a simulated disk, with SQLite's promises at
// synchronous=NORMAL: a transaction is atomic, and after a power cut the
// database stands at any state that was committed since the last checkpoint.
type simIndex struct {
	mu      sync.Mutex
	history []*simTables // what a cut may leave, in the order of the commits
	guard   func(index.Position) error
	kept    int // commits after which the log counts as long; 0 never
}

func newSimIndex(states ...*simTables) *simIndex {
	if len(states) == 0 {
		states = []*simTables{{}}
	}
	return &simIndex{history: states}
}

// states are what a power cut may leave now, the durable one first.
func (x *simIndex) states() []*simTables {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Clone(x.history)
}

func (x *simIndex) now() *simTables {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.history[len(x.history)-1]
}

// lose is the removal of the file, which is not synced.
func (x *simIndex) lose() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.history = append(x.history, &simTables{})
}

func (x *simIndex) settle() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.history = x.history[len(x.history)-1:]
}

func (x *simIndex) commit(t *simTables) error {
	if x.guard != nil {
		if err := x.guard(t.applied); err != nil {
			return err
		}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.history = append(x.history[:len(x.history):len(x.history)], t)
	return nil
}

// simView is an open simIndex.
type simView struct {
	simReads
	x *simIndex
}

var _ store.View = (*simView)(nil)

func (x *simIndex) view() *simView { return &simView{simReads{x.now}, x} }

func (v *simView) Begin() (store.ViewTx, error) {
	t := v.x.now().clone()
	return &simTx{simReads: simReads{func() *simTables { return t }}, x: v.x, t: t}, nil
}

func (v *simView) Applied() index.Position { return v.x.now().applied }
func (v *simView) Damaged() bool           { return false }

func (v *simView) Checkpoint(index.CheckpointMode) error { return v.Sync() }

func (v *simView) Sync() error {
	v.x.settle()
	return nil
}

func (v *simView) Vacuum(int) (bool, error) { return false, nil }

func (v *simView) WALSize() (int64, error) {
	v.x.mu.Lock()
	defer v.x.mu.Unlock()
	if v.x.kept > 0 && len(v.x.history) > v.x.kept {
		return 1 << 40, nil
	}
	return 0, nil
}

func (v *simView) Close() error { return v.Sync() }

// simReads reads a state.
type simReads struct{ now func() *simTables }

func (r simReads) Row(bucket uint64, key string) (index.Row, bool, error) {
	row, ok := r.now().rows[simKey{bucket, key}]
	return row, ok, nil
}

func (r simReads) Current(bucket uint64, key string) (index.Row, index.Body, bool, error) {
	row, ok := r.now().rows[simKey{bucket, key}]
	b := r.now().bodies[row.Sequence]
	if ok && !b.Current {
		return index.Row{}, index.Body{}, false, simFault("Current", fault.Corrupt, row.Sequence)
	}
	return row, b, ok, nil
}

func (r simReads) Body(sequence uint64) (index.Body, bool, error) {
	b, ok := r.now().bodies[sequence]
	return b, ok, nil
}

func (r simReads) HasBlob(id string) (bool, error) {
	for _, b := range r.now().bodies {
		if b.Blob == id {
			return true, nil
		}
	}
	return false, nil
}

func (r simReads) Bucket(id uint64) (index.Bucket, bool, error) {
	b, ok := r.now().buckets[id]
	return b, ok, nil
}

func (r simReads) Buckets() ([]index.Bucket, error) {
	return slices.SortedFunc(maps.Values(r.now().buckets), func(a, b index.Bucket) int { return cmp.Compare(a.Name, b.Name) }), nil
}

func (r simReads) Upload(id string) (index.Upload, bool, error) {
	u, ok := r.now().uploads[id]
	return u, ok, nil
}

func (r simReads) Part(upload string, number int) (index.Part, bool, error) {
	p, ok := r.now().parts[simPart{upload, number}]
	return p, ok, nil
}

func (r simReads) Parts(upload string, after, limit int) ([]index.Part, error) {
	var out []index.Part
	for _, p := range r.now().parts {
		if p.Upload == upload && p.Number > after {
			out = append(out, p)
		}
	}
	slices.SortFunc(out, func(a, b index.Part) int { return cmp.Compare(a.Number, b.Number) })
	out = out[:min(len(out), limit)]
	for _, p := range out {
		if _, ok := r.now().bodies[p.Sequence]; !ok {
			return nil, simFault("Parts", fault.Corrupt, p.Sequence)
		}
	}
	return out, nil
}

func (r simReads) Segments() ([]uint64, error) {
	return slices.Sorted(maps.Keys(r.now().segments)), nil
}

func (r simReads) Bodies(after uint64, limit int) ([]index.Body, error) {
	var out []index.Body
	for _, b := range r.now().bodies {
		if b.Sequence > after {
			out = append(out, b)
		}
	}
	slices.SortFunc(out, func(a, b index.Body) int { return cmp.Compare(a.Sequence, b.Sequence) })
	return out[:min(len(out), limit)], nil
}

// List knows no delimiters: the simulation asks for none.
func (r simReads) List(q index.ListQuery) (page index.ListPage, err error) {
	for _, row := range r.now().rows {
		if row.Bucket == q.Bucket && strings.HasPrefix(row.Key, q.Prefix) && (q.After == "" || row.Key > q.After) {
			page.Rows = append(page.Rows, row)
		}
	}
	slices.SortFunc(page.Rows, func(a, b index.Row) int { return cmp.Compare(a.Key, b.Key) })
	if limit := max(min(q.Max, index.MaxPage), 0); len(page.Rows) > limit {
		page.Rows = page.Rows[:limit]
		if page.Truncated = limit > 0; page.Truncated {
			page.Next = page.Rows[limit-1].Key
		}
	}
	return page, nil
}

// Uploads gives all uploads of a bucket.
func (r simReads) Uploads(q index.UploadQuery) (page index.UploadPage, err error) {
	for _, u := range r.now().uploads {
		if u.Bucket == q.Bucket {
			page.Uploads = append(page.Uploads, u)
		}
	}
	slices.SortFunc(page.Uploads, func(a, b index.Upload) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.ID, b.ID))
	})
	return page, nil
}

func simFault(op string, code fault.Code, what uint64) error {
	return fault.New(op, code, strconv.FormatUint(what, 10), errors.New("simulated index"))
}
