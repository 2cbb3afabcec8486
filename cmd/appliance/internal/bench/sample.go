package bench

import (
	"context"
	"net/http"
	"time"
)

// sample is what a server has used since its start, or between two samples.
type sample struct {
	cpu    time.Duration
	memory memory
	syncs  *int64 // nil: this server does not tell
	allocs *int64
}

// counters are the numbers that a server tells of itself over its control socket.
type counters struct {
	Syncs  *int64 `json:"syncs"`
	Allocs *int64 `json:"allocations"`
}

// sample looks at the server. A nil child is nobody's server and uses nothing.
// What it looked at before is forgotten for the peak of memory.
func (c *child) sample(ctx context.Context) (s sample, err error) {
	if c == nil {
		return s, nil
	}
	if s.memory, err = memoryOf(c.pid()); err != nil {
		return s, c.gone(err)
	}
	forgetPeak(c.pid())
	var n counters
	if err := c.control.Call(ctx, http.MethodGet, "/api/v1/summary", nil, &n); err != nil {
		return s, c.gone(err)
	}
	s.syncs, s.allocs = n.Syncs, n.Allocs
	s.cpu, err = cpuTime(c.pid())
	return s, err
}

// since is what was used after an earlier sample; the memory is that of now.
func (s sample) since(before sample) sample {
	return sample{
		cpu: s.cpu - before.cpu, memory: s.memory,
		syncs: combine(s.syncs, before.syncs, -1), allocs: combine(s.allocs, before.allocs, -1),
	}
}

// plus adds the use of two spans, the later one last.
func (s sample) plus(later sample) sample {
	sum := sample{cpu: s.cpu + later.cpu, memory: later.memory, syncs: later.syncs, allocs: later.allocs}
	sum.memory.peak = max(s.memory.peak, later.memory.peak)
	if s.syncs != nil {
		sum.syncs = combine(s.syncs, later.syncs, 1)
	}
	if s.allocs != nil {
		sum.allocs = combine(s.allocs, later.allocs, 1)
	}
	return sum
}

// combine is a + sign*b, and unknown when one of them is.
func combine(a, b *int64, sign int64) *int64 {
	if a == nil || b == nil {
		return nil
	}
	v := *a + sign**b
	return &v
}

// describe puts what the server used into the figures.
func (s sample) describe(f *Figures, elapsed time.Duration) {
	f.Peak, f.Resident = s.memory.peak, s.memory.now
	each := func(total float64) *float64 {
		if f.Operations == 0 {
			return nil
		}
		v := total / float64(f.Operations)
		return &v
	}
	f.CPU = each(float64(s.cpu) / float64(time.Microsecond))
	if elapsed > 0 {
		cores := s.cpu.Seconds() / elapsed.Seconds()
		f.Cores = &cores
	}
	if s.syncs != nil {
		f.Syncs = each(float64(*s.syncs))
	}
	if s.allocs != nil {
		f.Allocs = each(float64(*s.allocs))
	}
}
