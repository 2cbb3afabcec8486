package e2e_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

const (
	oldestIndex     = 1 // the formats of index.db
	newestIndex     = 3
	migrationRounds = 4  // places of each fault, spread over a start
	migrationSearch = 16 // more places, one after the other, where none of these was inside
	migrationKeys   = 24 // objects

	// userVersionAt is where the header of a SQLite database has its
	// user_version, four bytes, big endian: https://sqlite.org/fileformat.html.
	userVersionAt = 60
)

// migrationFault is what happens to a start, at one of the calls that it makes on
// the files named; on any file when none is.
type migrationFault struct {
	callFault
	files []string
}

func migrationFaults() []migrationFault {
	index, system := []string{indexDB, indexWAL}, []string{systemDB, systemDB + "-wal"}
	return []migrationFault{
		{callFault{"pwrite64", "signal=KILL"}, index}, {callFault{"fsync,fdatasync", "signal=KILL"}, index},
		{callFault{"pwrite64", "error=EIO"}, index}, {callFault{"fsync,fdatasync", "error=EIO"}, index},
		{callFault{"pwrite64,fsync,fdatasync", "signal=KILL"}, system},
		{callFault{"renameat,renameat2", "signal=KILL"}, nil}, {callFault{"unlinkat,unlink", "signal=KILL"}, nil},
	}
}

// migration is a data folder as an earlier Larder left it, and what was promised
// of it.
type migration struct {
	*crashes
	old    string // the folder: it stays as it is
	disk   *forgetful
	choose *rand.Rand

	kills, errors, inside int // inside: between the begin and the commit of the migration
}

// TestCrashDuringMigration starts the server on a folder with an index.db of the
// first format, and a system.db of the first, which is still the newest: a start
// changes nothing in it. The server is killed, or its disk fails, in the middle of
// bringing it up to date; then the power goes, on a disk that forgets what was not
// synced. The next start finds the old format or a newer one: nothing is missing,
// no revoked key works, and the index need not be made again.
func TestCrashDuringMigration(t *testing.T) {
	heavy(t)
	need(t, "strace")
	m := newMigration(t)
	for _, f := range migrationFaults() {
		m.faults(f)
	}
	for when := 1; m.inside == 0 && when <= migrationSearch; when++ {
		m.round(migrationFaults()[0], when)
	}
	if m.inside == 0 {
		t.Errorf("none of %d kills fell between the begin and the end of the migration", m.kills)
	}
	t.Logf("%d kills, %d of them inside the migration; %d failed calls; %d keys looked at", m.kills, m.inside, m.errors, m.looked)
	figures(t, map[string]any{
		"kills": m.kills, "inside_migration": m.inside, "system_calls": m.kills + m.errors, "verified": m.looked,
		"seed": fmt.Sprint(runSeed), "lost": 0,
	})
}

// newMigration has the real program fill a folder, and takes the index back to
// its first format.
func newMigration(t *testing.T) *migration {
	t.Helper()
	x := newCrashes(t, setup{env: []string{"LARDER_COMPACT_RATE=-1"}}) // nothing was compacted in those days
	m := &migration{crashes: x, old: x.s.dir, choose: random("migration")}
	g := &crowd{crowdOf: crowdOf{writers: 1, keys: 1, sizes: smallSizes()}, c: x.c, book: x.book}
	w := &crashWriter{crowd: g, choose: m.choose}
	for i := range migrationKeys {
		key, size := fmt.Sprintf("old/%03d", i), smallSizes()[i%len(smallSizes())]
		acts := []func() error{
			func() error { return w.change(key, state{version: 1, size: size}, w.put) },
			func() error { return w.change(key, state{version: 2, size: size + 7}, w.multipart) },
			func() error { return w.change(key, state{}, w.delete) },
		}
		for _, act := range acts[:1+i%3] {
			must(t, act())
		}
	}
	k := x.keeper
	must(t, k.changeKey(k.made[0], true)) // for good
	must(t, k.changeKey(k.made[1], false))
	for range 5 {
		must(t, k.changeBucket())
	}
	k.doubt = ""
	x.s.stop()
	indexOfOldest(t, filepath.Join(m.old, indexDB))
	m.disk = newForgetful(t)
	x.s.dir = m.disk.data()
	m.uninjured()
	return m
}

// uninjured brings the folder up to date without any fault, and shows that this
// is done in place.
func (m *migration) uninjured() {
	m.t.Helper()
	m.disk.become(m.old)
	if v := m.disk.indexFormat(); v != oldestIndex {
		m.t.Fatalf("the index has format %d before the start", v)
	}
	m.s.start()
	m.standsAsPromised("an uninjured start")
}

// faults injects one fault at places spread over a start: over all the calls that
// one which nothing happened to has made.
func (m *migration) faults(f migrationFault) {
	m.t.Helper()
	n := m.count(f)
	if n == 0 {
		m.t.Logf("%s of %v: a start makes no such call", f.calls, f.files)
		return
	}
	rounds, inside := min(n, cycles(m.t, migrationRounds)), m.inside
	for i := range rounds {
		m.round(f, 1+i*n/rounds+m.choose.IntN(max(1, n/rounds)))
	}
	m.t.Logf("%s %s of %v: %d of %d calls of a start, %d inside the migration", f.calls, f.what, f.files, rounds, n, m.inside-inside)
}

func (m *migration) flags(f migrationFault, log string) []string {
	flags := []string{"strace", "-D", "-f", "-qq", "-o", log, "-e", "trace=" + f.calls}
	for _, name := range f.files {
		flags = append(flags, "-P", filepath.Join(m.s.dir, name))
	}
	return flags
}

// count is how many of the calls one thread makes in an uninjured start.
func (m *migration) count(f migrationFault) int {
	m.t.Helper()
	m.disk.become(m.old)
	log := filepath.Join(m.t.TempDir(), "trace")
	m.s.setup.under = m.flags(f, log)
	m.s.start()
	m.s.kill()
	text, err := os.ReadFile(log)
	must(m.t, err)
	perThread, most := map[string]int{}, 0
	for line := range strings.Lines(string(text)) {
		if thread, _, ok := strings.Cut(line, " "); ok && strings.Contains(line, "(") {
			perThread[thread]++
			most = max(most, perThread[thread])
		}
	}
	return most
}

// round starts with the fault at the given call and takes the power away.
func (m *migration) round(f migrationFault, when int) {
	m.t.Helper()
	m.disk.become(m.old)
	log := filepath.Join(m.t.TempDir(), "trace")
	m.s.setup.under = append(m.flags(f, log), "-e", fmt.Sprintf("inject=%s:%s:when=%d", f.calls, f.what, when))
	m.s.launch()
	died := !m.s.readyOrGone() && strings.HasPrefix(f.what, "signal")
	inside := m.disk.inMigration()
	m.disk.cutPower()
	m.s.kill()
	m.s.setup.under = nil
	m.disk.powerBack(m.choose, []float64{0, 0.5, 1}[when%3])
	m.s.start()
	m.standsAsPromised(fmt.Sprintf("after %s at %s %d of %v", f.what, f.calls, when, f.files))
	text, err := os.ReadFile(log)
	must(m.t, err)
	if died {
		m.kills++
		if inside {
			m.inside++
		}
	}
	if bytes.Contains(text, []byte("(INJECTED)")) {
		m.errors++
	}
}

// standsAsPromised looks at everything and ends the server.
func (m *migration) standsAsPromised(when string) {
	m.t.Helper()
	m.verifyAll()
	m.keeper.verify()
	if v := m.disk.indexFormat(); v != newestIndex {
		m.t.Errorf("%s: the index has format %d", when, v)
	}
	if n := m.s.log.count("made again from the journal"); n > 0 {
		m.t.Errorf("%s: the index was not whole, in neither format", when)
	}
	m.s.kill()
	if m.t.Failed() {
		m.t.Fatalf("%s: see above", when)
	}
}

// indexOfOldest takes the index of a stopped server back to format 1, which had no
// table of segments, and did not say of bodies whether their versions stand.
func indexOfOldest(t *testing.T, path string) {
	t.Helper()
	db, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	must(t, err)
	defer func() { must(t, db.Close()) }()
	must(t, sqlitex.ExecuteTransient(db, `DELETE FROM bodies WHERE refs = 0 AND current = 1`, nil))
	resum(t, db, "bodies", `SELECT sequence, segment, offset, length, body_offset, body_length, refs, ifnull(blob, '') FROM bodies WHERE current = 1`)
	must(t, sqlitex.ExecuteScript(db, fmt.Sprintf(`DROP TABLE segments; DROP INDEX bodies_unreferenced;
		ALTER TABLE bodies DROP COLUMN current;
		UPDATE state SET format = %d; PRAGMA user_version = %d;`, oldestIndex, oldestIndex), nil))
	resum(t, db, "state", `SELECT format, store, sequence, segment, offset FROM state`)
	must(t, sqlitex.ExecuteTransient(db, `PRAGMA wal_checkpoint(TRUNCATE)`, nil))
}

// resum gives the selected rows of a table the checksum of the selected columns,
// in the way of package index: the tag of the table, numbers as 8 bytes, little
// endian, all else with its length before it.
func resum(t *testing.T, db *sqlite.Conn, table, query string) {
	t.Helper()
	var updates []string
	must(t, sqlitex.ExecuteTransient(db, query, &sqlitex.ExecOptions{ResultFunc: func(s *sqlite.Stmt) error {
		sum := []byte{table[0]}
		for i := range s.ColumnCount() {
			if s.ColumnType(i) == sqlite.TypeInteger {
				sum = binary.LittleEndian.AppendUint64(sum, uint64(s.ColumnInt64(i)))
				continue
			}
			value := make([]byte, s.ColumnLen(i))
			s.ColumnBytes(i, value)
			sum = append(binary.LittleEndian.AppendUint64(sum, uint64(len(value))), value...)
		}
		updates = append(updates, fmt.Sprintf(`UPDATE %s SET sum = %d WHERE %s = %d;`,
			table, crc32.Checksum(sum, crc32.MakeTable(crc32.Castagnoli)), s.ColumnName(0), s.ColumnInt64(0)))
		return nil
	}}))
	must(t, sqlitex.ExecuteScript(db, strings.Join(updates, "\n"), nil))
}

// become makes the disk hold a copy of a folder as its data, durably.
func (d *forgetful) become(dir string) {
	d.t.Helper()
	d.unmount()
	d.mu.Lock()
	d.pending, d.dead, d.failAt = nil, false, 0
	d.root = d.newNode(true)
	data := d.load(dir)
	d.root.names["data"], d.root.kept["data"] = data, data
	d.mu.Unlock()
	d.mount()
}

// load is the node of a folder with its files, all of it durable.
func (d *forgetful) load(dir string) *node {
	d.t.Helper()
	n := d.newNode(true)
	entries, err := os.ReadDir(dir)
	must(d.t, err)
	for _, e := range entries {
		path, c := filepath.Join(dir, e.Name()), (*node)(nil)
		switch {
		case e.IsDir():
			c = d.load(path)
		case e.Type().IsRegular():
			b, err := os.ReadFile(path)
			must(d.t, err)
			c = d.newNode(false)
			c.seen.size, c.stored.size = int64(len(b)), int64(len(b))
			for at := 0; at < len(b); at += diskPage {
				page := make([]byte, diskPage)
				copy(page, b[at:])
				c.seen.pages[int64(at/diskPage)], c.stored.pages[int64(at/diskPage)] = page, page
			}
		default:
			continue
		}
		n.names[e.Name()], n.kept[e.Name()] = c, c
	}
	return n
}

// bytes is a file in the folder "data" as programs see it; nil = it is not there.
func (d *forgetful) bytes(name string) []byte {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := d.root.names["data"].names[name]
	if n == nil {
		return nil
	}
	b := make([]byte, n.seen.size)
	for page, p := range n.seen.pages {
		copy(b[min(page*diskPage, n.seen.size):], p)
	}
	return b
}

// indexFormat is the user_version in the file of the index, without its log.
func (d *forgetful) indexFormat() int {
	b := d.bytes(indexDB)
	if len(b) < userVersionAt+4 {
		return 0
	}
	return int(binary.BigEndian.Uint32(b[userVersionAt:]))
}

// inMigration tells whether the log of the index has begun a transaction and not
// its commit, before every format has had its own:
// https://sqlite.org/fileformat.html#walformat.
func (d *forgetful) inMigration() bool {
	log := d.bytes(indexWAL)
	if d.indexFormat() != oldestIndex || len(log) == 0 {
		return false
	}
	commits, begun := 0, true
	for at := walHead; at+walFrame <= len(log); at += walFrame {
		if begun = binary.BigEndian.Uint32(log[at+4:]) == 0; !begun {
			commits++
		}
	}
	return begun && commits < newestIndex-oldestIndex
}
