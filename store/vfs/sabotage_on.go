//go:build sabotage

package vfs

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"
)

// Sabotaged tells whether the promise is broken on purpose.
func Sabotaged(s Sabotage) bool { return os.Getenv("SABOTAGE") == string(s) }

// BeforeAnswer runs what must have succeeded before a change is acknowledged,
// or runs it a little later and says at once that it did.
func BeforeAnswer(f func() error) error {
	if !Sabotaged(AnswerEarly) {
		return f()
	}
	time.AfterFunc(20*time.Millisecond, func() { f() })
	return nil
}

// checkSabotage refuses a name that nobody knows: a control with a misspelt name
// would prove nothing.
func checkSabotage() error {
	name := Sabotage(os.Getenv("SABOTAGE"))
	switch name {
	case "", SkipDirSync, SkipDataSync, SkipBlobSync, SkipJournalSync, AnswerEarly, IgnoreEIO,
		SkipTombstone, DropTombstone, SystemNormal:
		return nil
	}
	return fmt.Errorf("SABOTAGE=%s: there is no such sabotage", name)
}

// skipsSync tells whether the file of this name is not synced.
func skipsSync(name string) bool {
	return Sabotaged(SkipDataSync) ||
		Sabotaged(SkipBlobSync) && strings.Contains(name, "blobs/") ||
		Sabotaged(SkipJournalSync) && strings.Contains(name, "segments/")
}

// forgive makes a failed sync a good one.
func forgive(err error) error {
	if Sabotaged(IgnoreEIO) && errors.Is(err, syscall.EIO) {
		return nil
	}
	return err
}
