package e2e_test

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

const (
	indexInjections = 52
	sqlitePage      = 4096
	walHead         = 32
	walFrame        = 24 + sqlitePage
)

const (
	indexDB  = "index.db"
	indexWAL = "index.db-wal"
	indexSHM = "index.db-shm"
	indexLog = "index.logged" // says that there is a log
)

// indexFiles are the index's files as they stood at some time, by name.
type indexFiles map[string][]byte

// indexFolder is the data folder whose index is damaged. Its journal and blobs
// stay as they are; the index is put back for each wound.
type indexFolder struct {
	t      *testing.T
	dir    string
	older  indexFiles // of an earlier stop, when the store held less
	choose *rand.Rand
}

// files reads the index as it stands.
func (x *indexFolder) files() indexFiles {
	x.t.Helper()
	all := indexFiles{}
	for _, name := range []string{indexDB, indexWAL, indexSHM, indexLog} {
		if b, err := os.ReadFile(x.path(name)); err == nil {
			all[name] = b
		} else if !os.IsNotExist(err) {
			x.t.Fatal(err)
		}
	}
	return all
}

// putBack makes the index what it was. The files stay the same ones, with other
// bytes: a file of another identity is known for a copy.
func (x *indexFolder) putBack(all indexFiles) {
	x.t.Helper()
	for _, name := range []string{indexDB, indexWAL, indexSHM, indexLog} {
		if b, there := all[name]; there {
			x.write(name, b)
		} else {
			x.remove(name)
		}
	}
}

func (x *indexFolder) path(name string) string { return filepath.Join(x.dir, name) }

func (x *indexFolder) read(name string) []byte {
	x.t.Helper()
	b, err := os.ReadFile(x.path(name))
	if err != nil {
		x.t.Fatal(err)
	}
	return b
}

func (x *indexFolder) write(name string, b []byte) {
	x.t.Helper()
	must(x.t, os.WriteFile(x.path(name), b, 0o600))
}

func (x *indexFolder) remove(names ...string) {
	x.t.Helper()
	for _, name := range names {
		if err := os.Remove(x.path(name)); err != nil && !os.IsNotExist(err) {
			x.t.Fatal(err)
		}
	}
}

// change alters a file in memory and writes it back.
func (x *indexFolder) change(name string, alter func(b []byte) []byte) {
	x.t.Helper()
	x.write(name, alter(x.read(name)))
}

// pageOf is a random page of a file whose pages begin at head and are each
// stride bytes apart.
func (x *indexFolder) pageOf(b []byte, head, stride int) []byte {
	n := (len(b) - head) / stride
	at := head + x.choose.IntN(n)*stride
	return b[at : at+stride]
}

func (x *indexFolder) oneByte(p []byte) { p[x.choose.IntN(len(p))] += byte(1 + x.choose.IntN(255)) }

func (x *indexFolder) garbage(p []byte) {
	for i := range p {
		p[i] = byte(x.choose.Uint32())
	}
}

// indexWound is a way to damage the index. It tells whether the file lent
// itself to it.
type indexWound struct {
	name   string
	killed bool // of a server that was killed: there is a log
	strike func(x *indexFolder) bool
}

// inPage alters a page of the database.
func inPage(alter func(x *indexFolder, page []byte)) func(*indexFolder) bool {
	return func(x *indexFolder) bool {
		x.change(indexDB, func(b []byte) []byte {
			alter(x, x.pageOf(b, 0, sqlitePage))
			return b
		})
		return true
	}
}

// inWAL alters a frame of the log, or its header.
func inWAL(alter func(x *indexFolder, b []byte)) func(*indexFolder) bool {
	return func(x *indexFolder) bool {
		x.change(indexWAL, func(b []byte) []byte {
			alter(x, b)
			return b
		})
		return true
	}
}

func indexWounds() []indexWound {
	return []indexWound{
		{"index page, 1 bit", false, inPage(func(x *indexFolder, p []byte) { p[x.choose.IntN(len(p))] ^= 1 << x.choose.IntN(8) })},
		{"index page, 1 byte", false, inPage((*indexFolder).oneByte)},
		{"index page, 1 byte of its header", false, inPage(func(x *indexFolder, p []byte) { x.oneByte(p[:8]) })},
		{"index page, zeroed", false, inPage(func(x *indexFolder, p []byte) { clear(p) })},
		{"index page, garbage", false, inPage((*indexFolder).garbage)},
		{"index pages swapped", false, swapPages},
		{"index page, stale", false, stalePage},
		{"index header, 1 byte", false, func(x *indexFolder) bool {
			x.change(indexDB, func(b []byte) []byte { x.oneByte(b[:100]); return b })
			return true
		}},
		{"index truncated by 1", false, func(x *indexFolder) bool {
			x.change(indexDB, func(b []byte) []byte { return b[:len(b)-1] })
			return true
		}},
		{"index deleted", false, func(x *indexFolder) bool { x.remove(indexDB, indexWAL, indexSHM); return true }},
		{"index empty", false, func(x *indexFolder) bool { x.write(indexDB, nil); return true }},
		{"old index put back", false, oldIndex},
		{"log page, 1 byte", true, inWAL(func(x *indexFolder, b []byte) { x.oneByte(x.pageOf(b, walHead, walFrame)) })},
		{"log frame header, 1 byte", true, inWAL(func(x *indexFolder, b []byte) { x.oneByte(x.pageOf(b, walHead, walFrame)[:24]) })},
		{"log frame, zeroed", true, inWAL(func(x *indexFolder, b []byte) { clear(x.pageOf(b, walHead, walFrame)) })},
		{"log header, 1 byte", true, inWAL(func(x *indexFolder, b []byte) { x.oneByte(b[:walHead]) })},
		{"log truncated by 1", true, func(x *indexFolder) bool {
			x.change(indexWAL, func(b []byte) []byte { return b[:len(b)-1] })
			return true
		}},
		{"log deleted", true, func(x *indexFolder) bool { x.remove(indexWAL); return true }},
		{"log deleted with -shm", true, func(x *indexFolder) bool { x.remove(indexWAL, indexSHM); return true }},
		{"-shm deleted", true, func(x *indexFolder) bool { x.remove(indexSHM); return true }},
		{"-shm, garbage", true, func(x *indexFolder) bool {
			x.change(indexSHM, func(b []byte) []byte { x.garbage(b); return b })
			return true
		}},
		{"log of another time", true, func(x *indexFolder) bool {
			x.write(indexDB, x.older[indexDB])
			return true
		}},
		{"log half moved, then deleted", true, halfMoved},
		{"index deleted, log stays", true, func(x *indexFolder) bool { x.remove(indexDB); return true }},
		{"index page under a log, zeroed", true, inPage(func(x *indexFolder, p []byte) { clear(p) })},
		{"index page under a log, 1 byte", true, inPage((*indexFolder).oneByte)},
	}
}

func oldIndex(x *indexFolder) bool {
	x.remove(indexWAL, indexSHM)
	x.write(indexDB, x.older[indexDB])
	return true
}

// stalePage puts a page back as it was at the earlier stop.
func stalePage(x *indexFolder) bool {
	old, now := x.older[indexDB], x.read(indexDB)
	for range 100 {
		at := x.choose.IntN(min(len(old), len(now))/sqlitePage) * sqlitePage
		if !bytes.Equal(old[at:at+sqlitePage], now[at:at+sqlitePage]) {
			copy(now[at:], old[at:at+sqlitePage])
			x.write(indexDB, now)
			return true
		}
	}
	return false
}

func swapPages(x *indexFolder) bool {
	x.change(indexDB, func(b []byte) []byte {
		p, q := x.pageOf(b, 0, sqlitePage), x.pageOf(b, 0, sqlitePage)
		old := bytes.Clone(p)
		copy(p, q)
		copy(q, old)
		return b
	})
	return true
}

// halfMoved does what a checkpoint does, stops in the middle, and loses the log:
// some pages are of now, the others of an earlier time.
func halfMoved(x *indexFolder) bool {
	db, log := x.read(indexDB), x.read(indexWAL)
	for at := walHead; at+walFrame <= len(log); at += walFrame {
		number := int(log[at])<<24 | int(log[at+1])<<16 | int(log[at+2])<<8 | int(log[at+3])
		if number == 0 || x.choose.IntN(2) == 0 {
			continue
		}
		if need := number * sqlitePage; need > len(db) {
			db = append(db, make([]byte, need-len(db))...)
		}
		copy(db[(number-1)*sqlitePage:], log[at+24:at+walFrame])
	}
	x.write(indexDB, db)
	x.remove(indexWAL, indexSHM)
	return true
}
