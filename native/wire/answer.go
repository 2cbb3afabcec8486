package wire

import (
	"encoding/binary"
	"math"
	"time"

	"larder/fault"
)

// The tags of answers that requests do not have.
const (
	tagBytes       = 10
	tagETag        = 12
	tagTime        = 14
	tagBucketEntry = 16
	tagSequence    = 22
	tagChecksum    = 24
	tagPartSize    = 26
	tagBodyOffset  = 30
	tagOwnUser     = 34
	tagOwnTags     = 36
	tagOwnHeader   = 38
	tagResult      = 40
	tagEntry       = 42
	tagCommon      = 44
	tagNext        = 46
	tagUploadID    = 50
	tagUploadEntry = 52
	tagNextUpload  = 54
	tagPartEntry   = 56
	tagNextPart    = 58
	tagPosition    = 60
	tagKind        = 62
	tagGap         = 70
)

// Checksum is an additional checksum; the numbers are those of package store.
type Checksum struct {
	Algorithm uint8
	Type      uint8  // 1 over the parts' checksums, 2 over the whole object
	Value     []byte // big-endian
}

// Object describes an object version.
type Object struct {
	Key       string // in lists only
	Size      int64  // bytes
	ETag      string // without quotes
	Modified  time.Time
	Sequence  uint64 // orders all changes of the store
	Checksum  Checksum
	PartSizes []int64 // of an object that was uploaded in parts
	Meta              // in lists without user metadata
}

// Append writes the fields of an object. Bodies of messages go behind the code
// that BeginAnswer wrote.
func (o *Object) Append(b []byte) []byte {
	b = appendSome(b, tagKey, o.Key)
	b = appendUint(b, tagBytes, uint64(o.Size))
	b = appendText(b, tagETag, o.ETag)
	b = appendTime(b, tagTime, o.Modified)
	b = appendUint(b, tagSequence, o.Sequence)
	b = o.Checksum.append(b)
	for _, n := range o.PartSizes {
		b = appendUint(b, tagPartSize, uint64(n))
	}
	return o.Meta.append(b, answerMeta())
}

func answerMeta() metaTags { return metaTags{user: tagOwnUser, tags: tagOwnTags, header: tagOwnHeader} }

const (
	tagSumAlgorithm = 2
	tagSumType      = 4
	tagSumValue     = 6
)

func (c Checksum) append(b []byte) []byte {
	if len(c.Value) == 0 {
		return b
	}
	b, at := beginMessage(b, tagChecksum)
	b = appendUint(b, tagSumAlgorithm, uint64(c.Algorithm))
	b = appendUint(b, tagSumType, uint64(c.Type))
	b = appendBytes(b, tagSumValue, c.Value)
	return endMessage(b, at)
}

func parseChecksum(outer Field, fields *Fields) (c Checksum) {
	inner := Fields{rest: outer.Value}
	for f, ok := inner.Next(); ok; f, ok = inner.Next() {
		switch f.Tag {
		case tagSumAlgorithm:
			c.Algorithm = uint8(f.uint(&inner, math.MaxUint8))
		case tagSumType:
			c.Type = uint8(f.uint(&inner, math.MaxUint8))
		case tagSumValue:
			c.Value = append([]byte(nil), f.Value...)
		default:
			inner.Unknown(f)
		}
	}
	switch {
	case inner.Err() != nil:
		fields.fail(inner.Err())
	case len(c.Value) == 0:
		fields.fail(malformed("A checksum without a value."))
	}
	return c
}

// BeginAnswer begins an ANSWER frame of code 0, whose message is appended
// behind it; EndFrame ends it.
func BeginAnswer(b []byte, stream uint32, last bool) (out []byte, at int) {
	b, at = BeginFrame(b, TypeAnswer, last, stream)
	return append(b, 0, 0), at
}

// AppendRefusal writes a whole ANSWER frame that is an error.
func AppendRefusal(b []byte, stream uint32, code fault.Code, hint string) []byte {
	b, at := BeginFrame(b, TypeAnswer, true, stream)
	b = binary.BigEndian.AppendUint16(b, uint16(code))
	b = appendHint(b, tagHint, hint)
	return EndFrame(b, at)
}

// Refusal reads an ANSWER's code, and the hint of one that is an error. The
// message behind the code is what the Parse functions of answers take.
func Refusal(p []byte) (code fault.Code, hint string, message []byte) {
	code = ParseCode(p)
	if code == fault.OK {
		return code, "", p[2:]
	}
	fields := behind(p, 2)
	for f, ok := fields.Next(); ok; f, ok = fields.Next() {
		if f.Tag == tagHint {
			hint = f.Text()
		}
	}
	return code, hint, nil
}

// each walks over an answer's fields: take says whether it knows one.
func each(p []byte, take func(Field, *Fields) bool) error {
	fields := Fields{rest: p}
	for f, ok := fields.Next(); ok; f, ok = fields.Next() {
		if !take(f, &fields) {
			fields.Unknown(f)
		}
	}
	return fields.Err()
}

// ParseObject reads an object. offset is where a body behind it begins in the
// object, 0 without one.
func ParseObject(p []byte) (o Object, offset int64, err error) {
	err = each(p, func(f Field, fields *Fields) bool {
		if f.Tag == tagBodyOffset {
			offset = f.size(fields)
			return true
		}
		return o.take(f, fields)
	})
	return o, offset, err
}

// AppendBodyOffset writes where in the object a body begins.
func AppendBodyOffset(b []byte, offset int64) []byte {
	return appendPositive(b, tagBodyOffset, offset)
}

func (o *Object) take(f Field, fields *Fields) bool {
	switch f.Tag {
	case tagKey:
		o.Key = f.Text()
	case tagBytes:
		o.Size = f.size(fields)
	case tagETag:
		o.ETag = f.Text()
	case tagTime:
		o.Modified = f.time(fields)
	case tagSequence:
		o.Sequence = f.uint(fields, math.MaxUint64)
	case tagChecksum:
		o.Checksum = parseChecksum(f, fields)
	case tagPartSize:
		if len(o.PartSizes) == MaxParts {
			fields.fail(malformed("More than 10,000 parts."))
			return true
		}
		o.PartSizes = append(o.PartSizes, f.size(fields))
	case tagOwnUser, tagOwnTags, tagOwnHeader:
		o.Meta.take(f, fields, answerMeta())
	default:
		return false
	}
	return true
}

// ServerInfo is what Info answers.
type ServerInfo struct {
	Version  string
	Store    string        // the store's id
	Uptime   time.Duration // whole seconds are sent
	ReadOnly bool
}

const (
	tagInfoVersion  = 2
	tagInfoStore    = 4
	tagInfoUptime   = 6
	tagInfoReadOnly = 8
)

// Append writes the fields.
func (i ServerInfo) Append(b []byte) []byte {
	b = appendText(b, tagInfoVersion, i.Version)
	b = appendText(b, tagInfoStore, i.Store)
	b = appendUint(b, tagInfoUptime, uint64(i.Uptime/time.Second))
	return appendFlag(b, tagInfoReadOnly, i.ReadOnly)
}

// ParseServerInfo reads what Info answers.
func ParseServerInfo(p []byte) (i ServerInfo, err error) {
	err = each(p, func(f Field, fields *Fields) bool {
		switch f.Tag {
		case tagInfoVersion:
			i.Version = f.Text()
		case tagInfoStore:
			i.Store = f.Text()
		case tagInfoUptime:
			i.Uptime = time.Duration(f.uint(fields, math.MaxInt32)) * time.Second
		case tagInfoReadOnly:
			i.ReadOnly = f.flag(fields)
		default:
			return false
		}
		return true
	})
	return i, err
}

// Bucket is a bucket and its counters.
type Bucket struct {
	Name    string
	Created time.Time
	Objects int64
	Bytes   int64
}

const (
	tagBucketName    = 2
	tagBucketObjects = 18
	tagBucketBytes   = 20
)

// Append writes a bucket as one entry of an answer.
func (k Bucket) Append(b []byte) []byte {
	b, at := beginMessage(b, tagBucketEntry)
	b = appendText(b, tagBucketName, k.Name)
	b = appendTime(b, tagTime, k.Created)
	b = appendPositive(b, tagBucketObjects, k.Objects)
	b = appendPositive(b, tagBucketBytes, k.Bytes)
	return endMessage(b, at)
}

// maxBuckets bounds an answer. It is above what 4 MiB have room for, unless the
// names are of a few bytes.
const maxBuckets = 100_000

// ParseBuckets reads the buckets of an answer.
func ParseBuckets(p []byte) (list []Bucket, err error) {
	err = each(p, func(outer Field, fields *Fields) bool {
		if outer.Tag != tagBucketEntry {
			return false
		}
		var k Bucket
		if !fields.roomFor(len(list), maxBuckets) {
			return true
		}
		if err := each(outer.Value, k.take); err != nil {
			fields.fail(err)
		}
		list = append(list, k)
		return true
	})
	return list, err
}

func (k *Bucket) take(f Field, fields *Fields) bool {
	switch f.Tag {
	case tagBucketName:
		k.Name = f.Text()
	case tagTime:
		k.Created = f.time(fields)
	case tagBucketObjects:
		k.Objects = f.size(fields)
	case tagBucketBytes:
		k.Bytes = f.size(fields)
	default:
		return false
	}
	return true
}
