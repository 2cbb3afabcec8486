package store

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"larder/fault"
	"larder/store/vfs"
)

// formatVersion is the version of everything in a data folder,
// docs/format.md. A higher one is refused.
const formatVersion = 1

const (
	versionFile = "VERSION"
	lockFile    = "LOCK"
	blobsDir    = "blobs"
	segmentsDir = "segments"
	indexFile   = "index.db"

	// indexReserve is room for the index on a full disk, see spendReserve.
	indexReserve = "index.reserve"
)

// openFolder takes the folder's lock, checks that the data folder and the blob
// folder belong together, and returns the store's id. An empty folder becomes
// a new store.
func (s *Store) openFolder() (id [16]byte, err error) {
	const op = "store.Open"
	if s.fs, err = s.ground.disk(s.cfg.Dir); err != nil {
		return id, fault.New(op, fault.Internal, s.cfg.Dir, err).WithHint("The data folder cannot be opened.")
	}
	if s.blobFS, err = s.ground.disk(s.cfg.BlobDir); err != nil {
		return id, fault.New(op, fault.Internal, s.cfg.BlobDir, err).WithHint("The blob folder cannot be opened.")
	}
	if s.lock, err = s.fs.Lock(lockFile); err != nil {
		return id, lockFault(s.cfg.Dir, err)
	}
	id, err = readIdentity(s.fs, versionFile)
	if errors.Is(err, fs.ErrNotExist) {
		return s.createFolder()
	}
	if err != nil {
		return id, err
	}
	blobID, err := readIdentity(s.blobFS, blobsDir+"/"+versionFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return id, fault.New(op, fault.ForeignStore, s.cfg.BlobDir, err).
			WithHint("The folder blobs/ of this store is missing. Is its disk mounted?")
	case err != nil:
		return id, err
	case blobID != id:
		return id, fault.New(op, fault.ForeignStore, s.cfg.BlobDir, nil).
			WithHint("The folder blobs/ belongs to another store.")
	}
	return id, nil
}

func lockFault(dir string, err error) error {
	if errors.Is(err, vfs.ErrLocked) {
		return fault.New("store.Open", fault.Locked, dir, err).
			WithHint("Another Larder process uses this data folder. Stop it, or choose another folder.")
	}
	return fault.New("store.Open", fault.Internal, dir, err).
		WithHint("The data folder cannot be written to. Check its owner and its rights.")
}

// createFolder makes a new store. Its VERSION file comes last, so that a crash
// on the way leaves a folder that the next start takes for empty.
func (s *Store) createFolder() (id [16]byte, err error) {
	if err := s.refuseLeftovers(); err != nil {
		return id, err
	}
	if id, err = s.newIdentity(); err != nil {
		return id, err
	}
	steps := []func() error{
		func() error { return s.fs.Mkdir(segmentsDir) },
		func() error { return s.blobFS.Mkdir(blobsDir) },
		func() error { return writeIdentity(s.blobFS, blobsDir, id) },
		func() error { return s.blobFS.SyncDir(".") },
		func() error { return writeIdentity(s.fs, ".", id) },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return id, fault.New("store.Open", fault.Internal, s.cfg.Dir, err).
				WithHint("The data folder cannot be written to. Check its owner and its rights.")
		}
	}
	return id, nil
}

// newIdentity makes the id of a new store. One that stands in blobs/ is taken
// over and never written over: a crash cut the making of this store off, or
// the disk of another one is mounted there and still wants to be known.
func (s *Store) newIdentity() (id [16]byte, err error) {
	id, err = readIdentity(s.blobFS, blobsDir+"/"+versionFile)
	if errors.Is(err, fs.ErrNotExist) {
		rand.Read(id[:]) // never fails, see crypto/rand
		return id, nil
	}
	return id, err
}

// refuseLeftovers refuses a folder that has data but no VERSION: something
// took it away, and starting afresh would hide all that is stored. Blobs alone
// are enough: a new store would take them for orphans and remove them.
func (s *Store) refuseLeftovers() error {
	segments, err := s.fs.List(segmentsDir)
	if errors.Is(err, fs.ErrNotExist) || (err == nil && len(segments) == 0) {
		return s.refuseBlobs("The folder holds blobs but no VERSION file and no segments. Is the data folder's disk mounted?")
	}
	return fault.New("store.Open", fault.ForeignStore, s.cfg.Dir, err).
		WithHint("The folder holds segments but no VERSION file. Restore VERSION from a backup of the folder.")
}

// refuseBlobs fails with fault.ForeignStore when there is anything that may be
// a blob.
func (s *Store) refuseBlobs(hint string) error {
	entries, err := s.blobFS.List(blobsDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	isShard := func(e vfs.Entry) bool { return e.IsDir && len(e.Name) == 2 } // not lost+found
	if err == nil && !slices.ContainsFunc(entries, isShard) {
		return nil
	}
	return fault.New("store.Open", fault.ForeignStore, s.cfg.BlobDir, err).WithHint(hint)
}

// writeIdentity writes dir/VERSION durably: a temporary file, its sync, the
// rename, the directory's sync.
func writeIdentity(f vfs.FS, dir string, id [16]byte) error {
	name := versionFile
	if dir != "." {
		name = dir + "/" + versionFile
	}
	tmp := name + ".new"
	if err := f.Remove(tmp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	file, err := f.Create(tmp)
	if err != nil {
		return err
	}
	text := fmt.Sprintf("larder %d\nstore %s\n", formatVersion, hex.EncodeToString(id[:]))
	_, err = file.WriteAt([]byte(text), 0)
	if err == nil {
		err = file.Sync()
	}
	if cerr := file.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	if err := f.Rename(tmp, name); err != nil {
		return err
	}
	return f.SyncDir(dir)
}

// readIdentity reads a VERSION file. An error of os.ErrNotExist is returned as
// it is.
func readIdentity(f vfs.FS, name string) (id [16]byte, err error) {
	file, err := f.Open(name)
	if err != nil {
		return id, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.NewSectionReader(file, 0, 256))
	if err != nil {
		return id, fault.New("store.Open", fault.Corrupt, name, err)
	}
	var version int
	var hexID string
	if _, err := fmt.Fscanf(strings.NewReader(string(text)), "larder %d\nstore %s\n", &version, &hexID); err != nil {
		return id, fault.New("store.Open", fault.Corrupt, name, err).
			WithHint("The file is damaged. Restore it from a backup of the folder.")
	}
	if version > formatVersion {
		return id, fault.New("store.Open", fault.NewerFormat, name, nil).
			WithHint(fmt.Sprintf("The folder has format %d, this Larder knows %d. Use a newer Larder.", version, formatVersion))
	}
	b, err := hex.DecodeString(hexID)
	if err != nil || len(b) != len(id) || version < 1 {
		return id, fault.New("store.Open", fault.Corrupt, name, err).
			WithHint("The file is damaged. Restore it from a backup of the folder.")
	}
	copy(id[:], b)
	return id, nil
}
