// Package blob keeps large bodies, each in a file of its own: the plain bytes
// from offset 0, then a footer with a copy of their record and a CRC32C for
// every 64 KiB. docs/format.md describes every byte.
//
// A blob is written once and never changed. After Seal its bytes are durable;
// after SyncDirs its name is too; only then may a record name it. A file that no
// record names is an orphan, which a power cut may leave and a sweep may remove,
// unless Pending says that its record is still on the way.
package blob

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path"
	"sync"

	"larder/fault"
	"larder/store/vfs"
)

// ErrFailed is in the chain of every error after a failed sync. The store must
// stop writing: only a restart can tell what the disk holds.
var ErrFailed = errors.New("a sync failed; the blob store takes nothing more until a restart")

// shardBlobs is how many blobs go into one folder before the next is begun. New
// blobs share a folder so that one directory sync serves a whole batch.
const shardBlobs = 256

// Config says where the blobs lie and whose they are.
type Config struct {
	FS      vfs.FS
	Dir     string // folder of the blobs; default "blobs", made when absent
	StoreID [16]byte
	Log     *slog.Logger // nil discards
}

// Store is a folder of blobs. All methods may be called at once by many
// goroutines.
type Store struct {
	c Config

	mu      sync.Mutex // guards all below
	shard   [2]byte
	left    int                 // blobs that still go into the shard
	pending map[string]struct{} // created, and not Done or aborted
	mark    mark                // what ids have in common, and what the journal held
	sure    bool                // the mark stands on the disk
	failed  error
}

// Open opens the folder, and makes it, durably, when it is not there. It reads
// nothing.
func Open(c Config) (*Store, error) {
	if c.Dir == "" {
		c.Dir = "blobs"
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	s := &Store{c: c, pending: map[string]struct{}{}}
	if err := c.FS.Mkdir(c.Dir); err != nil {
		return nil, fault.New("blob.Open", vfs.CodeOf(err), c.Dir, err)
	}
	if err := c.FS.SyncDir(path.Dir(c.Dir)); err != nil {
		return nil, fault.New("blob.Open", vfs.CodeOf(err), c.Dir, err)
	}
	return s, nil
}

// Err returns why the store takes no more blobs, or nil.
func (s *Store) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed
}

func (s *Store) fail(op, resource string, err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failLocked(op, resource, err)
}

func (s *Store) failLocked(op, resource string, err error) error {
	if s.failed == nil {
		s.failed = fault.New(op, fault.ReadOnly, resource, fmt.Errorf("%w: %w", ErrFailed, err)).
			WithHint("The disk reported an error. The store is read-only until Larder is started again; check the disk first.")
	}
	return s.failed
}

// failSync is failLocked for the sync of a folder. One that could not be opened
// for want of a descriptor was neither synced nor did that fail: it can be tried
// again.
func (s *Store) failSync(op, dir string, err error) error {
	if vfs.CodeOf(err) == fault.Unavailable {
		return fault.New(op, fault.Unavailable, dir, err).WithHint("Too many files are open. Try again.")
	}
	return s.failLocked(op, dir, err)
}

// Create begins a blob. It counts as pending until Done or Abort.
func (s *Store) Create() (*Pending, error) {
	const op = "blob.Create"
	id, err := s.reserve()
	if err != nil {
		return nil, err
	}
	name, _ := s.path(id)
	f, err := s.c.FS.Create(name)
	if err != nil {
		s.Done(id)
		return nil, fault.New(op, vfs.CodeOf(err), name, err)
	}
	p := &Pending{s: s, f: f, name: name, text: id}
	hex.Decode(p.t.id[:], []byte(id))
	return p, nil
}

// reserve makes an id and marks it pending, before there is a file that a sweep
// could find.
func (s *Store) reserve() (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed != nil {
		return "", s.failed
	}
	if s.left == 0 {
		if err := s.nextShard(); err != nil {
			return "", err
		}
	}
	var id [idLen]byte
	rand.Read(id[:]) // never fails
	copy(id[:], s.shard[:])
	copy(id[len(s.shard):], s.mark.tag[:])
	s.left--
	text := hex.EncodeToString(id[:])
	s.pending[text] = struct{}{}
	return text, nil
}

// nextShard begins a new folder. Its name is durable from then on, so that later
// only the folder itself needs a sync. The parents are synced even when the
// folders are there: a process that was killed may have made them.
func (s *Store) nextShard() error {
	const op = "blob.Create"
	var shard [2]byte
	rand.Read(shard[:])
	outer := path.Join(s.c.Dir, hex.EncodeToString(shard[:1]))
	inner := path.Join(outer, hex.EncodeToString(shard[1:]))
	for _, dir := range []string{outer, inner} {
		if err := s.c.FS.Mkdir(dir); err != nil {
			return fault.New(op, vfs.CodeOf(err), dir, err)
		}
		if err := s.c.FS.SyncDir(path.Dir(dir)); err != nil {
			return s.failSync(op, path.Dir(dir), err)
		}
	}
	s.shard, s.left = shard, shardBlobs
	return nil
}

// path returns the file of a blob, and whether the id is well formed.
func (s *Store) path(id string) (string, bool) {
	if !validID(id) {
		return "", false
	}
	return path.Join(s.c.Dir, id[:2], id[2:4], id), true
}

func validID(id string) bool { return len(id) == 2*idLen && isHex(id) }

func isHex(s string) bool {
	for i := range len(s) {
		if (s[i] < '0' || s[i] > '9') && (s[i] < 'a' || s[i] > 'f') {
			return false
		}
	}
	return true
}

func errID(op, id string) error {
	return fault.New(op, fault.InvalidArgument, id, errors.New("not a blob id"))
}

// SyncDirs makes the names of sealed blobs durable, with one directory sync for
// each folder they lie in. After an error the store has failed for good, but for
// fault.Unavailable: there were no descriptors, and it can be called again.
func (s *Store) SyncDirs(ids []string) error {
	const op = "blob.SyncDirs"
	if err := s.Err(); err != nil {
		return err
	}
	done := map[string]bool{}
	for _, id := range ids {
		name, ok := s.path(id)
		if !ok {
			return errID(op, id)
		}
		dir := path.Dir(name)
		if done[dir] {
			continue
		}
		if err := s.c.FS.SyncDir(dir); err != nil {
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.failSync(op, dir, err)
		}
		done[dir] = true
	}
	return nil
}

// Remove removes a blob's file. It is no error when there is none. The removal is
// not made durable: what a power cut brings back is an orphan, and is swept.
func (s *Store) Remove(id string) error {
	const op = "blob.Remove"
	name, ok := s.path(id)
	if !ok {
		return errID(op, id)
	}
	if err := s.Err(); err != nil {
		return err
	}
	if err := s.c.FS.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fault.New(op, vfs.CodeOf(err), name, err)
	}
	return nil
}

// Pending reports whether a blob was created by this process and its fate is not
// known yet. Such a blob is no orphan.
func (s *Store) Pending(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.pending[id]
	return ok
}

// Done says that the record which names the blob is in the index, or that the
// blob is gone.
func (s *Store) Done(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.pending, id)
}

// Walk calls fn with the id and file size of every blob file, in order of id,
// unfinished ones too. It holds one folder's names at a time; blobs that come or
// go meanwhile may be left out. It stops with fn's error, or ctx's.
func (s *Store) Walk(ctx context.Context, fn func(id string, size int64) error) error {
	return s.walk(ctx, s.c.Dir, "", fn)
}

// walk walks one folder; prefix is what its place says about the ids below.
func (s *Store) walk(ctx context.Context, dir, prefix string, fn func(string, int64) error) error {
	const op = "blob.Walk"
	if err := ctx.Err(); err != nil {
		return fault.New(op, fault.Canceled, dir, err)
	}
	entries, err := s.c.FS.List(dir)
	if err != nil {
		return fault.New(op, vfs.CodeOf(err), dir, err)
	}
	for _, e := range entries {
		switch {
		case len(prefix) < 4 && e.IsDir && len(e.Name) == 2 && isHex(e.Name):
			err = s.walk(ctx, path.Join(dir, e.Name), prefix+e.Name, fn)
		case len(prefix) == 4 && !e.IsDir && validID(e.Name) && e.Name[:4] == prefix:
			err = fn(e.Name, e.Size)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
