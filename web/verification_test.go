package web_test

import (
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"larder/scrubber"
)

// TestDamageIsShown damages a blob, lets the verification find it, and looks
// for it where people look: on every page, and with what heals it on System.
func TestDamageIsShown(t *testing.T) {
	t.Parallel()
	l, b := claimed(t)
	l.bucket("kept")
	body := strings.Repeat("larder ", 100_000)
	l.put("kept", "big.txt", body)
	b.get("/system").has(t, "No whole pass yet")
	pass(t, l)
	b.get("/system").has(t, "Nothing damaged").has(t, "Last whole pass")

	damageBlob(t, l.dir)
	pass(t, l)
	b.get("/system").has(t, "1 open finding").has(t, "kept/big.txt").has(t, "Store the object again")
	b.get("/").has(t, "1 piece of data is damaged")
	b.get("/buckets").has(t, "1 piece of data is damaged")

	l.put("kept", "big.txt", body)
	pass(t, l)
	b.get("/system").has(t, "Nothing damaged").has(t, "Healed")
	b.get("/").has(t, "All is well")
}

func pass(t *testing.T, l *larder) {
	t.Helper()
	r, err := l.scrubber.Pass(t.Context(), func(scrubber.Status) {})
	if err != nil || !r.Complete {
		t.Fatalf("%+v, %v", r, err)
	}
}

// damageBlob flips one bit of every blob.
func damageBlob(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(dir, "blobs"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || len(d.Name()) != 32 {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		b[1000] ^= 4
		return os.WriteFile(path, b, 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestScrubIsSteered(t *testing.T) {
	t.Parallel()
	_, b := claimed(t)
	b.post("/system/scrub", "/system", "act", "pause").leads(t, "/system")
	b.get("/system").has(t, "The verification is paused").has(t, "Paused").has(t, "Resume")
	b.post("/system/scrub", "/system", "act", "resume").leads(t, "/system")
	b.get("/system").has(t, "The verification goes on.")
	b.post("/system/scrub", "/system", "act", "start").leads(t, "/system")
	b.post("/system/scrub", "/system", "act", "explode").status(t, http.StatusBadRequest)
}

func TestBucketSettings(t *testing.T) {
	t.Parallel()
	l, b := claimed(t)
	l.bucket("kept")
	b.get("/buckets").has(t, "Settings")
	b.get("/buckets/settings?bucket=kept").has(t, "Settings of kept").has(t, "Send unverified")
	b.post("/buckets/settings", "/buckets/settings?bucket=kept", "bucket", "kept", "verify", "off").leads(t, "/buckets")
	got, err := l.store.Bucket(t.Context(), "kept")
	if err != nil || !got.Settings.UnverifiedReads {
		t.Errorf("the bucket is %+v, %v", got, err)
	}
	b.get("/buckets").has(t, "The settings of kept are saved.")
	b.post("/buckets/settings", "/buckets/settings?bucket=kept", "bucket", "kept", "verify", "maybe").status(t, http.StatusBadRequest)
	b.get("/buckets/settings?bucket=none").status(t, http.StatusNotFound)
}
