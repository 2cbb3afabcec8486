package bench

import (
	"context"
	"fmt"

	"github.com/minio/crc64nvme"

	"larder/fault"
)

const streamPiece = 64 * kib // of the many small objects

// stream moves one large object and many small ones, one after another, and looks
// at the memory of the server meanwhile.
func (b *bench) stream(ctx context.Context) error {
	size, count := b.cfg.StreamBytes, b.cfg.StreamCount
	if err := b.needRoom(3*size + 2*int64(count)*streamPiece); err != nil {
		return err
	}
	large, small := noise(4, size), noise(5, streamPiece)
	var cells []Cell
	err := b.onStage(ctx, 1, func(s *stage) error {
		for _, step := range []struct {
			op     string
			writes bool
			size   int64
			make   func(lane) contender
		}{
			{"up", true, large.size(), func(l lane) contender { return streamUp(l, large) }},
			{"down", false, large.size(), func(l lane) contender { return streamDown(l, large) }},
			{fmt.Sprintf("%d up", count), true, small.size(), func(l lane) contender { return manyUp(l, small, count) }},
			{fmt.Sprintf("%d down", count), false, small.size(), func(l lane) contender { return manyDown(l, small, count) }},
		} {
			b.say("stream: %s, %s", step.op, sizeName(step.size))
			figures, err := b.measure(ctx, s.contend(step.writes, step.make))
			if err != nil {
				return err
			}
			for i := range figures {
				if figures[i].CPU != nil { // ours
					figures[i].Idle = s.child.idle
				}
			}
			cells = append(cells, Cell{Part: "stream", Op: step.op, Size: step.size, Concurrency: 1, Contenders: figures})
		}
		return nil
	})
	if err != nil {
		return err
	}
	return b.finish("stream", cells)
}

const streamKey = "stream/large"

func streamUp(l lane, body payload) contender {
	return contender{workers: 1, most: 1, limit: limitWrite10, byBytes: true, op: func(ctx context.Context, _ turn) (outcome, error) {
		_, err := l.target.Put(ctx, l.bucket, streamKey, body, condition{})
		return outcome{bytes: body.size()}, err
	}}
}

// streamDown holds what comes against what was sent.
func streamDown(l lane, body payload) contender {
	want := body.checksum()
	return contender{workers: 1, most: 1, limit: limitSend10, byBytes: true, op: func(ctx context.Context, _ turn) (outcome, error) {
		h := crc64nvme.New()
		got, err := l.target.Get(ctx, l.bucket, streamKey, "", h)
		if err == nil && (got.size != body.size() || h.Sum64() != want) {
			err = fault.New("bench.stream", fault.Corrupt, streamKey, fmt.Errorf("%d bytes came, of %d, or other ones", got.size, body.size()))
		}
		return outcome{bytes: got.size, firstByte: got.firstByte}, err
	}}
}

func manyKey(l lane, n int) string { return fmt.Sprintf("stream/%s/%06d", l.name, n) }

func manyUp(l lane, body payload, count int) contender {
	return contender{workers: 1, most: count, whole: true, limit: limitAppend64, op: func(ctx context.Context, t turn) (outcome, error) {
		_, err := l.target.Put(ctx, l.bucket, manyKey(l, t.n), body, condition{})
		return outcome{bytes: body.size()}, err
	}}
}

func manyDown(l lane, body payload, count int) contender {
	return contender{workers: 1, most: count, whole: true, limit: limitExchange, op: func(ctx context.Context, t turn) (outcome, error) {
		got, err := l.target.Get(ctx, l.bucket, manyKey(l, t.n), "", nil)
		if err == nil && got.size != body.size() {
			err = wrongSize(got.size, body.size())
		}
		return outcome{bytes: got.size, firstByte: got.firstByte}, err
	}}
}
