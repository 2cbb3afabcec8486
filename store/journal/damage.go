package journal

import (
	"context"
	"errors"
	"fmt"
	"path"

	"larder/fault"
	"larder/store/vfs"
)

// What helps, for the person who starts Larder.
const (
	hintDamaged    = "A stored record is damaged. Larder does not start with it, so that nothing is lost silently. Restore the named file from a backup."
	hintForeign    = "These segments belong to another store. Check which folder or disk is mounted there."
	hintAhead      = "The index is newer than the journal: segment files are missing or older than it. Bring them back, or remove index.db to do without what they held. If this folder was copied while Larder ran, run `larder rebuild-index`."
	hintTail       = "A record that was synced is damaged. Larder does not start with it, so that nothing is lost silently. Restore the named file from a backup. If this folder was copied while Larder ran, copy the folder segments/ again with Larder stopped, or use `larder backup`."
	hintHole       = "A segment file is missing, so records are. Larder does not start with that. Bring the file back from a backup; if there is none, the whole folder has to come from one."
	hintOverlap    = "Two segment files claim the same records. Move away the one that does not belong to this store, for example an old copy that was put back."
	hintStale      = "The index is older than the last compaction. It is made anew from the journal, which is whole: remove index.db."
	hintOtherIndex = "The index does not belong to this journal. Remove index.db: it is made anew from the journal."
)

// Damage is the cause of a fault.Corrupt: where the broken bytes are.
type Damage struct {
	Segment uint64
	File    string // below the FS
	Offset  int64  // bytes into the file
	Reason  string
}

func (d *Damage) Error() string {
	return fmt.Sprintf("segment %d (%s) at offset %d: %s", d.Segment, d.File, d.Offset, d.Reason)
}

// corrupt makes the error that stops a start.
func (c *Config) corrupt(op string, segment uint64, offset int64, reason string) *fault.Error {
	d := &Damage{Segment: segment, File: c.path(segment), Offset: offset, Reason: reason}
	return fault.New(op, fault.Corrupt, fmt.Sprintf("%s at offset %d", d.File, offset), d)
}

func (c *Config) path(segment uint64) string { return path.Join(c.Dir, FileName(segment)) }

// damaged is corrupt for Open.
func (o *opening) damaged(segment uint64, offset int64, reason string) error {
	return o.j.c.corrupt(opOpen, segment, offset, reason).WithHint(hintDamaged)
}

// unreadable classifies an error met while a segment was scanned. What is not a
// failed read is passed on as it is.
func (c *Config) unreadable(ctx context.Context, op string, segment uint64, err error) error {
	var r *readError
	switch {
	case errors.As(err, &r) && vfs.CodeOf(err) == fault.Internal:
		return c.corrupt(op, segment, r.off, r.Error()).WithHint(hintDamaged)
	case errors.As(err, &r):
		return fault.New(op, vfs.CodeOf(err), c.path(segment), err)
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return fault.New(op, fault.Canceled, c.path(segment), context.Cause(ctx))
	}
	return err
}

func (o *opening) unreadable(segment uint64, err error) error {
	return o.j.c.unreadable(o.ctx, opOpen, segment, err)
}

func (o *opening) ahead(what string) error {
	err := fmt.Errorf("the index has records up to %d, but %s", o.from.Sequence, what)
	return fault.New(opOpen, fault.IndexAhead, o.j.c.Dir, err).WithHint(hintAhead)
}
