//go:build sabotage

package auth

import "os"

// synchronous is how system.db commits: FULL, unless the crash tests want to see
// that they notice anything less.
func synchronous() string {
	if os.Getenv("SABOTAGE") == "system-normal" {
		return "NORMAL"
	}
	return "FULL"
}
