package wire

import (
	"math"
	"time"

	"larder/fault"
)

// Page is one page of a List.
type Page struct {
	Objects  []Object // without user metadata
	Prefixes []string // common prefixes
	Next     string   // the After of the next page; "" when there is none
}

// AppendEntry writes one object of a list.
func AppendEntry(b []byte, o *Object) []byte {
	b, at := beginMessage(b, tagEntry)
	return endMessage(o.Append(b), at)
}

// AppendPrefix writes one common prefix of a list.
func AppendPrefix(b []byte, prefix string) []byte { return appendText(b, tagCommon, prefix) }

// AppendNext writes where the next page of a list begins.
func AppendNext(b []byte, next string) []byte { return appendText(b, tagNext, next) }

// maxEntries bounds each kind of entries of an answer, above the 1,000 that a
// page has.
const maxEntries = 10_000

// roomFor tells whether a list of n entries may have one more.
func (f *Fields) roomFor(n, most int) bool {
	if n >= most {
		f.fail(malformed("More entries than an answer can have."))
	}
	return n < most
}

// ParsePage reads what List answers.
func ParsePage(p []byte) (page Page, err error) {
	err = each(p, func(f Field, fields *Fields) bool {
		switch f.Tag {
		case tagEntry:
			var o Object
			if !fields.roomFor(len(page.Objects), maxEntries) {
				break
			}
			if err := each(f.Value, o.take); err != nil {
				fields.fail(err)
			}
			page.Objects = append(page.Objects, o)
		case tagCommon:
			if fields.roomFor(len(page.Prefixes), maxEntries) {
				page.Prefixes = append(page.Prefixes, f.Text())
			}
		case tagNext:
			page.Next = f.Text()
		default:
			return false
		}
		return true
	})
	return page, err
}

// Result is what became of one key of a DeleteMany.
type Result struct {
	Code fault.Code // OK: it is not there any more
	Hint string
}

const (
	tagResultCode = 2
	tagResultHint = 4
)

// Append writes one result.
func (r Result) Append(b []byte) []byte {
	b, at := beginMessage(b, tagResult)
	b = appendUint(b, tagResultCode, uint64(r.Code))
	b = appendHint(b, tagResultHint, r.Hint)
	return endMessage(b, at)
}

// ParseResults reads what DeleteMany answers.
func ParseResults(p []byte) (list []Result, err error) {
	err = each(p, func(outer Field, fields *Fields) bool {
		if outer.Tag != tagResult {
			return false
		}
		var r Result
		if !fields.roomFor(len(list), MaxDeletes) {
			return true
		}
		if err := each(outer.Value, r.take); err != nil {
			fields.fail(err)
		}
		list = append(list, r)
		return true
	})
	return list, err
}

func (r *Result) take(f Field, fields *Fields) bool {
	switch f.Tag {
	case tagResultCode:
		r.Code = fault.Code(f.uint(fields, math.MaxUint16))
	case tagResultHint:
		r.Hint = f.Text()
	default:
		return false
	}
	return true
}

// AppendUpload writes the id that CreateUpload answers.
func AppendUpload(b []byte, id string) []byte { return appendText(b, tagUploadID, id) }

// ParseUpload reads what CreateUpload answers.
func ParseUpload(p []byte) (id string, err error) {
	err = each(p, func(f Field, _ *Fields) bool {
		if f.Tag == tagUploadID {
			id = f.Text()
		}
		return f.Tag == tagUploadID
	})
	return id, err
}

// Part is a stored part of an upload.
type Part struct {
	Number   int
	Size     int64 // bytes
	ETag     string
	Modified time.Time
	Checksum Checksum
}

// Append writes the fields of a part.
func (k *Part) Append(b []byte) []byte {
	b = appendUint(b, tagPart, uint64(k.Number))
	b = appendUint(b, tagBytes, uint64(k.Size))
	b = appendText(b, tagETag, k.ETag)
	b = appendTime(b, tagTime, k.Modified)
	return k.Checksum.append(b)
}

// AppendPart writes a part as one entry of a list.
func AppendPart(b []byte, k *Part) []byte {
	b, at := beginMessage(b, tagPartEntry)
	return endMessage(k.Append(b), at)
}

// ParsePart reads what PutPart and CopyPart answer.
func ParsePart(p []byte) (k Part, err error) {
	err = each(p, k.take)
	return k, err
}

func (k *Part) take(f Field, fields *Fields) bool {
	switch f.Tag {
	case tagPart:
		k.Number = int(f.uint(fields, MaxParts))
	case tagBytes:
		k.Size = f.size(fields)
	case tagETag:
		k.ETag = f.Text()
	case tagTime:
		k.Modified = f.time(fields)
	case tagChecksum:
		k.Checksum = parseChecksum(f, fields)
	default:
		return false
	}
	return true
}

// PartPage is one page of a ListParts.
type PartPage struct {
	Parts []Part
	Next  int // the AfterPart of the next page; 0 when there is none
}

// AppendNextPart writes where the next page of parts begins.
func AppendNextPart(b []byte, next int) []byte { return appendUint(b, tagNextPart, uint64(next)) }

// ParsePartPage reads what ListParts answers.
func ParsePartPage(p []byte) (page PartPage, err error) {
	err = each(p, func(f Field, fields *Fields) bool {
		switch f.Tag {
		case tagPartEntry:
			var k Part
			if !fields.roomFor(len(page.Parts), maxEntries) {
				break
			}
			if err := each(f.Value, k.take); err != nil {
				fields.fail(err)
			}
			page.Parts = append(page.Parts, k)
		case tagNextPart:
			page.Next = int(f.uint(fields, MaxParts))
		default:
			return false
		}
		return true
	})
	return page, err
}

// Upload is a multipart upload in progress.
type Upload struct {
	Key     string
	ID      string
	Started time.Time
}

// Append writes an upload as one entry of a list.
func (u Upload) Append(b []byte) []byte {
	b, at := beginMessage(b, tagUploadEntry)
	b = appendText(b, tagKey, u.Key)
	b = appendTime(b, tagTime, u.Started)
	b = appendText(b, tagUploadID, u.ID)
	return endMessage(b, at)
}

func (u *Upload) take(f Field, fields *Fields) bool {
	switch f.Tag {
	case tagKey:
		u.Key = f.Text()
	case tagUploadID:
		u.ID = f.Text()
	case tagTime:
		u.Started = f.time(fields)
	default:
		return false
	}
	return true
}

// UploadPage is one page of a ListUploads.
type UploadPage struct {
	Uploads             []Upload
	NextKey, NextUpload string // After and AfterUpload of the next page; "" when there is none
}

// AppendNextUpload writes where the next page of uploads begins.
func AppendNextUpload(b []byte, key, id string) []byte {
	b = appendText(b, tagNext, key)
	return appendText(b, tagNextUpload, id)
}

// ParseUploadPage reads what ListUploads answers.
func ParseUploadPage(p []byte) (page UploadPage, err error) {
	err = each(p, func(f Field, fields *Fields) bool {
		switch f.Tag {
		case tagUploadEntry:
			var u Upload
			if !fields.roomFor(len(page.Uploads), maxEntries) {
				break
			}
			if err := each(f.Value, u.take); err != nil {
				fields.fail(err)
			}
			page.Uploads = append(page.Uploads, u)
		case tagNext:
			page.NextKey = f.Text()
		case tagNextUpload:
			page.NextUpload = f.Text()
		default:
			return false
		}
		return true
	})
	return page, err
}

// AppendPosition writes the sequence that Watch answers.
func AppendPosition(b []byte, sequence uint64) []byte { return appendUint(b, tagPosition, sequence) }

// ParsePosition reads what Watch answers.
func ParsePosition(p []byte) (sequence uint64, err error) {
	err = each(p, func(f Field, fields *Fields) bool {
		if f.Tag == tagPosition {
			sequence = f.uint(fields, math.MaxUint64)
		}
		return f.Tag == tagPosition
	})
	return sequence, err
}

// EventKind tells what happened to a key.
type EventKind uint8

// The kinds of events.
const (
	Stored  EventKind = 1
	Removed EventKind = 2
)

// Event is the payload of EVENT.
type Event struct {
	Sequence uint64
	Key      string
	Kind     EventKind
	Gap      bool // not all that happened up to Sequence is known; there is no key
}

// Append writes a whole EVENT frame.
func (e Event) Append(b []byte, stream uint32) []byte {
	b, at := BeginFrame(b, TypeEvent, false, stream)
	b = appendSome(b, tagKey, e.Key)
	b = appendUint(b, tagPosition, e.Sequence)
	b = appendPositive(b, tagKind, int64(e.Kind))
	b = appendFlag(b, tagGap, e.Gap)
	return EndFrame(b, at)
}

// ParseEvent reads the payload of EVENT.
func ParseEvent(p []byte) (e Event, err error) {
	err = each(p, func(f Field, fields *Fields) bool {
		switch f.Tag {
		case tagPosition:
			e.Sequence = f.uint(fields, math.MaxUint64)
		case tagKey:
			e.Key = f.Text()
		case tagKind:
			e.Kind = EventKind(f.uint(fields, math.MaxUint8))
		case tagGap:
			e.Gap = f.flag(fields)
		default:
			return false
		}
		return true
	})
	return e, err
}
