package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"larder/cmd/appliance/internal/config"
	"larder/cmd/appliance/internal/control"
	"larder/fault"
)

// program is one run of the command line.
type program struct {
	environ []string
	in      io.Reader
	out     io.Writer
	err     io.Writer
}

// exitAtOnce is the exit code after a second signal: 128 and SIGINT's number,
// as shells have it.
const exitAtOnce = 130

// untilSignal returns a context that the first SIGTERM or SIGINT ends. A second
// one ends the process at once, however long the first one's clean-up takes.
func untilSignal() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGTERM, os.Interrupt)
	go func() {
		<-signals
		cancel()
		<-signals
		os.Exit(exitAtOnce)
	}()
	return ctx, cancel
}

// run carries out a command line and returns the exit code: 0 for success,
// else 1, or what the error says.
func run(args, environ []string, in io.Reader, out, errOut io.Writer) int {
	ctx, stop := untilSignal()
	defer stop()
	p := &program{environ: environ, in: in, out: out, err: errOut}
	root := p.root()
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errOut)
	if err := root.ExecuteContext(ctx); err != nil {
		code := 1
		var exit *exitError
		if errors.As(err, &exit) {
			code = exit.code
		}
		if text := describe(err); text != "" {
			fmt.Fprintln(errOut, "larder:", text)
		}
		return code
	}
	return 0
}

// describe is an error for the person at the terminal: the cause, and below it
// what helps. "Foreign store" is left out: most often a disk is not mounted, and
// the hint knows.
func describe(err error) string {
	if hint := fault.HintOf(err); hint != "" {
		if what := fault.ResourceOf(err); what != "" {
			if fault.CodeOf(err) == fault.ForeignStore {
				return what + "\n" + hint
			}
			return fmt.Sprintf("%s: %s\n%s", fault.CodeOf(err), what, hint)
		}
		return fmt.Sprintf("%s\n%s", fault.CodeOf(err), hint)
	}
	return err.Error()
}

// root is the command without a name, which serves.
func (p *program) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "larder",
		Short: "A storage appliance: S3 and a console over one data folder",
		Long: "Larder keeps objects in one data folder and serves them over S3, with a console for people.\n" +
			"Without a command it serves. Every setting is a flag, a variable LARDER_… and a line of the --config file;\n" +
			"`larder serve --help` lists them.",
		Args:          cobra.NoArgs,
		RunE:          p.serve,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	config.ServeFlags(root.Flags())
	serve := &cobra.Command{
		Use: "serve", Short: "Serve S3 and the console (the default)", Args: cobra.NoArgs, RunE: p.serve,
	}
	config.ServeFlags(serve.Flags())
	root.AddCommand(serve, p.keyCommand(), p.bucketCommand(), p.userCommand(), p.versionCommand(), p.healthCommand(),
		p.verifyCommand(), p.scrubCommand(), p.rebuildCommand(),
		p.backupCommand(), p.restoreCommand(), p.snapshotCommand(), p.exportCommand(), p.benchCommand())
	root.AddCommand(p.remoteCommands()...)
	return root
}

// group is a command that only holds others. A word that is none of them is an
// error, and not a request for help.
func group(cmd cobra.Command, commands ...*cobra.Command) *cobra.Command {
	cmd.Args = cobra.NoArgs
	cmd.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
	cmd.AddCommand(commands...)
	return &cmd
}

// client reaches the server that runs on the data folder of the settings.
func (p *program) client(cmd *cobra.Command) (*control.Client, error) {
	cfg, err := config.LoadClient(cmd.Flags(), p.environ)
	if err != nil {
		return nil, err
	}
	return control.NewClient(cfg.Socket()), nil
}

// onServer is a command that speaks to the running server.
func (p *program) onServer(cmd cobra.Command, act func(context.Context, *control.Client, []string) error) *cobra.Command {
	cmd.RunE = func(c *cobra.Command, args []string) error {
		client, err := p.client(c)
		if err != nil {
			return err
		}
		return act(c.Context(), client, args)
	}
	config.ClientFlags(cmd.Flags())
	return &cmd
}
