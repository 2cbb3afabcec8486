package wire

import (
	"encoding/binary"
	"maps"
	"slices"
	"time"
)

// The tags of requests, some of which stand in answers too.
const (
	tagBucket     = 1
	tagKey        = 3
	tagUpload     = 5
	tagPart       = 7
	tagFromBucket = 9
	tagFromKey    = 11
	tagFromETag   = 13
	tagOffset     = 17
	tagRange      = 19
	tagIfMatch    = 21
	tagSuffix     = 23
	tagAlgorithm  = 25
	tagIfAbsent   = 27
	tagUnlike     = 29
	tagModified   = 31
	tagUnmodified = 33
	tagUser       = 35
	tagTags       = 37
	tagHeader     = 39
	tagDelete     = 41
	tagPrefix     = 43
	tagDelimiter  = 45
	tagAfter      = 47
	tagMax        = 49
	tagNewMeta    = 51
	tagNewTags    = 53
	tagComplete   = 55
	tagAfterID    = 57
	tagAfterPart  = 59
	tagFrom       = 61
	tagNoMD5      = 64
	tagNoSHA256   = 66
	tagSize       = 68
)

// Request is a request of any operation; each takes some of the fields, and the
// rest is zero.
type Request struct {
	Op Op

	Bucket, Key string
	Upload      string
	Part        int // number of a part

	Source Source
	Range  Range

	IfMatch         []string // ETags or "*"; one at most but for Get and Head
	IfAbsent        bool     // nothing may stand under the key
	IfNoneMatch     []string // of reads: ETags or "*"
	ModifiedSince   time.Time
	UnmodifiedSince time.Time

	Meta        Meta
	Algorithm   uint8 // of CreateUpload: the number of package store
	ReplaceMeta bool
	ReplaceTags bool

	SkipMD5, SkipSHA256 bool
	Size                int64 // of the body behind it; -1 when it is not known

	Deletes []DeleteEntry
	Parts   []CompletePart

	Prefix, Delimiter string
	After             string // of List, and the key of ListUploads
	AfterUpload       string
	AfterPart         int
	Max               int    // entries of a page; 0 = as many as may be
	From              uint64 // of Watch: a sequence; 0 = from now on
}

// Source is what a copy is made of.
type Source struct {
	Bucket, Key string
	ETag        string // that it must have; "" = any
}

// RangeForm tells which part of an object is meant.
type RangeForm uint8

// The forms of ranges.
const (
	Whole  RangeForm = iota
	From             // from Offset to the end
	Span             // Length bytes from Offset, or to the end if that is sooner
	Suffix           // the last Length bytes
)

// Range is a part of an object.
type Range struct {
	Form           RangeForm
	Offset, Length int64
}

// Headers are the system headers of an object.
type Headers struct {
	ContentType        string
	CacheControl       string
	ContentDisposition string
	ContentEncoding    string
	ContentLanguage    string
	Expires            string
}

// field returns the header of a name, nil when there is none of it.
func (h *Headers) field(name string) *string {
	switch name {
	case "content-type":
		return &h.ContentType
	case "cache-control":
		return &h.CacheControl
	case "content-disposition":
		return &h.ContentDisposition
	case "content-encoding":
		return &h.ContentEncoding
	case "content-language":
		return &h.ContentLanguage
	case "expires":
		return &h.Expires
	}
	return nil
}

// Meta is what is said about an object besides its bytes.
type Meta struct {
	Headers
	User map[string]string
	Tags map[string]string
}

// The tags of Meta in requests; in answers each stands one lower.
type metaTags struct{ user, tags, header uint64 }

func (m *Meta) append(b []byte, t metaTags) []byte {
	for _, name := range slices.Sorted(maps.Keys(m.User)) {
		b = appendPair(b, t.user, name, m.User[name])
	}
	for _, name := range slices.Sorted(maps.Keys(m.Tags)) {
		b = appendPair(b, t.tags, name, m.Tags[name])
	}
	for _, h := range [...]struct{ name, value string }{
		{"content-type", m.ContentType}, {"cache-control", m.CacheControl},
		{"content-disposition", m.ContentDisposition}, {"content-encoding", m.ContentEncoding},
		{"content-language", m.ContentLanguage}, {"expires", m.Expires},
	} {
		if h.value != "" {
			b = appendPair(b, t.header, h.name, h.value)
		}
	}
	return b
}

// take reads a field of Meta.
func (m *Meta) take(f Field, fields *Fields, t metaTags) {
	switch f.Tag {
	case t.user:
		f.addPair(fields, &m.User)
	case t.tags:
		f.addPair(fields, &m.Tags)
	case t.header:
		name, value := f.pair(fields)
		h := m.field(name)
		switch {
		case h == nil:
			fields.fail(malformed("A header that is not kept with objects."))
		case *h != "":
			fields.fail(malformed("A header that is given twice."))
		default:
			*h = value
		}
	}
}

// DeleteEntry is one key of a DeleteMany.
type DeleteEntry struct {
	Key     string
	IfMatch string // an ETag, "*", or "" for no condition
}

// CompletePart is one part of a CompleteUpload.
type CompletePart struct {
	Number int
	ETag   string
}

// Append writes the payload of REQUEST.
func (r *Request) Append(b []byte) []byte {
	b = binary.BigEndian.AppendUint16(b, uint16(r.Op))
	b = appendSome(b, tagBucket, r.Bucket)
	b = appendSome(b, tagKey, r.Key)
	b = appendSome(b, tagUpload, r.Upload)
	b = appendPositive(b, tagPart, int64(r.Part))
	b = appendSome(b, tagFromBucket, r.Source.Bucket)
	b = appendSome(b, tagFromKey, r.Source.Key)
	b = appendSome(b, tagFromETag, r.Source.ETag)
	b = r.appendConditions(b)
	b = r.Meta.append(b, requestMeta())
	for _, d := range r.Deletes {
		var at int
		b, at = beginMessage(b, tagDelete)
		b = appendText(b, tagKey, d.Key)
		b = appendSome(b, tagIfMatch, d.IfMatch)
		b = endMessage(b, at)
	}
	b = r.appendPage(b)
	b = appendFlag(b, tagNewMeta, r.ReplaceMeta)
	b = appendFlag(b, tagNewTags, r.ReplaceTags)
	for _, p := range r.Parts {
		var at int
		b, at = beginMessage(b, tagComplete)
		b = appendUint(b, tagPart, uint64(p.Number))
		b = appendText(b, tagETag, p.ETag)
		b = endMessage(b, at)
	}
	b = appendFlag(b, tagNoMD5, r.SkipMD5)
	b = appendFlag(b, tagNoSHA256, r.SkipSHA256)
	if r.Op.HasBody() && r.Size >= 0 {
		b = appendUint(b, tagSize, uint64(r.Size))
	}
	return b
}

func requestMeta() metaTags { return metaTags{user: tagUser, tags: tagTags, header: tagHeader} }

// append writes a range, but for a suffix, whose tag stands behind if-match.
func (r Range) append(b []byte) []byte {
	if r.Form == From || r.Form == Span {
		b = appendUint(b, tagOffset, uint64(r.Offset))
	}
	if r.Form == Span {
		b = appendUint(b, tagRange, uint64(r.Length))
	}
	return b
}

// appendConditions writes them, and what has its tag between theirs.
func (r *Request) appendConditions(b []byte) []byte {
	b = r.Range.append(b)
	for _, etag := range r.IfMatch {
		b = appendText(b, tagIfMatch, etag)
	}
	if r.Range.Form == Suffix {
		b = appendUint(b, tagSuffix, uint64(r.Range.Length))
	}
	b = appendPositive(b, tagAlgorithm, int64(r.Algorithm))
	b = appendFlag(b, tagIfAbsent, r.IfAbsent)
	for _, etag := range r.IfNoneMatch {
		b = appendText(b, tagUnlike, etag)
	}
	b = appendTime(b, tagModified, r.ModifiedSince)
	return appendTime(b, tagUnmodified, r.UnmodifiedSince)
}

func (r *Request) appendPage(b []byte) []byte {
	b = appendSome(b, tagPrefix, r.Prefix)
	b = appendSome(b, tagDelimiter, r.Delimiter)
	b = appendSome(b, tagAfter, r.After)
	b = appendPositive(b, tagMax, int64(r.Max))
	b = appendSome(b, tagAfterID, r.AfterUpload)
	b = appendPositive(b, tagAfterPart, int64(r.AfterPart))
	if r.From > 0 {
		b = appendUint(b, tagFrom, r.From)
	}
	return b
}
