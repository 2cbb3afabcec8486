package store

import (
	"strings"
	"unicode/utf8"

	"larder/fault"
)

// Limits of tags, and the names that metadata may not have.
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/object-tagging.html
const (
	MaxTags          = 10
	MaxTagNameRunes  = 128
	MaxTagValueRunes = 256

	// ReservedMeta begins names that may become Larder's own.
	ReservedMeta = "x-larder-"
)

// Check enforces what holds for metadata from every front end, so that each can
// give back what another one stored: fault.MetadataTooLarge when the user
// metadata is, else fault.InvalidArgument.
func (m Meta) Check() error {
	if err := m.Headers.check(); err != nil {
		return err
	}
	if err := checkUser(m.User); err != nil {
		return err
	}
	return checkTags(m.Tags)
}

func (h Headers) check() error {
	for _, v := range [...]string{
		h.ContentType, h.CacheControl, h.ContentDisposition, h.ContentEncoding, h.ContentLanguage, h.Expires,
	} {
		if !Printable(v) {
			return badMeta("A header value must not hold control characters.")
		}
	}
	return nil
}

func checkUser(user map[string]string) error {
	size := 0
	for name, value := range user {
		size += len(name) + len(value)
		switch {
		case !IsToken(name) || hasUpper(name):
			return badMeta("A metadata name must be the name of a header, in lower case.")
		case strings.HasPrefix(name, ReservedMeta):
			return badMeta("Metadata names that begin with " + ReservedMeta + " are reserved.")
		case !PrintableText(value):
			return badMeta("Metadata values must be UTF-8 without control characters.")
		}
	}
	if size > MaxUserMetaBytes {
		return fault.New("store.Meta", fault.MetadataTooLarge, "", nil).
			WithHint("User metadata has at most 2,048 bytes, names and values together.")
	}
	return nil
}

func checkTags(tags map[string]string) error {
	if len(tags) > MaxTags {
		return badMeta("An object has at most 10 tags.")
	}
	for name, value := range tags {
		if !ValidTag(name, value) {
			return badMeta("A tag's name has 1 to 128 characters, its value at most 256, both in UTF-8.")
		}
	}
	return nil
}

func badMeta(hint string) error {
	return fault.New("store.Meta", fault.InvalidArgument, "", nil).WithHint(hint)
}

// IsToken tells whether a text can be the name of a header: RFC 9110 section
// 5.6.2.
func IsToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c <= ' ' || c >= 0x7f || strings.IndexByte(`"(),/:;<=>?@[\]{}`, c) >= 0 {
			return false
		}
	}
	return s != ""
}

func hasUpper(s string) bool {
	return strings.ContainsFunc(s, func(c rune) bool { return 'A' <= c && c <= 'Z' })
}

// Printable tells that a text holds no control characters but tabs, so that it
// can be the value of a header.
func Printable(v string) bool {
	for i := range len(v) {
		if c := v[i]; c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}

// PrintableText is Printable of UTF-8: what the value of user metadata must be.
func PrintableText(v string) bool { return utf8.ValidString(v) && Printable(v) }

// ValidTag tells whether a tag's name and value are within S3's limits.
func ValidTag(name, value string) bool {
	return name != "" && utf8.RuneCountInString(name) <= MaxTagNameRunes && utf8.RuneCountInString(value) <= MaxTagValueRunes &&
		utf8.ValidString(name) && utf8.ValidString(value)
}
