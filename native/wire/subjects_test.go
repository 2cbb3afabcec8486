package wire_test

import (
	"bytes"
	"encoding/binary"
	"reflect"
	"testing"

	"larder/native/wire"
)

// subject is one message of the protocol with the function that reads it: most
// tests of this package hold for every one of them.
type subject struct {
	name    string
	head    int // bytes before the fields
	limit   int // bytes of the largest that can come
	grammar grammar
	full    []byte // with every field that can stand in it
	value   any    // what full says
	parse   func([]byte) (any, error)
	again   func(any) []byte // what the value would be sent as
	preface bool             // the head says how long the message is
}

// about makes a subject. The encoder writes a whole frame, or a payload alone.
func about[T any](name string, head, limit int, g grammar, value T, parse func([]byte) (T, error), encode func(T) []byte) subject {
	return subject{
		name: name, head: head, limit: limit, grammar: g, value: value, full: encode(value),
		parse: func(b []byte) (any, error) { v, err := parse(b); return v, err },
		again: func(v any) []byte { return encode(v.(T)) },
	}
}

// payload is what stands behind a frame's header.
func payload(frame []byte) []byte { return frame[wire.HeaderSize:] }

// subjects are all messages.
func subjects() []subject {
	list := append(connectionSubjects(), answerSubjects()...)
	for _, r := range requests() {
		list = append(list, requestSubject(r))
	}
	return list
}

// named is the subject of a name.
func named(tb testing.TB, name string) subject {
	tb.Helper()
	for _, s := range subjects() {
		if s.name == name {
			return s
		}
	}
	tb.Fatalf("no subject %s", name)
	return subject{}
}

func connectionSubjects() []subject {
	preface := about("preface", 8, 8+wire.MaxPrefaceMessage, prefaceGrammar(), fullPreface(), wire.ParsePreface,
		func(p wire.Preface) []byte { return p.Append(nil) })
	preface.preface = true
	return []subject{
		preface,
		about("login", 0, wire.MaxLogin, loginGrammar(), login(), wire.ParseLogin,
			func(m wire.LoginMessage) []byte { return payload(m.Append(nil)) }),
		about("welcome", 2, wire.MaxWelcome, welcomeGrammar(), fullWelcome(), wire.ParseWelcome,
			func(m wire.WelcomeMessage) []byte { return payload(m.Append(nil)) }),
		about("end", 2, wire.MaxEnd, trailerGrammar(), trailer(), wire.ParseTrailer,
			func(t wire.Trailer) []byte { return payload(t.Append(nil, 1)) }),
		about("goaway", 6, wire.MaxGoAway, farewellGrammar(), farewell(), wire.ParseFarewell,
			func(f wire.Farewell) []byte { return payload(f.Append(nil)) }),
		about("event", 0, wire.MaxEvent, eventGrammar(), fullEvent(), wire.ParseEvent,
			func(e wire.Event) []byte { return payload(e.Append(nil, 1)) }),
	}
}

// objectAnswer is what ParseObject answers.
type objectAnswer struct {
	Object wire.Object
	Offset int64
}

func parseObject(b []byte) (objectAnswer, error) {
	o, offset, err := wire.ParseObject(b)
	return objectAnswer{o, offset}, err
}

func appendObject(a objectAnswer) []byte {
	return a.Object.Append(wire.AppendBodyOffset(nil, a.Offset))
}

func answerSubjects() []subject {
	const most = wire.MaxAnswer - 2 // behind the code
	whole := objectGrammar("")
	whole = append(whole, size("30", "offset of the body"))
	return []subject{
		about("object", 0, most, whole, objectAnswer{fullObject(), 65536}, parseObject, appendObject),
		about("buckets", 0, most, bucketsGrammar(), buckets(), wire.ParseBuckets, appendBuckets),
		about("page", 0, most, pageGrammar(), page(), wire.ParsePage, appendPage),
		about("results", 0, most, resultsGrammar(), results(), wire.ParseResults, appendResults),
		about("upload", 0, most, grammar{txt("50", "upload")}, "upload-1", wire.ParseUpload,
			func(id string) []byte { return wire.AppendUpload(nil, id) }),
		about("part", 0, most, partGrammar(""), part(1), wire.ParsePart, func(p wire.Part) []byte { return p.Append(nil) }),
		about("parts", 0, most, partPageGrammar(), partPage(), wire.ParsePartPage, appendPartPage),
		about("uploads", 0, most, uploadPageGrammar(), uploadPage(), wire.ParseUploadPage, appendUploadPage),
		about("position", 0, most, grammar{num("60", "sequence", 1<<64-1)}, uint64(300), wire.ParsePosition,
			func(n uint64) []byte { return wire.AppendPosition(nil, n) }),
		about("info", 0, most, infoGrammar(), info(), wire.ParseServerInfo,
			func(i wire.ServerInfo) []byte { return i.Append(nil) }),
	}
}

// requestSubject is a request of one operation, under the operation's name.
func requestSubject(r namedRequest) subject {
	return about("request-"+r.name, 2, r.Op.MostBytes(), requestGrammar(r.Op), &r.Request, wire.ParseRequest,
		func(r *wire.Request) []byte { return r.Append(nil) })
}

func appendBuckets(list []wire.Bucket) (b []byte) {
	for _, k := range list {
		b = k.Append(b)
	}
	return b
}

func appendPage(p wire.Page) (b []byte) {
	for i := range p.Objects {
		b = wire.AppendEntry(b, &p.Objects[i])
	}
	for _, prefix := range p.Prefixes {
		b = wire.AppendPrefix(b, prefix)
	}
	if p.Next != "" {
		b = wire.AppendNext(b, p.Next)
	}
	return b
}

func appendResults(list []wire.Result) (b []byte) {
	for _, r := range list {
		b = r.Append(b)
	}
	return b
}

func appendPartPage(p wire.PartPage) (b []byte) {
	for i := range p.Parts {
		b = wire.AppendPart(b, &p.Parts[i])
	}
	if p.Next != 0 {
		b = wire.AppendNextPart(b, p.Next)
	}
	return b
}

func appendUploadPage(p wire.UploadPage) (b []byte) {
	for _, u := range p.Uploads {
		b = u.Append(b)
	}
	if p.NextKey != "" || p.NextUpload != "" {
		b = wire.AppendNextUpload(b, p.NextKey, p.NextUpload)
	}
	return b
}

// fields are the fields of a subject's message.
func (s subject) fields(tb testing.TB) []node { return split(tb, s.grammar, "", s.full[s.head:]) }

// with is the subject with other fields.
func (s subject) with(fields []byte) []byte {
	b := append(bytes.Clone(s.full[:s.head]), fields...)
	if s.preface {
		binary.BigEndian.PutUint16(b[6:], uint16(len(fields)))
	}
	return b
}

// accepts wants a value.
func (s subject) accepts(tb testing.TB, b []byte, want any, why string) {
	tb.Helper()
	got, err := s.parse(b)
	if err != nil {
		tb.Errorf("%s, %s: %v\n%x", s.name, why, err, b)
	} else if !reflect.DeepEqual(got, want) {
		tb.Errorf("%s, %s:\n%+v, want\n%+v", s.name, why, got, want)
	}
}
