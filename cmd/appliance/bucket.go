package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"text/tabwriter"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"larder/cmd/appliance/internal/control"
)

// bucketAnswer is a bucket in the admin API's answers.
type bucketAnswer struct {
	Name    string     `json:"name"`
	Created *time.Time `json:"created"`
	Objects int64      `json:"objects"`
	Bytes   int64      `json:"bytes"`
	Uploads int64      `json:"uploads"`

	VerifyReads bool `json:"verify_reads"`
}

func (p *program) bucketCommand() *cobra.Command {
	return group(cobra.Command{Use: "bucket", Short: "Buckets of the running server"},
		p.onServer(cobra.Command{Use: "create NAME", Short: "Make a bucket", Args: cobra.ExactArgs(1)},
			func(ctx context.Context, c *control.Client, args []string) error {
				return c.Call(ctx, http.MethodPost, "/api/v1/buckets", map[string]string{"name": args[0]}, nil)
			}),
		p.bucketList(),
		p.bucketSet(),
		p.onServer(cobra.Command{Use: "delete NAME", Short: "Delete an empty bucket", Args: cobra.ExactArgs(1)},
			func(ctx context.Context, c *control.Client, args []string) error {
				return c.Call(ctx, http.MethodDelete, "/api/v1/buckets/"+url.PathEscape(args[0]), nil, nil)
			}),
	)
}

func (p *program) bucketList() *cobra.Command {
	var asJSON bool
	cmd := p.onServer(cobra.Command{Use: "list", Short: "List buckets and what they hold", Args: cobra.NoArgs},
		func(ctx context.Context, c *control.Client, _ []string) error {
			var answer struct {
				Buckets []bucketAnswer `json:"buckets"`
			}
			if err := c.Call(ctx, http.MethodGet, "/api/v1/buckets", nil, &answer); err != nil {
				return err
			}
			if asJSON {
				return p.printJSON(answer.Buckets)
			}
			return p.table("NAME\tOBJECTS\tSIZE\tUPLOADS\tCREATED", len(answer.Buckets), func(w *tabwriter.Writer, i int) {
				b := answer.Buckets[i]
				fmt.Fprintf(w, "%s\t%d\t%s\t%d\t%s\n", b.Name, b.Objects, humanize.IBytes(uint64(b.Bytes)), b.Uploads, ago(b.Created))
			})
		})
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (p *program) bucketSet() *cobra.Command {
	var verify string
	cmd := p.onServer(cobra.Command{
		Use: "set NAME", Short: "Change a bucket's settings", Args: cobra.ExactArgs(1),
		Long: "Changes the settings of a bucket that are named. They count for reads that begin later.",
	}, func(ctx context.Context, c *control.Client, args []string) error {
		if verify != "on" && verify != "off" {
			return fmt.Errorf("--verify-reads: %q is neither on nor off", verify)
		}
		change := map[string]bool{"verify_reads": verify == "on"}
		return c.Call(ctx, http.MethodPatch, "/api/v1/buckets/"+url.PathEscape(args[0]), change, nil)
	})
	cmd.Flags().StringVar(&verify, "verify-reads", "", "on: hold large bodies against their checksums on every read; off: trust the disk, small bodies are verified all the same")
	_ = cmd.MarkFlagRequired("verify-reads") // fails for unknown flags only
	return cmd
}
