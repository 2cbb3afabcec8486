package server

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"larder/auth"
	"larder/cmd/appliance/internal/snapshot"
	"larder/fault"
	"larder/store/vfs"
)

// openIdentity opens system.db, whose users and keys nothing else can bring
// back: where it is damaged, missing or of doubtful origin, the start is refused
// with the way back.
func (s *Server) openIdentity(ctx context.Context) error {
	key, err := secretKey(s.files)
	if err != nil {
		return err
	}
	if err := s.refuseDoubtful(ctx, key); err != nil {
		return err
	}
	s.auth, err = auth.Open(ctx, auth.Config{Path: filepath.Join(s.cfg.Data, identityFile), SecretKey: key, Log: s.log})
	if fault.CodeOf(err) == fault.Corrupt {
		return fault.New("server.Open", fault.Corrupt, identityFile, err).
			WithHint("The database of users and keys is damaged. " + s.wayBack(ctx, key))
	}
	if err != nil {
		return err
	}
	if err := snapshot.Mark(s.files); err != nil {
		s.log.Warn("the mark of an open system.db could not be written: a copy of the folder will not be known as one", "error", err)
	}
	return nil
}

// refuseDoubtful stops a start without the system.db that was there before, with
// a part of it, or with one that was copied while it changed.
func (s *Server) refuseDoubtful(ctx context.Context, key []byte) error {
	const op = "server.Open"
	file, err := s.files.Stat(identityFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if newest, ok := snapshot.NewestGood(ctx, s.cfg.Data, s.files, key); ok {
			return fault.New(op, fault.Corrupt, identityFile, err).
				WithHint("The database of users and keys is missing, and there are snapshots of it. " + s.putBack(newest.Time))
		}
		return nil
	case err != nil:
		return fault.New(op, vfs.CodeOfRead(err), identityFile, err).WithHint("The database of users and keys cannot be read: " + err.Error())
	case s.cutShort(file.Size):
		return fault.New(op, fault.Corrupt, identityFile, fmt.Errorf("%d bytes", file.Size)).
			WithHint("The database of users and keys is not whole. " + s.wayBack(ctx, key))
	case snapshot.WasCopied(s.files):
		return fault.New(op, fault.Corrupt, identityFile, nil).WithHint(
			"This data folder was copied while Larder ran, so system.db may be a mixture of different moments. " + s.wayBack(ctx, key) +
				"\nIf Larder did not run while the copy was made (it had crashed), keep the file with: larder snapshot keep --data " + s.cfg.Data)
	}
	return nil
}

// cutShort tells whether system.db cannot be as SQLite left it. With something
// in its log it may be of any size, since the log completes it.
func (s *Server) cutShort(size int64) bool {
	if log, err := s.files.Stat(identityFile + "-wal"); err == nil && log.Size > 0 {
		return false
	}
	if size == 0 && s.store.Stats().Sequence == 0 {
		return false // the first start was cut off
	}
	return size == 0 || size%snapshot.PageSize != 0
}

// wayBack says how to get users and keys back.
func (s *Server) wayBack(ctx context.Context, key []byte) string {
	newest, ok := snapshot.NewestGood(ctx, s.cfg.Data, s.files, key)
	if !ok {
		return "There is no good snapshot in backups/. Restore system.db from a backup of the data folder; " +
			"or, to begin with new users and keys over the same objects, move system.db away."
	}
	return s.putBack(newest.Time)
}

func (s *Server) putBack(at time.Time) string {
	return fmt.Sprintf("The newest good snapshot is of %s. Put it back with: larder snapshot restore --data %s",
		at.Format("2006-01-02 15:04 UTC"), s.cfg.Data)
}

// closeIdentity closes system.db. After a clean close a copy of it is as good as
// the file itself.
func (s *Server) closeIdentity() error {
	if err := s.auth.Close(); err != nil {
		return err
	}
	return snapshot.Unmark(s.files)
}

// snapshots takes them as the settings say.
func (s *Server) snapshots() *snapshot.Keeper {
	return snapshot.New(snapshot.Config{
		Data: s.cfg.Data, Files: s.files, Auth: s.auth, Log: s.log,
		Period: s.cfg.SnapshotPeriod, Days: s.cfg.SnapshotDays, Weeks: s.cfg.SnapshotWeeks,
	})
}
