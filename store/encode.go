package store

import (
	"sort"
	"time"

	"larder/fault"
	"larder/store/index"
	"larder/store/journal"
)

// metaOf is the part of a record that stands in an index row: all but what the
// row has as columns of its own, and what only tombstones need.
func metaOf(r *journal.Record) []byte {
	m := *r
	m.BucketName, m.Key, m.ETag = "", "", ""
	m.Bucket, m.Part = 0, 0
	m.Size, m.Time, m.Prev = 0, 0, 0
	m.Sums, m.SumsCRC, m.Body = nil, 0, nil
	if m.Kind != journal.Complete {
		m.Upload = "" // an object keeps it, so that a repeated Complete is known
	}
	return m.AppendMeta(nil)
}

// decodeMeta is the reverse of metaOf. What the index holds was written by
// metaOf, so an error is fault.Corrupt.
func decodeMeta(meta []byte) (*journal.Record, error) {
	r, err := journal.DecodeMeta(meta)
	if err != nil {
		return nil, fault.New("store.Meta", fault.Corrupt, "", err)
	}
	return r, nil
}

// rowOf is the index row of the object version that r brings, with r.Since as it
// is: see sinceOf.
func rowOf(r *journal.Record) index.Row {
	return index.Row{
		Bucket: r.Bucket, Key: r.Key, Sequence: r.Sequence,
		Size: r.Size, Modified: r.Time, ETag: r.ETag, Meta: metaOf(r),
	}
}

// sinceOf is the lowest sequence of any record of a key since its last
// tombstone, as the key's row tells with its decoded Meta: what a tombstone must
// outlive. Rows that were written before there was compaction do not tell.
func sinceOf(meta *journal.Record) uint64 { return max(meta.Since, 1) }

// ownBody tells whether a version's or part's bytes are those that its own record
// brought. shared are the extents in its row.
func ownBody(shared []journal.Extent, size int64) bool { return shared == nil && size > 0 }

// extentsOf is where a version's bytes are: the bodies it shares, or the one
// that its own record brought.
func extentsOf(shared []journal.Extent, sequence uint64, size int64) []journal.Extent {
	if !ownBody(shared, size) {
		return shared
	}
	return []journal.Extent{{Body: sequence, Length: size}}
}

// infoOf describes the object version in a row.
func infoOf(bucket string, row index.Row, r *journal.Record) Info {
	return Info{
		Bucket: bucket, Key: row.Key, Sequence: row.Sequence, Size: row.Size,
		Modified: time.Unix(0, row.Modified), ETag: row.ETag,
		Checksum: checksumOf(r.Checksum), Meta: metaFrom(r),
		PartSizes: r.PartSizes, Owner: r.Owner,
	}
}

// infoOfRecord describes the object version that a committed record brought.
func infoOfRecord(bucket string, r *journal.Record) Info {
	return infoOf(bucket, index.Row{
		Key: r.Key, Sequence: r.Sequence, Size: r.Size, Modified: r.Time, ETag: r.ETag,
	}, r)
}

func checksumOf(c journal.Checksum) Checksum {
	return Checksum{Algorithm: Algorithm(c.Algorithm), Type: ChecksumType(c.Type), Value: c.Value}
}

func (c Checksum) record() journal.Checksum {
	return journal.Checksum{Algorithm: uint8(c.Algorithm), Type: uint8(c.Type), Value: c.Value}
}

func metaFrom(r *journal.Record) Meta {
	return Meta{
		Headers: Headers{
			ContentType: r.ContentType, CacheControl: r.CacheControl,
			ContentDisposition: r.ContentDisposition, ContentEncoding: r.ContentEncoding,
			ContentLanguage: r.ContentLanguage, Expires: r.Expires,
		},
		User: mapOf(r.User), Tags: mapOf(r.Tags),
	}
}

func setMeta(r *journal.Record, m Meta) {
	r.ContentType, r.CacheControl = m.ContentType, m.CacheControl
	r.ContentDisposition, r.ContentEncoding = m.ContentDisposition, m.ContentEncoding
	r.ContentLanguage, r.Expires = m.ContentLanguage, m.Expires
	r.User, r.Tags = pairsOf(m.User), pairsOf(m.Tags)
}

func mapOf(pairs []journal.Pair) map[string]string {
	if len(pairs) == 0 {
		return nil
	}
	m := make(map[string]string, len(pairs))
	for _, p := range pairs {
		m[p.Name] = p.Value
	}
	return m
}

func pairsOf(m map[string]string) []journal.Pair {
	if len(m) == 0 {
		return nil
	}
	pairs := make([]journal.Pair, 0, len(m))
	for name, value := range m {
		pairs = append(pairs, journal.Pair{Name: name, Value: value})
	}
	sort.Slice(pairs, func(i, j int) bool { return pairs[i].Name < pairs[j].Name })
	return pairs
}
