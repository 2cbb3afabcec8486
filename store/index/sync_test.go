package index_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"larder/store/index"
)

// TestHelperCommit is not a test: TestCommitDoesNotSync runs it in a process
// of its own.
func TestHelperCommit(t *testing.T) {
	commits, err := strconv.Atoi(os.Getenv("LARDER_TEST_COMMITS"))
	if err != nil {
		t.Skip("runs inside TestCommitDoesNotSync only")
	}
	x, err := index.Open(context.Background(), index.Config{Path: os.Getenv("LARDER_TEST_INDEX"), StoreID: storeID})
	must(t, err)
	for n := range commits {
		tx := begin(t, x)
		must(t, putOne2(tx, n))
		must(t, tx.Commit())
	}
	if os.Getenv("LARDER_TEST_CHECKPOINT") != "" {
		must(t, x.Checkpoint(index.Passive))
	}
	os.Exit(0) // as a crash would: Close would checkpoint
}

func putOne2(tx *index.Tx, n int) error {
	tx.SetApplied(index.Position{Sequence: uint64(n)})
	if err := tx.PutBody(benchBody(n)); err != nil {
		return err
	}
	return tx.PutRow(benchRow(n))
}

// TestCommitDoesNotSync counts the syncs of a process that commits once and of
// one that commits 100 times: there are as many. A checkpoint makes more,
// which shows that they are seen.
func TestCommitDoesNotSync(t *testing.T) {
	t.Parallel()
	if err := exec.Command("strace", "-f", "-qq", "-e", "trace=fsync", "true").Run(); err != nil {
		t.Skipf("strace cannot be used here: %v", err)
	}
	one := syncs(t, 1, false)
	hundred := syncs(t, 100, false)
	checkpointed := syncs(t, 100, true)
	t.Logf("syncs with 1 commit %d, with 100 %d, with 100 and a checkpoint %d", one, hundred, checkpointed)
	if hundred != one {
		t.Errorf("1 commit made %d syncs, 100 made %d", one, hundred)
	}
	if checkpointed <= hundred {
		t.Errorf("a checkpoint made no sync: %d, %d", hundred, checkpointed)
	}
}

func syncs(tb testing.TB, commits int, checkpoint bool) int {
	tb.Helper()
	dir := tb.TempDir()
	log := filepath.Join(dir, "strace")
	cmd := exec.Command("strace", "-f", "-qq", "-e", "signal=none", "-e",
		"trace=fsync,fdatasync,sync_file_range,msync,syncfs,sync", "-o", log, os.Args[0], "-test.run=^TestHelperCommit$")
	cmd.Env = append(os.Environ(), fmt.Sprint("LARDER_TEST_COMMITS=", commits), "LARDER_TEST_INDEX="+filepath.Join(dir, "index.db"))
	if checkpoint {
		cmd.Env = append(cmd.Env, "LARDER_TEST_CHECKPOINT=1")
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		tb.Fatalf("%v: %s", err, out)
	}
	text, err := os.ReadFile(log)
	must(tb, err)
	return strings.Count(string(text), "sync(")
}

// TestWALSize follows the log through commits and checkpoints.
func TestWALSize(t *testing.T) {
	t.Parallel()
	x := open(t, filepath.Join(t.TempDir(), "index.db"))
	size := func() int64 {
		n, err := x.WALSize()
		must(t, err)
		return n
	}
	commit := func(n int) {
		tx := begin(t, x)
		must(t, tx.PutRow(index.Row{Bucket: 1, Key: fmt.Sprint(n), Meta: make([]byte, 200<<10)}))
		must(t, tx.Commit())
	}
	for n := range 40 {
		commit(n)
	}
	if size() < 8<<20 {
		t.Errorf("the log has only %d bytes: somebody else checkpoints", size())
	}
	must(t, x.Checkpoint(index.Passive))
	commit(100)
	if size() > 4<<20 {
		t.Errorf("after a checkpoint and a commit the log has %d bytes", size())
	}
	must(t, x.Checkpoint(index.Truncate))
	if size() != 0 {
		t.Errorf("after a truncating checkpoint the log has %d bytes", size())
	}
}

// TestCrash commits, kills the process and opens again: what was committed is
// there, for a crash of the process alone loses nothing.
func TestCrash(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "index.db")
	cmd := exec.Command(os.Args[0], "-test.run=^TestHelperCommit$")
	cmd.Env = append(os.Environ(), "LARDER_TEST_COMMITS=20", "LARDER_TEST_INDEX="+path)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	x := open(t, path)
	if x.Applied().Sequence != 19 {
		t.Errorf("applied is %+v", x.Applied())
	}
	for n := range 20 {
		if _, found, err := x.Row(2, benchKey(n)); !found || err != nil {
			t.Error(n, found, err)
		}
	}
}
