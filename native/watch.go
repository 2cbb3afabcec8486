package native

import (
	"context"
	"errors"

	"larder/fault"
	"larder/native/wire"
	"larder/store"
)

// watch sends an event for each change under a prefix until the client cancels,
// or the right to list is taken away.
func (k *call) watch() error {
	r, g := k.req, k.c.s.gate
	w, err := g.Watch(k.ctx, k.c.caller, r.Bucket, r.Prefix, r.From)
	if err != nil {
		return err
	}
	defer w.Close()
	b, at := wire.BeginAnswer(frames(), k.id, false)
	k.begun = true
	if err := gone(k.c.out.send(wire.EndFrame(wire.AppendPosition(b, w.From()), at), false)); err != nil {
		return err
	}
	for {
		change, err := w.Next(k.ctx)
		if err == nil {
			err = g.MayWatch(k.ctx, k.c.caller, r.Bucket, r.Prefix)
		}
		if err != nil {
			return k.whyEnded(err)
		}
		if err := gone(k.c.out.send(eventOf(change).Append(b[:0], k.id), false)); err != nil {
			return err
		}
	}
}

// whyEnded prefers what the watch was canceled with to the mere fact.
func (k *call) whyEnded(err error) error {
	var f *fault.Error
	if cause := context.Cause(k.ctx); errors.As(cause, &f) {
		return f
	}
	return err
}

func eventOf(c store.Change) wire.Event {
	e := wire.Event{Sequence: c.Sequence, Key: c.Key, Gap: c.Gap, Kind: wire.Stored}
	switch {
	case c.Gap:
		e.Kind = 0
	case c.Removed:
		e.Kind = wire.Removed
	}
	return e
}
