package store_test

import (
	"sync/atomic"
	"testing"
	"time"

	"larder/fault"
	"larder/store"
)

// TestOldUploadsExpire moves the wall clock and the time that the process has
// run apart: only when both say so an upload is old.
func TestOldUploadsExpire(t *testing.T) {
	t.Parallel()
	const week, year = 7 * 24 * time.Hour, 365 * 24 * time.Hour
	begun := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name        string
		begun       time.Time
		atOpen, now time.Duration // wall clock, after the upload was begun
		up          time.Duration
		expiry      time.Duration
		gone        bool
	}{
		{"young", begun, time.Hour, 2 * time.Hour, time.Hour, 0, false},
		{"old", begun, time.Hour, week + 2*time.Hour, week + time.Hour, 0, true},
		{"old at the start", begun, 2 * week, 2*week + 2*time.Hour, 2 * time.Hour, 0, true},
		{"too early to tell", begun, 2 * week, 2*week + time.Minute, time.Minute, 0, false},
		{"the clock jumped ahead", begun, time.Hour, 10 * year, 2 * time.Hour, 0, false},
		{"the clock was set back", begun, 10 * year, 2 * time.Hour, 2 * time.Hour, 0, false},
		{"begun in 1970", time.Unix(100, 0), 56 * year, 56*year + 2*time.Hour, 2 * time.Hour, 0, false},
		{"begun in 1970, long ago", time.Unix(100, 0), 56 * year, 56*year + week + 2*time.Hour, week + time.Hour, 0, true},
		{"never", begun, 10 * year, 10*year + 2*week, 2 * week, -1, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var wall atomic.Int64
			wall.Store(c.begun.UnixNano())
			cfg := store.Config{Dir: t.TempDir(), UploadExpiry: c.expiry, Now: func() time.Time { return time.Unix(0, wall.Load()) }}
			s := openConfig(t, cfg)
			makeBucket(t, s, "bucket")
			u := startUpload(t, s, "bucket", "k")
			putPart(t, s, u, 1, noise(1, 100))
			s.Close()
			wall.Add(int64(c.atOpen))
			s = openConfig(t, cfg)
			wall.Store(c.begun.Add(c.now).UnixNano())
			if c.expiry >= 0 {
				s.LookForOldUploads(c.up)
			}
			_, err := s.Upload(t.Context(), "bucket", "k", u.ID)
			want := fault.OK
			if c.gone {
				want = fault.NoSuchUpload
			}
			wantCode(t, err, want)
			check(t, s)
		})
	}
}

func openConfig(t *testing.T, cfg store.Config) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}
