// Package snapshot keeps copies of system.db in the folder backups/ of the data
// folder. Users and keys have no journal behind them, so a damaged system.db
// can only be replaced by an earlier one.
//
// A snapshot is consistent, checked and on stable storage before it has its
// name, and is never changed.
package snapshot

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"larder/admin"
	"larder/auth"
	"larder/fault"
	"larder/store/vfs"
)

// PageSize is that of system.db in bytes, SQLite's default: a whole file is a
// multiple of it.
const PageSize = 4096

// Dir is the folder of the snapshots in the data folder.
const Dir = "backups"

const (
	prefix = "system-"
	suffix = ".db"
	layout = "20060102T150405Z"
)

// Config says of what snapshots are taken, and how many stay.
type Config struct {
	Data   string // the data folder
	Files  vfs.FS // of it
	Auth   *auth.Auth
	Period time.Duration // between two snapshots while nobody changes anything
	Days   int           // of the last days the newest one of each stays,
	Weeks  int           // and of the last weeks
	Log    *slog.Logger
	Now    func() time.Time
}

// Keeper takes snapshots as time goes by.
type Keeper struct {
	c    Config
	seen uint64 // generation in the last snapshot
}

// New returns a Keeper; Run does its work.
func New(c Config) *Keeper {
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Keeper{c: c}
}

// The rhythm of the keeper. A change of users or keys is in a snapshot after
// settle at the latest.
const (
	look   = time.Minute
	settle = 15 * time.Minute
)

// Run takes snapshots until ctx ends. One that fails is logged and tried again.
func (k *Keeper) Run(ctx context.Context) {
	k.seen = k.c.Auth.Generation()
	tick := time.NewTicker(look)
	defer tick.Stop()
	for {
		if err := k.turn(ctx); err != nil && ctx.Err() == nil {
			k.c.Log.Error("no snapshot of system.db could be taken", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// turn takes a snapshot if it is time for one.
func (k *Keeper) turn(ctx context.Context) error {
	list, err := List(k.c.Files)
	if err != nil {
		return err
	}
	now := k.c.Now()
	if len(list) > 0 {
		age := now.Sub(list[0].Time)
		changed := k.c.Auth.Generation() != k.seen
		if age >= 0 && age < k.c.Period && (!changed || age < settle) {
			return nil
		}
	}
	_, err = k.Take(ctx)
	return err
}

// Take takes a snapshot now, then removes those that need not stay.
func (k *Keeper) Take(ctx context.Context) (string, error) {
	generation := k.c.Auth.Generation()
	name, err := k.take(ctx)
	if err != nil {
		return "", err
	}
	k.seen = generation
	return name, k.prune(name)
}

func (k *Keeper) take(ctx context.Context) (name string, err error) {
	files := k.c.Files
	if err := files.Mkdir(Dir); err != nil {
		return "", writeFault(Dir, err)
	}
	tmp := path.Join(Dir, "snapshot.new")
	if err := files.Remove(tmp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", writeFault(tmp, err)
	}
	f, err := files.Create(tmp) // for the owner alone; SQLite takes an empty file as it is
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		return "", writeFault(tmp, err)
	}
	if err := k.c.Auth.Snapshot(ctx, filepath.Join(k.c.Data, filepath.FromSlash(tmp))); err != nil {
		return "", err
	}
	name = prefix + k.c.Now().UTC().Format(layout) + suffix
	if err := settleFile(files, tmp, path.Join(Dir, name)); err != nil {
		return "", writeFault(name, err)
	}
	return name, nil
}

// settleFile syncs a file, gives it its name, and makes that durable.
func settleFile(files vfs.FS, from, to string) error {
	f, err := files.OpenWrite(from)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := files.Rename(from, to); err != nil {
		return err
	}
	if err := files.SyncDir(path.Dir(to)); err != nil {
		return err
	}
	return files.SyncDir(".")
}

func writeFault(name string, err error) error {
	return fault.New("snapshot", vfs.CodeOf(err), name, err)
}

// List gives the snapshots, the newest first. Other names in the folder are
// none.
func List(files vfs.FS) ([]admin.Snapshot, error) {
	entries, err := files.List(Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fault.New("snapshot.List", vfs.CodeOf(err), Dir, err)
	}
	var out []admin.Snapshot
	for _, e := range entries {
		text := strings.TrimSuffix(strings.TrimPrefix(e.Name, prefix), suffix)
		at, err := time.Parse(layout, text)
		if err != nil || e.IsDir || e.Name != prefix+text+suffix {
			continue
		}
		out = append(out, admin.Snapshot{Name: e.Name, Time: at, Size: e.Size})
	}
	slices.SortFunc(out, func(a, b admin.Snapshot) int { return cmp.Compare(b.Name, a.Name) })
	return out, nil
}

// prune removes all but the newest of each of the last days and weeks that have
// any, and the one just taken.
func (k *Keeper) prune(taken string) error {
	list, err := List(k.c.Files)
	if err != nil {
		return err
	}
	keep := keepers(list, k.c.Days, k.c.Weeks)
	for _, s := range list {
		if keep[s.Name] || s.Name == taken {
			continue
		}
		if err := k.c.Files.Remove(path.Join(Dir, s.Name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return writeFault(s.Name, err)
		}
	}
	return nil
}

// keepers chooses from a list, newest first. Days without a snapshot do not
// count, so a machine that was off for a year loses nothing at its next start.
func keepers(list []admin.Snapshot, days, weeks int) map[string]bool {
	keep := map[string]bool{}
	choose := func(most int, span func(time.Time) string) {
		seen := map[string]bool{}
		for _, s := range list {
			if of := span(s.Time); !seen[of] && len(seen) < most {
				seen[of], keep[s.Name] = true, true
			}
		}
	}
	choose(days, func(t time.Time) string { return t.Format(time.DateOnly) })
	choose(weeks, func(t time.Time) string {
		year, week := t.ISOWeek()
		return fmt.Sprint(year, week)
	})
	return keep
}

// NewestGood returns the newest snapshot that is whole and belongs to the secret
// key; ok is false when there is none.
func NewestGood(ctx context.Context, data string, files vfs.FS, secretKey []byte) (s admin.Snapshot, ok bool) {
	list, err := List(files)
	if err != nil {
		return s, false
	}
	for _, s := range list {
		if s.Size%PageSize == 0 && auth.CheckSnapshot(ctx, filepath.Join(data, Dir, s.Name), secretKey) == nil {
			return s, true
		}
	}
	return s, false
}
