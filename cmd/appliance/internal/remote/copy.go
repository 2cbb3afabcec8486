package remote

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"larder/client"
)

// largestCopy is what the server copies with one request; more goes in parts.
const (
	largestCopy = 5 << 30
	copyPart    = 1 << 30
)

// Copy copies files and objects to a place, which is a folder when there are
// several. With recursive, what lies below each source is copied below it.
func (r *Remote) Copy(ctx context.Context, sources []string, to string, recursive bool) error {
	from, err := parseAll(sources)
	if err != nil {
		return err
	}
	dst, err := Parse(to)
	if err != nil {
		return err
	}
	for _, src := range from {
		if err := checkPair(src, dst, recursive); err != nil {
			return err
		}
	}
	if dst, err = several(dst, len(from) > 1 && !recursive); err != nil {
		return err
	}
	c := &copying{r: r, ctx: ctx, crew: newCrew(r.cfg.Jobs), dst: dst}
	if c.target, err = c.open(recursive); err != nil {
		return err
	}
	r.progress.start()
	for _, src := range from {
		c.source(src, recursive)
	}
	c.crew.wg.Wait()
	return r.outcome(ctx, "copies")
}

// checkPair refuses what cannot be copied as it is written.
func checkPair(src, dst Location, recursive bool) error {
	switch {
	case !src.Remote && !dst.Remote:
		return usage("neither %s nor %s is on the server: write larder:BUCKET/KEY for one of them", src, dst)
	case src.Remote && src.Bucket == "":
		return usage("%s names no bucket", src)
	case dst.Remote && dst.Bucket == "":
		return usage("%s names no bucket", dst)
	case recursive && (src.stream() || dst.stream()):
		return usage("- is no folder: leave --recursive out")
	case recursive && overlap(src, dst):
		return usage("one of %s and %s lies in the other", src, dst)
	case src.Remote && !recursive && (src.Key == "" || strings.HasSuffix(src.Key, "/")):
		return usage("%s is no object: give --recursive to copy all below it", src)
	case src.stream() && (dst.Key == "" || strings.HasSuffix(dst.Key, "/")):
		return usage("%s names no object, which what is read from - needs", dst)
	}
	return nil
}

// several wants a place for more than one file.
func several(dst Location, many bool) (Location, error) {
	if !many {
		return dst, nil
	}
	if dst.stream() {
		return dst, usage("several sources cannot go to -: use larder cat")
	}
	if dst.Remote {
		if dst.Key != dst.folder() {
			return dst, usage("%s has to end in / when there are several sources", dst)
		}
		return dst, nil
	}
	if info, err := os.Stat(dst.Path); err != nil || !info.IsDir() {
		return dst, usage("%s has to be a folder when there are several sources", dst)
	}
	return dst, nil
}

// copying is a run of Copy.
type copying struct {
	r      *Remote
	ctx    context.Context
	crew   *crew
	dst    Location
	target target // of downloads with recursive
}

func (c *copying) open(recursive bool) (target, error) {
	if c.dst.Remote || !recursive {
		return target{}, nil
	}
	return openTarget(c.dst.Path)
}

// source has one source copied. Failures are named, and the others go on.
func (c *copying) source(src Location, recursive bool) {
	switch {
	case recursive && src.Remote:
		c.below(src)
	case recursive:
		c.tree(src)
	default:
		c.do(src.String(), func() error { return c.one(src) })
	}
}

// do has a copy made when there is room for it.
func (c *copying) do(name string, f func() error) {
	c.crew.do(c.ctx, func() {
		if err := f(); err != nil {
			if c.ctx.Err() == nil {
				c.r.fail(name, err)
			}
			return
		}
		c.r.progress.files.Add(1)
	})
}

// one copies a single file or object.
func (c *copying) one(src Location) error {
	switch {
	case src.Remote && c.dst.stream():
		return c.r.cat(c.ctx, src.String())
	case src.Remote && c.dst.Remote:
		return c.r.copyObject(c.ctx, src, named(c.dst, base(src.Key)), false)
	case src.Remote:
		folder, name, err := destination(c.dst.Path, src.Key)
		if err != nil {
			return err
		}
		to, err := openTarget(folder)
		if err != nil {
			return err
		}
		defer to.root.Close() // files in it are closed on their own
		return c.r.download(c.ctx, src, to, name)
	case src.stream():
		return c.r.uploadStream(c.ctx, c.r.cfg.In, c.dst)
	}
	return c.uploadOne(src)
}

func (c *copying) uploadOne(src Location) error {
	info, err := os.Lstat(src.Path)
	switch {
	case err != nil:
		return err
	case info.Mode()&os.ModeSymlink != 0 && !c.r.cfg.Follow:
		return &os.PathError{Op: "read", Path: src.Path, Err: errNotFollowed}
	case info.IsDir():
		return &os.PathError{Op: "read", Path: src.Path, Err: errFolder}
	}
	return c.r.upload(c.ctx, src.Path, named(c.dst, filepath.Base(src.Path)))
}

// named is the key that a file of a name gets at a place: below it, if it looks
// like a folder.
func named(dst Location, name string) Location {
	if dst.Key == dst.folder() {
		return dst.below(name)
	}
	return dst
}

// tree uploads the files of a folder.
func (c *copying) tree(src Location) {
	w := &walker{
		ctx: c.ctx, follow: c.r.cfg.Follow, failed: c.r.fail,
		visit: func(f file) {
			c.do(f.path, func() error { return c.r.upload(c.ctx, f.path, c.dst.below(f.name)) })
		},
		skipped: func(name, why string) { c.r.note("skipped: %s: %s", shown(name), why) },
	}
	if err := w.tree(src.Path); err != nil && c.ctx.Err() == nil {
		c.r.fail(src.Path, err)
	}
}

// below copies the objects under a prefix.
func (c *copying) below(src Location) {
	found := false
	for e, err := range c.r.keys(c.ctx, src.Bucket, src.folder()) {
		if err != nil {
			if c.ctx.Err() == nil {
				c.r.fail(src.String(), err)
			}
			return
		}
		found = true
		name := strings.TrimPrefix(e.Key, src.folder())
		from := Location{Remote: true, Bucket: src.Bucket, Key: e.Key}
		switch {
		case c.dst.Remote:
			c.do(from.String(), func() error { return c.r.copyObject(c.ctx, from, c.dst.below(name), false) })
		case !isMarker(name, e.Size):
			c.do(from.String(), func() error { return c.r.downloadTo(c.ctx, from, c.target, name) })
		}
	}
	if !found {
		c.r.note("there is nothing below %s", shown(src.String()))
	}
}

// downloadTo is download for names that nobody has checked.
func (r *Remote) downloadTo(ctx context.Context, from Location, to target, name string) error {
	if err := checkName(name); err != nil {
		return err
	}
	return r.download(ctx, from, to, name)
}

// copyObject copies on the server. With stamp the copy says when its source was
// modified, so that the two can be compared.
func (r *Remote) copyObject(ctx context.Context, from, to Location, stamp bool) error {
	return r.persist(ctx, func() error {
		o, err := r.client.Head(ctx, from.Bucket, from.Key, nil)
		if err != nil {
			return err
		}
		source := client.Source{Bucket: from.Bucket, Key: from.Key, ETag: o.ETag}
		opt := &client.CopyOptions{Meta: o.Meta}
		if _, has := parseTime(o.User[mtimeKey]); stamp && !has {
			opt.Meta.User = maps.Clone(o.User)
			if opt.Meta.User == nil {
				opt.Meta.User = map[string]string{}
			}
			opt.Meta.User[mtimeKey] = formatTime(o.Modified)
			opt.ReplaceMeta = true
		}
		if o.Size > largestCopy {
			return r.copyInParts(ctx, source, to, o.Size, opt.Meta)
		}
		_, err = r.client.Copy(ctx, to.Bucket, to.Key, source, opt)
		if err == nil {
			r.progress.bytes.Add(o.Size)
		}
		return err
	})
}

// copyInParts copies what is too large for one request.
func (r *Remote) copyInParts(ctx context.Context, from client.Source, to Location, size int64, meta client.Meta) error {
	return r.inParts(ctx, to, meta, func(u *partedUpload) error {
		for at := int64(0); at < size; at += copyPart {
			number, length := len(u.parts)+1, min(copyPart, size-at)
			part, err := r.client.CopyPart(u.ctx, to.Bucket, to.Key, u.id, number, from, client.Span(at, length))
			if err != nil {
				return err
			}
			u.parts = append(u.parts, client.CompletePart{Number: number, ETag: part.ETag})
			r.progress.bytes.Add(length)
		}
		return nil
	})
}
