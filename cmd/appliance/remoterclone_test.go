package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestRemoteAgreesWithRclone copies with one program and syncs with the other:
// neither finds anything to do.
func TestRemoteAgreesWithRclone(t *testing.T) {
	t.Parallel()
	rclone, err := exec.LookPath("rclone")
	if err != nil {
		t.Skip("rclone is not installed")
	}
	c, dir := commands(t), t.TempDir()
	c.must(t, "mb", "larder:ours")
	c.must(t, "mb", "larder:theirs")
	tree(t, dir)
	theirs := func(args ...string) string {
		cmd := exec.Command(rclone, append([]string{"--config", "/dev/null", "-v", "--stats-one-line", "--s3-no-check-bucket"}, args...)...)
		cmd.Env = append(c.env,
			"RCLONE_CONFIG_L_TYPE=s3", "RCLONE_CONFIG_L_PROVIDER=Other", "RCLONE_CONFIG_L_ENDPOINT="+c.s3,
			"RCLONE_CONFIG_L_ACCESS_KEY_ID="+strings.TrimPrefix(c.env[3], "LARDER_KEY_ID="),
			"RCLONE_CONFIG_L_SECRET_ACCESS_KEY="+strings.TrimPrefix(c.env[4], "LARDER_KEY_SECRET="))
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("rclone %q: %v\n%s", args, err, out)
		}
		return string(out)
	}
	c.must(t, "sync", dir, "larder:ours")
	if out := theirs("sync", dir, "L:ours"); strings.Contains(out, "Copied") || strings.Contains(out, "Updated") {
		t.Errorf("rclone copies what was copied:\n%.2000s", out)
	}
	theirs("sync", dir, "L:theirs")
	c.says(t, "0 copied, 300 unchanged, 0 deleted.", dir, "larder:theirs")
	down := filepath.Join(t.TempDir(), "down")
	c.must(t, "sync", "larder:theirs", down)
	sameTree(t, dir, down)
}
