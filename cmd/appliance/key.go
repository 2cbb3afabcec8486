package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"larder/auth"
	"larder/cmd/appliance/internal/control"
)

// keyAnswer is a key in the admin API's answers.
type keyAnswer struct {
	ID       string       `json:"id"`
	Name     string       `json:"name"`
	Grants   []auth.Grant `json:"grants"`
	Disabled bool         `json:"disabled"`
	Created  *time.Time   `json:"created"`
	Expires  *time.Time   `json:"expires"`
	LastUsed *time.Time   `json:"last_used"`
	LastAddr string       `json:"last_addr"`
	Secret   string       `json:"secret,omitempty"`
}

// keyRequest asks for a key.
type keyRequest struct {
	Name    string       `json:"name"`
	Grants  []auth.Grant `json:"grants"`
	Expires *time.Time   `json:"expires,omitempty"`
}

func (p *program) keyCommand() *cobra.Command {
	return group(cobra.Command{Use: "key", Short: "Access keys of the running server"},
		p.keyCreate(),
		p.keyList(),
		p.keySwitch("disable", "Refuse a key from its next request on", true),
		p.keySwitch("enable", "Accept a disabled key again", false),
		p.onServer(cobra.Command{Use: "delete ID", Short: "Delete a key for good", Args: cobra.ExactArgs(1)},
			func(ctx context.Context, c *control.Client, args []string) error {
				return c.Call(ctx, http.MethodDelete, "/api/v1/keys/"+url.PathEscape(args[0]), nil, nil)
			}),
	)
}

func (p *program) keyCreate() *cobra.Command {
	var bucket, prefix, rights string
	var expires time.Duration
	var asJSON bool
	cmd := p.onServer(cobra.Command{
		Use: "create NAME", Short: "Make a key; its secret is shown once", Args: cobra.ExactArgs(1),
		Example: "  larder key create laptop --bucket backup --rights read-write",
	}, func(ctx context.Context, c *control.Client, args []string) error {
		grant := auth.Grant{Bucket: bucket, Prefix: prefix}
		var err error
		if grant.Rights, err = auth.ParseRights(rights); err != nil {
			return err
		}
		req := keyRequest{Name: args[0], Grants: []auth.Grant{grant}}
		if expires > 0 {
			at := time.Now().Add(expires).UTC().Truncate(time.Second)
			req.Expires = &at
		}
		var made keyAnswer
		if err := c.Call(ctx, http.MethodPost, "/api/v1/keys", req, &made); err != nil {
			return err
		}
		if asJSON {
			return p.printJSON(made)
		}
		_, err = fmt.Fprintf(p.out, "Access key: %s\nSecret key: %s\n\nThe secret is not shown again.\n", made.ID, made.Secret)
		return err
	})
	f := cmd.Flags()
	f.StringVar(&bucket, "bucket", "", "bucket the key is for; * stands for any characters")
	f.StringVar(&prefix, "prefix", "", "keys of the bucket that it is for (default: all)")
	f.StringVar(&rights, "rights", "read-write", strings.Join(auth.RightsNames(), ", "))
	f.DurationVar(&expires, "expires", 0, "how long the key works, 720h for instance (default: until deleted)")
	f.BoolVar(&asJSON, "json", false, "print JSON")
	_ = cmd.MarkFlagRequired("bucket") // fails for unknown flags only
	return cmd
}

// keySwitch is disable or enable.
func (p *program) keySwitch(name, short string, disabled bool) *cobra.Command {
	return p.onServer(cobra.Command{Use: name + " ID", Short: short, Args: cobra.ExactArgs(1)},
		func(ctx context.Context, c *control.Client, args []string) error {
			change := map[string]bool{"disabled": disabled}
			return c.Call(ctx, http.MethodPatch, "/api/v1/keys/"+url.PathEscape(args[0]), change, nil)
		})
}

func (p *program) keyList() *cobra.Command {
	var asJSON bool
	cmd := p.onServer(cobra.Command{Use: "list", Short: "List keys, their rights and last use", Args: cobra.NoArgs},
		func(ctx context.Context, c *control.Client, _ []string) error {
			var answer struct {
				Keys []keyAnswer `json:"keys"`
			}
			if err := c.Call(ctx, http.MethodGet, "/api/v1/keys", nil, &answer); err != nil {
				return err
			}
			if asJSON {
				return p.printJSON(answer.Keys)
			}
			return p.table("ID\tNAME\tRIGHTS\tSTATE\tLAST USED", len(answer.Keys), func(w *tabwriter.Writer, i int) {
				k := answer.Keys[i]
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", k.ID, k.Name, grantText(k.Grants), k.state(time.Now()), ago(k.LastUsed))
			})
		})
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// state is the one word that says whether the key works.
func (k keyAnswer) state(now time.Time) string {
	switch {
	case k.Disabled:
		return "disabled"
	case k.Expires != nil && now.After(*k.Expires):
		return "expired"
	}
	return "active"
}

// grantText is one line for a list of grants: "read-write backup/laptop".
func grantText(grants []auth.Grant) string {
	parts := make([]string, len(grants))
	for i, g := range grants {
		parts[i] = g.Rights.String() + " " + g.Bucket
		if g.Prefix != "" {
			parts[i] += "/" + g.Prefix
		}
	}
	return strings.Join(parts, ", ")
}

// ago is a time for a table; nil is never.
func ago(t *time.Time) string {
	if t == nil {
		return "never"
	}
	return t.Local().Format(time.DateTime)
}

// table prints rows under a heading, aligned.
func (p *program) table(heading string, rows int, row func(w *tabwriter.Writer, i int)) error {
	w := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, heading)
	for i := range rows {
		row(w, i)
	}
	return w.Flush()
}
