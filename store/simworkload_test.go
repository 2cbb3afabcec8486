package store_test

import "fmt"

// simWorkload is a script.
type simWorkload struct {
	name    string
	segment int64
	steps   [][]*simOp // each step's operations at once
	born    bool       // begins with an empty folder, whose first start is cut too
	late    bool       // one of simLate: only its last step is cut
}

// simMacro is an operation of which all pairs are run. It is made anew for each
// place in a script, so that no two payloads are the same.
type simMacro struct {
	name  string
	make  func(place string) []*simOp
	alone bool // cannot share a batch
}

const (
	simInline = 300  // bytes that stand in a record
	simBlob   = 1300 // bytes that make a blob
)

// simMacros are the operations of which the campaign makes pairs and triples.
func simMacros() []simMacro {
	one := func(op *simOp) []*simOp { return []*simOp{op} }
	return []simMacro{
		{"put-inline", func(p string) []*simOp { return one(simPut(at("new"), simText(p, simInline), "")) }, false},
		{"put-blob", func(p string) []*simOp { return one(simPut(at("new"), simText(p, simBlob), "")) }, false},
		{"over-inline", func(p string) []*simOp { return one(simPut(at("old"), simText(p, simInline+77), "m"+p)) }, false},
		{"over-blob", func(p string) []*simOp { return one(simPut(at("big"), simText(p, simBlob+99), "")) }, false},
		{"shrink", func(p string) []*simOp { return one(simPut(at("big"), simText(p, 40), "")) }, false},
		{"delete-inline", func(string) []*simOp { return one(simDelete(at("old"))) }, false},
		{"delete-blob", func(string) []*simOp { return one(simDelete(at("big"))) }, false},
		{"copy", func(p string) []*simOp { return one(simCopy(at("big"), at("twin"+p), "")) }, false},
		{"copy-over", func(p string) []*simOp { return one(simCopy(at("old"), at("big"), "c"+p)) }, false},
		{"metadata", func(p string) []*simOp { return one(simCopy(at("big"), at("big"), "m"+p)) }, false},
		{"upload", simWholeUpload, false},
		{"part-copy", simCopiedUpload, false},
		{"abort", simAborted, false},
		{"unfinished", simUnfinished, false},
		{"bucket", simBucketLife, false},
		{"compact", func(string) []*simOp { return one(simCompact(1)) }, true},
		{"compact-run", func(string) []*simOp { return one(simCompact(8)) }, true},
		{"reopen", func(string) []*simOp { return one(simReopen()) }, true},
		{"rebuild", func(string) []*simOp { return one(simRebuild()) }, true},
	}
}

func simWholeUpload(p string) []*simOp {
	label, n := "whole"+p, at("multi")
	return []*simOp{
		simStart(label, n), simPutPart(label, n, 1, simText(label+"1", simBlob)),
		simPutPart(label, n, 3, simText(label+"3", simInline)), simComplete(label, n, 1, 3),
	}
}

func simCopiedUpload(p string) []*simOp {
	label, n := "copied"+p, at("big")
	return []*simOp{
		simStart(label, n), simCopyPart(label, n, 1, at("big"), 20, 20), simCopyPart(label, n, 2, at("old"), 5, 35),
		simPutPart(label, n, 2, simText(label, simInline)), simComplete(label, n, 2),
	}
}

func simAborted(p string) []*simOp {
	label, n := "aborted"+p, at("multi")
	return []*simOp{
		simStart(label, n), simPutPart(label, n, 1, simText(label+"1", simBlob)),
		simCopyPart(label, n, 2, at("old"), 0, 30), simAbort(label, n),
	}
}

func simUnfinished(p string) []*simOp {
	label, n := "unfinished"+p, at("old")
	return []*simOp{
		simStart(label, n), simPutPart(label, n, 1, simText(label+"1", simBlob)),
		simPutPart(label, n, 1, simText(label+"2", simInline)),
	}
}

func simBucketLife(p string) []*simOp {
	name := "life" + p
	in := simName{name, "k"}
	return []*simOp{
		simMakeBucket(name), simPut(in, simText(name, 100), ""), simDropBucket(name), simDelete(in), simDropBucket(name),
	}
}

// simPrelude fills a store: what the pairs work on.
func simPrelude() [][]*simOp {
	return [][]*simOp{
		{simMakeBucket(simBucket)},
		{simPut(at("old"), simText("old", simInline), "")},
		{simPut(at("big"), simText("big", simBlob), "first")},
		{simCopy(at("big"), at("other"), "")},
	}
}

// sequence is operations one after the other.
func sequence(segment int64, macros ...simMacro) simWorkload {
	w := simWorkload{segment: segment}
	for i, m := range macros {
		if w.name += m.name; i < len(macros)-1 {
			w.name += "+"
		}
		for _, op := range m.make(string(rune('a' + i))) {
			w.steps = append(w.steps, []*simOp{op})
		}
	}
	return w
}

// simSegment are sizes of segments: the smallest ones roll often.
func simSegment(i int) int64 { return []int64{4 << 10, 5 << 10, 16 << 10}[i%3] }

// simPairs are all ordered pairs of operations, one after the other and, where
// each is a single one that a client waits for, in one batch.
func simPairs() (out []simWorkload) {
	macros := simMacros()
	for i, a := range macros {
		for k, b := range macros {
			w := sequence(simSegment(i+2*k), a, b)
			out = append(out, w)
			if len(w.steps) == 2 && !a.alone && !b.alone {
				out = append(out, simWorkload{
					name: a.name + "&" + b.name, segment: w.segment,
					steps: [][]*simOp{{w.steps[0][0], w.steps[1][0]}},
				})
			}
		}
	}
	return out
}

// simLate are scripts in which what ends something lies in a later segment than
// what it ends, and is compacted first: then the end must be kept.
func simLate() (out []simWorkload) {
	fill := simMacro{name: "fill", make: simFill}
	newest := simMacro{"compact-newest", func(string) []*simOp { return []*simOp{simCompactNewest()} }, true}
	for _, m := range simMacros() {
		w := sequence(simSegment(0), fill, m, fill, newest)
		w.late = true
		out = append(out, w)
	}
	return out
}

// simFill fills the smallest segment.
func simFill(p string) (out []*simOp) {
	for i := range 9 {
		out = append(out, simPut(at("fill"), simText(fmt.Sprint(p, i), simInline), ""))
	}
	return out
}

// simTriples are all ordered triples.
func simTriples(size int) (out []simWorkload) {
	macros := simMacros()
	for i, a := range macros {
		for k, b := range macros {
			for l, c := range macros {
				out = append(out, sequence(simSegment(i+2*k+l+size), a, b, c))
			}
		}
	}
	return out
}

// workloadsOf are the pairs, and for each further cycle as many triples: when
// all have been run, again with segments of other sizes and another seed.
func (c *simCampaign) workloadsOf(short bool) func(yield func(simWorkload) bool) {
	return func(yield func(simWorkload) bool) {
		pairs := append(simLate(), simWorkload{name: "born", segment: simSegment(0), born: true})
		pairs = append(pairs, simPairs()...)
		for i, w := range pairs {
			if short && c.only == nil && i%16 != 0 && !w.born && !w.late {
				continue
			}
			yield(w)
		}
		left := (c.cycles - 1) * len(pairs)
		for round := 0; left > 0 || c.only != nil && round < 3; round++ {
			for _, w := range simTriples(round) {
				if left--; left >= 0 || c.only != nil {
					yield(w)
				}
			}
		}
	}
}

// run runs the prelude, and then the script with every cut noted.
func (w simWorkload) run() (*simRun, error) {
	r := newSimRun(w.segment)
	r.record = w.born
	if err := r.open(); err != nil {
		return nil, err
	}
	for _, ops := range simPrelude() {
		r.step(ops...)
	}
	r.record = !w.late
	for i, ops := range w.steps {
		r.record = r.record || i == len(w.steps)-1
		r.step(ops...)
	}
	r.record = false
	return r, r.s.Close()
}
