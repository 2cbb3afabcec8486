package store_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing/synctest"
	"time"

	"larder/fault"
	"larder/store"
	"larder/store/index"
	"larder/store/vfs"
)

// simDisk is what a power cut strikes: files, and the index that stands on them.
type simDisk struct {
	files   *vfs.Mem
	index   *simIndex
	segment int64 // bytes of a journal segment
}

// simFS lets the index go with its file.
type simFS struct {
	vfs.FS
	index *simIndex
}

func (f simFS) Remove(name string) error {
	err := f.FS.Remove(name)
	if err == nil && name == "index.db" {
		f.index.lose()
	}
	return err
}

// start opens the store, whose background work is done when it returns.
func (d *simDisk) start() (*store.Store, error) {
	var clock time.Duration
	var mu sync.Mutex
	cfg := store.Config{
		Dir: "data", InlineLimit: 400, SegmentSize: d.segment, CacheRows: 3, CompactRate: -1,
		Now: func() time.Time {
			mu.Lock()
			defer mu.Unlock()
			clock += time.Second
			return time.Unix(1_800_000_000, 0).Add(clock)
		},
	}
	s, err := store.OpenOnGround(context.Background(), cfg, store.Ground{
		Disk:  func(string) (vfs.FS, error) { return simFS{d.files, d.index}, nil },
		Index: func(context.Context, index.Config) (store.View, error) { return d.index.view(), nil },
	})
	if err != nil {
		return nil, err
	}
	s.AllowSmallParts()
	synctest.Wait()
	return s, nil
}

// simCut is a moment at which the power may go: the disk, the states of the
// index, and what the clients know.
type simCut struct {
	what   string // happens next
	disk   *vfs.Image
	index  []*simTables
	models []*simModel // as acknowledged
	flying []*simOp    // not answered

	allowed []string // what may be there, once somebody asked
}

// simRun is one run of a workload.
type simRun struct {
	simDisk
	s       *store.Store
	uploads map[string]string // ids by label
	faulty  bool              // operations may fail

	mu     sync.Mutex // guards what is below
	models []*simModel
	flying []*simOp
	record bool
	cuts   []simCut
	errs   []error // broken promises seen on the way
}

func newSimRun(segment int64) *simRun {
	r := &simRun{simDisk: simDisk{files: vfs.NewMem(), index: newSimIndex(), segment: segment}}
	r.uploads = map[string]string{}
	r.models = []*simModel{{buckets: map[string]bool{}, objects: map[simName]simObject{}, uploads: map[string]simUpload{}}}
	r.files.Inject(r.watch)
	r.index.guard = r.guard
	r.index.kept = 5
	return r
}

func (r *simRun) open() (err error) {
	r.s, err = r.start()
	return err
}

// reopen closes the store and starts another one. On an error there is none.
func (r *simRun) reopen(between func()) error {
	err := r.s.Close()
	r.s = nil
	if between(); err != nil && !r.faulty {
		return err
	}
	return r.open()
}

// watch notes the disk as it is before each operation that changes it.
func (r *simRun) watch(op vfs.Op) error {
	if op.Kind.Changes() {
		r.note(fmt.Sprintf("%v %s", op.Kind, op.Name), op.Before)
	}
	return nil
}

func (r *simRun) note(what string, disk func() *vfs.Image) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.record {
		r.cuts = append(r.cuts, simCut{what: what, disk: disk(), index: r.index.states(), models: r.models, flying: r.flying})
	}
}

// guard holds that the index never stands ahead of the durable journal. It does
// not look when something is sabotaged: that must be seen by what is lost.
func (r *simRun) guard(p index.Position) error {
	if os.Getenv("SABOTAGE") != "" {
		return nil
	}
	for _, piece := range r.files.Image().Pieces() {
		var number uint64
		name := piece.Name[max(len(piece.Name)-len("0000000000.seg"), 0):]
		if _, err := fmt.Sscanf(name, "%d.seg", &number); err != nil || number > p.Segment {
			continue
		}
		if piece.Kind == vfs.PieceNames || piece.Kind == vfs.PieceBytes && (number < p.Segment || piece.Offset < p.Offset) {
			r.broken("the index is committed up to record %d while %v %s at %d is not synced", p.Sequence, piece.Kind, piece.Name, piece.Offset)
		}
	}
	return nil
}

func (r *simRun) broken(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.errs = append(r.errs, fmt.Errorf(format, args...))
}

// step runs operations at once, in one batch, and waits until all is quiet.
func (r *simRun) step(ops ...*simOp) {
	r.mu.Lock()
	r.flying = ops
	r.mu.Unlock()
	errs := make([]error, len(ops))
	if len(ops) == 1 {
		errs[0] = r.do(ops[0])
	} else {
		r.together(ops, errs)
	}
	r.land(ops, errs)
	r.noteNow("nothing, right after " + ops[0].name)
	synctest.Wait()
	r.noteNow("nothing")
}

// noteNow notes the disk between operations. It looks at the disk first: an
// operation of the background holds its lock when it comes to note itself.
func (r *simRun) noteNow(what string) {
	image := r.files.Image()
	r.note(what, func() *vfs.Image { return image })
}

func (r *simRun) do(op *simOp) error {
	if r.s == nil {
		return fault.New("sim", fault.Unavailable, "", errors.New("the store is down"))
	}
	return op.do(r)
}

// together brings operations into one batch, in their order.
func (r *simRun) together(ops []*simOp, errs []error) {
	release := func() {}
	if r.s != nil {
		if held, err := r.s.Hold(); err == nil {
			release = held
		}
	}
	var wg sync.WaitGroup
	for i, op := range ops {
		wg.Go(func() { errs[i] = r.do(op) })
		synctest.Wait()
	}
	release()
	wg.Wait()
}

// land brings answers into what the client knows.
func (r *simRun) land(ops []*simOp, errs []error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var unknown []*simOp
	for i, op := range ops {
		if errs[i] != nil && r.faulty {
			unknown = append(unknown, op)
			continue
		}
		var next []*simModel
		for _, m := range r.models {
			after, code := op.effect(m)
			if code == fault.CodeOf(errs[i]) {
				next = append(next, after)
			}
		}
		if len(next) == 0 {
			r.errs = append(r.errs, fmt.Errorf("%s: answered %w", op.name, cmpErr(errs[i])))
			next = r.models
		}
		r.models = next
	}
	r.models = allowedAfter(r.models, unknown)
	r.flying = nil
}

func cmpErr(err error) error {
	if err == nil {
		return errors.New("success")
	}
	return err
}
