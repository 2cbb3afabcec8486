package e2e_test

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestS3cmd is the oldest of the clients: its own signatures, ListObjects V1.
func TestS3cmd(t *testing.T) {
	need(t, "s3cmd", "diff")
	t.Parallel()
	s := serve(t, setup{})
	p := newProgram(t)
	config := p.write("s3cfg", []byte("[default]\naccess_key = "+s.key+"\nsecret_key = "+s.secret+
		"\nhost_base = "+s.s3+"\nhost_bucket = "+s.s3+"\nuse_https = False\nbucket_location = us-east-1\n"))
	s3cmd := func(args ...string) string {
		t.Helper()
		return p.timed("s3cmd "+args[0], append([]string{"s3cmd", "--config", config, "--no-progress"}, args...)...)
	}
	s3cmd("mb", "s3://cmd")
	small, large := payloadBytes("small", 0, 70_000), payloadBytes("large", 0, 31<<20)
	s3cmd("put", p.write("small", small), "s3://cmd/small file+ü")
	s3cmd("put", "--multipart-chunk-size-mb=10", p.write("large", large), "s3://cmd/large")
	s3cmd("get", "s3://cmd/small file+ü", filepath.Join(p.dir, "small.back"))
	s3cmd("get", "s3://cmd/large", filepath.Join(p.dir, "large.back"))
	p.same("small.back", small)
	p.same("large.back", large)

	folder, err := copyTree("s3cmd", 1<<20, "src/unicode", "src/encoding")
	if err != nil {
		t.Fatal(err)
	}
	s3cmd("sync", folder.path+"/", "s3://cmd/tree/")
	if out := s3cmd("sync", folder.path+"/", "s3://cmd/tree/"); strings.Contains(out, "upload:") {
		t.Errorf("the second sync uploads again:\n%.1000s", out)
	}
	s3cmd("sync", "s3://cmd/tree/", filepath.Join(p.dir, "back")+"/")
	sameFolders(t, folder.path, filepath.Join(p.dir, "back"))
	if n := strings.Count(s3cmd("ls", "--recursive", "s3://cmd"), "s3://cmd/"); n != folder.files+2 {
		t.Errorf("ls shows %d objects, want %d", n, folder.files+2)
	}
	s3cmd("info", "s3://cmd/large")
	s3cmd("cp", "s3://cmd/large", "s3://cmd/copy")
	s3cmd("del", "--recursive", "--force", "s3://cmd")
	s3cmd("rb", "s3://cmd")
}
