//go:build !sabotage

package auth

// synchronous is how system.db commits: with a sync, so that a change is on
// stable storage when it is acknowledged.
func synchronous() string { return "FULL" }
