package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"larder/cmd/appliance/internal/config"
	"larder/cmd/appliance/internal/control"
	"larder/fault"
	"larder/store"
)

// rebuildCommand makes the index again from the journal.
func (p *program) rebuildCommand() *cobra.Command {
	var drop bool
	cmd := p.onFolder(cobra.Command{
		Use: "rebuild-index", Short: "Make index.db again from the journal, while no server runs", Args: cobra.NoArgs,
		Long: "Removes index.db and makes it again from the segments, which hold everything that it knows.\n" +
			"A server does so by itself when its index is missing or damaged. This command is for an index that is\n" +
			"newer than the journal: what it knew beyond the journal's end is then gone, and the journal is the truth.\n\n" +
			"A data folder that was copied while Larder ran may lack large bodies that its journal names. The command\n" +
			"names the objects that need them, with exit code 2, and removes them only when it is given --drop-lost.\n" +
			"Until then no server starts on the folder.",
	}, func(context.Context, *control.Client, []string) error {
		return fault.New("larder", fault.Locked, "", nil).
			WithHint("A server uses this data folder. Stop it first; after that, run this command again.")
	}, func(ctx context.Context, cfg config.Config, _ []string) error {
		err := p.rebuild(ctx, cfg, drop)
		var exit *exitError
		if errors.As(err, &exit) { // what is lost is still named: no start before somebody has chosen
			err = errors.Join(store.MarkCopied(cfg.Data), err)
		}
		return err
	})
	cmd.Flags().BoolVar(&drop, "drop-lost", false, "remove the objects whose large bodies are not in the folder")
	return cmd
}

// rebuild makes the index again and looks for what the journal names and the
// folder lacks.
func (p *program) rebuild(ctx context.Context, cfg config.Config, drop bool) (err error) {
	if err := store.DropIndex(cfg.Data); err != nil {
		if fault.CodeOf(err) == fault.Locked {
			return errors.New("a Larder process uses this data folder; stop it first")
		}
		return err
	}
	began := time.Now()
	s, err := p.openStore(ctx, cfg)
	if err != nil {
		return err
	}
	defer closing(s, &err)
	st := s.Stats()
	_, err = fmt.Fprintf(p.out, "The index was made again in %s: %d buckets with %d objects, %s, up to change %d.\n",
		time.Since(began).Round(time.Millisecond), st.Buckets, st.Objects, humanize.IBytes(uint64(st.Bytes)), st.Sequence)
	return errors.Join(err, p.lost(ctx, s, drop))
}

// lost names the objects of which large bodies are missing, and removes them if
// that is wanted.
func (p *program) lost(ctx context.Context, s *store.Store, drop bool) error {
	list, err := s.Lost(ctx)
	if err != nil || len(list) == 0 {
		return err
	}
	for _, l := range list {
		what := "object"
		if l.Upload != "" {
			what = "unfinished upload"
		}
		fmt.Fprintf(p.out, "lost: %s %s/%q\n", what, l.Bucket, l.Key)
		if drop {
			if err := s.Drop(ctx, l); err != nil {
				return err
			}
		}
	}
	if drop {
		_, err := fmt.Fprintf(p.out, "%d were lost and are removed.\n", len(list))
		return err
	}
	return &exitError{exitDamaged, fmt.Sprintf("large bodies of %d objects are not in this folder; copy it again, or run the command with --drop-lost to remove them", len(list))}
}
