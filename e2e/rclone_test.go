package e2e_test

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRclone syncs the folder to a bucket and compares every byte, as each of
// the three profiles that rclone has for S3: they differ in the listing, in
// how names are encoded, and in how buckets are addressed.
func TestRclone(t *testing.T) {
	heavy(t)
	need(t, "rclone")
	folder := needTree(t, fullTree)
	for _, profile := range []struct {
		provider string
		endpoint func(*server) string
		env      []string
	}{
		{"Other", func(s *server) string { return "http://" + s.s3 }, nil},
		{"Minio", func(s *server) string { return "https://" + s.s3 }, nil},
		// AWS: the bucket's name is the host's first part.
		{"AWS", houseURL, []string{"RCLONE_CONFIG_L_FORCE_PATH_STYLE=false", "RCLONE_CONFIG_L_REGION=us-east-1"}},
	} {
		t.Run(profile.provider, func(t *testing.T) {
			s := serve(t, setup{args: []string{"--s3-domains", house}})
			env := append(profile.env, "RCLONE_CONFIG_L_PROVIDER="+profile.provider, "RCLONE_CONFIG_L_ENDPOINT="+profile.endpoint(s))
			if profile.provider == "AWS" {
				env = append(env, "HTTP_PROXY="+nameServer(t))
			}
			r := newRclone(t, s, env...)
			r.timed("rclone sync", r.args("sync", folder.path, "l:folder")...)
			r.timed("rclone check --download", r.args("check", "--download", folder.path, "l:folder")...)
			if out := r.run(r.args("sync", "-v", folder.path, "l:folder")...); strings.Contains(out, "Copied") {
				t.Errorf("the second sync copies again:\n%.1000s", out)
			}
			rcloneChanges(t, r)
		})
	}
}

// houseURL is the S3 port under the name that needs the name server.
func houseURL(s *server) string {
	_, port, err := net.SplitHostPort(s.s3)
	if err != nil {
		s.t.Fatal(err)
	}
	return "http://" + net.JoinHostPort(house, port)
}

// rclone runs rclone with the remote "l".
type rclone struct{ *program }

func newRclone(t *testing.T, s *server, env ...string) rclone {
	p := newProgram(t, append(env, "RCLONE_CONFIG_L_TYPE=s3", "RCLONE_CONFIG_L_ACCESS_KEY_ID="+s.key,
		"RCLONE_CONFIG_L_SECRET_ACCESS_KEY="+s.secret, "RCLONE_CA_CERT="+s.certificate())...)
	p.env = append(p.env, "RCLONE_CONFIG="+p.write("rclone.conf", nil))
	return rclone{p}
}

func (rclone) args(args ...string) []string {
	return append([]string{"rclone", "--transfers=8", "--checkers=16", "--low-level-retries=1", "--retries=1"}, args...)
}

// rcloneChanges moves, renames, changes and deletes within a small folder.
func rcloneChanges(t *testing.T, r rclone) {
	t.Helper()
	local := filepath.Join(t.TempDir(), "changing")
	write := func(name, text string) {
		path := filepath.Join(local, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("a/one", "1")
	write("a/two", "22")
	r.run(r.args("sync", local, "l:folder/changing")...)
	write("a/two", "changed")
	write("b/three", "333")
	if err := os.Remove(filepath.Join(local, "a", "one")); err != nil {
		t.Fatal(err)
	}
	r.run(r.args("sync", local, "l:folder/changing")...)
	r.run(r.args("check", "--download", local, "l:folder/changing")...)
	r.run(r.args("moveto", "l:folder/changing/b/three", "l:folder/changing/c/four")...) // a server-side copy
	if out := r.run(r.args("cat", "l:folder/changing/c/four")...); out != "333" {
		t.Errorf("after a rename on the server: %q", out)
	}
	r.run(r.args("purge", "l:folder/changing")...)
	if out := r.run(r.args("lsf", "-R", "l:folder/changing")...); out != "" {
		t.Errorf("after a purge there are %q", out)
	}
}
