package wire_test

import (
	"runtime"
	"strings"
	"testing"

	"larder/native/wire"
)

// TestMemoryOfHostileMessages makes the largest messages that can come of what
// is small on the wire and large in memory: reading one allocates a small
// multiple of the message's limit, counting what is thrown away again.
//
// It is not parallel: what is counted are the allocations of the process.
func TestMemoryOfHostileMessages(t *testing.T) {
	if testing.Short() {
		t.Skip("slow under the race detector, and there is nothing to race")
	}
	const most = 12
	for _, s := range subjects() {
		worst, of := uint64(0), ""
		s.hostile(func(name string, b []byte) {
			if got := allocated(func() { _, _ = s.parse(b) }); got > worst {
				worst, of = got, name
			}
		})
		t.Logf("%s: %.1f times %d bytes, for %s", s.name, float64(worst)/float64(s.limit), s.limit, of)
		if worst > most*uint64(s.limit)+4096 {
			t.Errorf("%s: %d bytes allocated for a message of %d at most, for %s", s.name, worst, s.limit, of)
		}
	}
}

// allocated is how many bytes f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestRefusalsAllocateLittle: a length beyond the message is noticed before
// anything is made for it.
func TestRefusalsAllocateLittle(t *testing.T) {
	huge := append([]byte{0, 32, 1}, uvarint(1<<40)...)
	if got := allocated(func() { _, _ = wire.ParseRequest(huge) }); got > 4096 {
		t.Errorf("%d bytes allocated for a length of 1 TiB", got)
	}
}

// hostile calls use with messages that are filled up with the smallest form of
// one field each, at every depth; with messages in which every field stands in
// its smallest form; and with unknown fields.
func (s subject) hostile(use func(name string, b []byte)) {
	use("unknown fields", s.with(s.fill(s.needed("", "1000"), func(int) []byte { return field(1000, "") }, endless)))
	for _, r := range s.grammar {
		smallest := func(n int) []byte { return r.smallest(n) }
		if r.kind == message {
			smallest = func(n int) []byte { return field(r.tag(), string(s.oneOfEach(r.path, n))) }
			use(r.path+", empty", s.with(s.fill(s.needed("", r.path), func(int) []byte { return field(r.tag(), "") }, endless)))
		}
		for depth := range strings.Count(r.path, ".") + 1 {
			use(r.path, s.with(s.nest(r.path, depth, smallest, endless)))
			use(r.path+", as often as it may stand there", s.with(s.nest(r.path, depth, smallest, r.many)))
		}
	}
	use("all pairs", s.with(s.allPairs()))
}

// nest repeats a field until the message is as long as it may be, or its
// message at some depth.
func (s subject) nest(path string, depth int, make func(int) []byte, most int) []byte {
	for ; depth > 0; depth-- {
		at := strings.LastIndexByte(path, '.')
		outer, inner := path[:at], make
		r, _ := s.grammar.find(outer)
		make = func(n int) []byte { return field(r.tag(), string(append(s.needed(outer+".", path), inner(n)...))) }
		path, most = outer, r.many
	}
	b := s.fill(nil, make, most)
	for at := strings.LastIndexByte(path, '.'); at >= 0; at = strings.LastIndexByte(path, '.') {
		outer := path[:at]
		r, _ := s.grammar.find(outer)
		b = field(r.tag(), string(append(s.needed(outer+".", path), b...)))
		path = outer
	}
	return append(s.needed("", path), b...)
}

// fill appends fields as long as they fit into the message, with some bytes
// left for what is around it. More of them than any message may have show
// nothing new.
func (s subject) fill(b []byte, make func(int) []byte, most int) []byte {
	room := s.limit - s.head - 128
	for n := range min(most, 150_000) {
		next := make(n)
		if len(b)+len(next) > room {
			break
		}
		b = append(b, next...)
	}
	return b
}

// needed are the fields of a message that must be there, but for one.
func (s subject) needed(at, but string) (b []byte) {
	for _, r := range s.grammar {
		inside := strings.HasPrefix(r.path, at) && !strings.Contains(r.path[len(at):], ".")
		switch {
		case !inside || !r.must || r.path == but:
		case r.kind == message:
			b = append(b, field(r.tag(), string(s.needed(r.path+".", but)))...)
		default:
			b = append(b, r.smallest(0)...)
		}
	}
	return b
}

// oneOfEach are the fields of a message, each in its smallest form.
func (s subject) oneOfEach(path string, n int) (b []byte) {
	for _, r := range s.grammar {
		switch {
		case !strings.HasPrefix(r.path, path+".") || strings.Contains(r.path[len(path)+1:], "."):
		case r.kind == message:
			b = append(b, field(r.tag(), string(s.oneOfEach(r.path, n)))...)
		default:
			b = append(b, r.smallest(n)...)
		}
	}
	return b
}

// allPairs is a message with as many pairs of each kind as it may have.
func (s subject) allPairs() []byte {
	b := s.needed("", "")
	for _, r := range s.grammar {
		if r.kind == pair && !strings.Contains(r.path, ".") {
			b = s.fill(b, r.smallest, r.many)
		}
	}
	return b
}

// smallest is the n-th of the shortest fields of a rule.
func (r rule) smallest(n int) []byte {
	value := ""
	switch r.kind {
	case number:
		value = "\x01"
	case moment:
		value = "12345678"
	case pair:
		name := shortName(n)
		value = uvarint(uint64(len(name))) + name
	case header:
		value = "\x07expiresx"
	case text, raw:
		if r.must {
			value = "x"
		}
	}
	return field(r.tag(), value)
}

// shortName is the n-th of the shortest names.
func shortName(n int) string {
	name := ""
	for ; n >= 0; n = n>>8 - 1 {
		name += string([]byte{byte(n)})
	}
	return name
}
