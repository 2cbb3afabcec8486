package bench

import (
	"context"
	"fmt"
	"slices"

	"larder/fault"
)

const (
	partSize = 5 << 20 // the smallest that S3 allows for all parts but the last

	ringBytes   = int64(1) << 30 // of the keys that puts write over and over
	maxRing     = 100_000        // keys
	readBytes   = 256 * mib      // of the objects that are read
	maxRead     = 1000           // objects
	deleteBytes = 128 * mib      // of the objects that a round deletes
	maxDelete   = 2000           // objects
)

// matrix measures each operation by size and concurrency. Each size has a fresh
// server, so that none suffers from what another left behind.
func (b *bench) matrix(ctx context.Context) error {
	var cells []Cell
	clients := b.concurrency(1, 4, 16, 64)
	for _, size := range b.sizes(kib, 64*kib, mib, 10*mib) {
		if err := b.needRoom(3*ringBytes + int64(slices.Max(clients))*2*size); err != nil {
			return err
		}
		err := b.onStage(ctx, slices.Max(clients), func(s *stage) error {
			some, err := b.matrixOf(ctx, s, size, clients)
			cells = append(cells, some...)
			return err
		})
		if err != nil {
			return err
		}
	}
	pages, err := b.listing(ctx, clients)
	if err != nil {
		return err
	}
	return b.finish("matrix", append(cells, pages...))
}

// matrixOf measures all operations on objects of one size.
func (b *bench) matrixOf(ctx context.Context, s *stage, size int64, clients []int) ([]Cell, error) {
	m := &matrixCell{b: b, s: s, size: size, body: noise(size, size)}
	m.readable = b.objects(maxRead, readBytes, size)
	if err := s.fill(ctx, m.readable, readKey, m.body); err != nil {
		return nil, err
	}
	var cells []Cell
	for _, op := range []struct {
		name   string
		writes bool
		make   func(lane, int) contender
	}{
		{"put", true, m.put}, {"get", false, m.get}, {"head", false, m.head},
		{"delete", false, m.delete}, {"multipart", true, m.multipart},
	} {
		for _, n := range clients {
			b.say("matrix: %s %s, %d clients", op.name, sizeName(size), n)
			figures, err := b.measure(ctx, s.contend(op.writes, func(l lane) contender { return op.make(l, n) }))
			if err != nil {
				return nil, err
			}
			cells = append(cells, Cell{Part: "matrix", Op: op.name, Size: size, Concurrency: n, Contenders: figures})
		}
	}
	return cells, nil
}

// matrixCell makes the contenders of one size.
type matrixCell struct {
	b        *bench
	s        *stage
	size     int64
	body     payload
	readable int // objects that were put to be read
}

func readKey(i int) string { return fmt.Sprintf("read/%06d", i) }

// ring is the key of a put: new ones, until their bodies fill what a run may have
// on the disk, and then the same ones again.
func (m *matrixCell) ring(kind string, l lane, t turn) string {
	n := min(maxRing, max(2, ringBytes/m.size))
	return fmt.Sprintf("%s/%s/%06d", kind, l.name, (int64(t.round)*7919+int64(t.n))%n)
}

// stored looks, after a round, whether the first object of the round is there and
// whole.
func (m *matrixCell) stored(kind string, l lane) func(context.Context, int) error {
	return func(ctx context.Context, round int) error {
		size, err := l.target.Head(ctx, l.bucket, m.ring(kind, l, turn{round: round}))
		if err == nil && size != m.size {
			err = wrongSize(size, m.size)
		}
		return err
	}
}

func (m *matrixCell) put(l lane, clients int) contender {
	limit, byBytes := writeLimit(m.size, clients)
	return contender{workers: clients, limit: limit, byBytes: byBytes, end: m.stored("put", l), op: func(ctx context.Context, t turn) (outcome, error) {
		_, err := l.target.Put(ctx, l.bucket, m.ring("put", l, t), m.body, condition{})
		return outcome{bytes: m.size}, err
	}}
}

func (m *matrixCell) get(l lane, clients int) contender {
	limit, byBytes := readLimit(m.size, clients)
	return contender{workers: clients, limit: limit, byBytes: byBytes, op: func(ctx context.Context, t turn) (outcome, error) {
		got, err := l.target.Get(ctx, l.bucket, readKey(m.any(t)), "", nil)
		if err == nil && got.size != m.size {
			err = wrongSize(got.size, m.size)
		}
		return outcome{bytes: got.size, firstByte: got.firstByte}, err
	}}
}

func (m *matrixCell) head(l lane, clients int) contender {
	return contender{workers: clients, limit: talkLimit(clients), op: func(ctx context.Context, t turn) (outcome, error) {
		size, err := l.target.Head(ctx, l.bucket, readKey(m.any(t)))
		if err == nil && size != m.size {
			err = wrongSize(size, m.size)
		}
		return outcome{}, err
	}}
}

// any walks through the objects in an order that no cache expects.
func (m *matrixCell) any(t turn) int { return (t.n*7919 + t.round) % m.readable }

func wrongSize(got, want int64) error {
	return fault.New("bench", fault.IncompleteBody, "", fmt.Errorf("%d bytes instead of %d", got, want))
}

// delete fills before each round what the round deletes: until nothing is left,
// or the time is up.
func (m *matrixCell) delete(l lane, clients int) contender {
	pool := max(clients, m.b.objects(maxDelete, deleteBytes, m.size))
	key := func(i int) string { return fmt.Sprintf("delete/%s/%06d", l.name, i) }
	return contender{
		workers: clients, most: pool, limit: limitAppend,
		begin: func(ctx context.Context, _ int) error { return l.fill(ctx, pool, key, m.body) },
		op: func(ctx context.Context, t turn) (outcome, error) {
			return outcome{}, l.target.Delete(ctx, l.bucket, key(t.n))
		},
	}
}

// multipart is a whole upload: its creation, its parts, its completion.
func (m *matrixCell) multipart(l lane, clients int) contender {
	limit, byBytes := writeLimit(m.size, clients)
	return contender{workers: clients, limit: limit, byBytes: byBytes, end: m.stored("multi", l), op: func(ctx context.Context, t turn) (outcome, error) {
		return outcome{bytes: m.size}, m.upload(ctx, l, m.ring("multi", l, t))
	}}
}

func (m *matrixCell) upload(ctx context.Context, l lane, key string) error {
	id, err := l.target.CreateUpload(ctx, l.bucket, key)
	if err != nil {
		return err
	}
	var etags []string
	for at := int64(0); at < m.size; at += partSize {
		etag, err := l.target.PutPart(ctx, l.bucket, key, id, len(etags)+1, m.body.piece(at, min(at+partSize, m.size)))
		if err != nil {
			return err
		}
		etags = append(etags, etag)
	}
	return l.target.CompleteUpload(ctx, l.bucket, key, id, etags)
}

const (
	pageSize    = 1000
	listedBytes = 16 // bytes of a body in the bucket that is listed
)

// listing measures pages of a thousand keys that begin anywhere in a large bucket.
func (b *bench) listing(ctx context.Context, clients []int) (cells []Cell, err error) {
	err = b.onStage(ctx, slices.Max(clients), func(s *stage) error {
		b.say("matrix: filling a bucket with %d objects", b.cfg.ListKeys)
		body := noise(1, listedBytes)
		if err := s.fill(ctx, b.cfg.ListKeys, listKey, body); err != nil {
			return err
		}
		for _, n := range clients {
			b.say("matrix: list, %d clients", n)
			figures, err := b.measure(ctx, s.contend(false, func(l lane) contender { return b.page(l, n) }))
			if err != nil {
				return err
			}
			cells = append(cells, Cell{Part: "matrix", Op: "list", Concurrency: n, Contenders: figures})
		}
		return nil
	})
	return cells, err
}

func listKey(i int) string { return fmt.Sprintf("folder-%03d/object-%07d", i/pageSize, i) }

// page reads one page, which has to begin where it should and to be full.
func (b *bench) page(l lane, clients int) contender {
	full := min(pageSize, b.cfg.ListKeys-1)
	return contender{workers: clients, limit: talkLimit(clients), op: func(ctx context.Context, t turn) (outcome, error) {
		after := (t.n*7919 + t.round) % max(1, b.cfg.ListKeys-full)
		got, err := l.target.List(ctx, l.bucket, "", listKey(after))
		if err == nil && (len(got.keys) < full || got.keys[0] != listKey(after+1)) {
			err = wrongSize(int64(len(got.keys)), int64(full))
		}
		return outcome{}, err
	}}
}

// writeLimit is what stands against writing a body: below the size from which
// bodies have files of their own, an append and a sync for each; above it, the
// bytes.
func writeLimit(size int64, clients int) (name string, byBytes bool) {
	switch {
	case size <= 4*kib:
		return limitAppend, false
	case size <= 128*kib:
		return limitAppend64, false
	case size < 4*mib:
		return many(clients, limitWrite1, limitWrite1Many), true
	}
	return many(clients, limitWrite10, limitWrite10Many), true
}

// readLimit is what stands against reading one.
func readLimit(size int64, clients int) (name string, byBytes bool) {
	switch {
	case size < 512*kib:
		return talkLimit(clients), false
	case size < 4*mib:
		return many(clients, limitSend1, limitSend1Many), true
	}
	return many(clients, limitSend10, limitSend10Many), true
}

// talkLimit is what stands against a short question and a short answer.
func talkLimit(clients int) string { return many(clients, limitExchange, limitChatter) }

func many(clients int, one, several string) string {
	if clients == 1 {
		return one
	}
	return several
}
