// Package bench measures Larder from outside: it starts the real server on a
// fresh folder, speaks to it over real sockets as clients do, and compares what
// it gets with what the disk and the kernel can do at best.
//
// Nothing is kept: the folder is removed and the server ended when Run returns,
// whatever happened. What is measured takes turns in short rounds, so that noise
// meets all alike; figures are medians over the rounds with the interval that
// holds the true median with 95% confidence. An operation that failed, or that
// brought other bytes than were stored, is an error and never a fast success.
package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"larder/fault"
	"larder/store/vfs"
)

// Config says what to measure. The zero values of numbers and lists are what a
// part thinks right.
type Config struct {
	Part    string
	Binary  string   // the program whose `serve` is measured; "" = this one
	Version string   // of the program, for the report
	Environ []string // the environment of the server; settings of Larder in it do not count
	Dir     string   // the folder, and so the disk, that the data folder is made in

	Seconds     float64 // for one contender of one cell, all rounds together
	Rounds      int
	Concurrency []int
	Sizes       []int64  // bytes of objects
	Protocols   []string // of our own server; empty = all
	Targets     []Remote // foreign servers that take turns with ours
	AllowRemote bool     // targets may stand on other machines

	ListKeys    int   // objects of the bucket that is listed
	StreamBytes int64 // the large object of the part stream
	StreamCount int   // and the number of small ones
	Exercise    Exercise

	Out      io.Writer // tables
	Progress io.Writer // what is being done
}

const (
	defaultSeconds     = 1
	defaultRounds      = 6
	defaultListKeys    = 100_000
	defaultStreamBytes = 1 << 30
	defaultStreamCount = 1000
)

// part is one word of the command line.
type part struct {
	name string
	help string
	run  func(*bench, context.Context) error
}

func parts() []part {
	return []part{
		{"limits", "what this disk and this kernel can do at best", (*bench).reportLimits},
		{"matrix", "put, get, head, delete, list and multipart, by size and concurrency", (*bench).matrix},
		{"exercise", "readers and writers of blocks for a while, every block verified", (*bench).exercise},
		{"stream", "a large object up and down, many small ones one after another, memory", (*bench).stream},
		{"gateway", "large objects by many clients, signed and presigned, time to the first byte", (*bench).gateway},
		{"wal", "durable commits to logs with conditional puts, races, followers, cold reads", (*bench).wal},
	}
}

// Parts are the words that Config.Part may be, each with what it does.
func Parts() [][2]string {
	var out [][2]string
	for _, p := range parts() {
		out = append(out, [2]string{p.name, p.help})
	}
	return append(out, [2]string{"all", "all of them, one after the other"})
}

// bench is one run.
type bench struct {
	cfg    Config
	dir    string                // of this run, removed at its end
	files  vfs.FS                // of dir
	bare   map[string]*contender // the limits by name
	report Report
}

// Run measures and returns the figures, which it has printed as tables as well.
// Where operations failed, the report is whole and the error says so.
func Run(ctx context.Context, cfg Config) (Report, error) {
	chosen, err := choose(cfg.Part)
	if err != nil {
		return Report{}, err
	}
	if cfg, err = prepare(cfg); err != nil {
		return Report{}, err
	}
	b := &bench{cfg: cfg, report: Report{
		Part: cfg.Part, Version: cfg.Version, Started: time.Now().UTC(), Go: runtime.Version(),
		Processors: runtime.NumCPU(), Seconds: cfg.Seconds, FileSystem: fileSystem(cfg.Dir),
	}}
	if b.dir, err = os.MkdirTemp(cfg.Dir, "larder-bench-"); err != nil {
		return Report{}, noFolder(cfg.Dir, err)
	}
	defer os.RemoveAll(b.dir)
	if b.files, err = vfs.OS(b.dir); err != nil {
		return Report{}, noFolder(cfg.Dir, err)
	}
	bare := &bare{files: b.files}
	defer bare.close()
	if err := b.limits(ctx, bare); err != nil {
		return b.report, err
	}
	for _, p := range chosen {
		if err := p.run(b, ctx); err != nil {
			return b.report, fmt.Errorf("%s: %w", p.name, err)
		}
	}
	return b.report, b.report.verdict()
}

// choose finds the parts that a word stands for.
func choose(word string) ([]part, error) {
	var names []string
	for _, p := range parts() {
		if p.name == word {
			return []part{p}, nil
		}
		names = append(names, p.name)
	}
	if word == "all" {
		return parts(), nil
	}
	return nil, refuse(word, nil, fmt.Sprintf("There is no such part; there are %v and all.", names))
}

// prepare fills in what was left open.
func prepare(cfg Config) (Config, error) {
	if cfg.Binary == "" {
		own, err := os.Executable()
		if err != nil {
			return cfg, err
		}
		cfg.Binary = own
	}
	if cfg.Dir == "" {
		cfg.Dir = "."
	}
	dir, err := filepath.Abs(cfg.Dir)
	if err != nil {
		return cfg, err
	}
	cfg.Dir = dir
	if cfg.Seconds == 0 {
		cfg.Seconds = defaultSeconds
	}
	cfg.Rounds = orElse(cfg.Rounds, defaultRounds)
	cfg.ListKeys = orElse(cfg.ListKeys, defaultListKeys)
	cfg.StreamBytes = orElse(cfg.StreamBytes, defaultStreamBytes)
	cfg.StreamCount = orElse(cfg.StreamCount, defaultStreamCount)
	cfg.Exercise = cfg.Exercise.filled()
	for _, w := range []*io.Writer{&cfg.Out, &cfg.Progress} {
		if *w == nil {
			*w = io.Discard
		}
	}
	return cfg, cfg.check()
}

func orElse[T int | int64](v, otherwise T) T {
	if v == 0 {
		return otherwise
	}
	return v
}

// What the numbers may be at most: a run is bounded in time and on the disk.
const (
	maxWorkers = 1024
	maxSize    = 1 << 30
	maxSeconds = 3600
)

// check refuses what cannot be measured, and names the flag.
func (cfg Config) check() error {
	var errs []error
	if cfg.Seconds < 0 || cfg.Seconds > maxSeconds {
		errs = append(errs, refuse("--seconds", nil, "Give a cell more than nothing and at most an hour."))
	}
	if cfg.Rounds < 1 || cfg.ListKeys < 1 || cfg.StreamBytes < 1 || cfg.StreamCount < 1 {
		errs = append(errs, refuse("--rounds", nil, "There is at least one round and one object of everything."))
	}
	for _, n := range cfg.Concurrency {
		if n < 1 || n > maxWorkers {
			errs = append(errs, refuse("--concurrency", nil, fmt.Sprintf("From 1 to %d clients can work at once.", maxWorkers)))
		}
	}
	for _, n := range cfg.Sizes {
		if n < 1 || n > maxSize {
			errs = append(errs, refuse("--sizes", nil, "An object has from 1 byte to 1 GiB here."))
		}
	}
	errs = append(errs, cfg.checkProtocols(), cfg.checkTargets(), cfg.Exercise.check())
	return errors.Join(errs...)
}

// say tells what is being done.
func (b *bench) say(format string, args ...any) {
	fmt.Fprintf(b.cfg.Progress, format+"\n", args...)
}

// span is the time of one round.
func (b *bench) span() time.Duration {
	return time.Duration(b.cfg.Seconds / float64(b.cfg.Rounds) * float64(time.Second))
}

// objects is how many objects of a size a cell gets: most in a second or more,
// fewer in less, never more bytes than that.
func (b *bench) objects(most int, bytes, size int64) int {
	return max(1, min(int(float64(most)*min(1, b.cfg.Seconds)), int(bytes/size)))
}

// concurrency is the list of the flag, or a part's own.
func (b *bench) concurrency(own ...int) []int {
	if len(b.cfg.Concurrency) > 0 {
		return b.cfg.Concurrency
	}
	return own
}

func (b *bench) sizes(own ...int64) []int64 {
	if len(b.cfg.Sizes) > 0 {
		return b.cfg.Sizes
	}
	return own
}

// refuse is the error for a request that cannot be carried out.
func refuse(what string, cause error, hint string) error {
	return fault.New("bench.Run", fault.InvalidArgument, what, cause).WithHint(hint)
}

func noFolder(dir string, err error) error {
	return refuse(dir, err, "No data folder can be made here. Name a folder on the disk to measure with --dir.")
}
