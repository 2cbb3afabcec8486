package remote

import (
	"context"
	"encoding/json"
	"fmt"

	"larder/client"
)

// WatchOptions says where a watch begins and how it looks.
type WatchOptions struct {
	From uint64 // the last change that is known; 0 = from now on
	JSON bool   // one object for each line
}

// eventLine is a line of a watch, for programs.
type eventLine struct {
	Sequence uint64 `json:"sequence"`
	Event    string `json:"event"` // stored, removed, or gap: list anew
	Bucket   string `json:"bucket"`
	Key      string `json:"key,omitempty"`
}

// Watch prints what happens to the keys that begin with a prefix, until the
// context ends. It goes on when the server comes back.
func (r *Remote) Watch(ctx context.Context, text string, opt WatchOptions) error {
	l, err := Parse(text)
	if err != nil {
		return err
	}
	if !l.Remote || l.Bucket == "" {
		return usage("%s names no bucket: write larder:BUCKET/PREFIX", text)
	}
	w, err := r.client.Watch(ctx, l.Bucket, l.Key, opt.From)
	if err != nil {
		return err
	}
	defer w.Close() // it only says goodbye
	r.note("Watching %s from change %d on.", shown(l.String()), w.From())
	for {
		e, err := w.Next(ctx)
		if ctx.Err() != nil {
			return nil // that is how a watch ends
		}
		if err != nil {
			return err
		}
		if err := r.event(l.Bucket, e, opt.JSON); err != nil {
			return err
		}
	}
}

func (r *Remote) event(bucket string, e client.Event, asJSON bool) error {
	line := eventLine{Sequence: e.Sequence, Event: "stored", Bucket: bucket, Key: e.Key}
	switch {
	case e.Gap:
		line.Event = "gap"
	case e.Kind == client.Removed:
		line.Event = "removed"
	}
	if asJSON {
		out := json.NewEncoder(r.cfg.Out)
		out.SetEscapeHTML(false)
		return out.Encode(line)
	}
	what := shown(scheme + bucket + "/" + e.Key)
	if e.Gap {
		what = "not all changes up to here are known: list anew"
	}
	_, err := fmt.Fprintf(r.cfg.Out, "%d %-7s %s\n", e.Sequence, line.Event, what)
	return err
}
