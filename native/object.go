package native

import (
	"larder/native/wire"
	"larder/store"
)

// put stores the body. The answer leaves when it is on stable storage.
func (k *call) put() error {
	r := k.req
	info, err := k.c.s.gate.Put(k.ctx, k.c.caller, store.PutRequest{
		Bucket: r.Bucket, Key: r.Key, Body: k.body, Size: r.Size, Meta: metaOf(&r.Meta), Cond: k.condition(),
		Checksum: store.CRC32C, Verify: k.verify, SkipMD5: r.SkipMD5, SkipSHA256: r.SkipSHA256,
	})
	if err != nil {
		return err
	}
	return k.answerObject(&info)
}

// verify compares a body that was read with what its END says.
func (k *call) verify(d store.Digests) error { return k.body.verdict(d.Checksum.Value) }

func (k *call) answerObject(info *store.Info) error {
	o := objectOf(info)
	return k.answer(o.Append)
}

func (k *call) head() error {
	info, err := k.c.s.gate.Head(k.ctx, k.c.caller, k.req.Bucket, k.req.Key)
	if err != nil {
		return err
	}
	if err := k.readCondition().Check(info.ETag, info.Modified); err != nil {
		return err
	}
	return k.answerObject(&info)
}

func (k *call) delete() error {
	err := k.c.s.gate.Delete(k.ctx, k.c.caller, store.DeleteRequest{
		Bucket: k.req.Bucket, Key: k.req.Key, IfMatch: k.condition().IfMatch,
	})
	if err != nil {
		return err
	}
	return k.answer(nil)
}

func (k *call) deleteMany() error {
	reqs := make([]store.DeleteRequest, len(k.req.Deletes))
	for i, d := range k.req.Deletes {
		reqs[i] = store.DeleteRequest{Key: d.Key, IfMatch: d.IfMatch}
	}
	errs, err := k.c.s.gate.DeleteMany(k.ctx, k.c.caller, k.req.Bucket, reqs)
	if err != nil {
		return err
	}
	return k.answer(func(b []byte) []byte {
		for _, err := range errs {
			b = wire.Result(refusalOf(err)).Append(b)
		}
		return b
	})
}

func (k *call) copy() error {
	r := k.req
	req := store.CopyRequest{
		SourceBucket: r.Source.Bucket, SourceKey: r.Source.Key, SourceCond: k.sourceCondition(),
		Bucket: r.Bucket, Key: r.Key, ReplaceTags: r.ReplaceTags, Tags: r.Meta.Tags, Cond: k.condition(),
	}
	if r.ReplaceMeta {
		meta := metaOf(&r.Meta)
		req.Meta = &meta
	}
	info, err := k.c.s.gate.Copy(k.ctx, k.c.caller, req)
	if err != nil {
		return err
	}
	return k.answerObject(&info)
}

func (k *call) list() error {
	r := k.req
	page, err := k.c.s.gate.List(k.ctx, k.c.caller, store.ListRequest{
		Bucket: r.Bucket, Prefix: r.Prefix, Delimiter: r.Delimiter, After: r.After, Max: pageSize(r.Max),
	})
	if err != nil {
		return err
	}
	return k.answer(func(b []byte) []byte {
		for i := range page.Objects {
			o := objectOf(&page.Objects[i])
			o.Key = page.Objects[i].Key
			b = wire.AppendEntry(b, &o)
		}
		for _, p := range page.Prefixes {
			b = wire.AppendPrefix(b, p)
		}
		if page.Truncated {
			b = wire.AppendNext(b, page.Next)
		}
		return b
	})
}

// pageSize is how many entries a page has that was asked for with most; 0 asks
// for as many as may be.
func pageSize(most int) int {
	if most == 0 {
		return store.MaxPage
	}
	return min(most, store.MaxPage)
}
