package bench_test

import (
	"net/url"
	"strings"
	"testing"

	"larder/cmd/appliance/internal/bench"
	"larder/fault"
)

func TestParseRemote(t *testing.T) {
	t.Parallel()
	r, err := bench.ParseRemote("other=http://127.0.0.1:9100,the-key,a,secret=with,signs")
	if err != nil || r.Name != "other" || r.URL.Host != "127.0.0.1:9100" || r.KeyID != "the-key" || r.Secret != "a,secret=with,signs" {
		t.Errorf("%+v, %v", r, err)
	}
	for _, text := range []string{"", "other", "=http://h:1,k,s", "other=http://h:1,k", "other=h:1,k,s", "other=ftp://h:1,k,s", "other=http://h:1/path,k,s"} {
		if r, err := bench.ParseRemote(text); fault.CodeOf(err) != fault.InvalidArgument || fault.HintOf(err) == "" {
			t.Errorf("%q: %+v, %v", text, r, err)
		}
	}
}

// TestRefusals holds that what cannot be measured is refused before anything is
// started, with a hint.
func TestRefusals(t *testing.T) {
	t.Parallel()
	at := func(host string) []bench.Remote {
		return []bench.Remote{{Name: "other", URL: &url.URL{Scheme: "http", Host: host}}}
	}
	for name, change := range map[string]func(*bench.Config){
		"unknown part":     func(c *bench.Config) { c.Part = "everything" },
		"unknown protocol": func(c *bench.Config) { c.Protocols = []string{"ftp"} },
		"remote":           func(c *bench.Config) { c.Targets = at("192.0.2.1:80") },
		"remote by name":   func(c *bench.Config) { c.Targets = at("storage.invalid:80") },
		"name taken":       func(c *bench.Config) { c.Targets = at("127.0.0.1:80"); c.Targets[0].Name = "s3" },
		"no clients":       func(c *bench.Config) { c.Concurrency = []int{0} },
		"no size":          func(c *bench.Config) { c.Sizes = []int64{-1} },
		"no such folder":   func(c *bench.Config) { c.Dir += "/none" },
		"too many readers": func(c *bench.Config) { c.Exercise.Readers = 1 << 20 },
		"tiny blocks":      func(c *bench.Config) { c.Exercise.BlockSize = 1 },
		"backwards":        func(c *bench.Config) { c.Seconds = -1 },
	} {
		cfg := small(t, "limits")
		change(&cfg)
		if _, err := bench.Run(t.Context(), cfg); fault.CodeOf(err) != fault.InvalidArgument || fault.HintOf(err) == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestTarget holds that another server takes turns with ours, is compared with it,
// and keeps nothing.
func TestTarget(t *testing.T) {
	t.Parallel()
	other, stop, err := bench.Serve(t.Context(), small(t, "limits"), "other")
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	for _, part := range []string{"matrix", "wal", "stream", "gateway", "exercise"} {
		cfg := small(t, part)
		cfg.Concurrency, cfg.Sizes, cfg.Targets = []int{2}, []int64{2000}, []bench.Remote{other}
		r, out := mustRun(t, cfg)
		saneCells(t, r)
		for _, c := range r.Cells {
			if c.Op == "cold read" {
				continue // needs the server's files
			}
			last := c.Contenders[len(c.Contenders)-1]
			if !strings.HasPrefix(last.Name, "other") || last.Ratio == nil || last.Ratio.Value <= 0 || last.CPU != nil {
				t.Errorf("%s %s: %+v", part, c.Op, last)
			}
		}
		if !strings.Contains(out, "RATIO") {
			t.Errorf("%s: no ratio is printed:\n%s", part, out)
		}
	}
	if buckets, err := bench.Buckets(t.Context(), other); err != nil || len(buckets) > 0 {
		t.Errorf("left on the other server: %v, %v", buckets, err)
	}
}
