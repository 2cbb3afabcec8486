package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"larder/cmd/appliance/internal/control"
)

// healthCommand is for supervisors without a shell: exit code 0 when the server
// takes reads and writes, else 1 with the reasons. What somebody should look at is
// said, and is no reason for another exit code.
func (p *program) healthCommand() *cobra.Command {
	return p.onServer(cobra.Command{Use: "healthcheck", Short: "Exit with 0 when the running server is well", Args: cobra.NoArgs},
		func(ctx context.Context, c *control.Client, _ []string) error {
			health, err := c.Health(ctx)
			if err != nil {
				return err
			}
			if !health.Ready {
				return errors.New("not ready: " + strings.Join(health.Reasons, " "))
			}
			_, err = fmt.Fprintln(p.out, strings.Join(append([]string{"ok"}, health.Warnings...), "\n"))
			return err
		})
}
