package native

import (
	"larder/fault"
	"larder/native/wire"
	"larder/store"
)

func (k *call) createUpload() error {
	r := k.req
	u, err := k.c.s.gate.CreateUpload(k.ctx, k.c.caller, store.UploadRequest{
		Bucket: r.Bucket, Key: r.Key, Meta: metaOf(&r.Meta), Checksum: store.Algorithm(r.Algorithm),
	})
	if err != nil {
		return err
	}
	return k.answer(func(b []byte) []byte { return wire.AppendUpload(b, u.ID) })
}

func (k *call) putPart() error {
	r := k.req
	p, err := k.c.s.gate.PutPart(k.ctx, k.c.caller, store.PartRequest{
		Bucket: r.Bucket, Key: r.Key, UploadID: r.Upload, Number: r.Part, Body: k.body, Size: r.Size,
		Checksum: store.CRC32C, Verify: k.verify, SkipMD5: r.SkipMD5, SkipSHA256: r.SkipSHA256,
	})
	if err != nil {
		return err
	}
	return k.answerPart(&p)
}

func (k *call) answerPart(p *store.Part) error {
	w := partOf(p)
	return k.answer(w.Append)
}

// copyPart takes a part from an object. A range has to lie within it.
func (k *call) copyPart() error {
	r := k.req
	req := store.CopyPartRequest{
		Bucket: r.Bucket, Key: r.Key, UploadID: r.Upload, Number: r.Part,
		SourceBucket: r.Source.Bucket, SourceKey: r.Source.Key, SourceCond: k.sourceCondition(),
		Offset: r.Range.Offset, Length: -1,
	}
	switch r.Range.Form {
	case wire.Span:
		req.Length = r.Range.Length
	case wire.Suffix:
		return fault.New("native.CopyPart", fault.InvalidArgument, "", nil).WithHint("A part is copied from an offset on.")
	}
	p, err := k.c.s.gate.CopyPart(k.ctx, k.c.caller, req)
	if err != nil {
		return err
	}
	return k.answerPart(&p)
}

func (k *call) completeUpload() error {
	r := k.req
	parts := make([]store.CompletePart, len(r.Parts))
	for i, p := range r.Parts {
		parts[i] = store.CompletePart{Number: p.Number, ETag: p.ETag}
	}
	info, err := k.c.s.gate.CompleteUpload(k.ctx, k.c.caller, store.CompleteRequest{
		Bucket: r.Bucket, Key: r.Key, UploadID: r.Upload, Parts: parts, Cond: k.condition(), Size: -1,
	})
	if err != nil {
		return err
	}
	return k.answerObject(&info)
}

func (k *call) abortUpload() error {
	if err := k.c.s.gate.AbortUpload(k.ctx, k.c.caller, k.req.Bucket, k.req.Key, k.req.Upload); err != nil {
		return err
	}
	return k.answer(nil)
}

func (k *call) listUploads() error {
	r := k.req
	page, err := k.c.s.gate.ListUploads(k.ctx, k.c.caller, store.UploadsRequest{
		Bucket: r.Bucket, Prefix: r.Prefix, KeyMarker: r.After, UploadMarker: r.AfterUpload, Max: pageSize(r.Max),
	})
	if err != nil {
		return err
	}
	return k.answer(func(b []byte) []byte {
		for _, u := range page.Uploads {
			b = wire.Upload{Key: u.Key, ID: u.ID, Started: u.Started}.Append(b)
		}
		if page.Truncated {
			b = wire.AppendNextUpload(b, page.NextKey, page.NextUpload)
		}
		return b
	})
}

func (k *call) listParts() error {
	r := k.req
	page, err := k.c.s.gate.ListParts(k.ctx, k.c.caller, r.Bucket, r.Key, r.Upload, r.AfterPart, pageSize(r.Max))
	if err != nil {
		return err
	}
	return k.answer(func(b []byte) []byte {
		for i := range page.Parts {
			p := partOf(&page.Parts[i])
			b = wire.AppendPart(b, &p)
		}
		if page.Truncated {
			b = wire.AppendNextPart(b, page.Next)
		}
		return b
	})
}
