package scrubber

import (
	"context"
	"time"

	"larder/fault"
	"larder/store"
)

// begin begins a pass. The caller has the turn.
func (s *Scrubber) begin() {
	size := s.cfg.Store.InspectSize()
	s.join = newJoin(0, 1, s.room)
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.cfg.Now()
	s.mem.Pass = progress{
		Running: true, Deadline: now.Add(s.cfg.Period), Total: size,
		Report: Report{Pass: s.mem.Pass.Report.Pass + 1, Started: now},
	}
	s.mem.Book.Overflowed = 0
}

// step takes the pass one step further, or begins one, and returns how many
// bytes were read. The caller has the turn. A step that fails is taken again.
func (s *Scrubber) step(ctx context.Context) (int64, error) {
	s.mu.Lock()
	running := s.mem.Pass.Running
	s.mu.Unlock()
	if !running {
		s.begin()
	}
	from, known := s.position()
	in, err := s.cfg.Store.Inspect(ctx, from, known)
	if err != nil {
		return in.Bytes, err
	}
	if err := s.examineAll(ctx, s.suspects(from, in)); err != nil {
		return in.Bytes, err
	}
	next := s.learn(from, in)
	s.advance(from, in, next)
	if next.Stage == store.StageDone {
		return in.Bytes, s.finish(ctx)
	}
	s.saveNow(false)
	return in.Bytes, nil
}

// position is where the pass goes on. What only this process can know of the
// records is lost in a restart: once rows are reached, the journal is skimmed
// again for it.
func (s *Scrubber) position() (store.Cursor, []store.Defect) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := &s.mem.Pass.Cursor
	if s.join == nil && (c.Stage == store.StageRows || c.Skim) {
		s.skim(c, 0, 1)
	}
	return *c, s.mem.Book.known()
}

// skim goes back to the start of the journal, for the records' claims alone.
func (s *Scrubber) skim(c *store.Cursor, share, shares uint64) {
	s.join = newJoin(share, shares, s.room)
	*c = store.Cursor{Skim: true}
	s.mem.Pass.Total += s.cfg.Store.InspectSize()
}

// suspects are all defects that a step gives reason to look at.
func (s *Scrubber) suspects(from store.Cursor, in store.Inspected) []store.Defect {
	out := in.Defects
	if s.join == nil || s.join.full {
		return out
	}
	switch {
	case from.Stage == store.StageRows:
		out = append(out, s.join.strangers(in)...)
	case in.Next.Stage == store.StageRows:
		out = append(out, s.join.missing(in)...)
	}
	return out
}

// learn adds a step's claims to what is known, and says where to go on.
func (s *Scrubber) learn(from store.Cursor, in store.Inspected) store.Cursor {
	next, j := in.Next, s.join
	if j != nil && from.Stage == store.StageJournal {
		j.record(in)
	}
	if j != nil && from.Stage == store.StageRows {
		j.row(in)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case from.Stage == store.StageJournal && next.Stage == store.StageRows && (j == nil || j.full):
		shares := uint64(1)
		if j != nil {
			shares = 2 * j.shares
		}
		s.skim(&next, 0, shares)
	case next.Stage == store.StageDone && j.odd() && !j.second:
		j.again()
		next = store.Cursor{Stage: store.StageRows}
	case next.Stage == store.StageDone && j.share+1 < j.shares:
		s.skim(&next, j.share+1, j.shares)
	}
	return next
}

// advance counts a step that was taken. What is read a second time counts only
// for the rate.
func (s *Scrubber) advance(from store.Cursor, in store.Inspected, next store.Cursor) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := &s.mem.Pass
	p.Cursor = next
	p.Read += in.Bytes
	r := &p.Report
	if from.Skim || from.Stage == store.StageRows && (s.join.share > 0 || s.join.second) {
		return
	}
	r.Bytes += in.Bytes
	r.Segments += in.Segments
	r.Records += in.Records
	r.Blobs += in.Blobs
	r.Rows += in.Rows
}

// finish ends the pass: it looks at all open findings once more, and settles
// whether counters and references are right.
func (s *Scrubber) finish(ctx context.Context) error {
	s.settleSums()
	if err := s.tendAll(ctx); err != nil {
		return err
	}
	s.join = nil
	s.rebuild()
	s.mu.Lock()
	now, p := s.cfg.Now(), &s.mem.Pass
	p.Running, p.Cursor = false, store.Cursor{}
	p.Report.Ended, p.Report.Complete, p.Report.Overflowed = now, true, s.mem.Book.Overflowed
	s.mem.Last, s.mem.Hurry = p.Report, false
	s.mem.Due = p.Report.Started.Add(s.cfg.Period)
	r, open := p.Report, len(s.mem.Book.Open)
	s.mu.Unlock()
	s.cfg.Log.Info("everything that is stored was verified", "pass", r.Pass, "segments", r.Segments, "records", r.Records,
		"blobs", r.Blobs, "rows", r.Rows, "bytes", r.Bytes, "took", r.Ended.Sub(r.Started), "findings", open)
	s.saveNow(true)
	return nil
}

// sums is the defect of counters or references that do not add up.
func sums() store.Defect {
	return store.Defect{
		Harm: store.HarmIndex, File: "index.db", Offset: -1, Length: -1,
		Reason: "the counters of buckets, or the references to bodies, are not what the rows add up to",
	}
}

func (s *Scrubber) settleSums() {
	odd, settled := s.join.odd(), s.join.quiet != 0
	s.mu.Lock()
	defer s.mu.Unlock()
	if odd {
		s.mem.Book.add(sums(), s.cfg.Now())
	} else if e := s.mem.Book.find(sums()); settled && e != nil {
		s.mem.Book.heal(e, healedGood, s.cfg.Now())
	}
}

// rebuild lets the next start make the index again where rows could not be
// healed, unless the journal that it would be made from is damaged.
func (s *Scrubber) rebuild() {
	s.mu.Lock()
	wanted := s.mem.Book.has(func(d store.Defect) bool { return d.Harm == store.HarmIndex })
	spoiled := s.mem.Book.has(func(d store.Defect) bool { return d.Harm != store.HarmIndex && d.Blob == "" })
	s.mu.Unlock()
	switch {
	case wanted && spoiled:
		s.cfg.Log.Error("the index is wrong and cannot be made again, since the journal is damaged")
	case wanted:
		s.cfg.Log.Warn("the index is wrong: the next start makes it again from the journal")
		s.cfg.Store.RebuildLater()
	}
}

// saveNow writes down where the pass stands, every now and then or at once. A
// disk that takes nothing is no reason to stop reading.
func (s *Scrubber) saveNow(now bool) {
	s.mu.Lock()
	due := now || s.cfg.Now().Sub(s.saved).Abs() >= saveEvery
	s.mu.Unlock()
	if !due {
		return
	}
	if err := s.save(); err != nil {
		s.cfg.Log.Warn("the scrubber's state could not be written down", "error", err)
	}
}

// Pass runs one whole pass from the very start, as fast as the disk allows,
// and reports. progress, if not nil, is called now and then. A pass of Run
// that is under way waits for it, and is replaced by it. When ctx ends, or a
// read fails in a way that is no damage, the report is of what was seen,
// Complete is false, and the error says why; a pass of Run then goes on where
// it stood.
func (s *Scrubber) Pass(ctx context.Context, progress func(Status)) (Report, error) {
	if err := s.take(ctx); err != nil {
		return Report{}, err
	}
	defer s.give()
	s.verifying.Store(true)
	defer s.verifying.Store(false)
	if err := s.tendAll(ctx); err != nil {
		return Report{}, err
	}
	s.mu.Lock()
	before, join, began := s.mem.Pass, s.join, s.cfg.Now()
	s.mu.Unlock()
	s.begin()
	err := s.whole(ctx, progress)
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.mem.Pass.Report
	r.Findings, r.Overflowed = s.mem.Book.since(began), s.mem.Book.Overflowed
	if err != nil {
		r.Ended = s.cfg.Now()
		s.mem.Pass, s.join = before, join
	}
	return r, err
}

// whole takes steps until the pass is over.
func (s *Scrubber) whole(ctx context.Context, progress func(Status)) error {
	shown := time.Time{}
	for {
		if err := ctx.Err(); err != nil {
			return fault.New("scrubber.Pass", fault.Canceled, "", context.Cause(ctx))
		}
		if _, err := s.step(ctx); err != nil {
			return err
		}
		st := s.Status()
		if progress != nil && (st.State != Running || time.Since(shown) > 200*time.Millisecond) {
			shown = time.Now()
			progress(st)
		}
		if st.State != Running {
			return nil
		}
	}
}
