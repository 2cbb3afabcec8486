package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"larder/auth"
	"larder/cmd/appliance/internal/control"
)

// userAnswer is a user in the admin API's answers.
type userAnswer struct {
	Name    string     `json:"name"`
	Role    string     `json:"role"`
	Created *time.Time `json:"created"`
}

func (p *program) userCommand() *cobra.Command {
	return group(cobra.Command{Use: "user", Short: "People who may log in to the console"},
		p.userCreate(), p.userList(),
		p.onServer(cobra.Command{Use: "delete NAME", Short: "Delete a user and end its sessions", Args: cobra.ExactArgs(1)},
			func(ctx context.Context, c *control.Client, args []string) error {
				return c.Call(ctx, http.MethodDelete, "/api/v1/users/"+url.PathEscape(args[0]), nil, nil)
			}),
	)
}

func (p *program) userCreate() *cobra.Command {
	var role string
	cmd := p.onServer(cobra.Command{
		Use: "create NAME", Short: "Make a user; the password is read from the terminal or the first line of the input",
		Args: cobra.ExactArgs(1),
	}, func(ctx context.Context, c *control.Client, args []string) error {
		password, err := p.readPassword()
		if err != nil {
			return err
		}
		req := map[string]string{"name": args[0], "password": password.Reveal(), "role": role}
		return c.Call(ctx, http.MethodPost, "/api/v1/users", req, nil)
	})
	roles := []string{auth.RoleAdmin, auth.RoleOperator, auth.RoleViewer}
	cmd.Flags().StringVar(&role, "role", auth.RoleAdmin, strings.Join(roles, ", "))
	return cmd
}

// readPassword asks a person without showing what they type, or reads a line
// where no person is.
func (p *program) readPassword() (auth.Secret, error) {
	if f, ok := p.in.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		fmt.Fprint(p.err, "Password: ")
		text, err := term.ReadPassword(int(f.Fd()))
		fmt.Fprintln(p.err)
		return auth.Secret(text), err
	}
	line, err := bufio.NewReaderSize(p.in, 4096).ReadString('\n')
	if line = strings.TrimRight(line, "\r\n"); line == "" {
		return "", errors.Join(errors.New("no password on the standard input"), err)
	}
	return auth.Secret(line), nil
}

func (p *program) userList() *cobra.Command {
	var asJSON bool
	cmd := p.onServer(cobra.Command{Use: "list", Short: "List users and their roles", Args: cobra.NoArgs},
		func(ctx context.Context, c *control.Client, _ []string) error {
			var answer struct {
				Users []userAnswer `json:"users"`
			}
			if err := c.Call(ctx, http.MethodGet, "/api/v1/users", nil, &answer); err != nil {
				return err
			}
			if asJSON {
				return p.printJSON(answer.Users)
			}
			return p.table("NAME\tROLE\tCREATED", len(answer.Users), func(w *tabwriter.Writer, i int) {
				u := answer.Users[i]
				fmt.Fprintf(w, "%s\t%s\t%s\n", u.Name, u.Role, ago(u.Created))
			})
		})
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}
