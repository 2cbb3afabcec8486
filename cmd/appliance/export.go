package main

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"larder/admin"
	"larder/cmd/appliance/internal/config"
	"larder/cmd/appliance/internal/control"
	"larder/cmd/appliance/internal/export"
	"larder/gate"
)

// exportCommand writes objects as plain files.
func (p *program) exportCommand() *cobra.Command {
	var req admin.ExportRequest
	cmd := p.onFolder(cobra.Command{
		Use: "export BUCKET DIR", Short: "Write the objects of a bucket as plain files", Args: cobra.ExactArgs(2),
		Long: "Writes every object of a bucket as a file below DIR, which must exist and be empty. Every byte is verified.\n" +
			"Where a server runs, it does the work, and must be able to write to DIR.\n\n" +
			"A file has the name of its key, but for what no file can be called; such names are printed:\n" +
			"  %XX   a byte of the key: control characters, \"%\" itself, the dots of \".\" and \"..\"\n" +
			"  %-    an empty element, as in \"/a\", \"a//b\" and \"a/\"\n" +
			"  %+    at a folder's end: an element of the key that is too long goes on below\n" +
			"  %=    at a file's end: a folder has the plain name, since there are keys below it\n\n" +
			"Exit code 2: some objects could not be written; they are named.",
		Example: "  mkdir photos && larder export photos ./photos --prefix 2025/",
	}, func(ctx context.Context, c *control.Client, args []string) error {
		var err error
		req.Bucket = args[0]
		if req.Dir, err = filepath.Abs(args[1]); err != nil {
			return err
		}
		var report admin.ExportReport
		say := p.exportProgress()
		err = c.Follow(ctx, "/api/v1/export", req, func(text json.RawMessage) {
			var at admin.ExportProgress
			if json.Unmarshal(text, &at) == nil {
				say(at)
			}
		}, &report)
		if err != nil {
			return err
		}
		return p.exported(report)
	}, func(ctx context.Context, cfg config.Config, args []string) error {
		req.Bucket, req.Dir = args[0], args[1]
		report, err := p.exportOffline(ctx, cfg, req)
		if err != nil {
			return err
		}
		return p.exported(report)
	})
	cmd.Flags().StringVar(&req.Prefix, "prefix", "", "only keys that begin with this")
	return cmd
}

func (p *program) exportOffline(ctx context.Context, cfg config.Config, req admin.ExportRequest) (report admin.ExportReport, err error) {
	s, err := p.openStore(ctx, cfg)
	if err != nil {
		return report, err
	}
	defer closing(s, &err)
	a, _, err := p.openIdentity(ctx, cfg)
	if err != nil {
		return report, err
	}
	defer closing(a, &err)
	door := gate.New(gate.Config{Store: s, Guard: a.Guard(), Audit: a, Log: p.notes()})
	return export.Run(ctx, export.Config{Gate: door, Log: p.notes()}, a.Local(), req, p.exportProgress())
}

// exportProgress prints names that differ from their keys to the output, and
// failures and progress to the error output.
func (p *program) exportProgress() func(admin.ExportProgress) {
	var at admin.ExportProgress
	say := every(sayEvery, func() { fmt.Fprintf(p.err, "%d files, %s\n", at.Files, humanize.IBytes(uint64(at.Bytes))) })
	return func(now admin.ExportProgress) {
		at = now
		switch {
		case at.Failure != "":
			fmt.Fprintf(p.err, "failed: %q: %s\n", at.Key, at.Failure)
		case at.Path != "":
			fmt.Fprintf(p.out, "%q is %s\n", at.Key, at.Path)
		default:
			say()
		}
	}
}

func (p *program) exported(r admin.ExportReport) error {
	fmt.Fprintf(p.out, "%d files, %s. %d have another name than their key.\n", r.Files, humanize.IBytes(uint64(r.Bytes)), r.Renamed)
	if r.Failed > 0 {
		return &exitError{exitDamaged, fmt.Sprintf("%d objects could not be written; they are named above", r.Failed)}
	}
	return nil
}
