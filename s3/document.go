package s3

import (
	"strconv"
	"time"
	"unicode/utf8"

	"larder/store"
)

// document is an XML document in the making. It is written by hand, since a
// listing of 1,000 keys through encoding/xml costs several times as much.
type document struct {
	b   []byte
	url bool // names are percent-encoded, as encoding-type=url asks for
}

func newDocument() *document {
	return &document{b: append(make([]byte, 0, 1024), `<?xml version="1.0" encoding="UTF-8"?>`+"\n"...)}
}

// root opens the root element of S3's namespace.
func (d *document) root(name string) {
	d.b = append(d.b, '<')
	d.b = append(d.b, name...)
	d.b = append(d.b, ` xmlns="`+namespace+`">`...)
}

func (d *document) open(name string) {
	d.b = append(d.b, '<')
	d.b = append(d.b, name...)
	d.b = append(d.b, '>')
}

func (d *document) close(name string) {
	d.b = append(d.b, '<', '/')
	d.b = append(d.b, name...)
	d.b = append(d.b, '>')
}

// text writes an element that holds text, also an empty one.
func (d *document) text(name, value string) {
	d.open(name)
	d.b = appendEscaped(d.b, value)
	d.close(name)
}

// optional writes an element unless it would be empty.
func (d *document) optional(name, value string) {
	if value != "" {
		d.text(name, value)
	}
}

// name writes an element that holds a key, a prefix or a delimiter.
func (d *document) name(element, value string) {
	if d.url {
		value = encodeListed(value)
	}
	d.text(element, value)
}

func (d *document) number(name string, n int64) {
	d.open(name)
	d.b = strconv.AppendInt(d.b, n, 10)
	d.close(name)
}

func (d *document) flag(name string, v bool) { d.text(name, strconv.FormatBool(v)) }

// etag writes an ETag with its quotes.
func (d *document) etag(etag string) {
	d.b = append(d.b, "<ETag>&quot;"...)
	d.b = appendEscaped(d.b, etag)
	d.b = append(d.b, "&quot;</ETag>"...)
}

// time writes a time in whole seconds, so that listings and HEAD agree.
func (d *document) time(name string, t time.Time) {
	d.open(name)
	d.b = t.UTC().Truncate(time.Second).AppendFormat(d.b, "2006-01-02T15:04:05.000Z")
	d.close(name)
}

func (d *document) owner(element string) {
	d.open(element)
	d.text("ID", ownerID)
	d.text("DisplayName", ownerName)
	d.close(element)
}

// checksum writes a checksum's value under its algorithm's element.
func (d *document) checksum(sum store.Checksum, parts int) {
	if len(sum.Value) > 0 {
		d.text("Checksum"+algorithmName(sum.Algorithm), encodeChecksum(sum, parts))
	}
}

// appendEscaped escapes text for XML. Control characters, which XML 1.0 cannot
// carry, become character references as on AWS; encoding-type=url is there for
// parsers that refuse those. Bytes that are not UTF-8 never get here, and would
// become U+FFFD.
func appendEscaped(b []byte, s string) []byte {
	start := 0
	for i := 0; i < len(s); {
		r, size := rune(s[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(s[i:])
		}
		if e := escapeOf(r, size); e != "" {
			b = append(append(b, s[start:i]...), e...)
			start = i + size
		}
		i += size
	}
	return append(b, s[start:]...)
}

func escapeOf(r rune, size int) string {
	switch {
	case r == '&':
		return "&amp;"
	case r == '<':
		return "&lt;"
	case r == '>':
		return "&gt;"
	case r == '"':
		return "&quot;"
	case r < ' ', r == 0x7f, 0x80 <= r && r < 0xa0, r == 0xfffe, r == 0xffff:
		return "&#x" + strconv.FormatInt(int64(r), 16) + ";"
	case r == utf8.RuneError && size == 1:
		return "\uFFFD"
	}
	return ""
}

// encodeListed is the encoding of encoding-type=url, as AWS does it: a form's,
// but with the slash kept.
func encodeListed(s string) string {
	const hex = "0123456789ABCDEF"
	b := make([]byte, 0, len(s)+16)
	for i := range len(s) {
		c := s[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9',
			c == '-', c == '_', c == '.', c == '*', c == '/':
			b = append(b, c)
		case c == ' ':
			b = append(b, '+')
		default:
			b = append(b, '%', hex[c>>4], hex[c&15])
		}
	}
	return string(b)
}
