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
// takes reads and writes, else 1 with the reasons.
func (p *program) healthCommand() *cobra.Command {
	return p.onServer(cobra.Command{Use: "healthcheck", Short: "Exit with 0 when the running server is well", Args: cobra.NoArgs},
		func(ctx context.Context, c *control.Client, _ []string) error {
			ready, reasons, err := c.Ready(ctx)
			if err != nil {
				return err
			}
			if !ready {
				return errors.New("not ready: " + strings.Join(reasons, " "))
			}
			_, err = fmt.Fprintln(p.out, "ok")
			return err
		})
}
