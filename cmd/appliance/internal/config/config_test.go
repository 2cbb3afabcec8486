package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"larder/cmd/appliance/internal/config"
)

// load is Load with a command line, an environment and the text of a file.
func load(t *testing.T, args, environ []string, file string) (config.Config, error) {
	t.Helper()
	flags := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	config.ServeFlags(flags)
	if file != "" {
		name := write(t, "larder.toml", file)
		args = append(args, "--config", name)
	}
	if err := flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	return config.Load(flags, environ)
}

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	c, err := load(t, nil, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	if c.Data != "./data" || c.S3 != ":9000" || c.Console != ":9001" || c.Native != ":9002" {
		t.Errorf("defaults: %+v", c)
	}
	if c.ShutdownTimeout != 30*time.Second || c.Region != "us-east-1" || c.RequireTLS {
		t.Errorf("defaults: %+v", c)
	}
}

// TestLayers sets one setting in one to three places and looks who wins.
func TestLayers(t *testing.T) {
	t.Parallel()
	const file, env, flag = `region = "file"`, "LARDER_REGION=env", "--region=flag"
	for _, tc := range []struct {
		name      string
		args, env []string
		file      string
		want      string
	}{
		{name: "nowhere", want: "us-east-1"},
		{name: "file", file: file, want: "file"},
		{name: "file and env", file: file, env: []string{env}, want: "env"},
		{name: "all", file: file, env: []string{env}, args: []string{flag}, want: "flag"},
		{name: "file and flag", file: file, args: []string{flag}, want: "flag"},
		{name: "env and a flag for something else", env: []string{env}, args: []string{"--s3=:1"}, want: "env"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c, err := load(t, tc.args, tc.env, tc.file)
			if err != nil {
				t.Fatal(err)
			}
			if c.Region != tc.want {
				t.Errorf("region %q, want %q", c.Region, tc.want)
			}
		})
	}
}

func TestEveryKindOfValue(t *testing.T) {
	t.Parallel()
	file := "s3-domains = [\"a.lan\", \"b.lan\"]\nmax-connections = 7\nshutdown-timeout = \"90s\"\nrequire-tls = true\n"
	env := []string{
		"LARDER_S3_DOMAINS=a.lan,b.lan", "LARDER_MAX_CONNECTIONS=7", "LARDER_SHUTDOWN_TIMEOUT=90s", "LARDER_REQUIRE_TLS=true",
		"HOME=/root", "LARDERX=ignored",
	}
	args := []string{"--s3-domains=a.lan,b.lan", "--max-connections=7", "--shutdown-timeout=90s", "--require-tls"}
	want, err := load(t, nil, nil, file)
	if err != nil {
		t.Fatal(err)
	}
	if len(want.S3Domains) != 2 || want.MaxConnections != 7 || want.ShutdownTimeout != 90*time.Second || !want.RequireTLS {
		t.Fatalf("from the file: %+v", want)
	}
	fromEnv, err := load(t, nil, env, "")
	if err != nil || !reflect.DeepEqual(fromEnv, want) {
		t.Errorf("from the environment: %+v, %v", fromEnv, err)
	}
	fromArgs, err := load(t, args, nil, "")
	if err != nil || !reflect.DeepEqual(fromArgs, want) {
		t.Errorf("from flags: %+v, %v", fromArgs, err)
	}
}

func TestSecretFiles(t *testing.T) {
	t.Parallel()
	file := write(t, "password", "correct horse\nsecond line\n")
	c, err := load(t, []string{"--admin-password-file", file}, nil, "")
	if err != nil || c.AdminPassword.Reveal() != "correct horse" {
		t.Errorf("from a file: %q, %v", c.AdminPassword.Reveal(), err)
	}
	env := []string{"LARDER_ACCESS_KEY=AK", "LARDER_SECRET_KEY_FILE=" + file}
	if c, err = load(t, nil, env, ""); err != nil || c.SecretKey.Reveal() != "correct horse" {
		t.Errorf("from the environment: %q, %v", c.SecretKey.Reveal(), err)
	}
	if text := fmt.Sprintf("%v %+v %#v", c, c, c); strings.Contains(text, "correct horse") {
		t.Errorf("a printed Config shows the secret: %s", text)
	}
}

// TestRefused looks that each error names the setting that is wrong.
func TestRefused(t *testing.T) {
	t.Parallel()
	empty := write(t, "empty", "\n")
	for _, tc := range []struct {
		name      string
		args, env []string
		file      string
		want      []string
	}{
		{name: "unknown variable", env: []string{"LARDER_CONSOL=:1"}, want: []string{"LARDER_CONSOL", "console"}},
		{name: "unknown variable far off", env: []string{"LARDER_ZEBRA=1"}, want: []string{"LARDER_ZEBRA", "there are", "region"}},
		{name: "unknown line", file: "regoin = \"x\"", want: []string{"larder.toml", `"regoin"`, "region"}},
		{name: "unknown section", file: "[s3]\naddress = \"x\"", want: []string{`"s3.address"`}},
		{name: "bad TOML", file: "region = ", want: []string{"larder.toml"}},
		{name: "missing file", args: []string{"--config", "/nonexistent/larder.toml"}, want: []string{"/nonexistent/larder.toml"}},
		{name: "bad duration", env: []string{"LARDER_SHUTDOWN_TIMEOUT=soon"}, want: []string{"shutdown-timeout"}},
		{name: "bad number", env: []string{"LARDER_MAX_CONNECTIONS=many"}, want: []string{"max-connections"}},
		{name: "slow scrub", env: []string{"LARDER_SCRUB_RATE=1000"}, want: []string{"scrub-rate", "100000"}},
		{name: "hasty scrub", env: []string{"LARDER_SCRUB_PERIOD=1s"}, want: []string{"scrub-period", "1h"}},
		{name: "slow compaction", env: []string{"LARDER_COMPACT_RATE=0"}, want: []string{"compact-rate", "-1"}},
		{name: "hasty snapshots", env: []string{"LARDER_SNAPSHOT_PERIOD=1s"}, want: []string{"snapshot-period", "10m"}},
		{name: "no snapshots", env: []string{"LARDER_SNAPSHOT_DAYS=0"}, want: []string{"snapshot-days"}},
		{name: "negative weeks", env: []string{"LARDER_SNAPSHOT_WEEKS=-1"}, want: []string{"snapshot-weeks"}},
		{name: "hasty expiry", env: []string{"LARDER_UPLOAD_EXPIRY=1m"}, want: []string{"upload-expiry", "1h"}},
		{name: "tiny segments", env: []string{"LARDER_SEGMENT_SIZE=5"}, want: []string{"segment-size", "4096"}},
		{name: "too few connections", env: []string{"LARDER_MAX_CONNECTIONS=0"}, want: []string{"max-connections"}},
		{name: "log format", args: []string{"--log-format=xml"}, want: []string{"log-format", "xml"}},
		{name: "log level", args: []string{"--log-level=loud"}, want: []string{"log-level", "loud"}},
		{name: "URL without scheme", args: []string{"--s3-url=nas:9000"}, want: []string{"s3-url"}},
		{name: "access key alone", env: []string{"LARDER_ACCESS_KEY=AK"}, want: []string{"LARDER_ACCESS_KEY", "LARDER_SECRET_KEY"}},
		{name: "secret key alone", env: []string{"LARDER_SECRET_KEY=SK"}, want: []string{"LARDER_ACCESS_KEY", "LARDER_SECRET_KEY"}},
		{
			name: "secret twice", env: []string{"LARDER_ADMIN_PASSWORD=x", "LARDER_ADMIN_PASSWORD_FILE=" + empty},
			want: []string{"admin-password", "choose one"},
		},
		{name: "empty secret file", args: []string{"--admin-password-file", empty}, want: []string{"admin-password-file"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, err := load(t, tc.args, tc.env, tc.file)
			if err == nil {
				t.Fatal("accepted")
			}
			for _, part := range tc.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("the error lacks %q: %v", part, err)
				}
			}
		})
	}
}

// TestEverySettingHasAFlag holds that no setting is reachable by file alone.
func TestEverySettingHasAFlag(t *testing.T) {
	t.Parallel()
	flags := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	config.ServeFlags(flags)
	secret := map[string]bool{}
	for _, name := range config.Secrets() {
		secret[name] = true
	}
	for name := range config.Defaults() {
		if has := flags.Lookup(name) != nil; has == secret[name] {
			t.Errorf("%s: flag %v, secret %v", name, has, secret[name])
		}
	}
}
