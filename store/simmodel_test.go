package store_test

import (
	"crypto/md5"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"maps"
	"slices"
	"strings"

	"larder/fault"
)

// simModel is what a store holds, as simply as it can be said. It never changes.
type simModel struct {
	buckets map[string]bool
	objects map[simName]simObject
	uploads map[string]simUpload // in progress, by their label
}

type simName struct{ bucket, key string }

type simObject struct {
	body string
	meta string
}

type simUpload struct {
	simName
	parts map[int]string // bodies
}

func (m *simModel) clone() *simModel {
	return &simModel{copyMap(m.buckets), copyMap(m.objects), copyMap(m.uploads)}
}

// with is the model with an object, or without one when o is nil.
func (m *simModel) with(n simName, o *simObject) *simModel {
	c := m.clone()
	if delete(c.objects, n); o != nil {
		c.objects[n] = *o
	}
	return c
}

// String is the same for models that are the same.
func (m *simModel) String() string {
	var lines []string
	for b := range m.buckets {
		lines = append(lines, b+"/")
	}
	for n, o := range m.objects {
		lines = append(lines, objectLine(n, o.body, o.meta))
	}
	for label, u := range m.uploads {
		line := uploadLine(label, u.simName)
		for _, n := range slices.Sorted(maps.Keys(u.parts)) {
			line += partLine(n, md5Hex(u.parts[n]))
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func objectLine(n simName, body, meta string) string {
	return fmt.Sprintf("%s/%s %d %08x %s", n.bucket, n.key, len(body), crc32.ChecksumIEEE([]byte(body)), meta)
}

func uploadLine(label string, n simName) string {
	return "upload " + label + " " + n.bucket + "/" + n.key
}

func partLine(number int, etag string) string { return fmt.Sprintf(" %d:%s", number, etag) }

func md5Hex(body string) string {
	sum := md5.Sum([]byte(body))
	return hex.EncodeToString(sum[:])
}

// simOp is one operation of a client.
type simOp struct {
	name string
	do   func(*simRun) error
	// effect is what it makes of a model, or the code that it is refused with.
	effect func(*simModel) (*simModel, fault.Code)
}

func (op *simOp) String() string { return op.name }

// allowedAfter is what may be there when each operation in flight was done or
// not, in any order.
func allowedAfter(models []*simModel, flying []*simOp) []*simModel {
	out := slices.Clone(models)
	for i, op := range flying {
		rest := slices.Delete(slices.Clone(flying), i, i+1)
		out = append(out, allowedAfter(applyTo(models, op), rest)...)
	}
	return unique(out)
}

// applyTo is each of the models with an operation done, where it can be.
func applyTo(models []*simModel, op *simOp) (out []*simModel) {
	for _, m := range models {
		if next, code := op.effect(m); code == fault.OK {
			out = append(out, next)
		}
	}
	return out
}

func unique(models []*simModel) (out []*simModel) {
	seen := map[string]bool{}
	for _, m := range models {
		if s := m.String(); !seen[s] {
			seen[s] = true
			out = append(out, m)
		}
	}
	return out
}
