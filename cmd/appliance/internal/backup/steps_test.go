package backup_test

import (
	"time"

	"larder/cmd/appliance/internal/backup"
)

// withClock calls f each time the backup looks at the clock, which it does at
// every step.
func withClock(c backup.Config, f func()) backup.Config {
	c.Now = func() time.Time { f(); return time.Now() }
	return c
}
