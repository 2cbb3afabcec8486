// Package remote is the commands that work on a server over the native
// protocol: lists, copies both ways, removal, one-way sync and watching. They
// know a server by its address and a key alone, and files by the paths that a
// person gives.
package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"larder/client"
	"larder/fault"
)

// Config is what the commands work with. Client, In, Out and Err are required.
type Config struct {
	Client   *client.Client
	In       io.Reader
	Out, Err io.Writer
	Terminal bool // Err is one: progress is shown there

	Jobs       int           // objects that are copied at a time; 0 = 8
	Follow     bool          // upload what symbolic links point to
	SkipMD5    bool          // as of client.PutOptions
	SkipSHA256 bool          // as of client.PutOptions
	Patience   time.Duration // how long a server that went away is waited for; 0 = a minute
}

const (
	defaultJobs     = 8
	defaultPatience = time.Minute
)

func (cfg *Config) setDefaults() {
	if cfg.Jobs <= 0 {
		cfg.Jobs = defaultJobs
	}
	if cfg.Patience <= 0 {
		cfg.Patience = defaultPatience
	}
}

// Remote carries out commands. One is made for each run of the program.
type Remote struct {
	cfg      Config
	client   *client.Client
	progress *progress
	answered atomic.Bool // the server has answered once: if it is away, it may come back

	mu     sync.Mutex // guards all below, and what is written to Err
	failed int        // things that went wrong and were named
	noted  time.Time  // when it was last said that the server is away
}

// New returns a Remote.
func New(cfg Config) *Remote {
	cfg.setDefaults()
	return &Remote{cfg: cfg, client: cfg.Client, progress: newProgress(cfg.Err, cfg.Terminal)}
}

// Usage is the error of a command line that cannot be carried out as it stands.
type Usage struct{ Text string }

// Error is error's.
func (u *Usage) Error() string { return u.Text }

func usage(format string, args ...any) error { return &Usage{fmt.Sprintf(format, args...)} }

// The pauses between two attempts to reach a server that went away, each twice
// the one before it.
const (
	firstPause = 100 * time.Millisecond
	lastPause  = 2 * time.Second
)

// persist repeats what may be done twice while the server is away: it may be
// starting again. A server that never answered is not waited for.
func (r *Remote) persist(ctx context.Context, do func() error) error {
	began, pause := time.Now(), firstPause
	for {
		err := do()
		code := fault.CodeOf(err)
		if code != fault.Unavailable && code != fault.RateLimited {
			if code != fault.Internal { // that may be an error of this machine
				r.answered.Store(true)
			}
			return err
		}
		if !r.answered.Load() || time.Since(began) > r.cfg.Patience || ctx.Err() != nil {
			return err
		}
		r.away(err)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return err
		}
		pause = min(2*pause, lastPause)
	}
}

// away says now and then that the server is waited for.
func (r *Remote) away(err error) {
	r.mu.Lock()
	now := time.Now()
	due := now.Sub(r.noted) > 5*time.Second
	if due {
		r.noted = now
	}
	r.mu.Unlock()
	if due {
		r.note("%s Trying again for up to %s.", hintOr(err), r.cfg.Patience)
	}
}

func hintOr(err error) string {
	if hint := fault.HintOf(err); hint != "" {
		return hint
	}
	return err.Error()
}

// note tells the person something that is no result.
func (r *Remote) note(format string, args ...any) {
	r.progress.say(fmt.Sprintf(format, args...) + "\n")
}

// fail names one thing that went wrong. The others go on.
func (r *Remote) fail(name string, err error) {
	r.mu.Lock()
	r.failed++
	r.mu.Unlock()
	r.note("failed: %s: %s", shown(name), reason(err))
}

// reason is an error on one line.
func reason(err error) string {
	code := fault.CodeOf(err)
	if code == fault.Internal {
		return err.Error()
	}
	var broken *fault.Error
	if errors.As(err, &broken) && code == fault.IncompleteBody && broken.Err != nil && fault.CodeOf(broken.Err) == fault.Internal {
		return broken.Err.Error() // of reading the file: it says more
	}
	if hint := fault.HintOf(err); hint != "" {
		return code.String() + ": " + hint
	}
	return code.String()
}

// failures is how many things went wrong.
func (r *Remote) failures() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failed
}

// outcome is the error of a command of whose parts some failed. An interrupted
// command says only that.
func (r *Remote) outcome(ctx context.Context, what string) error {
	r.progress.stop()
	if ctx.Err() != nil {
		return fmt.Errorf("interrupted: not everything was done")
	}
	if n := r.failures(); n > 0 {
		return fmt.Errorf("%d of the %s failed, as named above", n, what)
	}
	return nil
}

// crew does many things at a time.
type crew struct {
	places chan struct{}
	wg     sync.WaitGroup
}

func newCrew(n int) *crew { return &crew{places: make(chan struct{}, n)} }

// do runs f when there is a place, which it waits for. It tells whether it
// does: not when the context ended first.
func (c *crew) do(ctx context.Context, f func()) bool {
	select {
	case c.places <- struct{}{}:
	case <-ctx.Done():
		return false
	}
	c.wg.Go(func() {
		defer func() { <-c.places }()
		if ctx.Err() == nil {
			f()
		}
	})
	return true
}
