package vfs

import "math/rand/v2"

// CrashClone returns a file system as a power cut at this moment could leave it:
// what was synced, and of the rest each sector, file size and change of names
// with probability keep, drawn from rng. The clone has no locks and no injector,
// and everything in it is durable. The same rng state gives the same clone.
func (m *Mem) CrashClone(rng *rand.Rand, keep float64) *Mem {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := &cloner{rng: rng, ratio: keep, seen: map[*memNode]*memNode{}}
	names := map[*memNode]map[string]*memNode{}
	for _, change := range m.pending {
		if c.keep() {
			change.apply(names)
		}
	}
	return &Mem{root: c.node(m.root, names), locks: map[string]bool{}}
}

// apply makes the change in names, which holds copies of the durable names of
// the folders that pending changes touch.
func (c nameChange) apply(names map[*memNode]map[string]*memNode) {
	for _, e := range c {
		if names[e.dir] == nil {
			names[e.dir] = copyNames(e.dir.dur)
		}
		set(names[e.dir], e.name, e.node)
	}
}

func copyNames(in map[string]*memNode) map[string]*memNode {
	out := make(map[string]*memNode, len(in))
	for k, v := range in {
		out[k] = v
	}
	return out
}

type cloner struct {
	rng   *rand.Rand
	ratio float64
	seen  map[*memNode]*memNode
}

func (c *cloner) keep() bool { return c.rng.Float64() < c.ratio }

func (c *cloner) node(n *memNode, names map[*memNode]map[string]*memNode) *memNode {
	if done := c.seen[n]; done != nil {
		return done
	}
	if !n.dir {
		out := &memNode{data: n.data.crash(c.keep)}
		c.seen[n] = out
		return out
	}
	out := newDir()
	c.seen[n] = out
	entries := names[n]
	if entries == nil {
		entries = n.dur
	}
	for _, name := range sortedKeys(entries) {
		out.cur[name] = c.node(entries[name], names)
	}
	out.dur = copyNames(out.cur)
	return out
}
