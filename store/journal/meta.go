package journal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// The tags of a record's meta part. They are part of the format: append only.
const (
	tagTime               = 1
	tagBucket             = 2
	tagBucketName         = 3
	tagKey                = 4
	tagVersion            = 5
	tagSize               = 6
	tagETag               = 7
	tagMD5                = 8
	tagSHA256             = 9
	tagChecksum           = 10
	tagContentType        = 11
	tagCacheControl       = 12
	tagContentDisposition = 13
	tagContentEncoding    = 14
	tagContentLanguage    = 15
	tagExpires            = 16
	tagUser               = 17
	tagTags               = 18
	tagLock               = 19
	tagExtents            = 20
	tagPartSizes          = 21
	tagUpload             = 22
	tagPart               = 23
	tagOwner              = 24
	tagBlob               = 25
	tagOrigin             = 26
	tagSums               = 27
	tagSumsCRC            = 28
	tagSince              = 29
	tagPrev               = 30
	tagSettings           = 31
	lastTag               = tagSettings
)

// errNewer says that well-formed bytes hold what this version does not know.
var errNewer = errors.New("written by a newer version")

// text returns the field of a tag whose value is plain text, or nil.
func (r *Record) text(tag uint64) *string {
	switch tag {
	case tagBucketName:
		return &r.BucketName
	case tagKey:
		return &r.Key
	case tagVersion:
		return &r.Version
	case tagETag:
		return &r.ETag
	case tagContentType:
		return &r.ContentType
	case tagCacheControl:
		return &r.CacheControl
	case tagContentDisposition:
		return &r.ContentDisposition
	case tagContentEncoding:
		return &r.ContentEncoding
	case tagContentLanguage:
		return &r.ContentLanguage
	case tagExpires:
		return &r.Expires
	case tagUpload:
		return &r.Upload
	case tagOwner:
		return &r.Owner
	case tagBlob:
		return &r.Blob
	}
	return nil
}

// number returns the field of a tag whose value is one uvarint, and whether it is
// such a tag.
func (r *Record) number(tag uint64) (uint64, bool) {
	switch tag {
	case tagBucket:
		return r.Bucket, true
	case tagSize:
		return uint64(r.Size), true
	case tagPart:
		return uint64(r.Part), true
	case tagOrigin:
		return r.Origin, true
	case tagSince:
		return r.Since, true
	case tagPrev:
		return r.Prev, true
	}
	return 0, false
}

// setNumber is the reverse of number.
func (r *Record) setNumber(tag, v uint64) error {
	if v > math.MaxInt64 && (tag == tagSize || tag == tagPart) {
		return fmt.Errorf("tag %d is out of range", tag)
	}
	switch tag {
	case tagBucket:
		r.Bucket = v
	case tagSize:
		r.Size = int64(v)
	case tagPart:
		r.Part = int(v)
	case tagOrigin:
		r.Origin = v
	case tagSince:
		r.Since = v
	case tagPrev:
		r.Prev = v
	}
	return nil
}

// AppendMeta appends the meta part of the record to b: all fields but Kind,
// Sequence, Batch and Body. Equal records give equal bytes.
func (r *Record) AppendMeta(b []byte) []byte {
	for tag := uint64(1); tag <= lastTag; tag++ {
		if p := r.text(tag); p != nil {
			if *p != "" {
				b = appendText(appendHead(b, tag, len(*p)), *p)
			}
			continue
		}
		if v, ok := r.number(tag); ok {
			if v != 0 {
				b = binary.AppendUvarint(appendHead(b, tag, uvarintLen(v)), v)
			}
			continue
		}
		b = r.appendOther(b, tag)
	}
	return b
}

func (r *Record) appendOther(b []byte, tag uint64) []byte {
	switch {
	case tag == tagTime && r.Time != 0:
		return binary.LittleEndian.AppendUint64(appendHead(b, tag, 8), uint64(r.Time))
	case tag == tagMD5 && len(r.MD5) > 0:
		return append(appendHead(b, tag, len(r.MD5)), r.MD5...)
	case tag == tagSHA256 && len(r.SHA256) > 0:
		return append(appendHead(b, tag, len(r.SHA256)), r.SHA256...)
	case tag == tagChecksum && r.Checksum.Algorithm != 0:
		b = append(appendHead(b, tag, 2+len(r.Checksum.Value)), r.Checksum.Algorithm, r.Checksum.Type)
		return append(b, r.Checksum.Value...)
	case tag == tagLock && r.Lock != Lock{}:
		b = append(appendHead(b, tag, 10), r.Lock.Mode, boolByte(r.Lock.Hold))
		return binary.LittleEndian.AppendUint64(b, uint64(r.Lock.Until))
	case tag == tagSumsCRC && r.SumsCRC != 0:
		return binary.LittleEndian.AppendUint32(appendHead(b, tag, 4), r.SumsCRC)
	}
	return r.appendList(b, tag)
}

// appendList writes the fields that repeat. It writes the value first and then
// moves it up to make room for its length.
func (r *Record) appendList(b []byte, tag uint64) []byte {
	mark := len(b)
	b = binary.AppendUvarint(b, tag)
	start := len(b)
	switch tag {
	case tagUser:
		b = appendPairs(b, r.User)
	case tagTags:
		b = appendPairs(b, r.Tags)
	case tagSettings:
		b = appendPairs(b, r.Settings)
	case tagExtents:
		for _, e := range r.Extents {
			b = binary.AppendUvarint(b, e.Body)
			b = binary.AppendUvarint(b, uint64(e.Offset))
			b = binary.AppendUvarint(b, uint64(e.Length))
		}
	case tagPartSizes:
		for _, n := range r.PartSizes {
			b = binary.AppendUvarint(b, uint64(n))
		}
	case tagSums:
		for _, s := range r.Sums {
			b = binary.LittleEndian.AppendUint32(b, s)
		}
	}
	if len(b) == start {
		return b[:mark]
	}
	return insertLen(b, start)
}

func appendPairs(b []byte, pairs []Pair) []byte {
	for _, p := range pairs {
		b = appendText(binary.AppendUvarint(b, uint64(len(p.Name))), p.Name)
		b = appendText(binary.AppendUvarint(b, uint64(len(p.Value))), p.Value)
	}
	return b
}

// insertLen puts the length of b[start:] before it.
func insertLen(b []byte, start int) []byte {
	var head [binary.MaxVarintLen64]byte
	size := len(b) - start
	n := binary.PutUvarint(head[:], uint64(size))
	b = append(b, head[:n]...)
	copy(b[start+n:], b[start:start+size])
	copy(b[start:], head[:n])
	return b
}

func appendHead(b []byte, tag uint64, size int) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(b, tag), uint64(size))
}

func appendText(b []byte, s string) []byte { return append(b, s...) }

func uvarintLen(v uint64) int {
	n := 1
	for ; v >= 0x80; v >>= 7 {
		n++
	}
	return n
}

func boolByte(v bool) byte {
	if v {
		return 1
	}
	return 0
}
