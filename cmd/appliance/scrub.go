package main

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"larder/admin"
	"larder/cmd/appliance/internal/control"
)

func (p *program) scrubCommand() *cobra.Command {
	return group(cobra.Command{
		Use: "scrub", Short: "The verification that the running server does by itself",
		Long: "A running server reads and verifies everything that is stored once in each scrub-period, at most at scrub-rate.\n" +
			"These commands show where it stands and steer it. `larder verify` verifies everything at once and waits.",
	},
		p.scrubStatus(),
		p.scrubSteer("start", "Begin a pass now, at the highest rate that is allowed"),
		p.scrubSteer("pause", "Stop until `larder scrub resume`, over restarts too"),
		p.scrubSteer("resume", "Go on after a pause"),
		p.scrubFindings(),
	)
}

func (p *program) scrubSteer(name, short string) *cobra.Command {
	return p.onServer(cobra.Command{Use: name, Short: short, Args: cobra.NoArgs},
		func(ctx context.Context, c *control.Client, _ []string) error {
			return c.Call(ctx, http.MethodPost, "/api/v1/scrub/"+name, nil, nil)
		})
}

func (p *program) scrubStatus() *cobra.Command {
	var asJSON bool
	cmd := p.onServer(cobra.Command{Use: "status", Short: "Show where the verification stands", Args: cobra.NoArgs},
		func(ctx context.Context, c *control.Client, _ []string) error {
			var st admin.ScrubStatus
			if err := c.Call(ctx, http.MethodGet, "/api/v1/scrub", nil, &st); err != nil {
				return err
			}
			if asJSON {
				return p.printJSON(st)
			}
			p.printStatus(st)
			return nil
		})
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (p *program) printStatus(st admin.ScrubStatus) {
	fmt.Fprintf(p.out, "State:     %s\n", st.State)
	if st.Total > 0 && st.Stage != "" {
		fmt.Fprintf(p.out, "Pass %d:    %s of %s (%s), at most %s/s, about %s left\n", st.Pass, humanize.IBytes(uint64(st.Done)),
			humanize.IBytes(uint64(st.Total)), st.Stage, humanize.IBytes(uint64(st.Rate)), time.Duration(st.Left)*time.Second)
	}
	if st.Deadline != nil {
		fmt.Fprintf(p.out, "Due:       %s\n", ago(st.Deadline))
	}
	if st.Next != nil {
		fmt.Fprintf(p.out, "Next pass: %s\n", ago(st.Next))
	}
	last := "never"
	if st.Last != nil {
		last = fmt.Sprintf("%s, %s", ago(st.Last.Ended), humanize.IBytes(uint64(st.Last.Bytes)))
	}
	fmt.Fprintf(p.out, "Last pass: %s\nDamaged:   %d\n", last, int64(st.Open)+st.Overflowed)
	if st.Behind {
		fmt.Fprintln(p.out, "The pass will not end within the scrub-period. Raise scrub-rate or scrub-period.")
	}
	if st.Error != "" {
		fmt.Fprintf(p.out, "Problem:   %s\n", st.Error)
	}
}

func (p *program) scrubFindings() *cobra.Command {
	var asJSON bool
	cmd := p.onServer(cobra.Command{Use: "findings", Short: "List what is damaged, and what healed last", Args: cobra.NoArgs},
		func(ctx context.Context, c *control.Client, _ []string) error {
			var answer struct {
				Findings []admin.ScrubFinding `json:"findings"`
			}
			if err := c.Call(ctx, http.MethodGet, "/api/v1/scrub/findings", nil, &answer); err != nil {
				return err
			}
			if asJSON {
				return p.printJSON(answer.Findings)
			}
			if len(answer.Findings) == 0 {
				_, err := fmt.Fprintln(p.out, "Nothing is damaged, as far as is known.")
				return err
			}
			return p.findings(answer.Findings)
		})
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}
