package store_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"larder/fault"
	"larder/store"
)

// TestManyClientsReplayToTheSame has clients do everything at once under few
// names. Each change was decided against what stood before it, so the journal
// alone gives the very same store, and no record of it cannot be applied.
func TestManyClientsReplayToTheSame(t *testing.T) {
	t.Parallel()
	rounds := 150
	if testing.Short() {
		rounds = 40
	}
	dir := t.TempDir()
	s := openSmall(t, dir)
	var wg sync.WaitGroup
	for c := range 12 {
		wg.Go(func() {
			client := &client{s: s, rng: rand.New(rand.NewPCG(1, uint64(c)))}
			for range rounds {
				client.act(t)
			}
		})
	}
	wg.Wait()
	check(t, s)
	if s.Stats().ReadOnly != "" {
		t.Fatal(s.Stats().ReadOnly)
	}
	sameAfterwards(t, "chaos", s, dir)
}

// client makes random changes, of which many are refused.
type client struct {
	s   *store.Store
	rng *rand.Rand
	u   store.Upload
	got []store.CompletePart
}

func (c *client) bucket() string { return fmt.Sprint("bucket-", c.rng.IntN(3)) }

func (c *client) key() string { return fmt.Sprint(c.rng.IntN(3)) }

func (c *client) body() *bytes.Reader {
	return bytes.NewReader(noise(c.rng.Uint64(), []int{0, 10, 100, 300}[c.rng.IntN(4)]))
}

// act makes one change and accepts every refusal that has its reason in what
// other clients do.
func (c *client) act(t *testing.T) {
	err := c.change(context.Background())
	switch code := fault.CodeOf(err); code {
	case fault.OK, fault.NoSuchBucket, fault.NoSuchKey, fault.NoSuchUpload, fault.BucketExists, fault.BucketNotEmpty,
		fault.Conflict, fault.Precondition, fault.InvalidPart, fault.InvalidArgument:
	default:
		t.Error(err)
	}
}

func (c *client) change(ctx context.Context) error {
	bucket, key := c.bucket(), c.key()
	switch c.rng.IntN(12) {
	case 0, 1:
		return second(c.s.CreateBucket(ctx, bucket))
	case 2:
		return c.s.DeleteBucket(ctx, bucket)
	case 3, 4:
		cond := store.Condition{IfNoneMatch: c.rng.IntN(3) == 0}
		return second(c.s.Put(ctx, store.PutRequest{Bucket: bucket, Key: key, Body: c.body(), Size: -1, Cond: cond}))
	case 5:
		return second(c.s.Copy(ctx, store.CopyRequest{SourceBucket: bucket, SourceKey: key, Bucket: c.bucket(), Key: c.key()}))
	case 6:
		return c.s.DeleteMany(ctx, []store.DeleteRequest{{Bucket: bucket, Key: key}, {Bucket: bucket, Key: c.key()}})[1]
	}
	return c.upload(ctx, bucket, key)
}

func (c *client) upload(ctx context.Context, bucket, key string) (err error) {
	number := c.rng.IntN(3) + 1
	var p store.Part
	switch c.rng.IntN(5) {
	case 0:
		c.got = nil
		c.u, err = c.s.CreateUpload(ctx, store.UploadRequest{Bucket: bucket, Key: key})
		return err
	case 1:
		p, err = c.s.PutPart(ctx, store.PartRequest{Bucket: c.u.Bucket, Key: c.u.Key, UploadID: c.u.ID, Number: number, Body: c.body(), Size: -1})
	case 2:
		p, err = c.s.CopyPart(ctx, store.CopyPartRequest{Bucket: c.u.Bucket, Key: c.u.Key, UploadID: c.u.ID, Number: number, SourceBucket: bucket, SourceKey: key, Length: -1})
	case 3:
		if c.rng.IntN(3) == 0 {
			return c.s.AbortUpload(ctx, c.u.Bucket, c.u.Key, c.u.ID)
		}
		fallthrough
	default:
		return second(c.s.CompleteUpload(ctx, store.CompleteRequest{Bucket: c.u.Bucket, Key: c.u.Key, UploadID: c.u.ID, Parts: c.got, Size: -1}))
	}
	if err == nil && (len(c.got) == 0 || c.got[len(c.got)-1].Number < p.Number) {
		c.got = append(c.got, store.CompletePart{Number: p.Number, ETag: p.ETag})
	}
	return err
}
