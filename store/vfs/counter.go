package vfs

import (
	"os"
	"sync/atomic"
)

// Counter wraps an FS and counts the operations that reach it, failed ones too.
// Tests and benchmarks use it to hold what the design says about syncs.
type Counter struct {
	FS
	n [opCount]atomic.Int64
}

var _ FS = (*Counter)(nil)

// Counts says how often each operation was called.
type Counts [opCount]int64

// Counted returns an FS that passes everything on to inner and counts it.
func Counted(inner FS) *Counter { return &Counter{FS: inner} }

// Counts returns the counts so far.
func (c *Counter) Counts() Counts {
	var out Counts
	for i := range c.n {
		out[i] = c.n[i].Load()
	}
	return out
}

// Of returns the count of one operation.
func (c Counts) Of(k OpKind) int64 { return c[k] }

// Since returns what was counted after an earlier reading.
func (c Counts) Since(earlier Counts) Counts {
	for i := range c {
		c[i] -= earlier[i]
	}
	return c
}

// Create counts and passes on, as do the methods below.
func (c *Counter) Create(name string) (File, error) {
	c.n[OpCreate].Add(1)
	return c.wrap(c.FS.Create(name))
}

func (c *Counter) Open(name string) (File, error) {
	c.n[OpOpen].Add(1)
	return c.wrap(c.FS.Open(name))
}

func (c *Counter) OpenWrite(name string) (File, error) {
	c.n[OpOpenWrite].Add(1)
	return c.wrap(c.FS.OpenWrite(name))
}

func (c *Counter) SyncDir(name string) error {
	c.n[OpSyncDir].Add(1)
	return c.FS.SyncDir(name)
}

func (c *Counter) Rename(from, to string) error {
	c.n[OpRename].Add(1)
	return c.FS.Rename(from, to)
}

func (c *Counter) Remove(name string) error {
	c.n[OpRemove].Add(1)
	return c.FS.Remove(name)
}

func (c *Counter) Mkdir(name string) error {
	c.n[OpMkdir].Add(1)
	return c.FS.Mkdir(name)
}

func (c *Counter) List(name string) ([]Entry, error) {
	c.n[OpList].Add(1)
	return c.FS.List(name)
}

func (c *Counter) Stat(name string) (Entry, error) {
	c.n[OpStat].Add(1)
	return c.FS.Stat(name)
}

// wrap keeps OSFile visible, so that counting does not cost sendfile.
func (c *Counter) wrap(f File, err error) (File, error) {
	if err != nil {
		return nil, err
	}
	counted := &countedFile{File: f, c: c}
	if o, ok := f.(OSFile); ok {
		return &countedOSFile{countedFile: counted, os: o}, nil
	}
	return counted, nil
}

type countedFile struct {
	File
	c *Counter
}

func (f *countedFile) ReadAt(p []byte, off int64) (int, error) {
	f.c.n[OpRead].Add(1)
	return f.File.ReadAt(p, off)
}

func (f *countedFile) WriteAt(p []byte, off int64) (int, error) {
	f.c.n[OpWrite].Add(1)
	return f.File.WriteAt(p, off)
}

func (f *countedFile) Sync() error {
	f.c.n[OpSync].Add(1)
	return f.File.Sync()
}

func (f *countedFile) Truncate(size int64) error {
	f.c.n[OpTruncate].Add(1)
	return f.File.Truncate(size)
}

func (f *countedFile) Preallocate(size int64) error {
	f.c.n[OpPreallocate].Add(1)
	return f.File.Preallocate(size)
}

func (f *countedFile) Close() error {
	f.c.n[OpClose].Add(1)
	return f.File.Close()
}

func (f *countedFile) Uncache(off, n int64) error { return UncacheRange(f.File, off, n) }

type countedOSFile struct {
	*countedFile
	os OSFile
}

func (f *countedOSFile) OSFile() *os.File { return f.os.OSFile() }
