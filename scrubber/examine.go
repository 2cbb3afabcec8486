package scrubber

import (
	"context"
	"time"

	"larder/store"
)

// How findings heal.
const (
	healedGood  = "the place is good"
	healedIndex = "made again from the journal"
)

func (s *Scrubber) examineAll(ctx context.Context, suspects []store.Defect) error {
	for _, d := range suspects {
		if err := s.examine(ctx, d); err != nil {
			return err
		}
	}
	return nil
}

// examine looks a second time at what looked damaged, and lists it if it is.
func (s *Scrubber) examine(ctx context.Context, d store.Defect) error {
	if s.seen(d) {
		return nil
	}
	again, err := s.cfg.Store.Recheck(ctx, d)
	if err != nil || again.Verdict != store.Confirmed {
		return err
	}
	healed := false
	if again.Defect.Harm == store.HarmIndex {
		if healed, err = s.cfg.Store.HealRow(ctx, again.Defect); err != nil {
			return err
		}
	}
	s.list(again.Defect, healed)
	return nil
}

// seen tells whether a defect needs no second look: it is listed, or there is
// no room to list it.
func (s *Scrubber) seen(d store.Defect) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := &s.mem.Book
	if e := b.find(d); e != nil {
		e.fill(d, s.cfg.Now())
		return d.Harm != store.HarmIndex // a row may be healed now
	}
	if len(b.Open) >= maxOpen && b.unnamed(d) == nil {
		b.Overflowed++
		return true
	}
	return false
}

// list lists confirmed damage, durably if the disk lets it.
func (s *Scrubber) list(d store.Defect, healed bool) {
	s.mu.Lock()
	now := s.cfg.Now()
	e, fresh := s.mem.Book.add(d, now)
	if e != nil && healed {
		s.mem.Book.heal(e, healedIndex, now)
	}
	var f Finding
	if e != nil {
		f = e.Finding
	}
	s.mu.Unlock()
	if !fresh {
		return
	}
	s.cfg.Log.Error("damage was found", "harm", f.Kind, "bucket", f.Bucket, "key", f.Key, "sequence", f.Sequence,
		"file", f.File, "offset", f.Offset, "reason", f.Reason, "healed", healed)
	s.saveNow(true)
}

// tend looks again at the open finding that was not looked at for longest, if
// that is at least age ago. The caller has the turn.
func (s *Scrubber) tend(ctx context.Context, age time.Duration) error {
	s.mu.Lock()
	e := s.mem.Book.stale(s.cfg.Now(), age)
	s.mu.Unlock()
	if e == nil {
		return nil
	}
	return s.review(ctx, e)
}

// tendAll looks at all open findings again.
func (s *Scrubber) tendAll(ctx context.Context) error {
	s.mu.Lock()
	open := append([]*entry(nil), s.mem.Book.Open...)
	s.mu.Unlock()
	for _, e := range open {
		if err := s.review(ctx, e); err != nil {
			return err
		}
	}
	return nil
}

// review looks at an open finding again, and heals it when it is no more.
func (s *Scrubber) review(ctx context.Context, e *entry) error {
	s.mu.Lock()
	d := e.Defect
	e.checked = s.cfg.Now()
	s.mu.Unlock()
	if identityOf(d) == identityOf(sums()) {
		return nil // only a whole pass can tell
	}
	again, err := s.cfg.Store.Recheck(ctx, d)
	if err != nil {
		return err
	}
	healed := false
	if again.Verdict == store.Confirmed && again.Defect.Harm == store.HarmIndex {
		if healed, err = s.cfg.Store.HealRow(ctx, again.Defect); err != nil {
			return err
		}
	}
	s.settle(e, again, healed)
	return nil
}

func (s *Scrubber) settle(e *entry, again store.Recheck, healed bool) {
	s.mu.Lock()
	b, now := &s.mem.Book, s.cfg.Now()
	switch {
	case healed:
		b.heal(e, healedIndex, now)
	case again.Verdict == store.Good:
		b.heal(e, healedGood, now)
	case again.Verdict == store.Gone:
		b.heal(e, again.Why, now)
		if again.Left != nil {
			b.add(*again.Left, now)
		}
	default:
		e.fill(again.Defect, now)
		s.mu.Unlock()
		return
	}
	f := e.Finding
	s.mu.Unlock()
	s.cfg.Log.Info("damage is no more", "bucket", f.Bucket, "key", f.Key, "sequence", f.Sequence, "file", f.File, "how", f.How)
	s.saveNow(true)
}
