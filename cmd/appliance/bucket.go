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
}

func (p *program) bucketCommand() *cobra.Command {
	bucket := &cobra.Command{Use: "bucket", Short: "Buckets of the running server"}
	bucket.AddCommand(
		p.onServer(cobra.Command{Use: "create NAME", Short: "Make a bucket", Args: cobra.ExactArgs(1)},
			func(ctx context.Context, c *control.Client, args []string) error {
				return c.Call(ctx, http.MethodPost, "/api/v1/buckets", map[string]string{"name": args[0]}, nil)
			}),
		p.bucketList(),
		p.onServer(cobra.Command{Use: "delete NAME", Short: "Delete an empty bucket", Args: cobra.ExactArgs(1)},
			func(ctx context.Context, c *control.Client, args []string) error {
				return c.Call(ctx, http.MethodDelete, "/api/v1/buckets/"+url.PathEscape(args[0]), nil, nil)
			}),
	)
	return bucket
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
