package native

import (
	"larder/auth"
	"larder/fault"
	"larder/native/wire"
)

func (k *call) info() error {
	if err := k.c.s.auth.Guard().Check(k.ctx, k.c.caller, auth.ListBuckets, auth.Resource{}); err != nil {
		return err
	}
	return k.answer(k.c.s.cfg.Info().Append)
}

func (k *call) listBuckets() error {
	list, err := k.c.s.gate.ListBuckets(k.ctx, k.c.caller)
	if err != nil {
		return err
	}
	return k.answer(func(b []byte) []byte {
		for i := range list {
			b = bucketOf(&list[i]).Append(b)
		}
		return b
	})
}

func (k *call) createBucket() error {
	b, err := k.c.s.gate.CreateBucket(k.ctx, k.c.caller, k.req.Bucket)
	if err != nil {
		return err
	}
	return k.answer(bucketOf(&b).Append)
}

func (k *call) headBucket() error {
	b, err := k.c.s.gate.HeadBucket(k.ctx, k.c.caller, k.req.Bucket)
	if err != nil {
		return err
	}
	return k.answer(bucketOf(&b).Append)
}

func (k *call) deleteBucket() error {
	if err := k.c.s.gate.DeleteBucket(k.ctx, k.c.caller, k.req.Bucket); err != nil {
		return err
	}
	return k.answer(nil)
}

// refusal is what a client learns of an error.
type refusal struct {
	Code fault.Code
	Hint string
}

func refusalOf(err error) refusal { return refusal{fault.CodeOf(err), fault.HintOf(err)} }

var _ = wire.Result(refusal{})
