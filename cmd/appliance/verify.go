package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"larder/admin"
	"larder/cmd/appliance/internal/config"
	"larder/cmd/appliance/internal/control"
	"larder/fault"
	"larder/scrubber"
	"larder/store"
	"larder/store/journal"
)

// exitDamaged is the exit code of `larder verify` when it ran and found damage.
const exitDamaged = 2

// verifyCommand reads and verifies everything once.
func (p *program) verifyCommand() *cobra.Command {
	var asJSON bool
	cmd := p.onFolder(cobra.Command{
		Use: "verify", Short: "Read and verify everything that is stored", Args: cobra.NoArgs,
		Long: "Reads every byte of every object from the disk, verifies it, and compares the index with the journal.\n" +
			"A running server does it itself; otherwise the command opens the data folder. Nothing is moved or deleted.\n\n" +
			"Exit code 0: all is well. 1: it could not run to its end. 2: something is damaged.",
	}, func(ctx context.Context, c *control.Client, _ []string) error {
		var report admin.ScrubReport
		err := c.Follow(ctx, "/api/v1/verify", nil, p.verifyProgress(), &report)
		if err != nil {
			return err
		}
		return p.verified(report, asJSON)
	}, func(ctx context.Context, cfg config.Config, _ []string) error {
		report, err := p.verifyOffline(ctx, cfg)
		if stops, ok := damageThatStops(err); ok {
			fmt.Fprintln(p.err, "larder:", describe(err))
			return p.verified(stops, asJSON)
		}
		if err != nil {
			return err
		}
		return p.verified(report, asJSON)
	})
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// damageThatStops makes a report of damage that keeps the store from being
// opened at all. It names the first place alone; what lies behind it was not
// looked at.
func damageThatStops(err error) (report admin.ScrubReport, ok bool) {
	if fault.CodeOf(err) != fault.Corrupt {
		return report, false
	}
	f := admin.ScrubFinding{Kind: string(store.HarmObject), Open: true, File: fault.ResourceOf(err), Offset: -1, Length: -1, Reason: err.Error()}
	var damage *journal.Damage
	if errors.As(err, &damage) {
		f.File, f.Offset, f.Reason = damage.File, damage.Offset, damage.Reason
	}
	return admin.ScrubReport{Damaged: true, Findings: []admin.ScrubFinding{f}}, true
}

func (p *program) verifyOffline(ctx context.Context, cfg config.Config) (report admin.ScrubReport, err error) {
	s, err := p.openStore(ctx, cfg)
	if err != nil {
		return report, err
	}
	defer closing(s, &err)
	sc, err := scrubber.New(ctx, scrubber.Config{Store: s, Log: p.notes()})
	if err != nil {
		return report, err
	}
	say := p.verifyProgress()
	seen, err := sc.Pass(ctx, func(st scrubber.Status) {
		if text, err := json.Marshal(admin.StatusOnWire(st)); err == nil {
			say(text)
		}
	})
	return admin.ReportOnWire(seen), err
}

// verifyProgress prints how far a pass has come, now and then.
func (p *program) verifyProgress() func(json.RawMessage) {
	var st admin.ScrubStatus
	say := every(sayEvery, func() {
		percent := ""
		if st.Total > 0 {
			percent = fmt.Sprintf(", %d %%", min(100, st.Done*100/st.Total))
		}
		fmt.Fprintf(p.err, "verifying %s: %s%s, %d damaged\n", st.Stage, humanize.IBytes(uint64(st.Done)), percent, st.Open)
	})
	return func(text json.RawMessage) {
		if json.Unmarshal(text, &st) == nil {
			say()
		}
	}
}

// verified prints a report and makes the exit code.
func (p *program) verified(r admin.ScrubReport, asJSON bool) error {
	if asJSON {
		if err := p.printJSON(r); err != nil {
			return err
		}
	} else {
		if r.Pass > 0 {
			fmt.Fprintf(p.out, "Verified %s: %d segments with %d records, %d large bodies, %d rows of the index.\n",
				humanize.IBytes(uint64(r.Bytes)), r.Segments, r.Records, r.Blobs, r.Rows)
		}
		if err := p.findings(r.Findings); err != nil {
			return err
		}
	}
	switch {
	case r.Damaged:
		return &exitError{exitDamaged, ""}
	case !r.Complete:
		return &exitError{1, "the verification did not run to its end"}
	}
	if !asJSON {
		_, err := fmt.Fprintln(p.out, "All is well.")
		return err
	}
	return nil
}

// findings prints damage as a table, and nothing when there is none.
func (p *program) findings(list []admin.ScrubFinding) error {
	if len(list) == 0 {
		return nil
	}
	return p.table("STATE\tOBJECT\tFILE\tOFFSET\tLENGTH\tWHAT", len(list), func(w *tabwriter.Writer, i int) {
		f := list[i]
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", findingState(f), findingObject(f), f.File, numberOrAll(f.Offset), numberOrAll(f.Length), f.Reason)
	})
}

func numberOrAll(n int64) string {
	if n < 0 {
		return "-"
	}
	return fmt.Sprint(n)
}

// findingState is the word of a table for a finding.
func findingState(f admin.ScrubFinding) string {
	if f.Open {
		return "damaged"
	}
	return strings.TrimSpace("healed " + f.How)
}

// findingObject names what suffers.
func findingObject(f admin.ScrubFinding) string {
	switch {
	case f.Key != "":
		return fmt.Sprintf("%s/%q", f.Bucket, f.Key)
	case f.Bucket != "":
		return f.Bucket
	case f.Kind == "garbage":
		return "(nothing live)"
	}
	return "-"
}
