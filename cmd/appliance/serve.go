package main

import (
	"errors"
	"io"
	"log/slog"
	"syscall"

	"github.com/spf13/cobra"

	"larder/cmd/appliance/internal/config"
	"larder/cmd/appliance/internal/server"
)

// serve runs the appliance until a signal asks it to stop.
func (p *program) serve(cmd *cobra.Command, _ []string) error {
	cfg, err := config.Load(cmd.Flags(), p.environ)
	if err != nil {
		return err
	}
	syscall.Umask(0o077) // SQLite makes its files with this process's mask
	log := newLog(p.err, cfg)
	s, err := server.Open(cmd.Context(), server.Config{Settings: cfg, Version: versionText(), Out: p.out, Log: log})
	if err != nil {
		return err
	}
	if err := errors.Join(s.Run(cmd.Context()), s.Close()); err != nil {
		return err
	}
	log.Info("stopped")
	return nil
}

// newLog writes text for people or JSON for machines.
func newLog(w io.Writer, cfg config.Config) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(cfg.LogLevel)) // checked when the settings were read
	opts := &slog.HandlerOptions{Level: level}
	if cfg.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(w, opts))
	}
	return slog.New(slog.NewTextHandler(w, opts))
}
