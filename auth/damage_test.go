package auth_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"larder/auth"
	"larder/fault"
)

// TestDamagedSchema: a flipped letter in the name of a column is damage, as a
// page that cannot be read is.
func TestDamagedSchema(t *testing.T) {
	t.Parallel()
	cfg := auth.Config{Path: filepath.Join(t.TempDir(), "system.db"), SecretKey: bytes.Repeat([]byte{7}, 32)}
	a, err := auth.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(cfg.Path)
	if err != nil {
		t.Fatal(err)
	}
	for _, column := range []string{"last_used", "last_addr", "grants"} {
		spoilt := bytes.ReplaceAll(whole, []byte(column), []byte("x"+column[1:]))
		if bytes.Equal(spoilt, whole) {
			t.Fatalf("the file does not name %s", column)
		}
		if err := os.WriteFile(cfg.Path, spoilt, 0o600); err != nil {
			t.Fatal(err)
		}
		if a, err := auth.Open(t.Context(), cfg); fault.CodeOf(err) != fault.Corrupt {
			t.Errorf("%s: %v", column, err)
			if err == nil {
				a.Close()
			}
		}
	}
}
