package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"syscall"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"larder/admin"
	"larder/cmd/appliance/internal/backup"
	"larder/cmd/appliance/internal/config"
	"larder/cmd/appliance/internal/control"
)

// backupCommand copies everything into another folder.
func (p *program) backupCommand() *cobra.Command {
	var req admin.BackupRequest
	var asJSON bool
	cmd := p.onFolder(cobra.Command{
		Use: "backup DIR", Short: "Bring a backup of everything up to date, while the server runs", Args: cobra.ExactArgs(1),
		Long: "Makes the folder DIR hold everything: objects, users and keys, secret.key and the certificate, as of now.\n" +
			"The first run copies all, later ones what is new. DIR must exist and be empty or hold an earlier backup of\n" +
			"this store; it should lie on another disk. An interrupted run leaves the earlier backup as it was.\n" +
			"Where a server runs, it does the work, and must be able to write to DIR. `larder restore` brings it back.\n\n" +
			"The backup holds secret.key: whoever can read it can use every key. Keep others out.",
		Example: "  larder backup /mnt/usb/larder",
	}, func(ctx context.Context, c *control.Client, args []string) error {
		var err error
		if req.Dir, err = filepath.Abs(args[0]); err != nil {
			return err
		}
		var report admin.BackupReport
		say := p.backupProgress()
		err = c.Follow(ctx, "/api/v1/backup", req, func(text json.RawMessage) {
			var at admin.BackupProgress
			if json.Unmarshal(text, &at) == nil {
				say(at)
			}
		}, &report)
		if err != nil {
			return err
		}
		return p.backedUp(report, asJSON)
	}, func(ctx context.Context, cfg config.Config, args []string) error {
		req.Dir = args[0]
		report, err := p.backupOffline(ctx, cfg, req)
		if err != nil {
			return err
		}
		return p.backedUp(report, asJSON)
	})
	f := cmd.Flags()
	f.BoolVar(&req.Link, "link", false, "share files with the data folder by hard links where DIR is on its file system:\nno protection against a damaged disk")
	f.Int64Var(&req.Rate, "rate", 0, "bytes a second to copy at most (default: as fast as it goes)")
	f.BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (p *program) backupOffline(ctx context.Context, cfg config.Config, req admin.BackupRequest) (report admin.BackupReport, err error) {
	s, err := p.openStore(ctx, cfg)
	if err != nil {
		return report, err
	}
	defer closing(s, &err)
	a, files, err := p.openIdentity(ctx, cfg)
	if err != nil {
		return report, err
	}
	defer closing(a, &err)
	return backup.Run(ctx, backup.Config{
		Data: cfg.Data, Files: files, Store: s, Auth: a, Version: versionText(), Log: p.notes(),
	}, req, p.backupProgress())
}

func (p *program) backupProgress() func(admin.BackupProgress) {
	var at admin.BackupProgress
	say := every(sayEvery, func() {
		fmt.Fprintf(p.err, "%s: %d files, %s copied\n", at.Stage, at.Files, humanize.IBytes(uint64(at.Bytes)))
	})
	return func(now admin.BackupProgress) { at = now; say() }
}

func (p *program) backedUp(r admin.BackupReport, asJSON bool) error {
	if asJSON {
		return p.printJSON(r)
	}
	linked := ""
	if r.Linked > 0 {
		linked = fmt.Sprintf(", %d shared by links", r.Linked)
	}
	_, err := fmt.Fprintf(p.out, "The backup in %s is complete, up to change %d: %d files, %s.\n%d of them (%s) were copied now%s; %d old ones were removed. It took %s.\n",
		r.Dir, r.Sequence, r.Files, humanize.IBytes(uint64(r.Bytes)), r.Copied, humanize.IBytes(uint64(r.CopiedBytes)), linked, r.Removed,
		r.Finished.Sub(r.Started).Round(time.Millisecond))
	return err
}

// restoreCommand makes a data folder out of a backup.
func (p *program) restoreCommand() *cobra.Command {
	req := backup.RestoreRequest{}
	cmd := &cobra.Command{
		Use: "restore DIR", Short: "Make a data folder out of a backup", Args: cobra.ExactArgs(1),
		Long: "Brings the backup in DIR back into the folder that --data names, which must exist and be empty.\n" +
			"Every file is checked on the way, and the store is opened once at the end. Run again after an interruption,\n" +
			"the command goes on.\n\n" +
			"Users and keys are as they were when the backup was made: a key that was deleted or disabled after that\n" +
			"works again. With --against and the old data folder the command names such keys and changes nothing until\n" +
			"it is told what to do with them.",
		Example: "  mkdir -m 700 /srv/larder\n  larder restore /mnt/usb/larder --data /srv/larder --against /srv/larder.old",
		RunE: func(c *cobra.Command, args []string) error {
			cfg, err := config.LoadClient(c.Flags(), p.environ)
			if err != nil {
				return err
			}
			if req.Accept && req.Revoke {
				return errors.New("--yes and --keep-revoked are both given: choose one")
			}
			syscall.Umask(0o077) // SQLite makes its files with this process's mask
			req.Dir, req.Data, req.BlobDir, req.Log = args[0], cfg.Data, cfg.BlobDir, p.notes()
			req.Progress = p.restoreProgress()
			out, err := backup.Restore(c.Context(), req)
			if err != nil {
				return err
			}
			p.restored(cfg, out, req.Against != "")
			return nil
		},
	}
	f := cmd.Flags()
	config.FolderFlags(f)
	f.StringVar(&req.Against, "against", "", "a data folder or system.db that is newer than the backup, to find revoked keys")
	f.BoolVar(&req.Revoke, "keep-revoked", false, "take away again what was taken away after the backup (needs --against)")
	f.BoolVar(&req.Accept, "yes", false, "let keys and users work again that were deleted or disabled after the backup")
	return cmd
}

func (p *program) restoreProgress() func(string, int64, int64) {
	var stage string
	var files, bytes int64
	say := every(sayEvery, func() { fmt.Fprintf(p.err, "%s: %d files, %s\n", stage, files, humanize.IBytes(uint64(bytes))) })
	return func(s string, f, b int64) { stage, files, bytes = s, f, b; say() }
}

func (p *program) restored(cfg config.Config, r backup.Restored, compared bool) {
	fmt.Fprintf(p.out, "Restored to %s: the backup of %s, %d buckets with %d objects, %s, up to change %d.\n", cfg.Data,
		r.Manifest.Finished.Local().Format(time.DateTime), r.Stats.Buckets, r.Stats.Objects, humanize.IBytes(uint64(r.Stats.Bytes)), r.Stats.Sequence)
	p.printRevived(r)
	if !compared {
		fmt.Fprintln(p.out, "Whether any of these keys was deleted or disabled after the backup, nobody could tell: look at the list in the console.")
	}
	fmt.Fprintln(p.out, "Nobody is logged in any more.")
}

func (p *program) printRevived(r backup.Restored) {
	what := "work again"
	if r.Revoked {
		what = "were taken away again"
	}
	if len(r.Revived) > 0 {
		fmt.Fprintf(p.out, "Deleted, disabled or changed after the backup, they %s:\n", what)
		for _, v := range r.Revived {
			fmt.Fprintf(p.out, "  %s\n", v)
		}
	}
	revoked := map[string]bool{}
	for _, v := range r.Revived {
		revoked[v.ID] = r.Revoked && v.Kind == "key"
	}
	fmt.Fprintln(p.out, "Access keys that can be used:")
	for _, k := range r.Working {
		if !revoked[k.ID] {
			fmt.Fprintf(p.out, "  %s  %s\n", k.ID, k.Name)
		}
	}
}
