package server_test

import (
	"testing"

	"larder/cmd/appliance/internal/server"
)

// TestUnmountedAbove reads tables as fstab(5) and proc_pid_mountinfo(5) show
// them.
func TestUnmountedAbove(t *testing.T) {
	t.Parallel()
	const fstab = `# a comment /srv
UUID=1 / ext4 defaults 0 1
UUID=2 none swap sw 0 0
UUID=3 /mnt/disk ext4 nofail 0 2
UUID=4 /mnt/my\040disk xfs nofail 0 2
UUID=5 /mnt/disk/inner/ ext4 noauto 0 2

short
`
	const some = `21 26 0:20 / /proc rw,relatime - proc proc rw
40 26 7:0 / /mnt/disk rw - ext4 /dev/sda1 rw
`
	const all = some + `41 26 7:1 / /mnt/my\040disk rw - xfs /dev/sdb1 rw
42 26 7:1 / /mnt/disk/inner rw - ext4 /dev/sdc1 rw
`
	for dir, want := range map[string]string{
		"/":                      "",
		"/srv/larder":            "",
		"/mnt":                   "",
		"/mnt/disk":              "",
		"/mnt/disk/larder":       "",
		"/mnt/disk2":             "",
		"/mnt/my disk":           "/mnt/my disk",
		"/mnt/my disk/a/b":       "/mnt/my disk",
		"/mnt/disk/inner":        "/mnt/disk/inner",
		"/mnt/disk/inner/larder": "/mnt/disk/inner",
	} {
		if got := server.UnmountedAbove(dir, []byte(fstab), []byte(some)); got != want {
			t.Errorf("%s: %q, want %q", dir, got, want)
		}
		if got := server.UnmountedAbove(dir, []byte(fstab), []byte(all)); got != "" {
			t.Errorf("%s: %q, though all is mounted", dir, got)
		}
	}
	if got := server.UnmountedAbove("/mnt/disk/x", []byte(fstab), nil); got != "/mnt/disk" {
		t.Errorf("nothing mounted: %q", got)
	}
}
