// Package backup copies a whole data folder into another one while it is in
// use, and brings it back.
//
// A backup folder holds
//
//	larder-backup       whose backup it is
//	manifest.json       which files belong to the backup
//	files/, segments/   small files and the journal, each under a name with
//	                    the beginning of its SHA-256
//	blobs/ab/cd/<id>    large bodies, as in the data folder
//
// No file is ever changed. A run adds what is new, then replaces the manifest by
// a rename, and only then removes what no manifest names any more. So whatever
// interrupts it, the backup that was there before can be restored. All of it is
// on stable storage when a run returns without an error.
package backup

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"time"

	"larder/fault"
	"larder/store/vfs"
)

const (
	markerFile   = "larder-backup"
	manifestFile = "manifest.json"
	lockFile     = "LOCK"
	filesDir     = "files"
	segmentsDir  = "segments"
	blobsDir     = "blobs"
	newSuffix    = ".new"

	formatVersion = 1
	maxManifest   = 256 << 20 // bytes; about 300 for each segment
)

// Manifest says what a backup consists of.
type Manifest struct {
	Format   int       `json:"format"`
	Store    string    `json:"store"` // id
	Larder   string    `json:"larder"`
	Started  time.Time `json:"started"`
	Finished time.Time `json:"finished"`
	Sequence uint64    `json:"sequence"` // of the last change that it holds
	Files    []File    `json:"files"`    // in the order in which they are restored
	Blobs    Blobs     `json:"blobs"`
	SHA256   string    `json:"sha256"` // of this text with this field empty
}

// File is one file of the data folder.
type File struct {
	Name   string `json:"name"`   // in the data folder
	Stored string `json:"stored"` // in the backup folder
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
	// Source is the version of the file that was copied, see vfs.Version. A file
	// that still has it need not be read again.
	Source string `json:"source,omitempty"`
}

// Blobs says which blobs belong to a backup. List is a file with a line for
// each, its name and its size, in ascending order.
type Blobs struct {
	Count int64 `json:"count"`
	Bytes int64 `json:"bytes"`
	List  File  `json:"list"`
}

// seal gives the manifest its checksum and returns its text.
func (m *Manifest) seal() ([]byte, error) {
	m.SHA256 = ""
	text, err := json.MarshalIndent(m, "", "\t")
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(text)
	m.SHA256 = hex.EncodeToString(sum[:])
	return json.MarshalIndent(m, "", "\t")
}

// readManifest reads and checks the manifest; fs.ErrNotExist when no backup was
// ever finished there.
func readManifest(files vfs.FS) (*Manifest, error) {
	const op = "backup.readManifest"
	text, err := readFile(files, manifestFile, maxManifest)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err != nil {
		return nil, fault.New(op, vfs.CodeOfRead(err), manifestFile, err)
	}
	var m Manifest
	damaged := json.Unmarshal(text, &m)
	if damaged == nil && m.Format > formatVersion {
		return nil, fault.New(op, fault.NewerFormat, manifestFile, nil).
			WithHint("The backup was written by a newer Larder; use that one.")
	}
	sum := m.SHA256
	if damaged == nil {
		if _, err := m.seal(); err != nil || m.SHA256 != sum {
			damaged = errors.New("the checksum does not match")
		}
	}
	if damaged != nil {
		return nil, fault.New(op, fault.Corrupt, manifestFile, damaged).
			WithHint("The list of what the backup holds is damaged. Use another backup, or make this one anew in an empty folder.")
	}
	return &m, nil
}

// find returns the entry of a file of the data folder.
func (m *Manifest) find(name string) (File, bool) {
	if m == nil {
		return File{}, false
	}
	for _, f := range m.Files {
		if f.Name == name {
			return f, true
		}
	}
	return File{}, false
}

func readFile(files vfs.FS, name string, limit int64) ([]byte, error) {
	f, err := files.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.NewSectionReader(f, 0, limit+1))
	if err == nil && int64(len(text)) > limit {
		err = fmt.Errorf("more than %d bytes", limit)
	}
	return text, err
}

// marker is the text of larder-backup.
func marker(store string) string {
	return "larder backup " + fmt.Sprint(formatVersion) + "\nstore " + store + "\n"
}

// storeOf reads the id of the store out of a marker.
func storeOf(text string) (store string, err error) {
	var version int
	if _, err := fmt.Fscanf(strings.NewReader(text), "larder backup %d\nstore %s\n", &version, &store); err != nil {
		return "", fault.New("backup.Open", fault.Corrupt, markerFile, err).
			WithHint("The file " + markerFile + " is damaged. Make a backup anew, in an empty folder.")
	}
	if version > formatVersion {
		return "", fault.New("backup.Open", fault.NewerFormat, markerFile, nil).
			WithHint("The backup was written by a newer Larder; use that one.")
	}
	if text != marker(store) {
		return "", fault.New("backup.Open", fault.Corrupt, markerFile, nil).
			WithHint("The file " + markerFile + " is damaged. Make a backup anew, in an empty folder.")
	}
	return store, nil
}
