// Package export writes objects as plain files, for those who want to leave or
// to look. Every byte is verified on its way; no file lies outside the folder
// that was named, and none is written over.
package export

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"path"
	"path/filepath"
	"time"

	"larder/admin"
	"larder/auth"
	"larder/fault"
	"larder/store"
	"larder/store/vfs"
)

// Gate is the part of the data plane's door that an export goes through.
type Gate interface {
	List(ctx context.Context, c auth.Caller, req store.ListRequest) (store.ListPage, error)
	Get(ctx context.Context, c auth.Caller, bucket, key string) (*store.Object, error)
}

// Config names what an export reads from.
type Config struct {
	Gate Gate
	Log  *slog.Logger
	Now  func() time.Time
}

// run is one export.
type run struct {
	Config
	caller   auth.Caller
	req      admin.ExportRequest
	progress func(admin.ExportProgress)
	said     time.Time
	files    vfs.FS
	made     map[string]bool // folders of the last path
	report   admin.ExportReport
}

// Run writes every object of a bucket below a prefix, as it is when its turn
// comes, into an empty folder. An object that cannot be read or written is
// reported and leaves no file; the others go on.
func Run(ctx context.Context, c Config, caller auth.Caller, req admin.ExportRequest, progress func(admin.ExportProgress)) (admin.ExportReport, error) {
	if c.Now == nil {
		c.Now = time.Now
	}
	if progress == nil {
		progress = func(admin.ExportProgress) {}
	}
	r := &run{Config: c, caller: caller, req: req, progress: progress, made: map[string]bool{".": true}}
	if err := r.open(); err != nil {
		return r.report, err
	}
	err := r.pages(ctx)
	if err == nil {
		err = r.files.SyncDir(".")
	}
	return r.report, err
}

func (r *run) open() error {
	const op = "export.Run"
	dir, err := filepath.Abs(r.req.Dir)
	if err == nil && r.req.Dir == "" {
		err = errors.New("no folder")
	}
	if err == nil {
		r.files, err = vfs.OS(dir)
	}
	if err != nil {
		return fault.New(op, fault.InvalidArgument, r.req.Dir, err).
			WithHint("The folder for the files cannot be opened. Make it first; the user that Larder runs as must be able to write to it.")
	}
	entries, err := r.files.List(".")
	if err != nil {
		return fault.New(op, vfs.CodeOf(err), dir, err).WithHint("The folder for the files cannot be read.")
	}
	for _, e := range entries {
		if e.Name != "lost+found" {
			return fault.New(op, fault.InvalidArgument, dir, nil).WithHint("The folder for the files is not empty.")
		}
	}
	return nil
}

func (r *run) pages(ctx context.Context) error {
	list := store.ListRequest{Bucket: r.req.Bucket, Prefix: r.req.Prefix, Max: store.MaxPage}
	for {
		page, err := r.Gate.List(ctx, r.caller, list)
		if err != nil {
			return err
		}
		for _, info := range page.Objects {
			if err := r.object(ctx, info.Key); err != nil {
				return err
			}
		}
		if !page.Truncated {
			return nil
		}
		list.After = page.Next
	}
}

// object writes one file. Its error ends the export; what concerns this object
// alone is reported.
func (r *run) object(ctx context.Context, key string) error {
	below, err := r.Gate.List(ctx, r.caller, store.ListRequest{Bucket: r.req.Bucket, Prefix: key + "/", Max: 1})
	if err != nil {
		return err
	}
	name := Name(key, len(below.Objects) > 0)
	n, err := r.write(ctx, key, name)
	switch code := fault.CodeOf(err); {
	case err == nil:
	case ctx.Err() != nil || code == fault.NoSpace || code == fault.ReadOnly:
		return err
	case code == fault.NoSuchKey: // deleted meanwhile
		return nil
	default:
		r.report.Failed++
		r.Log.Warn("an object could not be exported", "bucket", r.req.Bucket, "key", key, "error", err)
		r.say(admin.ExportProgress{Key: key, Failure: reason(err)})
		return nil
	}
	r.report.Files++
	r.report.Bytes += n
	if name != key {
		r.report.Renamed++
		r.say(admin.ExportProgress{Key: key, Path: name})
	} else if now := r.Now(); now.Sub(r.said) >= time.Second {
		r.said = now
		r.say(admin.ExportProgress{})
	}
	return nil
}

func reason(err error) string {
	if hint := fault.HintOf(err); hint != "" {
		return hint
	}
	return fault.CodeOf(err).String()
}

func (r *run) say(p admin.ExportProgress) {
	p.Files, p.Bytes = r.report.Files, r.report.Bytes
	r.progress(p)
}

// write writes one file under another name first, so that a file that is there
// is whole.
func (r *run) write(ctx context.Context, key, name string) (int64, error) {
	o, err := r.Gate.Get(ctx, r.caller, r.req.Bucket, key)
	if err != nil {
		return 0, err
	}
	defer o.Close()
	if err := r.mkdir(path.Dir(name)); err != nil {
		return 0, err
	}
	tmp := path.Join(path.Dir(name), partFile)
	size, err := r.fill(ctx, o, tmp)
	if err == nil {
		err = r.place(tmp, name)
	}
	if err != nil {
		_ = r.files.Remove(tmp) // it may not be there
	}
	return size, err
}

// partFile is the name of the file that is being written; no key has it.
const partFile = "%part"

func (r *run) fill(ctx context.Context, o *store.Object, name string) (int64, error) {
	if err := r.files.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, writeFault(name, err)
	}
	f, err := r.files.Create(name)
	if err != nil {
		return 0, writeFault(name, err)
	}
	size := o.Info().Size
	_, err = o.CopyRange(ctx, &appender{f: f}, 0, size)
	if err == nil {
		if err = f.Sync(); err != nil {
			err = writeFault(name, err)
		}
	}
	if cerr := f.Close(); err == nil && cerr != nil {
		err = writeFault(name, cerr)
	}
	return size, err
}

func (r *run) place(tmp, name string) error {
	if _, err := r.files.Stat(name); err == nil {
		return writeFault(name, fs.ErrExist)
	}
	if err := r.files.Rename(tmp, name); err != nil {
		return writeFault(name, err)
	}
	return nil
}

// mkdir makes a folder and those above it.
func (r *run) mkdir(dir string) error {
	if r.made[dir] {
		return nil
	}
	if err := r.mkdir(path.Dir(dir)); err != nil {
		return err
	}
	if err := r.files.Mkdir(dir); err != nil {
		return writeFault(dir, err)
	}
	if len(r.made) > 1000 {
		r.made = map[string]bool{".": true}
	}
	r.made[dir] = true
	return nil
}

func writeFault(name string, err error) error {
	return fault.New("export", vfs.CodeOf(err), name, err).WithHint("The file cannot be written: " + err.Error())
}

// appender writes a file from its beginning to its end. It has no ReadFrom, so
// what it gets was verified in memory.
type appender struct {
	f   vfs.File
	off int64
}

// Write is io.Writer's.
func (a *appender) Write(p []byte) (int, error) {
	n, err := a.f.WriteAt(p, a.off)
	a.off += int64(n)
	if err != nil {
		err = writeFault("", err)
	}
	return n, err
}
