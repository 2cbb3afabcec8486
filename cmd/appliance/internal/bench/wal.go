package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"larder/fault"
)

const (
	walRacers  = 8         // that want to write the next entry of one log
	walWatched = 4         // chains of a cell that a follower follows
	walBytes   = 512 * mib // of the payloads that a round may leave
	coldBytes  = 256 * mib
	maxCold    = 500 // payloads of a cold read
)

// wal does what a database does that keeps its log in a store: each commit is a
// payload that is put, and a small object that is replaced only if nobody else has
// replaced it meanwhile.
func (b *bench) wal(ctx context.Context) error {
	var cells []Cell
	chains := b.concurrency(1, 4, 16, 64)
	for _, size := range b.sizes(4*kib, mib, 16*mib) {
		if err := b.needRoom(2*walBytes + 4*int64(slices.Max(chains))*size); err != nil {
			return err
		}
		err := b.onStage(ctx, slices.Max(chains)+walWatched+walRacers, func(s *stage) error {
			some, err := b.commits(ctx, s, size, chains)
			if err != nil {
				return err
			}
			raced, err := b.races(ctx, s, size)
			if err != nil {
				return err
			}
			cold, err := b.cold(ctx, s, size)
			cells = append(append(append(cells, some...), raced), cold)
			return err
		})
		if err != nil {
			return err
		}
	}
	return b.finish("wal", cells)
}

// commits measures independent chains, with followers that poll and, where the
// client can, with followers that wait for hints.
func (b *bench) commits(ctx context.Context, s *stage, size int64, chains []int) ([]Cell, error) {
	var cells []Cell
	body := noise(size, size)
	for _, n := range chains {
		b.say("wal: %s, %d chains", sizeName(size), n)
		var contenders []contender
		for _, l := range s.readers() {
			for _, way := range waysToFollow(l) {
				c := &committing{lane: l, body: body, chains: n, way: way}
				contenders = append(contenders, c.contender())
			}
		}
		figures, err := b.measure(ctx, contenders)
		if err != nil {
			return nil, err
		}
		cells = append(cells, Cell{Part: "wal", Op: "commit", Size: size, Concurrency: n, Contenders: figures})
	}
	return cells, nil
}

// committing is a cell's contender: some chains with one writer each.
type committing struct {
	lane   lane
	body   payload
	chains int
	way    wayToFollow

	writers   []*walLog // of this round
	followers []*follower
	lags      lags
}

func (c *committing) contender() contender {
	limit, byBytes := writeLimit(c.body.size(), c.chains)
	return contender{
		name: c.lane.name + ", " + c.way.name, child: c.lane.child, workers: c.chains, limit: limit, byBytes: byBytes,
		most:  int(max(int64(c.chains), walBytes/c.body.size())),
		begin: c.begin, end: c.end,
		op: func(ctx context.Context, t turn) (outcome, error) {
			err := c.writers[t.worker].commit(ctx, c.lane, c.body)
			return outcome{bytes: c.body.size()}, err
		},
		describe: func(f *Figures) { f.Lag = latencyOf(c.lags.took) },
	}
}

// begin makes a fresh log for each chain and lets followers follow some.
func (c *committing) begin(ctx context.Context, round int) error {
	c.writers, c.followers = nil, nil
	for i := range c.chains {
		c.writers = append(c.writers, newWALLog(fmt.Sprintf("%s-%s-%d-%d-%d", c.lane.name, c.way.word, c.chains, round, i)))
	}
	for _, w := range c.writers[:min(walWatched, c.chains)] {
		f, err := c.way.follow(ctx, c.lane, w)
		if err != nil {
			return err
		}
		c.followers = append(c.followers, f)
	}
	return nil
}

// end waits until the followers have seen everything, and holds what is stored
// against what was committed.
func (c *committing) end(ctx context.Context, _ int) error {
	var errs []error
	for _, f := range c.followers {
		seen, err := f.finish()
		c.lags.add(seen)
		errs = append(errs, err)
	}
	for _, w := range c.writers {
		errs = append(errs, w.audit(ctx, c.lane))
	}
	return errors.Join(errs...)
}

// races lets several writers want the next entry of one log: the first one, which
// makes the log, or a later one. One must win each time, and what the others had
// put must be gone in the end.
func (b *bench) races(ctx context.Context, s *stage, size int64) (Cell, error) {
	b.say("wal: %s, races of %d", sizeName(size), walRacers)
	cell := Cell{Part: "wal", Op: "race", Size: size, Concurrency: walRacers}
	body := noise(size, size)
	var contenders []contender
	for _, l := range s.readers() {
		contenders = append(contenders, raceOf(l, body))
	}
	var err error
	cell.Contenders, err = b.measure(ctx, contenders)
	return cell, err
}

func raceOf(l lane, body payload) contender {
	var logs []*walLog
	limit, byBytes := writeLimit(body.size(), walRacers)
	return contender{
		name: l.name, child: l.child, workers: 1, limit: limit, byBytes: byBytes,
		most:  int(max(2, walBytes/body.size()/walRacers)),
		begin: func(context.Context, int) error { logs = nil; return nil },
		op: func(ctx context.Context, t turn) (outcome, error) {
			if t.n%2 == 0 {
				logs = append(logs, newWALLog(fmt.Sprintf("%s-race-%d-%d", l.name, t.round, t.n)))
			}
			err := logs[len(logs)-1].race(ctx, l, body)
			return outcome{bytes: walRacers * body.size()}, err
		},
		end: func(ctx context.Context, _ int) error {
			var errs []error
			for _, w := range logs {
				errs = append(errs, w.audit(ctx, l))
			}
			return errors.Join(errs...)
		},
	}
}

// cold measures reads that find neither rows nor bytes in memory: the server is
// started again on files that the page cache has forgotten.
func (b *bench) cold(ctx context.Context, s *stage, size int64) (Cell, error) {
	b.say("wal: %s, cold reads", sizeName(size))
	cell := Cell{Part: "wal", Op: "cold read", Size: size, Concurrency: 1}
	count := max(4, b.objects(maxCold, coldBytes, size))
	key := func(i int) string { return fmt.Sprintf("cold/%06d", i) }
	if err := s.fill(ctx, count, key, noise(size, size)); err != nil {
		return cell, err
	}
	var contenders []contender
	for i, l := range s.lanes {
		if l.child == nil || l.writes {
			continue
		}
		contenders = append(contenders, contender{
			name: l.name, child: l.child, workers: 1, most: count,
			begin: func(ctx context.Context, _ int) error { return s.forget(ctx, b.cfg) },
			op: func(ctx context.Context, t turn) (outcome, error) {
				got, err := s.lanes[i].target.Get(ctx, l.bucket, key(t.n), "", nil)
				if err == nil && got.size != size {
					err = wrongSize(got.size, size)
				}
				return outcome{bytes: got.size, firstByte: got.firstByte}, err
			},
		})
	}
	var err error
	cell.Contenders, err = b.measure(ctx, contenders)
	return cell, err
}

// audit holds the store against a log: every payload that an entry names is there
// and no other one. Then it removes them.
func (w *walLog) audit(ctx context.Context, l lane) error {
	if w.etag == "" {
		return nil
	}
	entries, _, err := w.read(ctx, l, "")
	if err != nil {
		return err
	}
	if len(entries) == 0 || entries[len(entries)-1].number != w.count() {
		return fault.New("bench.wal", fault.Corrupt, w.key(), fmt.Errorf("the log ends otherwise than after %d commits", w.count()))
	}
	there := map[string]bool{}
	for after := ""; ; {
		page, err := l.target.List(ctx, l.bucket, w.payloads(), after)
		if err != nil {
			return err
		}
		for _, key := range page.keys {
			there[key], after = true, key
		}
		if !page.more {
			break
		}
	}
	for _, key := range w.committed() {
		if !there[key] {
			return fault.New("bench.wal", fault.NoSuchKey, key, errors.New("the log names it"))
		}
		delete(there, key)
	}
	for key := range there {
		return fault.New("bench.wal", fault.Corrupt, key, errors.New("no log names this payload: an orphan"))
	}
	return errors.Join(l.empty(ctx, w.payloads()), l.target.Delete(ctx, l.bucket, w.key()))
}
