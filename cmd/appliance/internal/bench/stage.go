package bench

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"larder/fault"
	"larder/store/vfs"
)

// stage is a fresh server of ours, the foreign ones beside it, and clients of all
// of them.
type stage struct {
	child *child
	lanes []lane
}

// lane is one kind of client of one server, with a bucket there. Several lanes
// may share a bucket: their keys differ.
type lane struct {
	name   string
	target target
	child  *child // nil when the server is foreign
	bucket string
	first  bool // of those that share the bucket: it fills it for all
	writes bool // it has something of its own in writes only

	dial func() (target, error) // connects anew; nil for a foreign server
}

// onStage starts what the configuration names, with clients for so many workers,
// hands it to act and takes it down again.
func (b *bench) onStage(ctx context.Context, workers int, act func(*stage) error) (err error) {
	data, err := os.MkdirTemp(b.dir, "data-")
	if err != nil {
		return noFolder(b.cfg.Dir, err)
	}
	defer os.RemoveAll(data)
	s := &stage{}
	if s.child, err = b.startChild(ctx, data); err != nil {
		return err
	}
	defer s.child.stop()
	defer func() { err = errors.Join(err, s.leave()) }()
	if err := s.own(ctx, b.cfg, workers); err != nil {
		return err
	}
	for _, r := range b.cfg.Targets {
		l := lane{name: r.Name, target: newS3Target(r.URL, r.KeyID, r.Secret, workers), bucket: foreignBucket(), first: true}
		if err := s.add(ctx, l); err != nil {
			return err
		}
	}
	return act(s)
}

// own adds the lanes of our own server.
func (s *stage) own(ctx context.Context, cfg Config, workers int) error {
	for _, p := range protocols() {
		asked := slices.Contains(cfg.Protocols, p.name)
		if len(cfg.Protocols) > 0 && !asked {
			continue
		}
		if p.speaks != nil && !p.speaks(s.child) {
			if asked {
				return refuse("--protocols", nil, fmt.Sprintf("This server does not speak %s.", p.name))
			}
			continue
		}
		l := lane{
			name: p.name, child: s.child, bucket: "bench", first: len(s.lanes) == 0, writes: p.writes,
			dial: func() (target, error) { return p.dial(s.child, workers) },
		}
		var err error
		if l.target, err = l.dial(); err != nil {
			return err
		}
		if err := s.add(ctx, l); err != nil {
			return err
		}
	}
	return nil
}

// readers are the lanes without those that differ in writes only.
func (s *stage) readers() []lane {
	return slices.DeleteFunc(slices.Clone(s.lanes), func(l lane) bool { return l.writes })
}

// forget starts the server again on files that the page cache has forgotten.
func (s *stage) forget(ctx context.Context, cfg Config) error {
	s.child.stop()
	files, err := vfs.OS(s.child.data)
	if err != nil {
		return err
	}
	if err := uncache(files, "."); err != nil {
		return err
	}
	if err := s.child.start(ctx, cfg); err != nil {
		return err
	}
	for i := range s.lanes {
		l := &s.lanes[i]
		if l.dial == nil {
			continue
		}
		if err := l.target.Close(); err != nil {
			return err
		}
		if l.target, err = l.dial(); err != nil {
			return err
		}
	}
	return nil
}

// uncache makes the system forget what a folder's files hold.
func uncache(files vfs.FS, dir string) error {
	entries, err := files.List(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := path.Join(dir, e.Name)
		if e.IsDir {
			err = uncache(files, name)
		} else if err = uncacheFile(files, name); errors.Is(err, fs.ErrNotExist) {
			err = nil // a socket, or what the server has just removed
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func uncacheFile(files vfs.FS, name string) error {
	f, err := files.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), vfs.Uncache(f), f.Close())
}

func (s *stage) add(ctx context.Context, l lane) error {
	s.lanes = append(s.lanes, l)
	if !l.first {
		return nil
	}
	return l.target.CreateBucket(ctx, l.bucket)
}

// foreignBucket is a name that no other bucket has.
func foreignBucket() string { return "larder-bench-" + strings.ToLower(rand.Text()[:12]) }

// leave closes the clients, and removes from foreign servers what was put there.
func (s *stage) leave() error {
	var errs []error
	for _, l := range s.lanes {
		if l.child == nil {
			errs = append(errs, l.empty(context.Background(), ""), l.target.DeleteBucket(context.Background(), l.bucket))
		}
		errs = append(errs, l.target.Close())
	}
	return errors.Join(errs...)
}

const fillers = 16 // clients that fill a bucket, or empty it

// fill puts objects numbered from 0 on, in no order.
func (l lane) fill(ctx context.Context, count int, key func(int) string, body payload) error {
	return atOnce(min(fillers, count), count, func(i int) error {
		_, err := l.target.Put(ctx, l.bucket, key(i), body, condition{})
		return err
	})
}

// fill puts the same objects into the bucket of every server.
func (s *stage) fill(ctx context.Context, count int, key func(int) string, body payload) error {
	for _, l := range s.lanes {
		if !l.first {
			continue
		}
		if err := l.fill(ctx, count, key, body); err != nil {
			return err
		}
	}
	return nil
}

// empty deletes what is below a prefix.
func (l lane) empty(ctx context.Context, prefix string) error {
	for {
		page, err := l.target.List(ctx, l.bucket, prefix, "")
		if err != nil || len(page.keys) == 0 {
			return err
		}
		err = atOnce(fillers, len(page.keys), func(i int) error { return l.target.Delete(ctx, l.bucket, page.keys[i]) })
		if err != nil {
			return err
		}
	}
}

// atOnce calls act for each number below count, on some goroutines, until one
// fails.
func atOnce(workers, count int, act func(int) error) error {
	var next atomic.Int64
	var wg sync.WaitGroup
	errs := make([]error, workers)
	var failed atomic.Bool
	for w := range workers {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < count && !failed.Load(); i = int(next.Add(1)) - 1 {
				if errs[w] = act(i); errs[w] != nil {
					failed.Store(true)
					return
				}
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// needRoom refuses to begin what would fill the disk.
func (b *bench) needRoom(bytes int64) error {
	space, err := b.files.Space()
	if err != nil {
		return err
	}
	if space.Free < bytes {
		return fault.New("bench.Run", fault.NoSpace, filepath.Dir(b.dir), nil).WithHint(fmt.Sprintf(
			"This needs %s of free space, and there are %s. Name another disk with --dir, or smaller --sizes.", sizeName(bytes), sizeName(space.Free)))
	}
	return nil
}

// contend makes a contender of each lane; of those that differ in writes only
// where it is about writes.
func (s *stage) contend(writes bool, make func(lane) contender) []contender {
	lanes := s.lanes
	if !writes {
		lanes = s.readers()
	}
	var out []contender
	for _, l := range lanes {
		c := make(l)
		c.name, c.child = l.name, l.child
		out = append(out, c)
	}
	return out
}
