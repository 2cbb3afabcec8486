package backup

import (
	"bufio"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"path"
	"path/filepath"
	"strings"
	"time"

	"larder/admin"
	"larder/auth"
	"larder/fault"
	"larder/store"
	"larder/store/vfs"
)

// Config names what is backed up: an open store and an open system.db with the
// data folder that they lie in.
type Config struct {
	Data    string // the data folder
	Files   vfs.FS // of it
	Store   *store.Store
	Auth    *auth.Auth
	Version string // of Larder
	Log     *slog.Logger
	Now     func() time.Time
}

// smallFiles are copied as they are; those in the second list need not exist.
func smallFiles() (must, may []string) {
	return []string{"secret.key"}, []string{"tls.pem"}
}

// run is one backup.
type run struct {
	c        Config
	req      admin.BackupRequest
	progress func(admin.BackupProgress)
	said     time.Time
	stage    string

	*target
	dir    string    // absolute
	before *Manifest // of the last backup, nil when there is none
	next   Manifest
	report admin.BackupReport
}

// Run brings the backup in req.Dir up to date: it holds all that was acknowledged
// before Run was called, and is on stable storage when Run returns without an
// error. After any error the backup that was there before is as good as it was.
//
// While it runs no space is given back to the file system of the data folder.
func Run(ctx context.Context, c Config, req admin.BackupRequest, progress func(admin.BackupProgress)) (admin.BackupReport, error) {
	if c.Now == nil {
		c.Now = time.Now
	}
	if progress == nil {
		progress = func(admin.BackupProgress) {}
	}
	r := &run{c: c, req: req, progress: progress}
	r.report.Started = c.Now().UTC()
	lock, err := r.open()
	if err != nil {
		return admin.BackupReport{}, err
	}
	defer lock.Close()
	if err := r.all(ctx); err != nil {
		return admin.BackupReport{}, err
	}
	return r.report, nil
}

// open takes the backup folder.
func (r *run) open() (lock io.Closer, err error) {
	const op = "backup.Run"
	if r.dir, err = filepath.Abs(r.req.Dir); err != nil || r.req.Dir == "" {
		return nil, fault.New(op, fault.InvalidArgument, r.req.Dir, err).WithHint("Name a folder for the backup.")
	}
	r.report.Dir = r.dir
	if err := refuseWithin(r.dir, r.c.Data); err != nil {
		return nil, err
	}
	files, err := vfs.OS(r.dir)
	if err != nil {
		return nil, fault.New(op, fault.InvalidArgument, r.dir, err).WithHint(
			"The folder for the backup cannot be opened. If it is on a disk of its own, mount that disk; " +
				"for a first backup, make the folder. The user that Larder runs as must be able to write to it.")
	}
	r.target = newTarget(files, r.req.Rate)
	if err := refuseOthers(files, r.dir); err != nil {
		return nil, err
	}
	lock, err = files.Lock(lockFile)
	if errors.Is(err, vfs.ErrLocked) {
		return nil, fault.New(op, fault.Locked, r.dir, err).WithHint("Another backup into this folder is running.")
	}
	if err != nil {
		return nil, r.fault(r.dir, err)
	}
	return lock, nil
}

// refuseWithin keeps a backup out of the folder that it is of.
func refuseWithin(dir, data string) error {
	real := func(p string) string {
		if abs, err := filepath.Abs(p); err == nil {
			p = abs
		}
		if r, err := filepath.EvalSymlinks(p); err == nil {
			p = r
		}
		return p
	}
	rel, err := filepath.Rel(real(data), real(dir))
	if err == nil && rel != ".." && !strings.HasPrefix(rel, "../") {
		return fault.New("backup.Run", fault.InvalidArgument, dir, nil).
			WithHint("The folder lies in the data folder. Choose one on another disk: a backup beside its original is lost with it.")
	}
	return nil
}

// refuseOthers accepts an empty folder and one with a backup.
func refuseOthers(files vfs.FS, dir string) error {
	entries, err := files.List(".")
	if err != nil {
		return fault.New("backup.Run", vfs.CodeOf(err), dir, err).WithHint("The folder for the backup cannot be read.")
	}
	if _, err := files.Stat(markerFile); err == nil {
		return nil
	}
	for _, e := range entries {
		if e.Name != "lost+found" && e.Name != lockFile && e.Name != markerFile+newSuffix {
			return fault.New("backup.Run", fault.InvalidArgument, dir, nil).
				WithHint("The folder is not empty, and no backup is in it. Name an empty folder, or one with an earlier backup.")
		}
	}
	return nil
}

// all does the work in order: the bodies before the journal that names them,
// the manifest after everything, removals after the manifest.
func (r *run) all(ctx context.Context) error {
	p, err := r.c.Store.Picture(ctx)
	if err != nil {
		return err
	}
	defer p.Close()
	if err := r.claim(p.StoreID); err != nil {
		return err
	}
	r.next = Manifest{Format: formatVersion, Store: p.StoreID, Larder: r.c.Version, Started: r.report.Started, Sequence: p.Sequence}
	for _, step := range []func(context.Context, *store.Picture) error{r.blobs, r.segments, r.identities, r.small} {
		if err := step(ctx, p); err != nil {
			return err
		}
	}
	if err := r.sync(); err != nil {
		return err
	}
	r.next.Finished = r.c.Now().UTC()
	text, err := r.next.seal()
	if err != nil {
		return fault.New("backup.Run", fault.Internal, manifestFile, err)
	}
	if err := r.write(manifestFile, text); err != nil {
		return err
	}
	r.report.Finished, r.report.Sequence = r.next.Finished, p.Sequence
	return r.clean(ctx)
}

// claim checks that the backup is of this store, or begins one.
func (r *run) claim(store string) error {
	text, err := readFile(r.files, markerFile, 1024)
	if errors.Is(err, fs.ErrNotExist) {
		return r.write(markerFile, []byte(marker(store)))
	}
	if err != nil {
		return r.fault(markerFile, err)
	}
	of, err := storeOf(string(text))
	if err != nil {
		return err
	}
	if of != store {
		return fault.New("backup.Run", fault.ForeignStore, r.dir, nil).
			WithHint("The folder holds a backup of another store. Name another folder.")
	}
	r.before, err = readManifest(r.files)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// blobs copies the bodies that are not there yet and writes the list of all.
func (r *run) blobs(ctx context.Context, p *store.Picture) error {
	if err := r.mkdir(filesDir); err != nil {
		return err
	}
	list := path.Join(filesDir, "blobs"+newSuffix)
	if err := r.remove(list); err != nil {
		return err
	}
	f, err := r.files.Create(list)
	if err != nil {
		return r.fault(list, err)
	}
	lines := bufio.NewWriterSize(&appender{f: f}, 64<<10)
	err = p.Blobs(ctx, func(b store.PictureFile) error {
		r.say("blobs")
		there, err := r.blob(ctx, p, b)
		if err != nil || !there {
			return err
		}
		r.next.Blobs.Count++
		r.next.Blobs.Bytes += b.Size
		_, err = fmt.Fprintf(lines, "%s %d\n", path.Base(b.Name), b.Size)
		return err
	})
	if err = errors.Join(err, lines.Flush(), f.Close()); err != nil {
		return r.fault(list, err)
	}
	r.next.Blobs.List, err = r.keep(ctx, list, "blobs.list")
	return err
}

// blob copies one blob unless it is there. One that was freed before the picture
// may be gone meanwhile.
func (r *run) blob(ctx context.Context, p *store.Picture, b store.PictureFile) (there bool, err error) {
	if e, err := r.files.Stat(b.Name); err == nil && e.Size == b.Size {
		r.touch(b.Name)
		r.count(b.Size, false)
		return true, nil
	}
	f, err := p.Open(b)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	if r.req.Link {
		if linked, err := r.link(f, b.Name); linked || err != nil {
			return linked, err
		}
	}
	_, _, err = r.copy(ctx, f, b.Size, path.Dir(b.Name), func(string) string { return b.Name })
	r.count(b.Size, true)
	return true, err
}

// link shares a file that never changes with the data folder.
func (r *run) link(f vfs.File, name string) (done bool, err error) {
	if err := r.mkdir(path.Dir(name)); err != nil {
		return false, err
	}
	if err := r.remove(name); err != nil {
		return false, err
	}
	err = vfs.Link(f, r.files, name)
	if errors.Is(err, vfs.ErrNoLink) {
		return false, nil
	}
	if err != nil {
		return false, r.fault(name, err)
	}
	size, err := f.Size()
	r.touch(name)
	r.report.Linked++
	r.count(size, false)
	return true, err
}

// segments copies the journal. A sealed segment whose file has not changed since
// the last backup is not read again.
func (r *run) segments(ctx context.Context, p *store.Picture) error {
	if err := r.mkdir(segmentsDir); err != nil {
		return err
	}
	for _, seg := range p.Segments {
		r.say("segments")
		if err := r.segment(ctx, p, seg); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) segment(ctx context.Context, p *store.Picture, seg store.PictureFile) error {
	f, err := p.Open(seg)
	if err != nil {
		return fault.New("backup.Run", fault.Corrupt, seg.Name, err).WithHint("A segment cannot be read. Run `larder verify`.")
	}
	defer f.Close()
	source, known := "", false
	if seg.Whole {
		source, known = vfs.Version(f)
	}
	if old, ok := r.before.find(seg.Name); ok && known && old.Source == source && old.Size == seg.Size && r.has(old) {
		r.touch(old.Stored)
		r.next.Files = append(r.next.Files, old)
		r.count(seg.Size, false)
		return nil
	}
	entry := File{Name: seg.Name, Size: seg.Size, Source: source}
	base := strings.TrimSuffix(path.Base(seg.Name), ".seg")
	c, wrote, err := r.copy(ctx, f, seg.Size, segmentsDir, func(sum string) string {
		entry.Stored = fmt.Sprintf("%s/%s-%s.seg", segmentsDir, base, sum[:16])
		return entry.Stored
	})
	if err != nil {
		return err
	}
	entry.SHA256 = c.sha256
	r.next.Files = append(r.next.Files, entry)
	r.count(seg.Size, wrote)
	return nil
}

func (r *run) has(f File) bool {
	e, err := r.files.Stat(f.Stored)
	return err == nil && e.Size == f.Size
}

// identities takes a snapshot of system.db.
func (r *run) identities(ctx context.Context, _ *store.Picture) error {
	r.say("users and keys")
	name := path.Join(filesDir, "system.db"+newSuffix)
	if err := r.remove(name); err != nil {
		return err
	}
	f, err := r.files.Create(name) // for the owner alone; SQLite takes an empty file as it is
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		return r.fault(name, err)
	}
	if err := r.c.Auth.Snapshot(ctx, filepath.Join(r.dir, name)); err != nil {
		return err
	}
	entry, err := r.keep(ctx, name, "system.db")
	r.next.Files = append(r.next.Files, entry)
	return err
}

// keep gives a file that was written here its final name.
func (r *run) keep(ctx context.Context, tmp, name string) (File, error) {
	f, err := r.files.Open(tmp)
	if err != nil {
		return File{}, r.fault(tmp, err)
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return File{}, r.fault(tmp, err)
	}
	entry, err := r.store(ctx, f, size, name)
	if err != nil {
		return File{}, err
	}
	return entry, r.remove(tmp)
}

// store copies a small file.
func (r *run) store(ctx context.Context, f vfs.File, size int64, name string) (File, error) {
	entry := File{Name: name, Size: size}
	c, wrote, err := r.copy(ctx, f, size, filesDir, func(sum string) string {
		entry.Stored = fmt.Sprintf("%s/%s-%s", filesDir, name, sum[:16])
		return entry.Stored
	})
	entry.SHA256 = c.sha256
	r.count(size, wrote)
	return entry, err
}

// small copies the small files of the data folder.
func (r *run) small(ctx context.Context, _ *store.Picture) error {
	must, may := smallFiles()
	for i, name := range append(must, may...) {
		f, err := r.c.Files.Open(name)
		if errors.Is(err, fs.ErrNotExist) && i >= len(must) {
			continue
		}
		if err != nil {
			return fault.New("backup.Run", vfs.CodeOfRead(err), name, err)
		}
		size, err := f.Size()
		if err == nil {
			var entry File
			entry, err = r.store(ctx, f, size, name)
			r.next.Files = append(r.next.Files, entry)
		}
		if err = errors.Join(err, f.Close()); err != nil {
			return r.fault(name, err)
		}
	}
	return nil
}

// count adds one file of the backup to the report.
func (r *run) count(size int64, wrote bool) {
	r.report.Files++
	r.report.Bytes += size
	if wrote {
		r.report.Copied++
		r.report.CopiedBytes += size
	}
}

// say reports progress about once a second.
func (r *run) say(stage string) {
	now := r.c.Now()
	if stage == r.stage && now.Sub(r.said) < time.Second {
		return
	}
	r.said, r.stage = now, stage
	r.progress(admin.BackupProgress{Stage: stage, Files: r.report.Files, Bytes: r.report.CopiedBytes})
}

// appender writes a file from its beginning to its end.
type appender struct {
	f   vfs.File
	off int64
}

// Write is io.Writer's.
func (a *appender) Write(p []byte) (int, error) {
	n, err := a.f.WriteAt(p, a.off)
	a.off += int64(n)
	return n, err
}

func validBlob(id string) bool {
	b, err := hex.DecodeString(id)
	return err == nil && len(b) == 16 && strings.ToLower(id) == id
}
