package main

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"larder/cmd/appliance/internal/bench"
)

// benchFlags are what a person says about a run, before it is read.
type benchFlags struct {
	sizes   []string
	block   string
	targets []string
	json    string
	check   string
	save    string
	margin  float64

	baseline bench.Baseline // what check names
}

// benchCommand measures this program on this machine.
func (p *program) benchCommand() *cobra.Command {
	cfg := bench.Config{Version: versionText(), Environ: p.environ, Out: p.out, Progress: p.err}
	var given benchFlags
	cmd := &cobra.Command{
		Use: "bench PART", Short: "Measure speed, on a server and a folder of its own", Args: cobra.ExactArgs(1),
		Long: "Starts a server of this program on a fresh folder, speaks to it over the loopback, and prints what it found\n" +
			"beside what the disk and the kernel can do at best. The folder is removed at the end. PART is one of\n\n" + benchParts() +
			"\nFigures are medians over rounds that take turns, with the interval that holds the true one with 95% confidence.\n" +
			"S3 requests are signed as SDKs sign them over plain HTTP: each body with its SHA-256.\n\n" +
			"Exit code 0: every operation succeeded and brought the right bytes.",
		Example: "  larder bench limits --dir /srv\n  larder bench matrix --dir /srv --sizes 1KiB,1MiB --concurrency 1,16 --json figures.json\n" +
			"  larder bench all --dir /srv --target other=http://127.0.0.1:9100,KEY,SECRET",
		RunE: func(c *cobra.Command, args []string) error {
			cfg.Part = args[0]
			if err := given.read(&cfg); err != nil {
				return err
			}
			report, err := bench.Run(c.Context(), cfg)
			return errors.Join(err, given.keep(report, err == nil))
		},
	}
	given.add(cmd, &cfg)
	return cmd
}

func benchParts() string {
	var b strings.Builder
	for _, part := range bench.Parts() {
		fmt.Fprintf(&b, "  %-9s %s\n", part[0], part[1])
	}
	return b.String()
}

func (g *benchFlags) add(cmd *cobra.Command, cfg *bench.Config) {
	f := cmd.Flags()
	f.StringVar(&cfg.Dir, "dir", ".", "folder on the disk to measure")
	f.Float64Var(&cfg.Seconds, "seconds", 1, "time for each contender of a cell")
	f.IntVar(&cfg.Rounds, "rounds", 6, "rounds in which contenders take turns within that time")
	f.IntSliceVar(&cfg.Concurrency, "concurrency", nil, "clients at once (default: what the part thinks right)")
	f.StringSliceVar(&g.sizes, "sizes", nil, "sizes of objects, 64KiB for instance (default: what the part thinks right)")
	f.StringSliceVar(&cfg.Protocols, "protocols", nil, "protocols of our own server (default: all)")
	f.StringArrayVar(&g.targets, "target", nil, "another S3 server that takes turns with ours: name=url,key,secret")
	f.BoolVar(&cfg.AllowRemote, "allow-remote", false, "let targets stand on other machines")
	f.StringVar(&g.json, "json", "", "file for all figures, as JSON")
	f.StringVar(&g.check, "check", "", "compare with this baseline, and fail where the run is worse")
	f.Float64Var(&g.margin, "margin", 0.5, "how much worse --check lets pass, as a fraction")
	f.StringVar(&g.save, "save-baseline", "", "write what the run reached to this file, for --check; of what it has, the worse stays")
	f.IntVar(&cfg.ListKeys, "list-keys", 100_000, "matrix: objects of the bucket that is listed")
	f.Int64Var(&cfg.StreamBytes, "stream-bytes", 1<<30, "stream: bytes of the large object")
	f.IntVar(&cfg.StreamCount, "stream-count", 1000, "stream: number of small objects")
	f.IntVar(&cfg.Exercise.Readers, "readers", 4, "exercise: clients that read")
	f.IntVar(&cfg.Exercise.Writers, "writers", 4, "exercise: clients that write")
	f.StringVar(&g.block, "block-size", "1MiB", "exercise: size of a block")
	f.BoolVar(&cfg.Exercise.VaryRequest, "vary-request", false, "exercise: write other bytes under another key each time")
	f.BoolVar(&cfg.Exercise.UseIndex, "use-index", false, "exercise: read what a listing names, not what the writers tell")
	f.DurationVar(&cfg.Exercise.RunTime, "run-time", 10*time.Second, "exercise: time of one run")
	f.IntVar(&cfg.Exercise.Repeat, "repeat", 1, "exercise: number of runs")
}

// read turns the words into what bench works with.
func (g *benchFlags) read(cfg *bench.Config) error {
	for _, text := range g.sizes {
		n, err := sizeFlag("--sizes", text)
		if err != nil {
			return err
		}
		cfg.Sizes = append(cfg.Sizes, n)
	}
	var err error
	if cfg.Exercise.BlockSize, err = sizeFlag("--block-size", g.block); err != nil {
		return err
	}
	for _, text := range g.targets {
		r, err := bench.ParseRemote(text)
		if err != nil {
			return err
		}
		cfg.Targets = append(cfg.Targets, r)
	}
	if g.margin < 0 || g.margin >= 1 {
		return errors.New("--margin: use a fraction from 0 to 1, 0.5 for instance")
	}
	if cfg.Exercise.Readers == 0 && cfg.Exercise.Writers == 0 {
		return errors.New("--readers and --writers are both 0: nothing would be done")
	}
	if g.check != "" { // that it can be read is found out before anything is measured
		g.baseline, err = bench.ReadBaseline(g.check)
	}
	return err
}

func sizeFlag(flag, text string) (int64, error) {
	n, err := humanize.ParseBytes(text)
	if err != nil || n > math.MaxInt64 {
		return 0, fmt.Errorf("%s: %q is no size, write 64KiB for instance", flag, text)
	}
	return int64(n), nil
}

// keep writes the figures where they are wanted, and compares them. A run that
// failed leaves no baseline and is compared with none.
func (g *benchFlags) keep(report bench.Report, good bool) error {
	var errs []error
	if g.json != "" && report.Part != "" {
		errs = append(errs, report.Write(g.json))
	}
	if g.save != "" && good {
		errs = append(errs, report.Baseline().Save(g.save))
	}
	if g.check != "" && good {
		errs = append(errs, report.Against(g.baseline, g.margin))
	}
	return errors.Join(errs...)
}
