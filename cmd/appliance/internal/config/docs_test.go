package config_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"larder/cmd/appliance/internal/config"
)

// TestPagesNameRealSettings reads README, docs and packaging: a LARDER_ name
// that is no setting would be refused by the very program it explains.
func TestPagesNameRealSettings(t *testing.T) {
	t.Parallel()
	const top = "../../../.."
	known := config.Defaults()
	name := regexp.MustCompile(`LARDER_[A-Z0-9_]+`)
	seen := 0
	for _, root := range []string{"README.md", "docs", "packaging"} {
		err := filepath.WalkDir(filepath.Join(top, root), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || strings.HasSuffix(path, ".png") {
				return err
			}
			text, err := os.ReadFile(path)
			for _, found := range name.FindAllString(string(text), -1) {
				seen++
				setting := strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(found, "LARDER_"), "_", "-"))
				if _, ok := known[setting]; !ok && setting != "config" {
					t.Errorf("%s names %s, which is no setting", path, found)
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if seen == 0 {
		t.Error("no page names a setting: the test looks in the wrong place")
	}
}
