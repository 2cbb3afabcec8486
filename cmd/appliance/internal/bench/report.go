package bench

import (
	"encoding/json"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"larder/fault"
)

// Report is what a run found, as --json writes it.
type Report struct {
	Part       string    `json:"part"`
	Version    string    `json:"version"`
	Go         string    `json:"go"`
	Processors int       `json:"processors"`
	FileSystem string    `json:"file_system"`
	Started    time.Time `json:"started"`
	Seconds    float64   `json:"seconds"` // for each contender of a cell
	Limits     []Figures `json:"limits"`
	Cells      []Cell    `json:"cells"`
}

// Cell is one thing that was measured, with everybody who took turns at it. The
// ratios of the others are to the first.
type Cell struct {
	Part        string    `json:"part"`
	Op          string    `json:"op"`
	Size        int64     `json:"size,omitempty"` // bytes of an object
	Concurrency int       `json:"concurrency,omitempty"`
	Contenders  []Figures `json:"contenders"`
}

// Figures are those of one contender. Fields that were not or cannot be measured
// are absent.
type Figures struct {
	Name       string   `json:"name"`
	Operations int64    `json:"operations"`
	Bytes      int64    `json:"bytes,omitempty"` // moved in all
	Errors     int64    `json:"errors"`
	FirstError string   `json:"first_error,omitempty"`
	Rate       Estimate `json:"rate"`           // operations a second
	MiB        float64  `json:"mib,omitempty"`  // MiB a second, the median
	Took       *Latency `json:"took,omitempty"` // of an operation
	FirstByte  *Latency `json:"first_byte,omitempty"`
	Lag        *Latency `json:"lag,omitempty"` // until a follower saw what was acknowledged

	CPU       *float64  `json:"server_cpu_us,omitempty"`  // of the server, microseconds an operation
	Cores     *float64  `json:"server_cores,omitempty"`   // that the server kept busy
	Peak      int64     `json:"server_peak,omitempty"`    // resident bytes
	Resident  int64     `json:"server_rss,omitempty"`     // at the end
	Idle      int64     `json:"server_idle,omitempty"`    // before the first request
	Syncs     *float64  `json:"server_syncs,omitempty"`   // of the disk, an operation
	Allocs    *float64  `json:"server_allocs,omitempty"`  // of memory, an operation
	Limit     string    `json:"limit,omitempty"`          // which of the limits stands against it
	OfLimit   *Estimate `json:"of_limit,omitempty"`       // the fraction of it, by rounds
	Ratio     *Estimate `json:"ratio,omitempty"`          // of the rate to the first contender's, by rounds
	PerSecond []float64 `json:"mib_per_second,omitempty"` // MiB of each second
}

// verdict is an error when some operation failed.
func (r *Report) verdict() error {
	for _, c := range r.Cells {
		for _, f := range c.Contenders {
			if f.Errors > 0 {
				return fault.New("bench.Run", fault.Internal, c.title()+" "+f.Name, nil).
					WithHint(fmt.Sprintf("%d operations failed, so the figures say little. The first: %s", f.Errors, f.FirstError))
			}
		}
	}
	return nil
}

func (c Cell) title() string {
	title := c.Part + " " + c.Op
	if c.Size > 0 {
		title += " " + sizeName(c.Size)
	}
	if c.Concurrency > 0 {
		title += fmt.Sprintf(" x%d", c.Concurrency)
	}
	return title
}

// Write writes the report as JSON.
func (r Report) Write(path string) error { return writeJSON(path, r) }

func writeJSON(path string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(path, append(text, '\n'), 0o644); err != nil {
		return refuse(path, err, "The figures cannot be written to this file.")
	}
	return nil
}

// fileSystem names the file system of a folder, since a sync costs nothing on
// some of them.
func fileSystem(dir string) string {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return ""
	}
	switch int64(st.Type) {
	case unix.EXT4_SUPER_MAGIC:
		return "ext4"
	case unix.XFS_SUPER_MAGIC:
		return "xfs"
	case unix.BTRFS_SUPER_MAGIC:
		return "btrfs"
	case unix.TMPFS_MAGIC:
		return "tmpfs (syncs cost nothing here)"
	case unix.OVERLAYFS_SUPER_MAGIC:
		return "overlayfs"
	}
	return fmt.Sprintf("%#x", int64(st.Type))
}

// sizeName is a number of bytes for people, as exact as they like it.
func sizeName(n int64) string {
	units := []string{"B", "KiB", "MiB", "GiB"}
	v, i := float64(n), 0
	for v >= 1024 && i < len(units)-1 {
		v, i = v/1024, i+1
	}
	return fmt.Sprintf("%.4g %s", v, units[i])
}
