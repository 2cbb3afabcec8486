package wire

import (
	"encoding/binary"
	"math"
)

// ParseOp reads the operation, the first two bytes of a REQUEST's payload, so
// that its length can be compared with the operation's own limit. An operation
// that there is none of is refused by ParseRequest.
func ParseOp(p []byte) Op {
	if len(p) < 2 {
		return 0
	}
	return Op(binary.BigEndian.Uint16(p))
}

// ParseRequest reads the payload of REQUEST. An error concerns the request
// only: the connection goes on.
func ParseRequest(p []byte) (*Request, error) {
	fields := behind(p, 2)
	if fields.Err() != nil {
		return nil, fields.Err()
	}
	r := &Request{Op: ParseOp(p), Size: -1}
	takes, _, known := r.Op.takes()
	switch {
	case !known:
		return nil, unknown("There is no such operation.")
	case len(p) > r.Op.MostBytes():
		return nil, malformed("The request is too long for its operation.")
	}
	for f, ok := fields.Next(); ok; f, ok = fields.Next() {
		if takes&groupOf(f.Tag) == 0 {
			fields.Unknown(f)
			continue
		}
		r.take(f, &fields)
	}
	if err := fields.Err(); err != nil {
		return nil, err
	}
	return r, r.check(takes)
}

// groupOf tells which fields a tag belongs to, 0 for a tag that no request has.
func groupOf(tag uint64) group {
	switch tag {
	case tagBucket:
		return ofBucket
	case tagKey:
		return ofKey
	case tagUpload:
		return ofUpload
	case tagPart:
		return ofPart
	case tagFromBucket, tagFromKey, tagFromETag:
		return ofSource
	case tagOffset, tagRange, tagSuffix:
		return ofRange
	case tagIfMatch:
		return ofIfMatch
	case tagIfAbsent:
		return ofIfAbsent
	case tagUnlike, tagModified, tagUnmodified:
		return ofReadCondition
	case tagAlgorithm:
		return ofAlgorithm
	case tagUser, tagTags, tagHeader:
		return ofMeta
	case tagNewMeta, tagNewTags:
		return ofReplace
	case tagNoMD5, tagNoSHA256, tagSize:
		return ofPutOptions
	case tagDelete:
		return ofDeletes
	case tagComplete:
		return ofParts
	}
	return groupOfPage(tag)
}

func groupOfPage(tag uint64) group {
	switch tag {
	case tagPrefix:
		return ofPrefix
	case tagDelimiter:
		return ofDelimiter
	case tagAfter:
		return ofAfter
	case tagMax:
		return ofMax
	case tagAfterID:
		return ofAfterUpload
	case tagAfterPart:
		return ofAfterPart
	case tagFrom:
		return ofFrom
	}
	return 0
}

// take reads one field that the operation takes.
func (r *Request) take(f Field, fields *Fields) {
	switch f.Tag {
	case tagBucket:
		r.Bucket = f.Text()
	case tagKey:
		r.Key = f.Text()
	case tagUpload:
		r.Upload = f.Text()
	case tagPart:
		r.Part = int(f.uint(fields, MaxParts))
	case tagFromBucket:
		r.Source.Bucket = f.Text()
	case tagFromKey:
		r.Source.Key = f.Text()
	case tagFromETag:
		r.Source.ETag = f.etag(fields)
	case tagOffset, tagRange, tagSuffix:
		r.Range.take(f, fields)
	case tagUser, tagTags, tagHeader:
		r.Meta.take(f, fields, requestMeta())
	case tagAlgorithm:
		r.Algorithm = uint8(f.uint(fields, math.MaxUint8))
	case tagNewMeta:
		r.ReplaceMeta = f.flag(fields)
	case tagNewTags:
		r.ReplaceTags = f.flag(fields)
	case tagNoMD5:
		r.SkipMD5 = f.flag(fields)
	case tagNoSHA256:
		r.SkipSHA256 = f.flag(fields)
	case tagSize:
		r.Size = f.size(fields)
	default:
		r.takeCondition(f, fields)
	}
}

// take reads a field of a range. A suffix stands alone, in any order.
func (r *Range) take(f Field, fields *Fields) {
	n := f.size(fields)
	if r.Form != Whole && (r.Form == Suffix) != (f.Tag == tagSuffix) {
		fields.fail(malformed("A range that is a suffix, and is not."))
		return
	}
	switch f.Tag {
	case tagOffset:
		r.Offset, r.Form = n, max(r.Form, From)
	case tagRange:
		r.Length, r.Form = n, Span
	case tagSuffix:
		r.Length, r.Form = n, Suffix
	}
}

// maxConditions bounds the ETags of a condition.
const maxConditions = 64

func (r *Request) takeCondition(f Field, fields *Fields) {
	switch f.Tag {
	case tagIfMatch:
		r.IfMatch = append(r.IfMatch, f.etag(fields))
	case tagUnlike:
		r.IfNoneMatch = append(r.IfNoneMatch, f.etag(fields))
	case tagIfAbsent:
		r.IfAbsent = f.flag(fields)
	case tagModified:
		r.ModifiedSince = f.time(fields)
	case tagUnmodified:
		r.UnmodifiedSince = f.time(fields)
	default:
		r.takePage(f, fields)
	}
	if len(r.IfMatch) > maxConditions || len(r.IfNoneMatch) > maxConditions {
		fields.fail(malformed("A condition with too many ETags."))
	}
}

func (r *Request) takePage(f Field, fields *Fields) {
	switch f.Tag {
	case tagPrefix:
		r.Prefix = f.Text()
	case tagDelimiter:
		r.Delimiter = f.Text()
	case tagAfter:
		r.After = f.Text()
	case tagMax:
		r.Max = int(f.uint(fields, math.MaxInt32))
	case tagAfterID:
		r.AfterUpload = f.Text()
	case tagAfterPart:
		r.AfterPart = int(f.uint(fields, math.MaxInt32))
	case tagFrom:
		r.From = f.uint(fields, math.MaxUint64)
	case tagDelete:
		if len(r.Deletes) == MaxDeletes {
			fields.fail(malformed("More than 1,000 keys."))
			return
		}
		r.Deletes = append(r.Deletes, parseDelete(f, fields))
	case tagComplete:
		if len(r.Parts) == MaxParts {
			fields.fail(malformed("More than 10,000 parts."))
			return
		}
		r.Parts = append(r.Parts, parseComplete(f, fields))
	}
}

func parseDelete(outer Field, fields *Fields) (d DeleteEntry) {
	inner := Fields{rest: outer.Value}
	for f, ok := inner.Next(); ok; f, ok = inner.Next() {
		switch f.Tag {
		case tagKey:
			d.Key = f.Text()
		case tagIfMatch:
			if d.IfMatch != "" {
				inner.fail(malformed("A key with two conditions."))
			}
			d.IfMatch = f.etag(&inner)
		default:
			inner.Unknown(f)
		}
	}
	switch {
	case inner.Err() != nil:
		fields.fail(inner.Err())
	case d.Key == "":
		fields.fail(malformed("One of the keys is empty."))
	}
	return d
}

func parseComplete(outer Field, fields *Fields) (p CompletePart) {
	inner := Fields{rest: outer.Value}
	for f, ok := inner.Next(); ok; f, ok = inner.Next() {
		switch f.Tag {
		case tagPart:
			p.Number = int(f.uint(&inner, MaxParts))
		case tagETag:
			p.ETag = f.Text()
		default:
			inner.Unknown(f)
		}
	}
	switch {
	case inner.Err() != nil:
		fields.fail(inner.Err())
	case p.Number == 0:
		fields.fail(malformed("One of the parts has no number."))
	}
	return p
}

// check refuses requests that lack what their operation cannot be without, or
// say more than they can mean.
func (r *Request) check(takes group) error {
	switch {
	case takes&ofBucket != 0 && r.Bucket == "":
		return malformed("The request names no bucket.")
	case takes&ofKey != 0 && r.Key == "":
		return malformed("The request names no key.")
	case takes&ofUpload != 0 && r.Upload == "":
		return malformed("The request names no upload.")
	case takes&ofPart != 0 && r.Part == 0:
		return malformed("The request names no part.")
	case takes&ofSource != 0 && (r.Source.Bucket == "" || r.Source.Key == ""):
		return malformed("The request names no source.")
	case takes&ofReadCondition == 0 && len(r.IfMatch) > 1:
		return malformed("A write can be compared with one ETag only.")
	case takes&ofDeletes != 0 && len(r.Deletes) == 0:
		return malformed("The request names no keys.")
	case takes&ofParts != 0 && len(r.Parts) == 0:
		return malformed("The request names no parts.")
	}
	return nil
}
