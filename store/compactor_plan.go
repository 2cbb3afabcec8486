package store

import (
	"context"
	"fmt"
	"sort"

	"larder/fault"
	"larder/store/journal"
	"larder/store/vfs"
)

// planner decides what of a run of segments is still needed. It asks the index
// about every record. That needs no lock, since what is dead stays dead: a
// version that was replaced is never current again, a body without references
// never gets one, an upload that ended never goes on.
type planner struct {
	store    *Store
	winners  []journal.Segment // all, in the order of their records
	run      []journal.Segment // sealed neighbours of them
	asOf     uint64            // applied before the first look
	verdicts []journal.Verdict // of the run's records, in order
	found    []finding         // of the run's segments
}

// finding is what a plan found of one segment.
type finding struct {
	kept  int64            // bytes of the records that are kept
	other int64            // of them those that bring no body
	stuck map[uint64]int64 // of tombstones among them that may go once this segment has gone
}

// maxStuck bounds what is remembered of tombstones that must stay: for how many
// segments they wait.
const maxStuck = 64

// plan reads the run and decides. It fails with fault.Corrupt where a record is
// damaged: what cannot be read is not rewritten, and the scrubber will find it.
func (s *Store) plan(ctx context.Context, winners, run []journal.Segment, throttle func(context.Context, int) error) (*planner, error) {
	p := &planner{store: s, winners: winners, run: run, asOf: s.index.Applied().Sequence}
	if p.asOf < run[len(run)-1].Last {
		return nil, fault.New("store.Compact", fault.Unavailable, "", nil) // the index is behind
	}
	for _, seg := range run {
		p.found = append(p.found, finding{})
		_, err := s.journal.Scan(ctx, seg.Number, 0, func(sc journal.Scanned) error {
			if sc.Damage != nil {
				return fault.New("store.Compact", fault.Corrupt, "", sc.Damage)
			}
			if err := throttle(ctx, int(sc.Location.Length)); err != nil {
				return err
			}
			return p.take(sc.Record, sc.Location)
		})
		if err != nil {
			return nil, err
		}
	}
	return p, nil
}

// take decides about one record and adds up what that keeps.
func (p *planner) take(r *journal.Record, loc journal.Location) error {
	v, blocker, err := p.verdict(r)
	if err != nil {
		return err
	}
	p.verdicts = append(p.verdicts, v)
	if v == journal.Drop {
		return nil
	}
	f := &p.found[len(p.found)-1]
	f.kept += loc.Length
	if bringsBody(r) {
		return nil // the estimate follows it
	}
	f.other += loc.Length
	f.wait(blocker, loc.Length)
	return nil
}

// wait notes that a tombstone stays because of another segment.
func (f *finding) wait(blocker uint64, bytes int64) {
	if blocker == 0 {
		return
	}
	if f.stuck == nil {
		f.stuck = make(map[uint64]int64)
	}
	if _, there := f.stuck[blocker]; there || len(f.stuck) < maxStuck {
		f.stuck[blocker] += bytes
	}
}

func bringsBody(r *journal.Record) bool {
	switch r.Kind {
	case journal.Put, journal.Part, journal.Body:
		return r.Extents == nil && r.Size > 0
	}
	return false
}

// keep hands the verdicts out to the journal, which asks in the same order.
func (p *planner) keep() func(*journal.Record, journal.Location) (journal.Verdict, error) {
	i := 0
	return func(r *journal.Record, _ journal.Location) (journal.Verdict, error) {
		if i == len(p.verdicts) {
			return journal.Keep, fault.New("store.Compact", fault.Corrupt, "", fmt.Errorf("record %d was not there before", r.Sequence))
		}
		i++
		return p.verdicts[i-1], nil
	}
}

// verdict says what of a record is needed, and of a tombstone that must stay,
// for which segment it waits.
func (p *planner) verdict(r *journal.Record) (v journal.Verdict, blocker uint64, err error) {
	switch r.Kind {
	case journal.Put:
		return p.version(r)
	case journal.Complete:
		if v, _, err = p.version(r); v == journal.Keep || err != nil {
			return v, 0, err
		}
		return p.tombstone(r, journal.KeepEnd)
	case journal.Part:
		row, found, err := p.store.index.Part(r.Upload, r.Part)
		if err != nil || found && row.Sequence == r.Sequence {
			return journal.Keep, 0, err
		}
		if found && row.Sequence < r.Sequence {
			return journal.Keep, 0, p.older(r)
		}
		return p.body(r)
	case journal.Body:
		v, _, err := p.body(r)
		if v == journal.KeepBody {
			v = journal.Keep // as it is
		}
		return v, 0, err
	case journal.UploadCreate:
		_, found, err := p.store.index.Upload(r.Upload)
		return keepIf(found), 0, err
	case journal.BucketCreate:
		_, found, err := p.store.index.Bucket(r.Sequence)
		return keepIf(found), 0, err
	case journal.BucketSet:
		_, found, err := p.store.index.Bucket(r.Bucket)
		return keepIf(found), 0, err
	case journal.Delete, journal.Abort, journal.BucketDelete:
		if r.Kind == journal.Delete && vfs.Sabotaged(vfs.DropTombstone) {
			return journal.Drop, 0, nil
		}
		return p.tombstone(r, journal.Keep)
	}
	return journal.Keep, 0, fault.New("store.Compact", fault.NewerFormat, "", fmt.Errorf("record %d is of kind %d", r.Sequence, r.Kind))
}

func keepIf(needed bool) journal.Verdict {
	if needed {
		return journal.Keep
	}
	return journal.Drop
}

// version is the verdict on a record that brought an object version.
func (p *planner) version(r *journal.Record) (journal.Verdict, uint64, error) {
	row, found, err := p.store.index.Row(r.Bucket, r.Key)
	if err != nil || found && row.Sequence == r.Sequence {
		return journal.Keep, 0, err
	}
	if found && row.Sequence < r.Sequence {
		return journal.Keep, 0, p.older(r)
	}
	return p.body(r)
}

// older is the verdict where the index has an earlier record in the place of one
// that was applied: a page of it is from before, with all its checksums right.
func (p *planner) older(r *journal.Record) error {
	if x, ok := p.store.index.(interface{ MarkDamaged() }); ok {
		x.MarkDamaged()
	}
	return fault.New("store.Compact", fault.Corrupt, indexFile, fmt.Errorf("the row in the place of record %d is older than it", r.Sequence))
}

// body is the verdict on a record that is dead but for its body.
func (p *planner) body(r *journal.Record) (journal.Verdict, uint64, error) {
	if !bringsBody(r) {
		return journal.Drop, 0, nil
	}
	_, found, err := p.store.index.Body(r.Sequence)
	if err == nil && found {
		return journal.KeepBody, 0, nil
	}
	return journal.Drop, 0, err
}

// tombstone is the verdict on a record that ended others: it may go when none of
// them can come back in a replay. Those within the run go with it. The others
// are dead in every segment that was compacted after the record was applied; in
// any other one they may stand as they did when they lived.
func (p *planner) tombstone(r *journal.Record, kept journal.Verdict) (journal.Verdict, uint64, error) {
	if r.Prev == 0 {
		return kept, 0, nil // it does not tell: written before there was compaction
	}
	since := r.Since
	if since == 0 {
		since = r.Prev
	}
	first := sort.Search(len(p.winners), func(i int) bool { return p.winners[i].Last >= since })
	for _, s := range p.winners[first:] {
		if s.First > r.Prev {
			break
		}
		if !p.inRun(s) && (!s.Compacted || s.AsOf < r.Sequence) {
			return kept, s.Number, nil
		}
	}
	return journal.Drop, 0, nil
}

func (p *planner) inRun(s journal.Segment) bool {
	return s.First >= p.run[0].First && s.Last <= p.run[len(p.run)-1].Last
}

// worth tells whether enough of the segment is dead.
func (f *finding) worth(s journal.Segment) bool { return (s.Size-outputHeader-f.kept)*gain >= s.Size }

// kept is about how large the output will be, in bytes.
func (p *planner) kept() int64 {
	n := int64(outputHeader)
	for _, f := range p.found {
		n += f.kept
	}
	return n
}

// whole is what was found of the run.
func (p *planner) whole() finding {
	all := finding{stuck: make(map[uint64]int64)}
	for _, f := range p.found {
		all.kept += f.kept
		all.other += f.other
		for number, bytes := range f.stuck {
			all.stuck[number] += bytes
		}
	}
	return all
}

// worth tells whether the run is to be rewritten, now that it is known what is
// needed: whether one of its segments is worth it, or all are small and become
// one file. Of more than fits into a segment another run will be chosen.
func (p *planner) worth(segmentSize int64) bool {
	if len(p.run) > 1 && p.kept() > segmentSize+segmentSize/gain {
		return false
	}
	small := 0
	for i, s := range p.run {
		if p.found[i].worth(s) {
			return true
		}
		if s.Size <= segmentSize/mergeMin {
			small++
		}
	}
	return small >= mergeMin && small == len(p.run)
}

// size is what the run takes on the disk now.
func (p *planner) size() (n int64) {
	for _, s := range p.run {
		n += s.Size
	}
	return n
}
