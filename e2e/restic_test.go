package e2e_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// restic runs restic with one repository.
type restic struct {
	*program
	prefix []string
}

// newRestic returns a restic that is called by the words of prefix.
func newRestic(p *program, prefix ...string) *restic {
	p.env = append(p.env, "RESTIC_PASSWORD=open sesame", "RESTIC_PROGRESS_FPS=0.0001")
	return &restic{program: p, prefix: prefix}
}

// resticFor is a restic for a bucket of the server, without a person.
func resticFor(t *testing.T, endpoint string, s *server, bucket string, args ...string) *restic {
	p := newProgram(t, "AWS_ACCESS_KEY_ID="+s.key, "AWS_SECRET_ACCESS_KEY="+s.secret, "RESTIC_REPOSITORY=s3:"+endpoint+"/"+bucket)
	return newRestic(p, append([]string{"restic"}, args...)...)
}

func (r *restic) args(args ...string) []string {
	return append(append([]string{}, r.prefix...), args...)
}

func (r *restic) do(args ...string) string {
	r.t.Helper()
	return r.timed("restic "+strings.Join(args[:min(2, len(args))], " "), r.args(args...)...)
}

// backup backs the content of a folder up under relative names.
func (r *restic) backup(folder string) *exec.Cmd {
	cmd := r.command(r.args("-q", "backup", ".")...)
	cmd.Dir = folder
	return cmd
}

func (r *restic) mustBackup(folder string) {
	r.t.Helper()
	began := time.Now()
	if out, err := r.backup(folder).CombinedOutput(); err != nil {
		r.t.Fatalf("restic backup: %v\n%s", err, out)
	}
	r.t.Logf("restic backup: %.1f s", time.Since(began).Seconds())
}

// backUpAndRestore is a repository's whole life.
func backUpAndRestore(t *testing.T, r *restic, folder tree) {
	t.Helper()
	r.do("init")
	r.mustBackup(folder.path)
	r.do("check", "--read-data")
	r.mustBackup(folder.path)
	r.do("forget", "--keep-last", "1", "--prune")
	if n := strings.Count(r.do("snapshots", "--json"), `"short_id"`); n != 1 {
		t.Errorf("%d snapshots are left after forget, want 1", n)
	}
	r.do("check", "--read-data")
	to := filepath.Join(t.TempDir(), "restored")
	r.do("-q", "restore", "latest", "--target", to)
	sameFolders(t, folder.path, to)
	t.Logf("%d files, %d MB restored, diff -r finds nothing", folder.files, folder.bytes>>20)
}

// TestResticTLS uses the server's own certificate, which restic is told to trust.
func TestResticTLS(t *testing.T) {
	need(t, "restic", "diff")
	t.Parallel()
	s := serve(t, setup{})
	r := resticFor(t, "https://"+s.s3, s, "over-tls", "--cacert", s.certificate())
	backUpAndRestore(t, r, needTree(t, smallTree))
}

// TestKillDuringBackup kills the server in the middle of a backup. In some
// rounds restic goes on by itself when the server is back, in the others it
// dies too. Either way the repository has to be sound.
func TestKillDuringBackup(t *testing.T) {
	heavy(t)
	need(t, "restic", "diff")
	folder := needTree(t, fullTree)
	s := serve(t, setup{})
	choose := random("kill during backup")
	for round := range 4 {
		bucket, survives := fmt.Sprintf("kill-%d", round), round%2 == 0
		r := resticFor(t, "http://"+s.s3, s, bucket, "--pack-size", "4")
		r.run(r.args("init")...)
		cmd := r.backup(folder.path)
		out := &logBuffer{}
		cmd.Stdout, cmd.Stderr = out, out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		packs := 1 + choose.IntN(10)
		seen := awaitPacks(t, s, bucket, packs)
		s.kill()
		if !survives {
			_ = cmd.Process.Kill()
			_ = cmd.Wait() // killed
		}
		took := s.restart()
		t.Logf("round %d: killed with at least %d packs stored, restic dies too %v, ready again in %.0f ms", round, packs, !survives, took.Seconds()*1000)
		packsAreWhole(t, s, bucket, seen)
		if survives {
			if err := cmd.Wait(); err != nil {
				t.Fatalf("restic did not survive the server's death: %v\n%s", err, out)
			}
		}
		soundAfterKill(t, r, folder, survives)
	}
}

// awaitPacks waits until the repository has that many packs and returns them.
func awaitPacks(t *testing.T, s *server, bucket string, packs int) (keys []string) {
	t.Helper()
	c := s.client()
	await(t, "packs of the backup", time.Minute, func() bool {
		keys, _ = c.list("/" + bucket + "?list-type=2&prefix=data/").names()
		return len(keys) >= packs
	})
	return keys
}

// packsAreWhole looks that all that was there before the kill is still there,
// and that every pack, old or new, has the SHA-256 that is its name.
func packsAreWhole(t *testing.T, s *server, bucket string, before []string) {
	t.Helper()
	c := s.client()
	now, _ := c.list("/" + bucket + "?list-type=2&prefix=data/").names()
	for _, key := range before {
		if !slices.Contains(now, key) {
			t.Errorf("%s was there before the kill", key)
		}
	}
	for _, key := range now {
		body := c.must(http.StatusOK, http.MethodGet, "/"+bucket+"/"+key, nil).body
		if sum := sha256.Sum256(body); hex.EncodeToString(sum[:]) != path.Base(key) {
			t.Errorf("%s has %d bytes with the SHA-256 %x", key, len(body), sum)
		}
	}
	t.Logf("%d packs, each with the SHA-256 that its name says", len(now))
}

func soundAfterKill(t *testing.T, r *restic, folder tree, complete bool) {
	t.Helper()
	r.run(r.args("unlock", "--remove-all")...)
	r.do("check", "--read-data")
	if !complete {
		r.mustBackup(folder.path)
		r.do("check")
	}
	to := filepath.Join(t.TempDir(), "restored")
	r.do("-q", "restore", "latest", "--target", to)
	sameFolders(t, folder.path, to)
	if err := os.RemoveAll(to); err != nil {
		t.Fatal(err)
	}
}
