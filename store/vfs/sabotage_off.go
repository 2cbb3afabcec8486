//go:build !sabotage

package vfs

// Sabotaged tells whether the promise is broken on purpose: never.
func Sabotaged(Sabotage) bool { return false }

// BeforeAnswer runs what must have succeeded before a change is acknowledged.
func BeforeAnswer(f func() error) error { return f() }

func checkSabotage() error { return nil }

func skipsSync(string) bool { return false }

func forgive(err error) error { return err }
