package backup

import (
	"context"
	"crypto/sha256"
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

	"larder/auth"
	"larder/fault"
	"larder/store"
	"larder/store/vfs"
)

// restoringFile stands in a data folder while a restore fills it. The store does
// not open such a folder.
const restoringFile = "RESTORING"

const (
	versionFile  = "VERSION"
	identityFile = "system.db"
)

// RestoreRequest asks for a backup to be made a data folder again.
type RestoreRequest struct {
	Dir     string // of the backup
	Data    string // the new data folder: empty, or with a restore that was interrupted
	BlobDir string // for blobs, "" = Data
	Against string // a data folder or a system.db that is newer than the backup; "" = none is known
	// Accept lets keys and users have again what Against took away from them;
	// Revoke takes it away again. With neither, such a restore is refused.
	Accept, Revoke bool
	Log            *slog.Logger
	Now            func() time.Time
	Progress       func(stage string, files, bytes int64)
}

// Restored says what a restore brought back.
type Restored struct {
	Manifest Manifest
	Working  []auth.Key     // keys that can be used
	Revived  []auth.Revival // what Against had taken away
	Revoked  bool           // and was taken away again
	Stats    store.Stats
}

// restore is one restore.
type restore struct {
	RestoreRequest
	from     vfs.FS
	to       *target // the data folder
	blobsTo  *target
	manifest *Manifest
	now      *auth.Identities // from Against
	out      Restored
	files    int64
	bytes    int64
	said     time.Time
}

// Restore makes a data folder out of a backup, and opens it once to see that it
// is whole. On return without an error everything is on stable storage. An
// interrupted restore goes on when it is run again.
func Restore(ctx context.Context, req RestoreRequest) (Restored, error) {
	if req.Now == nil {
		req.Now = time.Now
	}
	if req.Log == nil {
		req.Log = slog.New(slog.DiscardHandler)
	}
	if req.Progress == nil {
		req.Progress = func(string, int64, int64) {}
	}
	if req.BlobDir == "" {
		req.BlobDir = req.Data
	}
	r := &restore{RestoreRequest: req}
	if err := r.openBackup(); err != nil {
		return r.out, err
	}
	lock, err := r.openData()
	if err != nil {
		return r.out, err
	}
	err = r.fill(ctx)
	if cerr := lock.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = r.prove(ctx)
	}
	return r.out, err
}

func (r *restore) openBackup() (err error) {
	const op = "backup.Restore"
	if r.from, err = vfs.OS(r.Dir); err != nil {
		return fault.New(op, fault.InvalidArgument, r.Dir, err).WithHint("The folder with the backup cannot be opened.")
	}
	text, err := readFile(r.from, markerFile, 1024)
	if errors.Is(err, fs.ErrNotExist) {
		return fault.New(op, fault.InvalidArgument, r.Dir, nil).WithHint("There is no backup in this folder.")
	}
	if err != nil {
		return fault.New(op, vfs.CodeOfRead(err), markerFile, err)
	}
	id, err := storeOf(string(text))
	if err != nil {
		return err
	}
	r.manifest, err = readManifest(r.from)
	if errors.Is(err, fs.ErrNotExist) {
		return fault.New(op, fault.InvalidArgument, r.Dir, nil).
			WithHint("The first backup into this folder was not finished, so there is nothing to restore.")
	}
	if err == nil && r.manifest.Store != id {
		err = fault.New(op, fault.ForeignStore, manifestFile, nil).WithHint("Manifest and backup are of different stores.")
	}
	if err != nil {
		return err
	}
	r.out.Manifest = *r.manifest
	return r.look()
}

// look sees that all files but the blobs are there, before anything is done.
func (r *restore) look() error {
	for _, f := range append(r.manifest.Files, r.manifest.Blobs.List) {
		e, err := r.from.Stat(f.Stored)
		if err == nil && e.Size != f.Size {
			err = fmt.Errorf("%d bytes of %d", e.Size, f.Size)
		}
		if err != nil {
			return fault.New("backup.Restore", fault.Corrupt, f.Stored, err).WithHint(hintBackupDamaged)
		}
	}
	list := r.manifest.Blobs.List
	text, err := r.from.Open(list.Stored)
	if err != nil {
		return fault.New("backup.Restore", vfs.CodeOfRead(err), list.Stored, err).WithHint(hintBackupDamaged)
	}
	defer text.Close()
	h := sha256.New()
	if _, err := io.Copy(h, io.NewSectionReader(text, 0, list.Size)); err != nil || hex.EncodeToString(h.Sum(nil)) != list.SHA256 {
		return fault.New("backup.Restore", fault.Corrupt, list.Stored, err).WithHint(hintBackupDamaged)
	}
	return nil
}

// openData takes the new data folder.
func (r *restore) openData() (io.Closer, error) {
	const op = "backup.Restore"
	open := func(dir string) (*target, error) {
		files, err := vfs.OS(dir)
		if err != nil {
			return nil, fault.New(op, fault.InvalidArgument, dir, err).
				WithHint("The folder to restore into cannot be opened. Make it first: mkdir -m 700 " + dir)
		}
		return newTarget(files, 0), nil
	}
	var err error
	if r.to, err = open(r.Data); err != nil {
		return nil, err
	}
	if r.blobsTo, err = open(r.BlobDir); err != nil {
		return nil, err
	}
	lock, err := r.to.files.Lock(lockFile)
	if errors.Is(err, vfs.ErrLocked) {
		return nil, fault.New(op, fault.Locked, r.Data, err).WithHint("A Larder process uses this folder. Restore into an empty one.")
	}
	if err != nil {
		return nil, r.to.fault(lockFile, err)
	}
	if err := errors.Join(r.refuseFull(r.to.files, r.Data), r.refuseFull(r.blobsTo.files, r.BlobDir)); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return lock, nil
}

// refuseFull accepts an empty folder and one with an interrupted restore.
func (r *restore) refuseFull(files vfs.FS, dir string) error {
	entries, err := files.List(".")
	if err != nil {
		return fault.New("backup.Restore", vfs.CodeOf(err), dir, err)
	}
	if _, err := r.to.files.Stat(restoringFile); err == nil {
		return nil
	}
	for _, e := range entries {
		if e.Name != "lost+found" && e.Name != lockFile {
			return fault.New("backup.Restore", fault.InvalidArgument, dir, nil).
				WithHint("The folder to restore into is not empty. Move what is in it elsewhere: Larder removes nothing.")
		}
	}
	return nil
}

// fill copies everything. The file VERSION, without which nothing is a data
// folder, comes last.
func (r *restore) fill(ctx context.Context) error {
	if err := r.compare(ctx); err != nil {
		return err
	}
	if err := r.to.write(restoringFile, []byte("from "+r.Dir+"\n")); err != nil {
		return err
	}
	for _, name := range []string{identityFile + "-wal", identityFile + "-shm"} { // of a restore that was interrupted
		if err := r.to.remove(name); err != nil {
			return err
		}
	}
	for _, f := range r.manifest.Files {
		r.say("journal, users and keys")
		if err := r.file(ctx, f); err != nil {
			return err
		}
	}
	if err := r.copyBlobs(ctx); err != nil {
		return err
	}
	if err := r.identities(ctx); err != nil {
		return err
	}
	if err := errors.Join(r.blobsTo.sync(), r.to.sync()); err != nil {
		return err
	}
	version := []byte(fmt.Sprintf("larder %d\nstore %s\n", 1, r.manifest.Store))
	if err := r.blobsTo.write(path.Join(blobsDir, versionFile), version); err != nil {
		return err
	}
	if err := r.to.write(versionFile, version); err != nil {
		return err
	}
	if err := r.to.remove(restoringFile); err != nil {
		return err
	}
	r.to.dirty["."] = true
	return r.to.sync()
}

// compare finds out who gets back what, before anything is written.
func (r *restore) compare(ctx context.Context) error {
	f, ok := r.manifest.find(identityFile)
	if !ok {
		return fault.New("backup.Restore", fault.Corrupt, identityFile, nil).WithHint("The backup holds no users and keys.")
	}
	old, err := auth.ReadIdentities(ctx, filepath.Join(r.Dir, filepath.FromSlash(f.Stored)))
	if err != nil {
		return err
	}
	r.out.Working = old.Working(r.Now())
	if r.Against == "" {
		return nil
	}
	if r.now, err = readAgainst(ctx, r.Against); err != nil {
		return err
	}
	r.out.Revived, r.out.Revoked = old.Revived(r.now, r.Now()), r.Revoke
	return RefuseRevival(r.out.Revived, r.Accept || r.Revoke)
}

// RefuseRevival names what would be given back, unless that was decided.
func RefuseRevival(revived []auth.Revival, decided bool) error {
	if len(revived) == 0 || decided {
		return nil
	}
	lines := make([]string, len(revived))
	for i, v := range revived {
		lines[i] = "  " + v.String()
	}
	return fault.New("backup.Restore", fault.Conflict, "users and keys", nil).WithHint(
		"This would give back what was taken away after the backup:\n" + strings.Join(lines, "\n") +
			"\nNothing was changed. Run the command again with --keep-revoked to take it away again, or with --yes to let it work.")
}

// readAgainst reads the newer identities, whose server must not run.
func readAgainst(ctx context.Context, name string) (*auth.Identities, error) {
	const op = "backup.Restore"
	dir, file := name, identityFile
	if strings.HasSuffix(name, ".db") {
		dir, file = filepath.Dir(name), filepath.Base(name)
	}
	files, err := vfs.OS(dir)
	if err != nil {
		return nil, fault.New(op, fault.InvalidArgument, name, err).WithHint("--against: the folder cannot be opened.")
	}
	if _, err := files.Stat(lockFile); err == nil {
		lock, err := files.Lock(lockFile)
		if errors.Is(err, vfs.ErrLocked) {
			return nil, fault.New(op, fault.Locked, name, err).WithHint("--against: a Larder process uses this folder. Stop it first.")
		}
		if err == nil {
			defer lock.Close()
		}
	}
	now, err := auth.ReadIdentities(ctx, filepath.Join(dir, file))
	if fault.CodeOf(err) == fault.Corrupt {
		return nil, fault.New(op, fault.Corrupt, name, err).WithHint(
			"--against: system.db cannot be read there, so nobody can tell which keys were deleted or disabled after the backup. " +
				"Leave --against out to restore all the same, and check the list of keys afterwards.")
	}
	return now, err
}

// file brings one file back and checks it.
func (r *restore) file(ctx context.Context, f File) error {
	src, err := r.from.Open(f.Stored)
	if err != nil {
		return fault.New("backup.Restore", vfs.CodeOfRead(err), f.Stored, err).WithHint(hintBackupDamaged)
	}
	defer src.Close()
	if !filepath.IsLocal(f.Name) {
		return fault.New("backup.Restore", fault.Corrupt, f.Name, nil).WithHint(hintBackupDamaged)
	}
	if err := r.to.remove(f.Name); err != nil { // of an interrupted run
		return err
	}
	c, _, err := r.to.copy(ctx, src, f.Size, path.Dir(f.Name), func(string) string { return f.Name })
	if err != nil {
		return err
	}
	if c.sha256 != f.SHA256 {
		return fault.New("backup.Restore", fault.Corrupt, f.Stored, errors.New("the checksum does not match")).WithHint(hintBackupDamaged)
	}
	r.files++
	r.bytes += c.size
	return nil
}

const hintBackupDamaged = "This file of the backup is damaged or missing. Use another backup."

// copyBlobs brings the blobs of the list back.
func (r *restore) copyBlobs(ctx context.Context) error {
	list, err := openList(r.from, r.manifest.Blobs.List.Stored)
	if err != nil {
		return err
	}
	defer list.Close()
	if err := r.blobsTo.mkdir(blobsDir); err != nil {
		return err
	}
	var count int64
	for id, size, more := list.next(); more; id, size, more = list.next() {
		r.say("blobs")
		if err := r.blob(ctx, id, size); err != nil {
			return err
		}
		count++
	}
	if list.err != nil {
		return list.err
	}
	if count != r.manifest.Blobs.Count {
		return fault.New("backup.Restore", fault.Corrupt, r.manifest.Blobs.List.Stored,
			fmt.Errorf("%d of %d lines", count, r.manifest.Blobs.Count)).WithHint(hintBackupDamaged)
	}
	return nil
}

func (r *restore) blob(ctx context.Context, id string, size int64) error {
	name := path.Join(blobsDir, id[:2], id[2:4], id)
	r.files++
	r.bytes += size
	if e, err := r.blobsTo.files.Stat(name); err == nil && e.Size == size {
		r.blobsTo.touch(name)
		return nil
	}
	src, err := r.from.Open(name)
	if err != nil {
		return fault.New("backup.Restore", vfs.CodeOfRead(err), name, err).WithHint(hintBackupDamaged)
	}
	defer src.Close()
	if got, err := src.Size(); err != nil || got != size {
		return fault.New("backup.Restore", fault.Corrupt, name, fmt.Errorf("%d of %d bytes, %v", got, size, err)).WithHint(hintBackupDamaged)
	}
	_, _, err = r.blobsTo.copy(ctx, src, size, path.Dir(name), func(string) string { return name })
	return err
}

// identities ends all sessions of the restored system.db, and takes away again
// what was taken away since, if that was asked for.
func (r *restore) identities(ctx context.Context) error {
	key, err := readFile(r.to.files, "secret.key", 64<<10)
	if err != nil {
		return r.to.fault("secret.key", err)
	}
	return Settle(ctx, filepath.Join(r.Data, identityFile), key, "backup "+r.manifest.Finished.Format(time.RFC3339)+" from "+r.Dir,
		r.now, r.Revoke, r.Log)
}

// Settle finishes the return of an older system.db. now may be nil.
func Settle(ctx context.Context, name string, secretKey []byte, detail string, now *auth.Identities, revoke bool, log *slog.Logger) error {
	a, err := auth.Open(ctx, auth.Config{Path: name, SecretKey: secretKey, Log: log})
	if err != nil {
		return err
	}
	if !revoke {
		now = nil
	}
	return errors.Join(a.Restored(ctx, detail, now), a.Close())
}

// prove opens the restored store, which makes its index, and compares.
func (r *restore) prove(ctx context.Context) error {
	r.Progress("making the index", r.files, r.bytes)
	s, err := store.Open(ctx, store.Config{Dir: r.Data, BlobDir: r.BlobDir, Log: r.Log})
	if err != nil {
		return err
	}
	r.out.Stats = s.Stats()
	if err := s.Close(); err != nil {
		return err
	}
	if got := r.out.Stats.Sequence; got != r.manifest.Sequence {
		return fault.New("backup.Restore", fault.Corrupt, r.Data, fmt.Errorf("change %d of %d", got, r.manifest.Sequence)).
			WithHint("The restored store does not end where the backup did.")
	}
	return nil
}

func (r *restore) say(stage string) {
	if now := r.Now(); now.Sub(r.said) >= time.Second {
		r.said = now
		r.Progress(stage, r.files, r.bytes)
	}
}
