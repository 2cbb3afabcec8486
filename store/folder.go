package store

import (
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"slices"
	"strings"
	"syscall"

	"larder/fault"
	"larder/store/vfs"
)

const (
	lockFile    = "LOCK"
	blobsDir    = "blobs"
	segmentsDir = "segments"
	indexFile   = "index.db"

	// indexReserve is room for the index on a full disk, see spendReserve.
	indexReserve = "index.reserve"

	// restoringFile stands in a folder as long as a restore into it is not
	// finished.
	restoringFile = "RESTORING"

	// markFile is made by the first start that came as far as the journal.
	markFile = blobsDir + "/MARK"
)

// openFolder takes the folder's lock, checks that the data folder and the blob
// folder belong together, and returns the store's id. An empty folder becomes
// a new store.
//
// It looks before it takes the lock, so that a start that is refused leaves not
// even a lock file, and again when it has it: another process may have been
// at work.
func (s *Store) openFolder() (id [16]byte, err error) {
	if s.fs, err = s.ground.disk(s.cfg.Dir); err != nil {
		return id, openFault(s.cfg.Dir, err)
	}
	if s.blobFS, err = s.ground.disk(s.cfg.BlobDir); err != nil {
		return id, openFault(s.cfg.BlobDir, err)
	}
	if id, _, err = s.identify(); err != nil {
		return id, err
	}
	lock, err := s.fs.Lock(lockFile)
	if err != nil {
		return id, lockFault(s.cfg.Dir, err)
	}
	locks := locks{lock}
	s.lock = &locks
	id, exists, err := s.identify()
	if err != nil {
		return id, err
	}
	if !exists {
		if id, err = s.createFolder(); err != nil {
			return id, err
		}
	}
	if s.cfg.BlobDir == s.cfg.Dir {
		return id, nil
	}
	// A copy of the data folder has a lock of its own.
	if lock, err = s.blobFS.Lock(blobsDir + "/" + versionFile); err != nil {
		return id, lockFault(s.cfg.BlobDir, err)
	}
	locks = append(locks, lock)
	return id, nil
}

// locks are the locks of one store.
type locks []io.Closer

// Close gives the locks back.
func (l *locks) Close() error {
	var errs []error
	for _, lock := range *l {
		errs = append(errs, lock.Close())
	}
	return errors.Join(errs...)
}

// identify finds out whose the folders are, without changing anything. exists
// is false where a new store may be made.
func (s *Store) identify() (id [16]byte, exists bool, err error) {
	if err := s.refuseUnfinished(); err != nil {
		return id, false, err
	}
	id, err = s.readIdentity(versionFile)
	if errors.Is(err, fs.ErrNotExist) {
		return id, false, s.refuseLeftovers()
	}
	if err != nil {
		return id, false, err
	}
	blobID, err := s.readBlobIdentity()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = foreign(s.cfg.BlobDir, "The folder blobs/ of this store is not here. "+
			"If it is on a disk of its own, mount that disk; if it is in another place, name that place with the setting blob-dir.")
	case err == nil && blobID != id:
		err = foreign(s.cfg.BlobDir, "The folder blobs/ belongs to another store than the data folder "+s.cfg.Dir+
			". Check the settings data and blob-dir, and which disks are mounted there.")
	case err == nil:
		err = s.refuseLostJournal()
	}
	return id, true, err
}

// refuseUnfinished refuses folders that are not to be opened now, whatever they
// hold.
func (s *Store) refuseUnfinished() error {
	if _, err := s.fs.Stat(restoringFile); err == nil {
		return foreign(s.cfg.Dir, "A restore into this folder was not finished. Run `larder restore` again: it goes on where it stopped.")
	}
	if space, err := s.fs.Space(); err == nil && space.ReadOnly {
		return openFault(s.cfg.Dir, syscall.EROFS)
	}
	return nil
}

// refuseLeftovers refuses a folder that has data but no VERSION: something
// took it away, and starting afresh would hide all that is stored. Blobs alone
// are enough: a new store would take them for orphans and remove them.
func (s *Store) refuseLeftovers() error {
	segments, err := s.segmentFiles()
	switch {
	case err != nil:
		return openFault(s.cfg.Dir, err)
	case segments > 0:
		return foreign(s.cfg.Dir, "The folder holds segments but no VERSION file. Restore VERSION from a backup of the folder; "+
			"it is the same file as blobs/VERSION.")
	case s.mayHoldBlobs():
		return foreign(s.cfg.BlobDir, "The folder holds the blobs of a store, and the data folder "+s.cfg.Dir+
			" is empty. If that one is on a disk of its own, mount that disk; else restore it from a backup. Nothing was changed.")
	}
	return s.refuseOtherBlobs()
}

// refuseOtherBlobs lets a new store be made beside a blobs/VERSION only when
// that is left over from a start which a crash cut off. Else it is the mark of
// a store that has no blob yet and whose data folder is not here.
func (s *Store) refuseOtherBlobs() error {
	blobID, err := s.readBlobIdentity()
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if id, err := s.readIdentity(versionFile + newSuffix); err == nil && id == blobID {
		return nil
	}
	return foreign(s.cfg.BlobDir, "The folder blobs/ belongs to a store, and the data folder "+s.cfg.Dir+
		" is empty. If that one is on a disk of its own, mount that disk. For a new store name an empty blob folder. Nothing was changed.")
}

// refuseLostJournal refuses a store that was in use and has no segment left. A
// new journal would begin where its blobs and keys say that there was one.
func (s *Store) refuseLostJournal() error {
	segments, err := s.segmentFiles()
	if err != nil {
		return openFault(s.cfg.Dir, err)
	}
	if segments > 0 {
		return nil
	}
	if _, err := s.blobFS.Stat(markFile); errors.Is(err, fs.ErrNotExist) && !s.mayHoldBlobs() {
		return nil
	}
	return foreign(s.cfg.Dir, "The folder segments/, which says what is stored here, is empty or not there. "+
		"If it is on a disk of its own, mount that disk; else restore it from a backup. Nothing was changed.")
}

// segmentFiles counts the segments.
func (s *Store) segmentFiles() (n int, err error) {
	entries, err := s.fs.List(segmentsDir)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	for _, e := range entries {
		if !e.IsDir && strings.HasSuffix(e.Name, ".seg") {
			n++
		}
	}
	return n, err
}

// mayHoldBlobs tells whether there is anything that may be a blob. What cannot
// be read may be one.
func (s *Store) mayHoldBlobs() bool {
	entries, err := s.blobFS.List(blobsDir)
	if errors.Is(err, fs.ErrNotExist) {
		return false
	}
	isShard := func(e vfs.Entry) bool { return e.IsDir && len(e.Name) == 2 } // not lost+found
	return err != nil || slices.ContainsFunc(entries, isShard)
}

// refuseBlobs fails with fault.ForeignStore when there is anything that may be
// a blob.
func (s *Store) refuseBlobs(hint string) error {
	if !s.mayHoldBlobs() {
		return nil
	}
	return foreign(s.cfg.BlobDir, hint)
}

// createFolder makes a new store. Its VERSION file comes last, so that a crash
// on the way leaves a folder that the next start takes for empty; and it stands
// there under another name first, so that the next start knows a blobs/VERSION
// of the same making for its own.
func (s *Store) createFolder() (id [16]byte, err error) {
	if id, err = s.newIdentity(); err != nil {
		return id, err
	}
	steps := []func() error{
		func() error { return s.fs.Mkdir(segmentsDir) },
		func() error { return prepareIdentity(s.fs, ".", id) },
		func() error { return s.fs.SyncDir(".") },
		func() error { return s.blobFS.Mkdir(blobsDir) },
		func() error { return prepareIdentity(s.blobFS, blobsDir, id) },
		func() error { return settleIdentity(s.blobFS, blobsDir) },
		func() error { return s.blobFS.SyncDir(".") },
		func() error { return settleIdentity(s.fs, ".") },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return id, openFault(s.cfg.Dir, err)
		}
	}
	s.log.Info("the data folder was empty: a new store was made in it", "folder", s.cfg.Dir, "blobs", s.cfg.BlobDir)
	return id, nil
}

// newIdentity makes the id of a new store, or takes the one over with which a
// crash cut the making of this store off.
func (s *Store) newIdentity() (id [16]byte, err error) {
	id, err = s.readBlobIdentity()
	if errors.Is(err, fs.ErrNotExist) {
		rand.Read(id[:]) // never fails, see crypto/rand
		return id, nil
	}
	return id, err
}

func foreign(resource, hint string) error {
	return fault.New("store.Open", fault.ForeignStore, resource, nil).WithHint(hint)
}

func lockFault(dir string, err error) error {
	if errors.Is(err, vfs.ErrLocked) {
		return fault.New("store.Open", fault.Locked, dir, err).
			WithHint("Another Larder process uses this folder. Stop it first (`systemctl status larder` or `pgrep -a larder` find it), or choose another folder.")
	}
	return openFault(dir, err)
}

// openFault says what keeps a folder from being opened, and what helps.
func openFault(resource string, err error) error {
	var known *fault.Error
	if errors.As(err, &known) {
		return err
	}
	code, hint := vfs.CodeOf(err), "The folder cannot be opened: "+cause(err)+"."
	switch {
	case code == fault.ReadOnly:
		hint = "The file system is mounted read-only, and Larder does not start on it. If nobody wanted that, the system did it after an error: " +
			"look at its log (`dmesg`), check the disk, then mount it to be written to. Until then, copy the folder to another disk and start Larder on the copy."
	case errors.Is(err, fs.ErrNotExist):
		code = fault.ForeignStore
		hint = "The folder is not there. If it is on a disk of its own, mount that disk; for a new store, run: mkdir -m 700 " + resource
	case errors.Is(err, fs.ErrPermission):
		code = fault.Denied
		hint = "Larder may not read or write this. Its files must belong to the user that Larder runs as: give them to that user with `chown -R`, or start Larder as the user they belong to."
	case code == fault.NoSpace:
		hint = "The disk is full. Make some room, then start Larder again."
	case code == fault.Unavailable:
		hint = "Too many files are open. Raise the limit of open files (`ulimit -n`, LimitNOFILE), then start Larder again."
	case errors.Is(err, syscall.EIO):
		hint = "The disk reports an error. Look at the system's log (`dmesg`), and make a copy of the folder before anything else."
	}
	return fault.New("store.Open", code, resource, err).WithHint(hint)
}

// cause is the system's own word for an error.
func cause(err error) string {
	var no syscall.Errno
	if errors.As(err, &no) {
		return no.Error()
	}
	return err.Error()
}
