package web

import (
	"context"
	"sync"
	"time"

	"larder/web/view"
)

// The curves on the home page cover one hour.
const (
	sampleEvery = 15 * time.Second
	sampleCount = 240
)

// sample is the numbers at one moment.
type sample struct{ objects, bytes, requests int64 }

// history keeps the samples of the last hour. Safe for concurrent use.
type history struct {
	mu      sync.Mutex
	samples []sample // oldest first; at most sampleCount
}

func newHistory() *history { return &history{} }

// run takes samples until ctx ends.
func (h *history) run(ctx context.Context, take func(context.Context) (sample, error)) {
	tick := time.NewTicker(sampleEvery)
	defer tick.Stop()
	for {
		if s, err := take(ctx); err == nil {
			h.add(s)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (h *history) add(s sample) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.samples) == sampleCount {
		h.samples = append(h.samples[:0], h.samples[1:]...)
	}
	h.samples = append(h.samples, s)
}

// curve is a series of values, oldest first.
type curve []int64

type curves struct{ objects, bytes, requests curve }

func (h *history) curves() curves {
	h.mu.Lock()
	defer h.mu.Unlock()
	var c curves
	for i, s := range h.samples {
		c.objects, c.bytes = append(c.objects, s.objects), append(c.bytes, s.bytes)
		if i > 0 {
			c.requests = append(c.requests, s.requests-h.samples[i-1].requests)
		}
	}
	return c
}

// under puts the curve below a number.
func (c curve) under(s view.Stat, text func(int64) string) view.Stat {
	if len(c) < 2 {
		return s
	}
	s.Points = make([]float64, len(c))
	for i, v := range c {
		s.Points[i] = float64(v)
	}
	s.Low, s.High = text(c[0]), text(c[len(c)-1])
	return s
}

// sample reads the numbers as the server itself.
func (c *Console) sample(ctx context.Context) (sample, error) {
	sum, err := c.cfg.Admin.Summary(ctx, c.cfg.Auth.Local())
	return sample{objects: sum.Objects, bytes: sum.Bytes, requests: sum.Requests}, err
}
