package store

import (
	"container/list"
	"slices"
	"sync"
	"sync/atomic"

	"larder/store/index"
	"larder/store/journal"
)

// entry is a decoded index row. Nobody alters row and rec once it is made.
type entry struct {
	row    index.Row
	rec    *journal.Record         // the row's Meta, decoded; row.Meta is empty
	weight int                     // bytes that it takes once pieces are known, about
	pieces atomic.Pointer[[]piece] // where its bytes lie, once somebody asked
}

func (e *entry) extents() []journal.Extent {
	return extentsOf(e.rec.Extents, e.row.Sequence, e.row.Size)
}

func newEntry(row index.Row) (*entry, error) {
	rec, err := decodeMeta(row.Meta)
	if err != nil {
		return nil, err
	}
	e := &entry{row: row, rec: rec}
	e.weight = rowOverhead + len(row.Key) + len(row.Meta) + pieceBytes*len(rec.Extents) + 8*len(rec.PartSizes)
	e.row.Meta = nil
	return e, nil
}

// rowOverhead is about what an entry with no metadata takes, pieceBytes an
// extent and its piece, and rowBytes what the cache may take for each row that
// it may keep. All in bytes.
const (
	rowOverhead = 1 << 10
	pieceBytes  = 152
	rowBytes    = 2 << 10
)

type rowKey struct {
	bucket uint64
	key    string
}

// rowUpdate is what a record does to a row: a new one, or nil for none.
type rowUpdate struct {
	bucket uint64
	key    string
	row    *index.Row
}

// rowCache keeps the rows last used, so that a HEAD or a small GET usually
// runs no SQL. The committer corrects it before it acknowledges a change. It is
// bounded twice, since the row of an object with many parts is large.
type rowCache struct {
	limit  int // of rows
	budget int // of bytes

	mu     sync.Mutex
	weight int    // of all items
	epoch  uint64 // grows with every batch; an older read may not be kept
	moves  uint64 // grows when bodies have moved; older places may not be kept
	items  map[rowKey]*list.Element
	order  *list.List // front: used last. Values are *entry.
}

func newRowCache(limit int) *rowCache {
	return &rowCache{limit: limit, budget: limit * rowBytes, items: make(map[rowKey]*list.Element), order: list.New()}
}

// get returns the cached row, or nil and the epoch to hand to put.
func (c *rowCache) get(bucket uint64, key string) (*entry, uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if el, ok := c.items[rowKey{bucket, key}]; ok {
		c.order.MoveToFront(el)
		return el.Value.(*entry), c.epoch
	}
	return nil, c.epoch
}

// put keeps a row that was read from the index, unless a batch was applied
// since epoch: the row may then be an old one.
func (c *rowCache) put(e *entry, epoch uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if epoch == c.epoch {
		c.store(e)
	}
}

// apply brings a batch's rows in.
func (c *rowCache) apply(updates []rowUpdate) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.epoch++
	for _, u := range updates {
		c.drop(rowKey{u.bucket, u.key})
		if u.row == nil {
			continue
		}
		if e, err := newEntry(*u.row); err == nil {
			c.store(e)
		}
	}
}

// moved returns the number to hand to keep.
func (c *rowCache) moved() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.moves
}

// keep notes where the bytes of a version lie, unless bodies have moved since
// moves: they may lie elsewhere then.
func (c *rowCache) keep(e *entry, pieces []piece, moves uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if moves == c.moves {
		e.pieces.Store(&pieces)
	}
}

// forget drops all places within these segments. Call it when the index no
// longer names them: no later look-up finds one.
func (c *rowCache) forget(segments []uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.moves++
	for el := c.order.Front(); el != nil; el = el.Next() {
		e := el.Value.(*entry)
		if p := e.pieces.Load(); p != nil && lieIn(*p, segments) {
			e.pieces.Store(nil)
		}
	}
}

func lieIn(pieces []piece, segments []uint64) bool {
	return slices.ContainsFunc(pieces, func(p piece) bool { return slices.Contains(segments, p.body.Segment) })
}

// store keeps a row, unless it would take the place of too many others.
func (c *rowCache) store(e *entry) {
	k := rowKey{e.row.Bucket, e.row.Key}
	c.drop(k)
	if e.weight > c.budget/2 {
		return
	}
	c.items[k] = c.order.PushFront(e)
	c.weight += e.weight
	for c.order.Len() > c.limit || c.weight > c.budget {
		oldest := c.order.Back().Value.(*entry)
		c.drop(rowKey{oldest.row.Bucket, oldest.row.Key})
	}
}

func (c *rowCache) drop(k rowKey) {
	if el, ok := c.items[k]; ok {
		c.order.Remove(el)
		c.weight -= el.Value.(*entry).weight
		delete(c.items, k)
	}
}

// lookup finds the current version of a key, or nil. What the cache has was
// written by the committer, or stood in the index together with its witness.
func (s *Store) lookup(bucket uint64, key string) (*entry, error) {
	e, epoch := s.rows.get(bucket, key)
	if e != nil {
		return e, nil
	}
	moves := s.rows.moved()
	e, pieces, err := s.readCurrent(bucket, key)
	if err != nil || e == nil {
		return nil, err
	}
	s.rows.put(e, epoch)
	if pieces != nil {
		s.rows.keep(e, pieces, moves) // behind put, since forget asks those in the cache
	}
	return e, nil
}

// readCurrent reads the current version of a key from the index, or nil, and
// where its bytes lie when its own record brought them.
func (s *Store) readCurrent(bucket uint64, key string) (*entry, []piece, error) {
	row, body, found, err := s.index.Current(bucket, key)
	if err != nil || !found {
		return nil, nil, err
	}
	e, err := newEntry(row)
	if err != nil || !ownBody(e.rec.Extents, row.Size) {
		return e, nil, err
	}
	return e, []piece{{e.extents()[0], body}}, nil
}
