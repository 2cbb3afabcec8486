package main

import (
	"context"
	"errors"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"larder/cmd/appliance/internal/remote"
)

// exitUsage is the exit code of the commands over the native protocol when they
// cannot be carried out as they are written.
const exitUsage = 2

// remoteCommands are those that reach a server by its address and a key.
func (p *program) remoteCommands() []*cobra.Command {
	return []*cobra.Command{p.copyCommand(), p.listCommand(), p.removeCommand(), p.catCommand(), p.makeBucketCommand(), p.syncCommand(), p.watchCommand()}
}

// reach says which server a command speaks to, and how it copies.
type reach struct {
	server remote.Server
	cfg    remote.Config
}

// onRemote is a command that speaks the native protocol. Errors of its command
// line have the exit code exitUsage.
func (p *program) onRemote(cmd cobra.Command, at *reach, act func(context.Context, *remote.Remote, []string) error) *cobra.Command {
	if check := cmd.Args; check != nil {
		cmd.Args = func(c *cobra.Command, args []string) error { return usageError(check(c, args)) }
	}
	cmd.RunE = func(c *cobra.Command, args []string) error {
		at.server.TLS = at.server.TLS || at.server.Fingerprint != ""
		p.credentials(c, &at.server)
		client, err := at.server.Connect()
		if err != nil {
			return usageOf(err)
		}
		defer client.Close() // it ends connections, which cannot fail
		at.cfg.Client, at.cfg.In, at.cfg.Out, at.cfg.Err = client, p.in, p.out, p.err
		at.cfg.Terminal = isTerminal(p.err)
		return usageOf(act(c.Context(), remote.New(at.cfg), args))
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError(err) })
	f := cmd.Flags()
	f.StringVar(&at.server.Addr, "server", "localhost:"+remote.DefaultPort, "host:port of the server's native protocol")
	f.BoolVar(&at.server.TLS, "tls", false, "encrypt, and verify the certificate by the system's roots")
	f.StringVar(&at.server.Fingerprint, "tls-fingerprint", "", "encrypt, and accept only the certificate with this SHA-256, which the console shows")
	f.StringVar(&at.server.KeyID, "key-id", "", "id of the access key (default: LARDER_KEY_ID)")
	f.StringVar(&at.server.SecretFile, "secret-file", "", "file with the secret of the key (default: the secret is in LARDER_KEY_SECRET)")
	return &cmd
}

// credentials fills in what the environment says and the command line does not.
func (p *program) credentials(c *cobra.Command, s *remote.Server) {
	s.Program = "larder/" + versionText()
	if !c.Flags().Changed("key-id") {
		s.KeyID = p.variable("LARDER_KEY_ID")
	}
	if !c.Flags().Changed("secret-file") {
		s.Secret = p.variable("LARDER_KEY_SECRET")
	}
}

// variable is what the environment says of a name; the last word counts.
func (p *program) variable(name string) (value string) {
	for _, entry := range p.environ {
		if v, ok := strings.CutPrefix(entry, name+"="); ok {
			value = v
		}
	}
	return value
}

// usageError gives an error the exit code of a wrong command line.
func usageError(err error) error {
	if err == nil {
		return nil
	}
	return &exitError{exitUsage, err.Error()}
}

// usageOf is usageError for errors that are of that kind.
func usageOf(err error) error {
	var wrong *remote.Usage
	if errors.As(err, &wrong) {
		return usageError(err)
	}
	return err
}

func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

const locations = "\n\nlarder:BUCKET/KEY is an object on the server, everything else a local path."

func (p *program) listCommand() *cobra.Command {
	var opt remote.ListOptions
	cmd := p.onRemote(cobra.Command{
		Use: "ls [larder:BUCKET[/PREFIX]]", Short: "List buckets, or objects with size and time", Args: cobra.MaximumNArgs(1),
		Long: "Lists the buckets that the key may see, with the number and the size of their objects; or the keys of a\n" +
			"bucket that begin with PREFIX, folder by folder.",
		Example: "  larder ls\n  larder ls larder:photos/2025/ --human",
	}, new(reach), func(ctx context.Context, r *remote.Remote, args []string) error {
		return r.List(ctx, strings.Join(args, ""), opt)
	})
	f := cmd.Flags()
	f.BoolVarP(&opt.Recursive, "recursive", "r", false, "all keys, in place of folders")
	f.BoolVar(&opt.JSON, "json", false, "print one JSON object for each line")
	f.BoolVar(&opt.Human, "human", false, "sizes with units")
	return cmd
}

func (p *program) makeBucketCommand() *cobra.Command {
	return p.onRemote(cobra.Command{Use: "mb larder:BUCKET", Short: "Make a bucket", Args: cobra.ExactArgs(1)},
		new(reach), func(ctx context.Context, r *remote.Remote, args []string) error { return r.MakeBucket(ctx, args[0]) })
}

func (p *program) removeCommand() *cobra.Command {
	opt := remote.RemoveOptions{Ask: isTerminal(p.in)}
	cmd := p.onRemote(cobra.Command{
		Use: "rm larder:BUCKET/KEY...", Short: "Remove objects", Args: cobra.MinimumNArgs(1),
		Long: "Removes objects. As in S3 it is no failure that one is not there.\n" +
			"With --recursive it removes all below larder:BUCKET/FOLDER/, and asks first, on a terminal.",
		Example: "  larder rm larder:photos/2025/cat.jpg\n  larder rm --recursive --yes larder:photos/2025/",
	}, new(reach), func(ctx context.Context, r *remote.Remote, args []string) error { return r.Remove(ctx, args, opt) })
	f := cmd.Flags()
	f.BoolVarP(&opt.Recursive, "recursive", "r", false, "remove all below each location")
	f.BoolVar(&opt.Yes, "yes", false, "do not ask")
	return cmd
}

func (p *program) catCommand() *cobra.Command {
	return p.onRemote(cobra.Command{
		Use: "cat larder:BUCKET/KEY...", Short: "Write objects to the standard output", Args: cobra.MinimumNArgs(1),
		Long: "Writes objects to the standard output, one behind the other; - stands for the standard input.\n" +
			"The last bytes come only when all are verified. Exit code 1: what was written may not be whole.",
	}, new(reach), func(ctx context.Context, r *remote.Remote, args []string) error { return r.Cat(ctx, args) })
}

func (p *program) copyCommand() *cobra.Command {
	var at reach
	var recursive bool
	cmd := p.onRemote(cobra.Command{
		Use: "cp SOURCE... TARGET", Short: "Copy files and objects: up, down, or on the server", Args: cobra.MinimumNArgs(2),
		Long: "Copies files to objects, objects to files, or objects to objects, which stays on the server." + locations + "\n" +
			"- is the standard input or output. A target that ends in / is a folder, and so is a local folder that is there.\n" +
			"With --recursive, what lies below each source is copied below the target.\n\n" +
			"A file that is written takes its name when it is whole and verified; until then the old one stays.\n" +
			"Times of modification are kept, in the metadata mtime as rclone does.\n\n" +
			"Exit code 1: something failed, and is named. 2: the command line is wrong.",
		Example: "  larder cp cat.jpg larder:photos/2025/\n  larder cp --recursive larder:photos/2025 ./photos\n" +
			"  pg_dump shop | larder cp - larder:backup/shop.sql",
	}, &at, func(ctx context.Context, r *remote.Remote, args []string) error {
		last := len(args) - 1
		return r.Copy(ctx, args[:last], args[last], recursive)
	})
	cmd.Flags().BoolVarP(&recursive, "recursive", "r", false, "copy what lies below each source")
	at.copyFlags(cmd)
	return cmd
}

func (p *program) syncCommand() *cobra.Command {
	var at reach
	var opt remote.SyncOptions
	cmd := p.onRemote(cobra.Command{
		Use: "sync SOURCE TARGET", Short: "Make a folder like another one: up, down, or on the server", Args: cobra.ExactArgs(2),
		Long: "Copies what is missing below the target or differs from what is below the source, one way." + locations + "\n" +
			"Files are the same if their sizes and times of modification are, or with --checksum their contents.\n\n" +
			"--delete removes what the source does not have, after everything else, if nothing has failed and the\n" +
			"source is not empty. A local source that is not there is an error in any case.\n\n" +
			"Exit code 1: something failed, and is named. 2: the command line is wrong.",
		Example: "  larder sync ./photos larder:photos --delete --dry-run\n  larder sync larder:photos/2025 ./2025",
	}, &at, func(ctx context.Context, r *remote.Remote, args []string) error {
		return r.Sync(ctx, args[0], args[1], opt)
	})
	f := cmd.Flags()
	f.BoolVar(&opt.Checksum, "checksum", false, "compare contents, in place of times")
	f.DurationVar(&opt.Window, "modify-window", time.Microsecond, "times that differ by no more are the same; 2s for FAT")
	f.BoolVar(&opt.Delete, "delete", false, "remove what the source does not have")
	f.BoolVar(&opt.DeleteAll, "delete-all", false, "likewise, even if the source is empty")
	f.BoolVar(&opt.DryRun, "dry-run", false, "say what would be done, and do nothing")
	at.copyFlags(cmd)
	return cmd
}

func (p *program) watchCommand() *cobra.Command {
	var opt remote.WatchOptions
	cmd := p.onRemote(cobra.Command{
		Use: "watch larder:BUCKET[/PREFIX]", Short: "Print what happens to objects, until interrupted", Args: cobra.ExactArgs(1),
		Long: "Prints a line for each object that is stored or removed: the number of the change, which ascends, what\n" +
			"happened, and the object. Several changes of an object may come as one. After a restart of the server it\n" +
			"goes on, and where it cannot know all that happened it says gap: list anew.",
		Example: "  larder watch larder:inbox/new/ --json",
	}, new(reach), func(ctx context.Context, r *remote.Remote, args []string) error { return r.Watch(ctx, args[0], opt) })
	cmd.Flags().Uint64Var(&opt.From, "from", 0, "number of the last change that is known (default: from now on)")
	cmd.Flags().BoolVar(&opt.JSON, "json", false, "print one JSON object for each line")
	return cmd
}

// copyFlags are those of cp and sync.
func (at *reach) copyFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.IntVar(&at.cfg.Jobs, "jobs", 8, "files that are copied at a time")
	f.BoolVar(&at.cfg.Follow, "follow", false, "upload what symbolic links point to")
	f.BoolVar(&at.cfg.SkipMD5, "no-md5", false, "let the server compute no MD5: ETags are none then")
	f.BoolVar(&at.cfg.SkipSHA256, "no-sha256", false, "let the server compute no SHA-256")
}
