package store_test

import (
	"context"
	"fmt"
	"strings"

	"larder/fault"
	"larder/store"
)

// simBucket is where most operations go.
const simBucket = "bucket"

func at(key string) simName { return simName{simBucket, key} }

// text is n bytes that no other label has.
func simText(label string, n int) string {
	return strings.Repeat(fmt.Sprintf("<%s %x>", label, md5Hex(label)), n/32+1)[:n]
}

func simPut(n simName, body, meta string) *simOp {
	return &simOp{
		name: fmt.Sprintf("put %s (%d)", n.key, len(body)),
		do: func(r *simRun) error {
			_, err := r.s.Put(context.Background(), store.PutRequest{
				Bucket: n.bucket, Key: n.key, Body: strings.NewReader(body), Size: int64(len(body)), Meta: simMeta(meta),
			})
			return err
		},
		effect: inBucket(n.bucket, func(m *simModel) (*simModel, fault.Code) {
			return m.with(n, &simObject{body, meta}), fault.OK
		}),
	}
}

func simMeta(meta string) store.Meta {
	if meta == "" {
		return store.Meta{}
	}
	return store.Meta{User: map[string]string{"m": meta}}
}

func inBucket(bucket string, effect func(*simModel) (*simModel, fault.Code)) func(*simModel) (*simModel, fault.Code) {
	return func(m *simModel) (*simModel, fault.Code) {
		if !m.buckets[bucket] {
			return m, fault.NoSuchBucket
		}
		return effect(m)
	}
}

func simDelete(n simName) *simOp {
	return &simOp{
		name: "delete " + n.key,
		do: func(r *simRun) error {
			return r.s.Delete(context.Background(), store.DeleteRequest{Bucket: n.bucket, Key: n.key})
		},
		effect: inBucket(n.bucket, func(m *simModel) (*simModel, fault.Code) { return m.with(n, nil), fault.OK }),
	}
}

// simCopy is a copy with the source's metadata, or with meta.
func simCopy(from, to simName, meta string) *simOp {
	return &simOp{
		name: fmt.Sprintf("copy %s to %s", from.key, to.key),
		do: func(r *simRun) error {
			req := store.CopyRequest{SourceBucket: from.bucket, SourceKey: from.key, Bucket: to.bucket, Key: to.key}
			if meta != "" {
				given := simMeta(meta)
				req.Meta = &given
			}
			_, err := r.s.Copy(context.Background(), req)
			return err
		},
		effect: inBucket(from.bucket, func(m *simModel) (*simModel, fault.Code) {
			o, ok := m.objects[from]
			if !ok {
				return m, fault.NoSuchKey
			}
			if meta != "" {
				o.meta = meta
			}
			return m.with(to, &o), fault.OK
		}),
	}
}

func simMakeBucket(name string) *simOp {
	return &simOp{
		name: "make " + name,
		do: func(r *simRun) error {
			_, err := r.s.CreateBucket(context.Background(), name)
			return err
		},
		effect: func(m *simModel) (*simModel, fault.Code) {
			if m.buckets[name] {
				return m, fault.BucketExists
			}
			c := m.clone()
			c.buckets[name] = true
			return c, fault.OK
		},
	}
}

func simDropBucket(name string) *simOp {
	return &simOp{
		name: "drop " + name,
		do:   func(r *simRun) error { return r.s.DeleteBucket(context.Background(), name) },
		effect: inBucket(name, func(m *simModel) (*simModel, fault.Code) {
			for n := range m.objects {
				if n.bucket == name {
					return m, fault.BucketNotEmpty
				}
			}
			for _, u := range m.uploads {
				if u.bucket == name {
					return m, fault.BucketNotEmpty
				}
			}
			c := m.clone()
			delete(c.buckets, name)
			return c, fault.OK
		}),
	}
}

// simMaintenance is something that no client sees.
func simMaintenance(name string, do func(*simRun) error) *simOp {
	return &simOp{name: name, do: do, effect: func(m *simModel) (*simModel, fault.Code) { return m, fault.OK }}
}

func simReopen() *simOp {
	return simMaintenance("reopen", func(r *simRun) error { return r.reopen(func() {}) })
}

// simRebuild is a restart without the index.
func simRebuild() *simOp {
	return simMaintenance("rebuild", func(r *simRun) error { return r.reopen(r.index.lose) })
}

// simCompact rewrites all sealed segments, in runs of up to n.
func simCompact(n int) *simOp {
	return simMaintenance(fmt.Sprintf("compact %d", n), func(r *simRun) error {
		return r.s.CompactRuns(context.Background(), n)
	})
}

// simCompactNewest rewrites the newest sealed segment and leaves those before it.
func simCompactNewest() *simOp {
	return simMaintenance("compact the newest", func(r *simRun) error { return r.s.CompactNewest(context.Background()) })
}
