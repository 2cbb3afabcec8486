package remote

import (
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dustin/go-humanize"
)

// progress shows on a terminal how far a command has come, and keeps notes and
// that line apart.
type progress struct {
	out      io.Writer
	terminal bool
	files    atomic.Int64
	bytes    atomic.Int64

	mu    sync.Mutex // guards what is written, and all below
	shown bool
	ended chan struct{} // nil: it does not run
	done  chan struct{}
}

const showEvery = 500 * time.Millisecond

// wipe returns to the beginning of a terminal's line and clears it.
const wipe = "\r\x1b[K"

func newProgress(out io.Writer, terminal bool) *progress {
	return &progress{out: out, terminal: terminal}
}

// start shows progress from now on, on a terminal.
func (p *progress) start() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.terminal || p.ended != nil {
		return
	}
	p.ended, p.done = make(chan struct{}), make(chan struct{})
	go p.run(p.ended, p.done, time.Now())
}

func (p *progress) run(ended, done chan struct{}, began time.Time) {
	defer close(done)
	tick := time.NewTicker(showEvery)
	defer tick.Stop()
	for {
		select {
		case now := <-tick.C:
			p.show(now.Sub(began))
		case <-ended:
			return
		}
	}
}

func (p *progress) show(since time.Duration) {
	bytes := p.bytes.Load()
	rate := float64(bytes) / max(since.Seconds(), 0.001)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.shown = true
	fmt.Fprintf(p.out, wipe+"%d files, %s, %s/s", p.files.Load(), humanize.IBytes(uint64(bytes)), humanize.IBytes(uint64(rate)))
}

// stop removes the line.
func (p *progress) stop() {
	p.mu.Lock()
	ended, done := p.ended, p.done
	p.ended = nil
	p.mu.Unlock()
	if ended != nil {
		close(ended)
		<-done
	}
	p.say("")
}

// say writes a note in place of the line.
func (p *progress) say(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shown {
		text = wipe + text
		p.shown = false
	}
	_, _ = io.WriteString(p.out, text) // there is nowhere to say that it cannot be said
}

// Write counts what is copied through it.
func (p *progress) Write(b []byte) (int, error) {
	p.bytes.Add(int64(len(b)))
	return len(b), nil
}

// counted is a body whose bytes are counted as they are read.
type counted struct {
	io.ReadSeeker
	by *progress
}

// Read is io.Reader's.
func (c counted) Read(p []byte) (int, error) {
	n, err := c.ReadSeeker.Read(p)
	c.by.bytes.Add(int64(n))
	return n, err
}
