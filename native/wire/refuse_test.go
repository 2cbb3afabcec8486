package wire_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"
	"testing"

	"larder/fault"
	"larder/native/wire"
)

func appendDecimal(n uint64) []byte { return strconv.AppendUint(nil, n, 10) }

// TestTruncated cuts every message at every byte: none makes a decoder panic,
// and one that does not fall between two fields is refused.
func TestTruncated(t *testing.T) {
	t.Parallel()
	for _, s := range subjects() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			between := map[int]bool{}
			at := s.head
			for _, f := range s.fields(t) {
				between[at] = true
				at += len(f.append(nil))
			}
			for cut := range len(s.full) {
				_, err := s.parse(s.full[:cut:cut])
				if err == nil && !between[cut] || err == nil && s.preface {
					t.Errorf("%d of %d bytes are taken for a message", cut, len(s.full))
				} else if err != nil && fault.CodeOf(err) != fault.InvalidArgument {
					t.Errorf("%d of %d bytes: %v", cut, len(s.full), err)
				}
				if cut < s.head || between[cut] {
					continue
				}
				s.refuses(t, s.with(s.full[s.head:cut]), fault.InvalidArgument, fmt.Sprint("cut at ", cut))
			}
		})
	}
}

// everyField calls use with the subject's bytes in which each field in turn, at
// every depth, stands as f writes it; nil leaves one out of the test.
func (s subject) everyField(tb testing.TB, f func(n node, r rule) []byte, use func(path string, b []byte)) {
	tb.Helper()
	var walk func(nodes []node, before, after []byte, wrap func([]byte) []byte)
	walk = func(nodes []node, before, after []byte, wrap func([]byte) []byte) {
		for i, n := range nodes {
			head, tail := join(nodes[:i]), join(nodes[i+1:])
			r, _ := s.grammar.find(n.path)
			put := func(b []byte) []byte { return wrap(slices.Concat(before, head, b, tail, after)) }
			if b := f(n, r); b != nil {
				use(n.path, put(b))
			}
			if n.deep {
				walk(n.kids, nil, nil, func(b []byte) []byte { return put(appendField(nil, n.tag, b)) })
			}
		}
	}
	walk(s.fields(tb), nil, nil, s.with)
}

// everyWay is everyField for each of some ways to write a field wrongly.
func (s subject) everyWay(t *testing.T, ways map[string]func(n node, r rule) []byte) {
	t.Helper()
	for why, f := range ways {
		s.everyField(t, f, func(path string, b []byte) {
			s.refuses(t, b, fault.InvalidArgument, "field "+path+": "+why)
		})
	}
}

// TestHeadsOfFields: tags and lengths in more bytes than they take, or in more
// than there can be, and lengths beyond the message are refused at every depth.
func TestHeadsOfFields(t *testing.T) {
	t.Parallel()
	endless := []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}
	toolarge := []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2}
	head := func(n node, length []byte) []byte {
		return slices.Concat(binary.AppendUvarint(nil, n.tag), length, n.bytes())
	}
	ways := map[string]func(node, rule) []byte{
		"tag not in its shortest form": func(n node, _ rule) []byte {
			return slices.Concat(long(n.tag), binary.AppendUvarint(nil, uint64(len(n.bytes()))), n.bytes())
		},
		"tag of eleven bytes":             func(n node, _ rule) []byte { return append(endless, n.bytes()...) },
		"tag above 64 bits":               func(n node, _ rule) []byte { return append(toolarge, n.bytes()...) },
		"length not in its shortest form": func(n node, _ rule) []byte { return head(n, long(uint64(len(n.bytes())))) },
		"length of eleven bytes":          func(n node, _ rule) []byte { return head(n, endless) },
		"length above 64 bits":            func(n node, _ rule) []byte { return head(n, toolarge) },
	}
	for _, length := range []uint64{1 << 20, 1<<31 - 1, 1 << 31, 1 << 32, 1<<63 - 1, 1 << 63, math.MaxUint64} {
		ways[fmt.Sprint("length of ", length)] = func(n node, _ rule) []byte {
			return head(n, binary.AppendUvarint(nil, length))
		}
	}
	for _, s := range subjects() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			s.everyWay(t, ways)
			s.everyLast(t)
		})
	}
}

// everyLast lets the last field of every message claim one byte more than is
// there.
func (s subject) everyLast(t *testing.T) {
	t.Helper()
	s.everyMessage(t, func(_ string, fields []node) []node {
		last := node{tag: 1000}
		if len(fields) > 0 {
			last = fields[len(fields)-1]
		}
		head := binary.AppendUvarint(nil, last.tag)
		head = binary.AppendUvarint(head, uint64(len(last.bytes())+1))
		return append(slices.Clone(fields[:max(len(fields)-1, 0)]), node{whole: append(head, last.bytes()...)})
	}, func(b []byte) { s.refuses(t, b, fault.InvalidArgument, "the last field is one byte too long") })
}

// TestKindsOfFields: a value that is none of its kind is refused.
func TestKindsOfFields(t *testing.T) {
	t.Parallel()
	of := func(k kind, value func(n node, r rule) string) func(node, rule) []byte {
		return func(n node, r rule) []byte {
			if r.kind != k || r.kind == number && r.most == math.MaxUint64 && value(n, r) == "" {
				return nil
			}
			return field(n.tag, value(n, r))
		}
	}
	is := func(v string) func(node, rule) string { return func(node, rule) string { return v } }
	ways := map[string]func(node, rule) []byte{
		"flag with a value":            of(presence, is("\x01")),
		"flag that is 0":               of(presence, is("\x00")),
		"time of 7 bytes":              of(moment, is("1234567")),
		"time of 9 bytes":              of(moment, is("123456789")),
		"time of no bytes":             of(moment, is("")),
		"number without bytes":         of(number, is("")),
		"number that does not end":     of(number, is("\x80")),
		"number and more":              of(number, is("\x01\x00")),
		"number not in shortest form":  of(number, func(node, rule) string { return string(long(1)) }),
		"number above 64 bits":         of(number, is("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02")),
		"number of eleven bytes":       of(number, is("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01")),
		"pair without bytes":           of(pair, is("")),
		"pair with half a name":        of(pair, is("\x03ab")),
		"pair with an endless name":    of(pair, is("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01a")),
		"name length not in short":     of(pair, is("\x81\x00a")),
		"header without bytes":         of(header, is("")),
		"header with half a name":      of(header, is("\x0dcontent-type")),
		"header that is not kept":      of(header, is("\x04etagx")),
		"header in upper case":         of(header, is("\x0cContent-Typex")),
		"header without a name":        of(header, is("\x00x")),
		"message that is not one":      of(message, is("\xff")),
		"message with half a field":    of(message, is("\x03\x02a")),
		"number above what it may be ": tooMuch,
	}
	for _, s := range subjects() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			s.everyWay(t, ways)
		})
	}
}

// tooMuch is a number one above the most.
func tooMuch(n node, r rule) []byte {
	if r.kind != number || r.most == math.MaxUint64 {
		return nil
	}
	return field(n.tag, uvarint(r.most+1))
}

// TestLargestNumbers: the most that a number may be is taken, and is sent as it
// came.
func TestLargestNumbers(t *testing.T) {
	t.Parallel()
	for _, s := range subjects() {
		s.everyField(t, func(n node, r rule) []byte {
			if r.kind != number {
				return nil
			}
			return field(n.tag, uvarint(r.most))
		}, func(path string, b []byte) {
			v, err := s.parse(b)
			if err != nil {
				t.Errorf("%s, field %s: %v", s.name, path, err)
			} else if again := s.again(v); string(again) != string(s.with(again[s.head:])) || string(again) != string(b) {
				t.Errorf("%s, field %s: read from\n%x, sent as\n%x", s.name, path, b, again)
			}
		})
	}
}

// TestFieldsThatMustBeThere refuses each message without one of them.
func TestFieldsThatMustBeThere(t *testing.T) {
	t.Parallel()
	for _, s := range subjects() {
		for _, r := range s.grammar {
			missing := false
			s.everyMessage(t, func(_ string, fields []node) []node {
				rest := slices.DeleteFunc(slices.Clone(fields), func(n node) bool { return n.path == r.path })
				missing = len(rest) < len(fields)
				return rest
			}, func(b []byte) {
				if _, err := s.parse(b); missing && !r.must && err != nil {
					t.Errorf("%s, without %s, %s: %v", s.name, r.path, r.name, err)
				}
				if missing && r.must {
					s.refuses(t, b, fault.InvalidArgument, "without "+r.path+", "+r.name)
				}
			})
		}
	}
}

// TestTwice refuses a second field of a tag that stands there once, also where
// it says nothing, or the same again.
func TestTwice(t *testing.T) {
	t.Parallel()
	for _, s := range subjects() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			s.everyWay(t, map[string]func(node, rule) []byte{
				"the same again": func(n node, r rule) []byte {
					if r.many > 1 && r.kind != pair && r.kind != header {
						return nil
					}
					return n.append(n.append(nil)) // names of pairs are single too
				},
				"empty, then itself": func(n node, r rule) []byte {
					if r.many > 1 || r.kind != text && r.kind != raw {
						return nil
					}
					return append(field(n.tag, ""), n.append(nil)...)
				},
				"itself, then empty": func(n node, r rule) []byte {
					if r.many > 1 || r.kind != text && r.kind != raw {
						return nil
					}
					return append(n.append(nil), field(n.tag, "")...)
				},
			})
		})
	}
}

// TestAsOftenAsItMay takes fields as often as they may stand there and refuses
// one more.
func TestAsOftenAsItMay(t *testing.T) {
	t.Parallel()
	for _, s := range subjects() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			for _, r := range s.grammar {
				if r.many == 1 || r.many == endless || r.kind == header {
					continue
				}
				b := s.repeat(t, r, r.many)
				if b == nil {
					continue // another sample has it
				}
				if len(b) <= s.limit {
					if _, err := s.parse(b); err != nil {
						t.Errorf("%d times %s, %s: %v", r.many, r.path, r.name, err)
					}
				}
				s.refuses(t, s.repeat(t, r, r.many+1), fault.InvalidArgument, fmt.Sprint(r.many+1, " times ", r.path, ", ", r.name))
			}
		})
	}
}

// repeat is the subject with count fields of one rule.
func (s subject) repeat(t *testing.T, r rule, count int) (out []byte) {
	t.Helper()
	done := false
	s.everyMessage(t, func(_ string, fields []node) []node {
		i := slices.IndexFunc(fields, func(n node) bool { return n.path == r.path })
		if done = done || i >= 0; i < 0 {
			return fields
		}
		first := fields[i]
		var with []node
		for n := range count {
			next := node{tag: first.tag, value: first.bytes()}
			if r.kind == pair {
				name := strconv.Itoa(n)
				next.value = append(append([]byte{byte(len(name))}, name...), 'v')
			}
			with = append(with, next)
		}
		rest := slices.DeleteFunc(slices.Clone(fields), func(n node) bool { return n.path == r.path })
		return slices.Insert(rest, min(i, len(rest)), with...)
	}, func(b []byte) {
		if done && out == nil {
			out = b
		}
	})
	return out
}

// TestTooLongForItsOperation: a request is compared with its operation's own
// limit, not only with the one of the frame.
func TestTooLongForItsOperation(t *testing.T) {
	t.Parallel()
	for _, r := range requests() {
		s := requestSubject(r)
		fill := func(n int) []byte { // with an unknown field that is passed over
			b := field(1000, string(make([]byte, n-len(s.full)-5)))
			return s.with(append(b, s.full[s.head:]...))
		}
		limit := 64 << 10
		if r.Op == wire.OpDeleteMany || r.Op == wire.OpCompleteUpload {
			limit = 2 << 20
		}
		if b := fill(limit); len(b) != limit {
			t.Fatalf("%d bytes instead of %d", len(b), limit)
		}
		s.accepts(t, fill(limit), s.value, "as long as it may be")
		s.refuses(t, fill(limit+1), fault.InvalidArgument, "one byte too long")
	}
}
