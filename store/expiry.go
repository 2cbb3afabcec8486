package store

import (
	"context"
	"time"

	"larder/fault"
	"larder/store/index"
)

// expiry aborts multipart uploads that were begun long ago and never ended. Their
// parts take space that no listing of objects shows.
//
// Wall clocks jump, so they alone decide nothing: an upload must be old by the
// wall clock and by a clock that goes on from the one at Open at the pace of the
// monotonic clock, and the process must have run for graceTime. A clock that
// jumps ahead changes nothing then, one that is set back makes uploads younger,
// and one that was wrong at boot has time to be set right. An upload that was
// begun before Larder was written was begun by a machine that did not know the
// time yet, and counts from Open on.
type expiry struct {
	store  *Store
	ctx    context.Context // ends at close
	cancel context.CancelFunc
	done   chan struct{}

	wall time.Time            // at Open
	up   func() time.Duration // since then; of time.Now by the monotonic clock
}

// earliest is a time before which no upload can have begun, in Unix nanoseconds:
// the year 2020.
const earliest = 1_577_836_800_000_000_000

const (
	graceTime   = time.Hour
	expiryCheck = 10 * time.Minute // between two looks at all uploads
)

func newExpiry(s *Store) *expiry {
	ctx, cancel := context.WithCancel(context.Background())
	started := s.cfg.Now()
	return &expiry{
		store: s, ctx: ctx, cancel: cancel, done: make(chan struct{}),
		wall: started.Round(0), up: func() time.Duration { return s.cfg.Now().Sub(started) },
	}
}

func (x *expiry) close() {
	x.cancel()
	<-x.done
}

func (x *expiry) run() {
	defer close(x.done)
	age := x.store.cfg.UploadExpiry
	if age < 0 {
		return
	}
	t := time.NewTicker(min(expiryCheck, max(age/10, time.Second)))
	defer t.Stop()
	for {
		select {
		case <-x.ctx.Done():
			return
		case <-t.C:
		}
		x.look(age)
	}
}

// now is the time that both clocks have passed, and false while it is too early
// to trust them.
func (x *expiry) now(age time.Duration) (time.Time, bool) {
	up := x.up()
	steady, wall := x.wall.Add(up), x.store.cfg.Now().Round(0)
	if wall.Before(steady) {
		steady = wall
	}
	return steady, up >= min(graceTime, age)
}

// look aborts what is older than age.
func (x *expiry) look(age time.Duration) {
	now, sure := x.now(age)
	if !sure || x.store.writable() != nil {
		return
	}
	for _, b := range x.store.buckets.all() {
		if err := x.bucket(b, now.Add(-age).UnixNano()); err != nil && x.ctx.Err() == nil {
			x.store.log.Warn("old uploads could not be looked for", "bucket", b.Name, "error", err)
		}
	}
}

// bucket aborts the uploads of a bucket that were begun before a time.
func (x *expiry) bucket(b Bucket, before int64) error {
	q := index.UploadQuery{Bucket: b.ID, Max: MaxPage}
	for {
		page, err := x.store.index.Uploads(q)
		if err != nil {
			return err
		}
		for _, u := range page.Uploads {
			if err := x.ctx.Err(); err != nil {
				return err
			}
			begun := u.Created
			if begun < earliest {
				begun = x.wall.UnixNano()
			}
			if begun >= before {
				continue
			}
			if err := x.abort(b.Name, u); err != nil {
				return err
			}
		}
		if !page.Truncated {
			return nil
		}
		q.KeyMarker, q.UploadMarker = page.NextKey, page.NextUpload
	}
}

// abort goes the way of every abort. That the upload has ended meanwhile is
// fine.
func (x *expiry) abort(bucket string, u index.Upload) error {
	err := x.store.AbortUpload(x.ctx, bucket, u.Key, u.ID)
	switch fault.CodeOf(err) {
	case fault.NoSuchUpload, fault.NoSuchBucket:
		return nil
	case fault.OK:
		x.store.log.Info("an upload that was never completed has been aborted", "upload", u.ID, "begun", time.Unix(0, u.Created))
	}
	return err
}
