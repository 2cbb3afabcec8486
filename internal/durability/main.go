// Command durability writes DURABILITY.md: what Larder promises of stored
// objects, which tests hold each part of the promise, and what the last run of
// those tests has counted. The tests append their figures as lines of JSON to
// the file that LARDER_FIGURES names; `./task durability` does all of it.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

func main() {
	in := flag.String("figures", "", "file with the figures of a run, JSON lines")
	out := flag.String("o", "DURABILITY.md", "page to write")
	flag.Parse()
	if err := run(*in, *out); err != nil {
		fmt.Fprintln(os.Stderr, "durability:", err)
		os.Exit(1)
	}
}

func run(in, out string) error {
	text, err := os.ReadFile(in)
	if err != nil {
		return err
	}
	found, err := readFigures(bytes.NewReader(text))
	if err != nil {
		return fmt.Errorf("%s: %w", in, err)
	}
	if len(found) == 0 {
		return fmt.Errorf("%s holds no figures", in)
	}
	page, err := render(found, here())
	if err != nil {
		return err
	}
	return os.WriteFile(out, page, 0o644)
}

// place is where and of what a run was made.
type place struct {
	Date, Commit, Kernel, Go, Machine string
	Tools                             []string
}

func here() place {
	var name unix.Utsname
	kernel := "unknown"
	if unix.Uname(&name) == nil {
		kernel = unix.ByteSliceToString(name.Sysname[:]) + " " + unix.ByteSliceToString(name.Release[:]) + " " + unix.ByteSliceToString(name.Machine[:])
	}
	return place{
		Date:    time.Now().UTC().Format(time.DateOnly),
		Commit:  firstLine("git", "describe", "--always", "--dirty", "--abbrev=12"),
		Kernel:  kernel,
		Go:      runtime.Version(),
		Machine: fmt.Sprintf("%d cores", runtime.NumCPU()),
		Tools:   []string{firstLine("mkfs.ext4", "-V"), firstLine("mkfs.xfs", "-V"), firstLine("strace", "-V")},
	}
}

// firstLine is what a program says first, on either stream.
func firstLine(program string, args ...string) string {
	out, err := exec.Command(program, args...).CombinedOutput()
	if err != nil {
		return program + " is not there"
	}
	line, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	return line
}
