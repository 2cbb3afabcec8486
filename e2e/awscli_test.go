package e2e_test

import (
	"path/filepath"
	"strings"
	"testing"
)

// awsConfig asks for Signature V4 in links too: version 1 of the program makes
// them with V2, which AWS has closed to new buckets.
const awsConfig = "[default]\ns3 =\n  signature_version = s3v4\n"

// awsCLI runs the aws command line program against one endpoint.
type awsCLI struct {
	*program
	endpoint string
}

func newAWS(t *testing.T, s *server, scheme string) awsCLI {
	p := newProgram(t, "AWS_ACCESS_KEY_ID="+s.key, "AWS_SECRET_ACCESS_KEY="+s.secret, "AWS_DEFAULT_REGION=us-east-1",
		"AWS_CA_BUNDLE="+s.certificate(), "AWS_PAGER=", "AWS_EC2_METADATA_DISABLED=true")
	p.env = append(p.env, "AWS_CONFIG_FILE="+p.write("config", []byte(awsConfig)))
	return awsCLI{p, scheme + "://" + s.s3}
}

func (a awsCLI) do(args ...string) string {
	a.t.Helper()
	return a.timed("aws "+strings.Join(args[:2], " "), append([]string{"aws", "--endpoint-url", a.endpoint}, args...)...)
}

// TestAWSCLI copies, syncs, presigns and removes with the aws command line
// program and its own choice of checksums.
func TestAWSCLI(t *testing.T) {
	need(t, "aws", "curl", "diff")
	t.Parallel()
	folder := needTree(t, smallTree)
	s := serve(t, setup{})
	a := newAWS(t, s, "http")
	t.Log(strings.TrimSpace(a.run("aws", "--version")))
	a.do("s3", "mb", "s3://cli")
	awsCopies(a)
	a.do("s3", "sync", "--only-show-errors", folder.path, "s3://cli/tree/")
	if out := a.do("s3", "sync", folder.path, "s3://cli/tree/"); strings.Contains(out, "upload:") {
		t.Errorf("the second sync uploads again:\n%.1000s", out)
	}
	back := filepath.Join(a.dir, "back")
	a.do("s3", "sync", "--only-show-errors", "s3://cli/tree/", back)
	sameFolders(t, folder.path, back)
	awsPresign(a, s)
	a.do("s3", "rm", "--only-show-errors", "--recursive", "s3://cli")
	a.do("s3", "rb", "s3://cli")
}

// TestAWSCLIOverTLS sends checksums as trailers, which the program does over
// TLS only.
func TestAWSCLIOverTLS(t *testing.T) {
	need(t, "aws")
	t.Parallel()
	s := serve(t, setup{})
	a := newAWS(t, s, "https")
	a.do("s3", "mb", "s3://cli")
	for name, size := range map[string]int64{"small": 70_000, "large": 20<<20 + 3} {
		want := payloadBytes(name, 0, size)
		a.do("s3", "cp", "--only-show-errors", a.write(name, want), "s3://cli/"+name)
		a.do("s3", "cp", "--only-show-errors", "s3://cli/"+name, filepath.Join(a.dir, name+".back"))
		a.same(name+".back", want)
	}
}

// awsCopies sends one file in a single put and one in parts, and copies and
// moves on the server.
func awsCopies(a awsCLI) {
	a.t.Helper()
	small, large := payloadBytes("small", 0, 70_000), payloadBytes("large", 0, 20<<20+3)
	a.do("s3", "cp", "--only-show-errors", a.write("small", small), "s3://cli/copies/small")
	a.do("s3", "cp", "--only-show-errors", a.write("large", large), "s3://cli/copies/large")
	a.do("s3", "cp", "--only-show-errors", "s3://cli/copies/small", filepath.Join(a.dir, "small.back"))
	a.same("small.back", small)
	a.do("s3", "cp", "--only-show-errors", "s3://cli/copies/large", "s3://cli/copies/again")
	a.do("s3", "mv", "--only-show-errors", "s3://cli/copies/again", "s3://cli/copies/moved")
	a.do("s3", "cp", "--only-show-errors", "s3://cli/copies/moved", filepath.Join(a.dir, "moved.back"))
	a.same("moved.back", large)
	if out := a.do("s3api", "head-object", "--bucket", "cli", "--key", "copies/small", "--checksum-mode", "ENABLED"); !strings.Contains(out, `"ContentLength": 70000`) {
		a.t.Errorf("head-object says %s", out)
	}
}

// awsPresign hands a link to curl, which knows no secret, and spoils one.
func awsPresign(a awsCLI, s *server) {
	a.t.Helper()
	link := strings.TrimSpace(a.do("s3", "presign", "s3://cli/copies/small", "--expires-in", "60"))
	if !strings.HasPrefix(link, a.endpoint) {
		a.t.Fatalf("presign gave %q", link)
	}
	out := filepath.Join(a.dir, "small.curl")
	a.run("curl", "-sS", "--fail", "-o", out, link)
	a.same("small.curl", a.read("small"))
	spoilt := strings.Replace(link, "copies/small", "copies/moved", 1)
	if text := a.run("curl", "-sS", spoilt); !strings.Contains(text, "<Code>SignatureDoesNotMatch</Code>") {
		a.t.Errorf("a link for another object is answered with %.300q", text)
	}
	overTLS := strings.Replace(link, "http://", "https://", 1)
	a.run("curl", "-sS", "--fail", "--cacert", s.certificate(), "-o", out, overTLS)
	a.same("small.curl", a.read("small"))
}
