package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"larder/admin"
	"larder/auth"
	"larder/cmd/appliance/internal/backup"
	"larder/cmd/appliance/internal/config"
	"larder/cmd/appliance/internal/privatefile"
	"larder/cmd/appliance/internal/snapshot"
	"larder/fault"
	"larder/store/vfs"
)

// snapshotCommand looks after the snapshots of system.db.
func (p *program) snapshotCommand() *cobra.Command {
	return group(cobra.Command{
		Use: "snapshot", Short: "Snapshots of users and keys in the folder backups/",
		Long: "A running server keeps snapshots of system.db in the folder backups/ of the data folder: one each\n" +
			"snapshot-period, and soon after each change of users or keys. These commands open the data folder themselves.",
	},
		p.snapshotList(), p.snapshotRestore(), p.snapshotKeep(),
	)
}

// onFiles is a command that works on the files of the data folder.
func (p *program) onFiles(cmd cobra.Command, act func(context.Context, config.Config, vfs.FS, []string) error) *cobra.Command {
	cmd.RunE = func(c *cobra.Command, args []string) error {
		cfg, err := config.LoadClient(c.Flags(), p.environ)
		if err != nil {
			return err
		}
		files, err := vfs.OS(cfg.Data)
		if err != nil {
			return fault.New("larder", fault.InvalidArgument, cfg.Data, err).WithHint("The data folder cannot be opened.")
		}
		syscall.Umask(0o077) // SQLite makes its files with this process's mask
		return act(c.Context(), cfg, files, args)
	}
	config.ClientFlags(cmd.Flags())
	return &cmd
}

func (p *program) snapshotList() *cobra.Command {
	var asJSON bool
	cmd := p.onFiles(cobra.Command{Use: "list", Short: "List the snapshots, the newest first", Args: cobra.NoArgs},
		func(_ context.Context, _ config.Config, files vfs.FS, _ []string) error {
			list, err := snapshot.List(files)
			if err != nil {
				return err
			}
			if asJSON {
				return p.printJSON(append([]admin.Snapshot{}, list...))
			}
			return p.table("TIME\tSIZE\tNAME", len(list), func(w *tabwriter.Writer, i int) {
				fmt.Fprintf(w, "%s\t%s\t%s\n", list[i].Time.Local().Format(time.DateTime), humanize.IBytes(uint64(list[i].Size)), list[i].Name)
			})
		})
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (p *program) snapshotRestore() *cobra.Command {
	var accept, revoke bool
	cmd := p.onFiles(cobra.Command{
		Use: "restore [NAME]", Short: "Put a snapshot in the place of system.db, while no server runs", Args: cobra.MaximumNArgs(1),
		Long: "Puts the named snapshot, or the newest good one, in the place of system.db, which is kept under another name.\n" +
			"Where the system.db that it replaces can be read, the command names the keys and users to whom the snapshot\n" +
			"gives back what was taken away since, and changes nothing until it is told what to do with them.",
	}, func(ctx context.Context, cfg config.Config, files vfs.FS, args []string) (err error) {
		if accept && revoke {
			return errors.New("--yes and --keep-revoked are both given: choose one")
		}
		lock, err := lockFolder(files, cfg.Data)
		if err != nil {
			return err
		}
		defer closing(lock, &err)
		return p.putBack(ctx, cfg, files, append(args, "")[0], accept, revoke)
	})
	cmd.Flags().BoolVar(&revoke, "keep-revoked", false, "take away again what was taken away after the snapshot")
	cmd.Flags().BoolVar(&accept, "yes", false, "let keys and users work again that were deleted or disabled after the snapshot")
	return cmd
}

func lockFolder(files vfs.FS, dir string) (io.Closer, error) {
	lock, err := files.Lock("LOCK")
	if errors.Is(err, vfs.ErrLocked) {
		return nil, fault.New("larder", fault.Locked, dir, err).WithHint("A server uses this data folder. Stop it first.")
	}
	return lock, err
}

// putBack is snapshot restore, under the folder's lock.
func (p *program) putBack(ctx context.Context, cfg config.Config, files vfs.FS, name string, accept, revoke bool) error {
	key, err := privatefile.Read(files, "secret.key")
	if err != nil {
		return fault.New("larder", fault.ForeignStore, "secret.key", err).WithHint("secret.key is missing or cannot be read. Restore it first.")
	}
	chosen, err := snapshot.Choose(ctx, cfg.Data, files, key, name)
	if err != nil {
		return err
	}
	path := filepath.Join(cfg.Data, snapshot.Dir, chosen.Name)
	if err := auth.CheckSnapshot(ctx, path, key); err != nil {
		return err
	}
	old, err := auth.ReadIdentities(ctx, path)
	if err != nil {
		return err
	}
	out := backup.Restored{Working: old.Working(time.Now()), Revoked: revoke}
	now, nowErr := auth.ReadIdentities(ctx, filepath.Join(cfg.Data, "system.db"))
	if nowErr == nil {
		out.Revived = old.Revived(now, time.Now())
		if err := backup.RefuseRevival(out.Revived, accept || revoke); err != nil {
			return err
		}
	}
	aside, err := snapshot.PutBack(ctx, files, chosen.Name, time.Now())
	if err == nil {
		err = backup.Settle(ctx, filepath.Join(cfg.Data, "system.db"), key, "snapshot "+chosen.Name, now, revoke, p.notes())
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(p.out, "system.db is the snapshot of %s now.\n", chosen.Time.Local().Format(time.DateTime))
	if aside != "" {
		fmt.Fprintf(p.out, "The one before is kept as %s; remove it when it is no longer needed.\n", aside)
	}
	p.printRevived(out)
	if nowErr != nil {
		fmt.Fprintln(p.out, "Whether any of these keys was deleted or disabled after the snapshot, nobody could tell: look at the list in the console.")
	}
	return nil
}

// snapshotKeep vouches for a system.db that was copied.
func (p *program) snapshotKeep() *cobra.Command {
	return p.onFiles(cobra.Command{
		Use: "keep", Short: "Vouch for the system.db of a copied data folder", Args: cobra.NoArgs,
		Long: "A data folder that was copied while Larder ran is refused, since system.db may then be a mixture of moments.\n" +
			"If you know that Larder did not run while the copy was made (it had crashed, say), this command lets it start.",
	}, func(ctx context.Context, cfg config.Config, files vfs.FS, _ []string) (err error) {
		lock, err := lockFolder(files, cfg.Data)
		if err != nil {
			return err
		}
		defer closing(lock, &err)
		if _, err := auth.ReadIdentities(ctx, filepath.Join(cfg.Data, "system.db")); err != nil {
			return err
		}
		if err := snapshot.Unmark(files); err != nil {
			return err
		}
		_, err = fmt.Fprintln(p.out, "system.db is whole as far as can be told, and is taken as it is.")
		return err
	})
}
