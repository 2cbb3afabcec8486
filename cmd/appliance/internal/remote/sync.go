package remote

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// SyncOptions says what makes two files the same, and what may be done.
type SyncOptions struct {
	Checksum  bool          // compare contents, in place of times
	Window    time.Duration // times that differ by no more are the same
	Delete    bool          // remove what the source does not have
	DeleteAll bool          // likewise, even if the source has nothing
	DryRun    bool          // say what would be done
}

// item is a file or an object on one side of a sync.
type item struct {
	size  int64
	mtime time.Time // of files
	etag  string    // of objects
}

// Sync makes a target like its source, one way. Nothing is removed unless all
// else went well.
func (r *Remote) Sync(ctx context.Context, source, to string, opt SyncOptions) error {
	src, err := Parse(source)
	if err != nil {
		return err
	}
	dst, err := Parse(to)
	if err != nil {
		return err
	}
	if err := checkPair(src, dst, true); err != nil {
		return err
	}
	s := &syncing{r: r, ctx: ctx, opt: opt, src: src, dst: dst, crew: newCrew(r.cfg.Jobs), there: map[string]item{}}
	if err := s.prepare(); err != nil {
		return err
	}
	if s.target.root != nil {
		defer s.target.root.Close() // files in it are closed on their own
	}
	r.progress.start()
	defer r.progress.stop()
	err = s.walk(src, s.found)
	s.crew.wg.Wait()
	if err != nil {
		return err
	}
	if err := r.outcome(ctx, "files"); err != nil {
		return err
	}
	if err := s.remove(); err != nil {
		return err
	}
	return errors.Join(s.summary(), r.outcome(ctx, "files"))
}

// syncing is a run of Sync.
type syncing struct {
	r        *Remote
	ctx      context.Context
	opt      SyncOptions
	src, dst Location
	target   target // of downloads; without a root in a dry run
	crew     *crew

	there map[string]item // what the target has and the source was not found to have yet
	kept  []string        // names that were passed over in the source: they stay in the target
	all   int             // files of the source

	copied, same, removed atomic.Int64
	printing              sync.Mutex // held by who writes to Out
}

// prepare looks at the target. A local one that is not there is empty.
func (s *syncing) prepare() error {
	if !s.src.Remote {
		if info, err := os.Stat(s.src.Path); err != nil {
			return err
		} else if !info.IsDir() {
			return usage("%s is no folder: use larder cp", s.src)
		}
	}
	if !s.dst.Remote {
		if !s.opt.DryRun {
			var err error
			if s.target, err = openTarget(s.dst.Path); err != nil {
				return err
			}
		} else if _, err := os.Stat(s.dst.Path); errors.Is(err, fs.ErrNotExist) {
			return nil
		}
	}
	return s.walk(s.dst, func(name string, i item) { s.there[name] = i })
}

// walk visits what lies below a location, on one goroutine.
func (s *syncing) walk(l Location, visit func(string, item)) error {
	if !l.Remote {
		w := &walker{
			ctx: s.ctx, follow: s.r.cfg.Follow && l == s.src, failed: s.r.fail,
			visit:   func(f file) { visit(f.name, item{size: f.size, mtime: f.mtime}) },
			skipped: func(name, why string) { s.skipped(l, name, why) },
		}
		return w.tree(l.Path)
	}
	local := !s.src.Remote || !s.dst.Remote
	for o, err := range s.r.keys(s.ctx, l.Bucket, l.folder()) {
		if err != nil {
			return err
		}
		name := strings.TrimPrefix(o.Key, l.folder())
		if local && isMarker(name, o.Size) {
			continue
		}
		visit(name, item{size: o.Size, etag: o.ETag})
	}
	return nil
}

func (s *syncing) skipped(l Location, name, why string) {
	if l == s.src {
		s.kept = append(s.kept, name)
		s.r.note("skipped: %s: %s", shown(name), why)
	}
}

// found is told of a file of the source.
func (s *syncing) found(name string, from item) {
	to, there := s.there[name]
	delete(s.there, name)
	s.all++
	s.crew.do(s.ctx, func() {
		err := s.one(name, from, to, there)
		if err != nil && s.ctx.Err() == nil {
			s.r.fail(name, err)
		}
	})
}

// one makes one file of the target like the source's.
func (s *syncing) one(name string, from, to item, there bool) error {
	if s.src.Remote && !s.dst.Remote {
		if err := checkName(name); err != nil {
			return err
		}
	}
	if there && from.size == to.size {
		same, err := s.alike(name, from, to)
		if err != nil {
			return err
		}
		if same {
			s.same.Add(1)
			return nil
		}
	}
	s.copied.Add(1)
	if s.opt.DryRun {
		return s.say("copy   %s", name)
	}
	if err := s.copy(name); err != nil {
		s.copied.Add(-1)
		return err
	}
	s.r.progress.files.Add(1)
	return nil
}

func (s *syncing) copy(name string) error {
	switch {
	case !s.src.Remote:
		return s.r.upload(s.ctx, s.path(s.src, name), s.dst.below(name))
	case !s.dst.Remote:
		return s.r.download(s.ctx, s.src.below(name), s.target, name)
	}
	return s.r.copyObject(s.ctx, s.src.below(name), s.dst.below(name), true)
}

// remove removes what only the target has. It is called when all else went
// well.
func (s *syncing) remove() error {
	if !s.opt.Delete && !s.opt.DeleteAll {
		return nil
	}
	maps.DeleteFunc(s.there, func(name string, _ item) bool { return s.isKept(name) })
	if len(s.there) > 0 && s.all == 0 && !s.opt.DeleteAll {
		return fmt.Errorf("%s is empty or not there, so nothing was deleted; --delete-all deletes all %d files of %s",
			shown(s.src.String()), len(s.there), shown(s.dst.String()))
	}
	surplus := slices.Sorted(maps.Keys(s.there))
	s.removed.Store(int64(len(surplus)))
	switch {
	case s.opt.DryRun:
		return s.wouldRemove(surplus)
	case s.dst.Remote:
		return s.removeObjects(surplus)
	}
	for _, name := range surplus {
		s.removeFile(name)
	}
	return nil
}

// isKept tells whether a name, or a folder that it lies in, was passed over in
// the source.
func (s *syncing) isKept(name string) bool {
	return slices.ContainsFunc(s.kept, func(k string) bool { return name == k || strings.HasPrefix(name, k+"/") })
}

func (s *syncing) wouldRemove(surplus []string) error {
	for _, name := range surplus {
		if err := s.say("delete %s", name); err != nil {
			return err
		}
	}
	return nil
}

func (s *syncing) removeObjects(surplus []string) error {
	d := deletion{r: s.r, ctx: s.ctx}
	for _, name := range surplus {
		l := s.dst.below(name)
		if err := d.add(l.Bucket, l.Key); err != nil {
			return err
		}
	}
	err := d.flush()
	s.removed.Store(int64(d.gone))
	return err
}

// removeFile removes a file, and the folders that it leaves empty.
func (s *syncing) removeFile(name string) {
	if err := s.target.root.Remove(name); err != nil {
		s.removed.Add(-1)
		s.r.fail(name, err)
		return
	}
	for folder := path.Dir(name); folder != "."; folder = path.Dir(folder) {
		if s.target.root.Remove(folder) != nil {
			return // it is not empty
		}
	}
}

func (s *syncing) say(format, name string) error {
	s.printing.Lock()
	defer s.printing.Unlock()
	_, err := fmt.Fprintf(s.r.cfg.Out, format+"\n", shown(name))
	return err
}

func (s *syncing) summary() error {
	s.r.progress.stop()
	would := ""
	if s.opt.DryRun {
		would = "Nothing was done. It would be: "
	}
	_, err := fmt.Fprintf(s.r.cfg.Out, "%s%d copied, %d unchanged, %d deleted.\n", would, s.copied.Load(), s.same.Load(), s.removed.Load())
	return err
}
