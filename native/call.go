package native

import (
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"larder/fault"
	"larder/native/wire"
)

// call is one request. Its goroutine owns it, but for the body, the credit and
// cancel.
type call struct {
	c      *conn
	id     uint32
	req    *wire.Request
	start  time.Time
	ctx    context.Context
	cancel context.CancelCauseFunc
	body   *inbox // nil without one
	credit window // to send, on this stream

	begun bool  // an answer was sent, or a part of it
	sent  int64 // bytes of the answer's body
	err   error // what was answered, or broke the answer off
}

// newCall returns the call of a request; req is nil when it could not be read.
func newCall(c *conn, id uint32, req *wire.Request) *call {
	k := &call{c: c, id: id, req: req, start: time.Now()}
	k.ctx, k.cancel = context.WithCancelCause(c.ctx)
	k.credit.free = wire.StreamCredit
	if req != nil && req.Op.HasBody() {
		k.body = newInbox(c.s.pace, k.give)
	}
	return k
}

// give tells the client of credit: bytes of a body that are gone from memory.
func (k *call) give(stream, connection int64) {
	k.c.owe(connection)
	if stream > 0 {
		_ = k.c.out.send(wire.AppendCredit(nil, k.id, uint32(stream)), false) // its failure ends the reader
	}
}

// abandon ends the call early: the client wants no answer, or is gone.
func (k *call) abandon(why error) {
	k.cancel(why)
	if k.body != nil {
		k.body.fail(why)
	}
}

// run carries the request out.
func (k *call) run() {
	defer k.c.calls.Done()
	defer k.end()
	if err := k.serve(); err != nil {
		k.fail(err)
	}
}

// end recovers from panics, lets go of everything and logs.
func (k *call) end() {
	if p := recover(); p != nil {
		k.c.s.log.Error("panic while answering", "operation", k.req.Op.String(), "panic", p, "stack", string(debug.Stack()))
		k.fail(fault.New("native", fault.Internal, "", fmt.Errorf("panic: %v", p)))
	}
	k.c.over(k.id)
	k.cancel(context.Canceled)
	if k.body != nil {
		k.body.close()
	}
	k.log()
	k.c.finished()
}

// serve is the table of operations.
func (k *call) serve() error {
	switch k.req.Op {
	case wire.OpInfo:
		return k.info()
	case wire.OpListBuckets:
		return k.listBuckets()
	case wire.OpCreateBucket:
		return k.createBucket()
	case wire.OpHeadBucket:
		return k.headBucket()
	case wire.OpDeleteBucket:
		return k.deleteBucket()
	case wire.OpPut:
		return k.put()
	case wire.OpGet:
		return k.get()
	case wire.OpHead:
		return k.head()
	case wire.OpDelete:
		return k.delete()
	case wire.OpDeleteMany:
		return k.deleteMany()
	case wire.OpList:
		return k.list()
	case wire.OpCopy:
		return k.copy()
	}
	return k.serveUploads()
}

func (k *call) serveUploads() error {
	switch k.req.Op {
	case wire.OpCreateUpload:
		return k.createUpload()
	case wire.OpPutPart:
		return k.putPart()
	case wire.OpCopyPart:
		return k.copyPart()
	case wire.OpCompleteUpload:
		return k.completeUpload()
	case wire.OpAbortUpload:
		return k.abortUpload()
	case wire.OpListUploads:
		return k.listUploads()
	case wire.OpListParts:
		return k.listParts()
	case wire.OpWatch:
		return k.watch()
	}
	return fault.New("native", fault.NotImplemented, k.req.Op.String(), nil)
}

// last sends the call's last frames. The stream is over before they leave.
func (k *call) last(frames []byte) error {
	k.begun = true
	return gone(k.c.out.send(frames, k.c.over(k.id)))
}

// gone is an error of the connection: the client is not there any more.
func gone(err error) error {
	if err == nil {
		return nil
	}
	return fault.New("native", fault.Canceled, "", err)
}

// answer sends an ANSWER without a body, whose message build appends.
func (k *call) answer(build func([]byte) []byte) error {
	b, at := wire.BeginAnswer(frames(), k.id, true)
	if build != nil {
		b = build(b)
	}
	return k.last(wire.EndFrame(b, at))
}

// frames is room for an answer of the usual size.
func frames() []byte { return make([]byte, 0, 512) }

// fail answers an error, or ends a body that has begun with it.
func (k *call) fail(err error) {
	k.err = err
	code := fault.CodeOf(err)
	if k.begun {
		_ = k.last(wire.Trailer{Code: code, Length: k.sent}.Append(nil, k.id)) // its failure ends the reader
		return
	}
	_ = k.last(wire.AppendRefusal(nil, k.id, code, fault.HintOf(err)))
}

// log writes the request's one line: an error for what the server must answer
// for, debug for all else.
func (k *call) log() {
	log, level := k.c.s.log, slog.LevelDebug
	if k.serverFailed() {
		level = slog.LevelError
	}
	if !log.Enabled(k.ctx, level) {
		return
	}
	attrs := []slog.Attr{
		slog.String("operation", k.req.Op.String()), slog.String("bucket", clip(k.req.Bucket)), slog.String("key", clip(k.req.Key)),
		slog.String("code", fault.CodeOf(k.err).String()), slog.Int64("sent", k.sent), slog.Duration("took", time.Since(k.start)),
		slog.String("caller", k.c.caller.ID()), slog.String("addr", k.c.addr.String()),
	}
	if k.err != nil {
		attrs = append(attrs, slog.String("error", clip(k.err.Error())))
	}
	log.LogAttrs(context.WithoutCancel(k.ctx), level, "native request", attrs...)
}

// serverFailed tells whether the server, and not the client or a state that the
// log has once, is to blame for how the request ended.
func (k *call) serverFailed() bool {
	code := fault.CodeOf(k.err)
	return code == fault.Internal || code == fault.Corrupt
}

// clip bounds what a client can put into a line of the log.
func clip(s string) string { return s[:min(len(s), 1024)] }

func bigEndian(v uint32) []byte { return binary.BigEndian.AppendUint32(nil, v) }
