package store_test

import (
	"context"
	"fmt"
	"strings"

	"larder/fault"
	"larder/store"
)

// withUpload is an effect on an upload in progress, which it may change.
func withUpload(label string, effect func(*simModel, simUpload) (*simModel, fault.Code)) func(*simModel) (*simModel, fault.Code) {
	return func(m *simModel) (*simModel, fault.Code) {
		u, ok := m.uploads[label]
		if !ok {
			return m, fault.NoSuchUpload
		}
		u.parts = copyMap(u.parts)
		return effect(m.clone(), u)
	}
}

func simStart(label string, n simName) *simOp {
	return &simOp{
		name: "start " + label,
		do: func(r *simRun) error {
			u, err := r.s.CreateUpload(context.Background(), store.UploadRequest{Bucket: n.bucket, Key: n.key, Owner: label})
			if err == nil {
				r.uploads[label] = u.ID
			}
			return err
		},
		effect: inBucket(n.bucket, func(m *simModel) (*simModel, fault.Code) {
			c := m.clone()
			c.uploads[label] = simUpload{n, map[int]string{}}
			return c, fault.OK
		}),
	}
}

func simPutPart(label string, n simName, number int, body string) *simOp {
	return &simOp{
		name: fmt.Sprintf("part %d of %s (%d)", number, label, len(body)),
		do: func(r *simRun) error {
			_, err := r.s.PutPart(context.Background(), store.PartRequest{
				Bucket: n.bucket, Key: n.key, UploadID: r.uploads[label], Number: number,
				Body: strings.NewReader(body), Size: int64(len(body)),
			})
			return err
		},
		effect: withUpload(label, func(c *simModel, u simUpload) (*simModel, fault.Code) {
			u.parts[number] = body
			c.uploads[label] = u
			return c, fault.OK
		}),
	}
}

// simCopyPart takes n bytes from off of a source.
func simCopyPart(label string, to simName, number int, from simName, off, n int) *simOp {
	return &simOp{
		name: fmt.Sprintf("part %d of %s from %s", number, label, from.key),
		do: func(r *simRun) error {
			_, err := r.s.CopyPart(context.Background(), store.CopyPartRequest{
				Bucket: to.bucket, Key: to.key, UploadID: r.uploads[label], Number: number,
				SourceBucket: from.bucket, SourceKey: from.key, Offset: int64(off), Length: int64(n),
			})
			return err
		},
		effect: withUpload(label, func(c *simModel, u simUpload) (*simModel, fault.Code) {
			o, ok := c.objects[from]
			switch {
			case !ok:
				return c, fault.NoSuchKey
			case off+n > len(o.body):
				return c, fault.InvalidRange
			}
			u.parts[number] = o.body[off : off+n]
			c.uploads[label] = u
			return c, fault.OK
		}),
	}
}

func simComplete(label string, n simName, numbers ...int) *simOp {
	return &simOp{
		name: "complete " + label,
		do: func(r *simRun) error {
			req := store.CompleteRequest{Bucket: n.bucket, Key: n.key, UploadID: r.uploads[label], Size: -1}
			page, err := r.s.ListParts(context.Background(), n.bucket, n.key, r.uploads[label], 0, store.MaxPage)
			if err != nil {
				return err
			}
			for _, number := range numbers {
				part := store.CompletePart{Number: number}
				for _, p := range page.Parts {
					if p.Number == number {
						part.ETag = p.ETag
					}
				}
				req.Parts = append(req.Parts, part)
			}
			_, err = r.s.CompleteUpload(context.Background(), req)
			return err
		},
		effect: withUpload(label, func(c *simModel, u simUpload) (*simModel, fault.Code) {
			body := ""
			for _, number := range numbers {
				part, ok := u.parts[number]
				if !ok {
					return c, fault.InvalidPart
				}
				body += part
			}
			delete(c.uploads, label)
			c.objects[n] = simObject{body: body}
			return c, fault.OK
		}),
	}
}

func simAbort(label string, n simName) *simOp {
	return &simOp{
		name: "abort " + label,
		do: func(r *simRun) error {
			return r.s.AbortUpload(context.Background(), n.bucket, n.key, r.uploads[label])
		},
		effect: withUpload(label, func(c *simModel, _ simUpload) (*simModel, fault.Code) {
			delete(c.uploads, label)
			return c, fault.OK
		}),
	}
}
