package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"larder/auth"
	"larder/cmd/appliance/internal/config"
	"larder/cmd/appliance/internal/control"
	"larder/cmd/appliance/internal/privatefile"
	"larder/fault"
	"larder/store"
	"larder/store/vfs"
)

// exitError is an error with an exit code of its own. Its text is printed
// unless it is empty.
type exitError struct {
	code int
	text string
}

// Error is error's.
func (e *exitError) Error() string { return e.text }

// onFolder is a command that asks the running server, or opens the data folder
// itself where none runs.
func (p *program) onFolder(cmd cobra.Command, online func(context.Context, *control.Client, []string) error,
	offline func(context.Context, config.Config, []string) error) *cobra.Command {
	cmd.RunE = func(c *cobra.Command, args []string) error {
		cfg, err := config.LoadClient(c.Flags(), p.environ)
		if err != nil {
			return err
		}
		client := control.NewClient(cfg.Socket())
		running, err := client.Running(c.Context())
		if err != nil {
			return err
		}
		if running {
			return online(c.Context(), client, args)
		}
		syscall.Umask(0o077) // SQLite makes its files with this process's mask
		return offline(c.Context(), cfg, args)
	}
	config.FolderFlags(cmd.Flags())
	return &cmd
}

// openStore opens the store of a folder that no server uses. Nothing in it is
// moved or given up by itself meanwhile.
func (p *program) openStore(ctx context.Context, cfg config.Config) (*store.Store, error) {
	files, err := vfs.OS(cfg.Data)
	if err != nil {
		return nil, fault.New("larder", fault.InvalidArgument, cfg.Data, err).
			WithHint("The data folder cannot be opened. Name it with --data or LARDER_DATA.")
	}
	if _, err := files.Stat("VERSION"); err != nil {
		return nil, fault.New("larder", fault.InvalidArgument, cfg.Data, err).
			WithHint("There is no store in this folder. Name the data folder with --data or LARDER_DATA.")
	}
	return store.Open(ctx, store.Config{
		Dir: cfg.Data, BlobDir: cfg.BlobDir, SegmentSize: cfg.SegmentSize, CompactRate: -1, UploadExpiry: -1, Log: p.notes(),
	})
}

// openIdentity opens system.db of a folder whose store is open.
func (p *program) openIdentity(ctx context.Context, cfg config.Config) (*auth.Auth, vfs.FS, error) {
	files, err := vfs.OS(cfg.Data)
	if err != nil {
		return nil, nil, err
	}
	key, err := privatefile.Read(files, "secret.key")
	if err != nil {
		return nil, nil, fault.New("larder", fault.ForeignStore, "secret.key", err).
			WithHint("secret.key is missing or cannot be read.")
	}
	a, err := auth.Open(ctx, auth.Config{Path: filepath.Join(cfg.Data, "system.db"), SecretKey: key, Log: p.notes()})
	return a, files, err
}

// closing closes a store and adds its error to another one.
func closing(c io.Closer, err *error) { *err = errors.Join(*err, c.Close()) }

// notes is the log of commands that open the folder themselves.
func (p *program) notes() *slog.Logger {
	return slog.New(slog.NewTextHandler(p.err, nil))
}

// every calls f at most once in a while.
func every(pause time.Duration, f func()) func() {
	var last time.Time
	return func() {
		if now := time.Now(); now.Sub(last) >= pause {
			last = now
			f()
		}
	}
}

const sayEvery = 2 * time.Second
