package wire_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
)

// kind is how the bytes of a field are to be read.
type kind byte

const (
	text kind = iota
	raw
	number
	moment
	presence
	pair
	header // a pair whose name is one of six
	message
)

// rule is one line of the tables of docs/native.md, written down here a second
// time: these tests take no tag from the package.
type rule struct {
	path string // of tags, with dots between a message and its fields
	name string
	kind kind
	most uint64 // of a number
	many int    // how often it may stand in its message
	must bool   // it may not be missing
}

const endless = math.MaxInt

func txt(path, name string) rule  { return rule{path: path, name: name, kind: text, many: 1} }
func byts(path, name string) rule { return rule{path: path, name: name, kind: raw, many: 1} }
func when(path, name string) rule { return rule{path: path, name: name, kind: moment, many: 1} }
func flg(path, name string) rule  { return rule{path: path, name: name, kind: presence, many: 1} }
func msg(path, name string) rule  { return rule{path: path, name: name, kind: message, many: 1} }
func size(path, name string) rule { return num(path, name, math.MaxInt64) }

func num(path, name string, most uint64) rule {
	return rule{path: path, name: name, kind: number, most: most, many: 1}
}

func pairs(path, name string) rule {
	return rule{path: path, name: name, kind: pair, many: 2048}
}

func headers(path, name string) rule {
	return rule{path: path, name: name, kind: header, many: 6}
}

func (r rule) times(n int) rule { r.many = n; return r }
func (r rule) needed() rule     { r.must = true; return r }

// tag is the last of the path.
func (r rule) tag() uint64 {
	n, err := strconv.ParseUint(r.path[strings.LastIndexByte(r.path, '.')+1:], 10, 64)
	if err != nil {
		panic(err)
	}
	return n
}

// grammar is what one message may hold, at every depth.
type grammar []rule

func (g grammar) find(path string) (rule, bool) {
	for _, r := range g {
		if r.path == path {
			return r, true
		}
	}
	return rule{}, false
}

// node is one field, or a message of fields.
type node struct {
	path  string
	tag   uint64
	value []byte
	kids  []node // of a message
	deep  bool   // it is a message
	whole []byte // what stands there instead of all that
}

// bytes are the bytes behind the length.
func (n node) bytes() []byte {
	if n.deep {
		return join(n.kids)
	}
	return n.value
}

func (n node) append(b []byte) []byte {
	if n.whole != nil {
		return append(b, n.whole...)
	}
	return appendField(b, n.tag, n.bytes())
}

func join(nodes []node) []byte {
	var b []byte
	for _, n := range nodes {
		b = n.append(b)
	}
	return b
}

func appendField(b []byte, tag uint64, value []byte) []byte {
	b = binary.AppendUvarint(b, tag)
	b = binary.AppendUvarint(b, uint64(len(value)))
	return append(b, value...)
}

func field(tag uint64, value string) []byte { return appendField(nil, tag, []byte(value)) }

func uvarint(n uint64) string { return string(binary.AppendUvarint(nil, n)) }

// long is n in one byte more than it takes.
func long(n uint64) []byte {
	b := binary.AppendUvarint(nil, n)
	b[len(b)-1] |= 0x80
	return append(b, 0)
}

// split reads a well-formed message by its grammar.
func split(tb testing.TB, g grammar, at string, b []byte) (nodes []node) {
	tb.Helper()
	for len(b) > 0 {
		tag, n := binary.Uvarint(b)
		length, m := binary.Uvarint(b[max(n, 0):])
		if n <= 0 || m <= 0 || uint64(len(b)-n-m) < length {
			tb.Fatalf("not a message: %x", b)
		}
		end := n + m + int(length)
		f := node{path: fmt.Sprintf("%s%d", at, tag), tag: tag, value: b[n+m : end]}
		r, ok := g.find(f.path)
		if !ok {
			tb.Fatalf("no rule for the field %s", f.path)
		}
		if f.deep = r.kind == message; f.deep {
			f.kids = split(tb, g, f.path+".", f.value)
		}
		nodes, b = append(nodes, f), b[end:]
	}
	return nodes
}

// change calls f with the fields of each message of a tree, and puts in what it
// answers: once for each message, with the rest as it was.
func change(nodes []node, at string, f func(at string, fields []node) []node, use func([]node)) {
	use(f(at, nodes))
	for i, n := range nodes {
		if !n.deep {
			continue
		}
		change(n.kids, n.path+".", f, func(kids []node) {
			all := append([]node(nil), nodes...)
			all[i].kids = kids
			use(all)
		})
	}
}
