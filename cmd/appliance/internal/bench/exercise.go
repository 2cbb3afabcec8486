package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"larder/fault"
)

// Exercise says how blocks are read and written.
type Exercise struct {
	Readers, Writers int
	BlockSize        int64
	VaryRequest      bool // each write has other bytes and another key
	UseIndex         bool // readers read what a listing names, not what writers have told
	RunTime          time.Duration
	Repeat           int
}

const (
	defaultLanes     = 4 // readers, and as many writers
	defaultBlockSize = 1 << 20
	defaultRunTime   = 10 * time.Second
	maxRunTime       = 24 * time.Hour
	minBlock         = 64
	prefilled        = 32      // blocks, where there are readers and no writers
	exerciseBytes    = 4 << 30 // of blocks at once on the disk
)

func (e Exercise) filled() Exercise {
	if e.Readers == 0 && e.Writers == 0 {
		e.Readers, e.Writers = defaultLanes, defaultLanes
	}
	e.BlockSize = orElse(e.BlockSize, defaultBlockSize)
	if e.RunTime == 0 {
		e.RunTime = defaultRunTime
	}
	e.Repeat = orElse(e.Repeat, 1)
	return e
}

func (e Exercise) check() error {
	switch {
	case e.Readers < 0 || e.Writers < 0 || e.Readers > maxWorkers || e.Writers > maxWorkers:
		return refuse("--readers", nil, fmt.Sprintf("There are up to %d readers and as many writers.", maxWorkers))
	case e.BlockSize < minBlock || e.BlockSize > maxSize:
		return refuse("--block-size", nil, fmt.Sprintf("A block has from %d bytes to 1 GiB.", minBlock))
	case e.RunTime < 0 || e.RunTime > maxRunTime || e.Repeat < 1:
		return refuse("--run-time", nil, "An exercise runs for up to a day, once or more often.")
	}
	return nil
}

// exercise lets readers and writers work side by side. Every block that is read
// is held against the checksum in its key.
func (b *bench) exercise(ctx context.Context) error {
	e := b.cfg.Exercise
	if err := b.needRoom(exerciseBytes + exerciseBytes/2); err != nil {
		return err
	}
	read := Cell{Part: "exercise", Op: "read", Size: e.BlockSize, Concurrency: e.Readers}
	write := Cell{Part: "exercise", Op: "write", Size: e.BlockSize, Concurrency: e.Writers}
	err := b.onStage(ctx, e.Readers+e.Writers, func(s *stage) error {
		var runs []*exercising
		for _, l := range s.readers() {
			runs = append(runs, newExercising(e, l))
		}
		for n := range e.Repeat {
			for _, x := range runs {
				b.say("exercise: %s, run %d of %d, %s", x.lane.name, n+1, e.Repeat, e.RunTime)
				if err := x.run(ctx); err != nil {
					return err
				}
			}
		}
		readLimit, _ := readLimit(max(e.BlockSize, mib), e.Readers)
		writeLimit, _ := writeLimit(max(e.BlockSize, mib), e.Writers)
		for _, x := range runs {
			read.Contenders = append(read.Contenders, b.fraction(x.reads.figures(x.lane, &runs[0].reads), readLimit))
			write.Contenders = append(write.Contenders, b.fraction(x.writes.figures(x.lane, &runs[0].writes), writeLimit))
		}
		return nil
	})
	if err != nil {
		return err
	}
	return b.finishExercise(read, write)
}

// fraction holds bytes a second against one of the limits as it was at the start
// of the run: nothing takes turns in an exercise.
func (b *bench) fraction(f Figures, limit string) Figures {
	i := slices.IndexFunc(b.report.Limits, func(l Figures) bool { return l.Name == limit })
	if i >= 0 && b.report.Limits[i].MiB > 0 {
		reached := f.MiB / b.report.Limits[i].MiB
		f.Limit, f.OfLimit = limit, &Estimate{Value: reached, Low: reached, High: reached, Rounds: 1}
	}
	return f
}

// finishExercise prints what was moved in each second, and the totals.
func (b *bench) finishExercise(read, write Cell) error {
	var cells []Cell
	for _, c := range []Cell{read, write} {
		if c.Concurrency == 0 {
			continue
		}
		cells = append(cells, c)
		for _, f := range c.Contenders {
			for second, moved := range f.PerSecond {
				fmt.Fprintf(b.cfg.Out, "%s %s, second %d: %s MiB\n", f.Name, c.Op, second+1, number(moved))
			}
		}
	}
	return b.finish("exercise", cells)
}

// exercising is the exercise of one lane.
type exercising struct {
	e       Exercise
	lane    lane
	known   blockIndex
	written atomic.Int64 // numbers the blocks
	own     []payload    // the block of each writer

	reads, writes flow
}

func newExercising(e Exercise, l lane) *exercising {
	x := &exercising{e: e, lane: l, known: blockIndex{most: int(max(int64(e.Writers)+prefilled, exerciseBytes/e.BlockSize))}}
	for w := range max(1, e.Writers) {
		x.own = append(x.own, blockOf(int64(w), e.BlockSize))
	}
	return x
}

// run is one run of all readers and writers.
func (x *exercising) run(ctx context.Context) error {
	if x.e.Writers == 0 {
		if err := x.prefill(ctx); err != nil {
			return err
		}
	}
	before, err := x.lane.child.sample(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	until := began.Add(x.e.RunTime)
	x.reads.begin(began)
	x.writes.begin(began)
	var wg sync.WaitGroup
	for w := range x.e.Writers {
		wg.Go(func() { x.writes.work(ctx, until, func() (int64, error) { return x.put(ctx, w) }) })
	}
	for r := range x.e.Readers {
		next := x.chooser(r)
		wg.Go(func() { x.reads.work(ctx, until, func() (int64, error) { return x.get(ctx, until, next) }) })
	}
	wg.Wait()
	took := time.Since(began)
	after, err := x.lane.child.sample(ctx)
	if err != nil {
		return err
	}
	x.reads.end(took, after.since(before))
	x.writes.end(took, after.since(before))
	return ctx.Err()
}

func (x *exercising) prefill(ctx context.Context) error {
	for x.known.count() < prefilled {
		if _, err := x.putBlock(ctx, x.own[0].varied(x.written.Add(1))); err != nil {
			return err
		}
	}
	return nil
}

// put writes the block of a writer, varied when that is wanted, and removes an
// old one when there are too many.
func (x *exercising) put(ctx context.Context, writer int) (int64, error) {
	p := x.own[writer]
	if x.e.VaryRequest {
		p = p.varied(x.written.Add(1))
	}
	return x.putBlock(ctx, p)
}

func (x *exercising) putBlock(ctx context.Context, p payload) (int64, error) {
	key := blockKey(p)
	if _, err := x.lane.target.Put(ctx, x.lane.bucket, key, p, condition{}); err != nil {
		return 0, err
	}
	if old := x.known.add(key); old != "" {
		if err := x.lane.target.Delete(ctx, x.lane.bucket, old); err != nil {
			return 0, err
		}
	}
	return p.size(), nil
}

// get reads the block that next chooses, and verifies it. While there is none it
// waits.
func (x *exercising) get(ctx context.Context, until time.Time, next func(context.Context) (string, error)) (int64, error) {
	for {
		key, err := next(ctx)
		if err != nil {
			return 0, err
		}
		if key != "" {
			defer x.known.release(key)
			return readBlock(ctx, x.lane, key)
		}
		if time.Now().After(until) || ctx.Err() != nil {
			return 0, errIdle
		}
		time.Sleep(time.Millisecond)
	}
}

// chooser gives a reader one key after the other, held so that nobody removes it,
// and "" when there is none.
func (x *exercising) chooser(reader int) func(context.Context) (string, error) {
	random := rand.New(rand.NewPCG(uint64(reader), 1))
	if !x.e.UseIndex {
		return func(context.Context) (string, error) { return x.known.any(random), nil }
	}
	var page listed
	after := ""
	return func(ctx context.Context) (string, error) {
		if len(page.keys) == 0 {
			var err error
			if page, err = x.lane.target.List(ctx, x.lane.bucket, blockPrefix, after); err != nil {
				return "", err
			}
			after = ""
			if page.more {
				after = page.keys[len(page.keys)-1]
			}
		}
		for len(page.keys) > 0 {
			key := page.keys[0]
			if page.keys = page.keys[1:]; x.known.hold(key) {
				return key, nil
			}
		}
		return "", nil
	}
}

// errIdle ends a reader that has found nothing to read: no failure.
var errIdle = fault.New("bench.exercise", fault.Canceled, "", nil)
