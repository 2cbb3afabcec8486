package store

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"larder/fault"
	"larder/store/vfs"
)

// formatVersion is the version of everything in a data folder,
// docs/format.md. A higher one is refused.
const formatVersion = 1

const (
	versionFile = "VERSION"
	newSuffix   = ".new"
)

const hintIdentity = "The file is damaged. Restore it from a backup; VERSION and blobs/VERSION of a store are the same, so the other one will do."

// ID is the store's id in lower-case hex. A store has it from its making on, and
// so have its backups.
func (s *Store) ID() string { return hex.EncodeToString(s.id[:]) }

// prepareIdentity writes dir/VERSION.new and syncs it.
func prepareIdentity(f vfs.FS, dir string, id [16]byte) error {
	name := path.Join(dir, versionFile+newSuffix)
	if have, err := readIdentity(f, dir, name); err == nil && have == id {
		// It tells a store whose making was cut off from one whose data folder is
		// not mounted, so a second cut must not find it gone.
		return nil
	}
	if err := f.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	file, err := f.Create(name)
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
	return err
}

// settleIdentity makes dir/VERSION of dir/VERSION.new, durably.
func settleIdentity(f vfs.FS, dir string) error {
	name := path.Join(dir, versionFile)
	if err := f.Rename(name+newSuffix, name); err != nil {
		return err
	}
	return f.SyncDir(dir)
}

// readIdentity reads a VERSION file of the data folder.
func (s *Store) readIdentity(name string) (id [16]byte, err error) {
	return readIdentity(s.fs, s.cfg.Dir, name)
}

// readBlobIdentity reads the VERSION file beside the blobs.
func (s *Store) readBlobIdentity() (id [16]byte, err error) {
	return readIdentity(s.blobFS, s.cfg.BlobDir, blobsDir+"/"+versionFile)
}

// readIdentity reads a VERSION file. An error of fs.ErrNotExist is returned as
// it is; in others the file is named with its folder.
func readIdentity(f vfs.FS, folder, name string) (id [16]byte, err error) {
	file, err := f.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return id, err
	}
	name = filepath.Join(folder, name)
	if err != nil {
		return id, openFault(name, err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.NewSectionReader(file, 0, 256))
	if err != nil {
		return id, openFault(name, err)
	}
	var version int
	var hexID string
	if _, err := fmt.Fscanf(strings.NewReader(string(text)), "larder %d\nstore %s\n", &version, &hexID); err != nil {
		return id, fault.New("store.Open", fault.Corrupt, name, err).WithHint(hintIdentity)
	}
	if version > formatVersion {
		return id, fault.New("store.Open", fault.NewerFormat, name, nil).WithHint(fmt.Sprintf(
			"A newer Larder wrote this folder: it has format %d, and this Larder knows %d. Start the newer one again.", version, formatVersion))
	}
	b, err := hex.DecodeString(hexID)
	if err != nil || len(b) != len(id) || version < 1 {
		return id, fault.New("store.Open", fault.Corrupt, name, err).WithHint(hintIdentity)
	}
	copy(id[:], b)
	return id, nil
}
