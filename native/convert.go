package native

import (
	"larder/native/wire"
	"larder/store"
)

// objectOf describes a version to a client.
func objectOf(i *store.Info) wire.Object {
	return wire.Object{
		Size: i.Size, ETag: i.ETag, Modified: i.Modified, Sequence: i.Sequence, Checksum: checksumOf(i.Checksum),
		PartSizes: i.PartSizes, Meta: wire.Meta{Headers: wire.Headers(i.Headers), User: i.User, Tags: i.Tags},
	}
}

func checksumOf(c store.Checksum) wire.Checksum {
	return wire.Checksum{Algorithm: uint8(c.Algorithm), Type: uint8(c.Type), Value: c.Value}
}

func partOf(p *store.Part) wire.Part {
	return wire.Part{Number: p.Number, Size: p.Size, ETag: p.ETag, Modified: p.Modified, Checksum: checksumOf(p.Checksum)}
}

func bucketOf(b *store.Bucket) wire.Bucket {
	return wire.Bucket{Name: b.Name, Created: b.Created, Objects: b.Objects, Bytes: b.Bytes}
}

func metaOf(m *wire.Meta) store.Meta {
	return store.Meta{Headers: store.Headers(m.Headers), User: m.User, Tags: m.Tags}
}

// condition is that of a write.
func (k *call) condition() store.Condition {
	c := store.Condition{IfNoneMatch: k.req.IfAbsent}
	if len(k.req.IfMatch) > 0 {
		c.IfMatch = k.req.IfMatch[0]
	}
	return c
}

// readCondition is that of a read.
func (k *call) readCondition() store.ReadCondition {
	r := k.req
	return store.ReadCondition{
		IfMatch: r.IfMatch, IfNoneMatch: r.IfNoneMatch, ModifiedSince: r.ModifiedSince, UnmodifiedSince: r.UnmodifiedSince,
	}
}

// sourceCondition is that of a copy's source.
func (k *call) sourceCondition() (c store.ReadCondition) {
	if etag := k.req.Source.ETag; etag != "" {
		c.IfMatch = []string{etag}
	}
	return c
}
