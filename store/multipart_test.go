package store_test

import (
	"bytes"
	"crypto/md5"
	"encoding/hex"
	"fmt"
	"testing"

	"larder/fault"
	"larder/store"
)

func putPart(t testing.TB, s *store.Store, u store.Upload, number int, body []byte) store.Part {
	t.Helper()
	p, err := s.PutPart(t.Context(), store.PartRequest{
		Bucket: u.Bucket, Key: u.Key, UploadID: u.ID, Number: number,
		Body: bytes.NewReader(body), Size: int64(len(body)),
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// upload stores the parts as one object.
func upload(t testing.TB, s *store.Store, bucket, key string, parts ...[]byte) (store.Info, store.CompleteRequest) {
	t.Helper()
	u, err := s.CreateUpload(t.Context(), store.UploadRequest{Bucket: bucket, Key: key, Meta: store.Meta{User: map[string]string{"a": "b"}}})
	if err != nil {
		t.Fatal(err)
	}
	req := store.CompleteRequest{Bucket: bucket, Key: key, UploadID: u.ID, Size: -1}
	for i, body := range parts {
		p := putPart(t, s, u, 2*i+1, body)
		req.Parts = append(req.Parts, store.CompletePart{Number: p.Number, ETag: p.ETag})
	}
	info, err := s.CompleteUpload(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	return info, req
}

func TestMultipartWhole(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir)
	makeBucket(t, s, "bucket")
	a, b, c := noise(1, 5<<20), noise(2, 6<<20+1), noise(3, 70_000)
	info, req := upload(t, s, "bucket", "k", a, b, c)
	whole := bytes.Join([][]byte{a, b, c}, nil)

	if !bytes.Equal(read(t, s, "bucket", "k"), whole) {
		t.Error("other bytes came back")
	}
	h := md5.New()
	for _, p := range [][]byte{a, b, c} {
		sum := md5.Sum(p)
		h.Write(sum[:])
	}
	if want := hex.EncodeToString(h.Sum(nil)) + "-3"; info.ETag != want {
		t.Errorf("ETag %s, want %s", info.ETag, want)
	}
	if fmt.Sprint(info.PartSizes) != fmt.Sprint([]int{len(a), len(b), len(c)}) || info.User["a"] != "b" {
		t.Errorf("%+v", info)
	}
	direct := put(t, s, "bucket", "direct", whole)
	if !bytes.Equal(info.Checksum.Value, direct.Checksum.Value) || info.Checksum.Type != store.FullObject {
		t.Errorf("CRC64NVME by parts %x, of the whole %x", info.Checksum.Value, direct.Checksum.Value)
	}
	again, err := s.CompleteUpload(t.Context(), req)
	if err != nil || again.ETag != info.ETag || again.Sequence != info.Sequence {
		t.Errorf("repeated: %+v, %v", again, err)
	}
	remove(t, s, "bucket", "k")
	_, err = s.CompleteUpload(t.Context(), req)
	wantCode(t, err, fault.NoSuchUpload)
	eventually(t, "only the direct object's blob is left", func() bool { return blobFiles(t, dir) == 1 })
}

func TestUnlistedAndReplacedPartsGoAway(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir)
	makeBucket(t, s, "bucket")
	u, err := s.CreateUpload(t.Context(), store.UploadRequest{Bucket: "bucket", Key: "k"})
	if err != nil {
		t.Fatal(err)
	}
	putPart(t, s, u, 1, noise(1, 300_000))
	putPart(t, s, u, 2, noise(2, 300_000))
	p := putPart(t, s, u, 2, noise(3, 400_000))
	putPart(t, s, u, 3, noise(4, 1000))
	_, err = s.CompleteUpload(t.Context(), store.CompleteRequest{
		Bucket: "bucket", Key: "k", UploadID: u.ID, Size: -1, Parts: []store.CompletePart{{Number: 2, ETag: p.ETag}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(read(t, s, "bucket", "k"), noise(3, 400_000)) {
		t.Error("not the replaced part's bytes")
	}
	eventually(t, "one blob left", func() bool { return blobFiles(t, dir) == 1 })
}

func TestAbortGivesSpaceBack(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir)
	makeBucket(t, s, "bucket")
	u, err := s.CreateUpload(t.Context(), store.UploadRequest{Bucket: "bucket", Key: "k"})
	if err != nil {
		t.Fatal(err)
	}
	putPart(t, s, u, 1, noise(1, 300_000))
	wantCode(t, s.DeleteBucket(t.Context(), "bucket"), fault.BucketNotEmpty)
	if err := s.AbortUpload(t.Context(), "bucket", "k", u.ID); err != nil {
		t.Fatal(err)
	}
	wantCode(t, s.AbortUpload(t.Context(), "bucket", "k", u.ID), fault.NoSuchUpload)
	eventually(t, "no blob left", func() bool { return blobFiles(t, dir) == 0 })
	if err := s.DeleteBucket(t.Context(), "bucket"); err != nil {
		t.Error(err)
	}
}

func TestCompleteRefusals(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	makeBucket(t, s, "bucket")
	u, err := s.CreateUpload(t.Context(), store.UploadRequest{Bucket: "bucket", Key: "k"})
	if err != nil {
		t.Fatal(err)
	}
	p1 := putPart(t, s, u, 1, noise(1, 1000))
	p2 := putPart(t, s, u, 2, noise(2, 1000))
	one, two := store.CompletePart{Number: 1, ETag: p1.ETag}, store.CompletePart{Number: 2, ETag: p2.ETag}
	cases := map[string]struct {
		req  store.CompleteRequest
		code fault.Code
	}{
		"too small":    {store.CompleteRequest{Parts: []store.CompletePart{one, two}, Size: -1}, fault.EntityTooSmall},
		"order":        {store.CompleteRequest{Parts: []store.CompletePart{two, one}, Size: -1}, fault.InvalidPartOrder},
		"twice":        {store.CompleteRequest{Parts: []store.CompletePart{one, one}, Size: -1}, fault.InvalidPartOrder},
		"none":         {store.CompleteRequest{Size: -1}, fault.InvalidArgument},
		"other etag":   {store.CompleteRequest{Parts: []store.CompletePart{{Number: 1, ETag: p2.ETag}}, Size: -1}, fault.InvalidPart},
		"missing":      {store.CompleteRequest{Parts: []store.CompletePart{{Number: 3, ETag: p2.ETag}}, Size: -1}, fault.InvalidPart},
		"size":         {store.CompleteRequest{Parts: []store.CompletePart{one}, Size: 7}, fault.InvalidArgument},
		"checksum":     {store.CompleteRequest{Parts: []store.CompletePart{one}, Size: -1, Checksum: make([]byte, 8)}, fault.BadDigest},
		"other upload": {store.CompleteRequest{UploadID: "x", Parts: []store.CompletePart{one}, Size: -1}, fault.NoSuchUpload},
		"other key":    {store.CompleteRequest{Key: "x", Parts: []store.CompletePart{one}, Size: -1}, fault.NoSuchUpload},
	}
	for name, c := range cases {
		c.req.Bucket = "bucket"
		if c.req.Key == "" {
			c.req.Key = "k"
		}
		if c.req.UploadID == "" {
			c.req.UploadID = u.ID
		}
		if _, err := s.CompleteUpload(t.Context(), c.req); fault.CodeOf(err) != c.code {
			t.Errorf("%s: %v, want %v", name, err, c.code)
		}
	}
	page, err := s.ListParts(t.Context(), "bucket", "k", u.ID, 0, 1)
	if err != nil || !page.Truncated || page.Next != 1 || len(page.Parts) != 1 {
		t.Errorf("the upload is not what it was: %+v, %v", page, err)
	}
}

func TestJoinedChecksumsEqualDirectOnes(t *testing.T) {
	t.Parallel()
	for _, a := range []store.Algorithm{store.CRC32, store.CRC32C, store.CRC64NVME} {
		whole := a.New()
		var parts []store.Part
		for i, n := range []int{5, 0, 1, 70_000, 4096} {
			body := noise(uint64(i), n)
			whole.Write(body)
			h := a.New()
			h.Write(body)
			parts = append(parts, store.Part{Size: int64(n), Checksum: store.Checksum{Algorithm: a, Value: h.Sum(nil)}})
		}
		got, ok := store.JoinChecksums(a, parts)
		if !ok || !bytes.Equal(got, whole.Sum(nil)) {
			t.Errorf("algorithm %d: %x, want %x", a, got, whole.Sum(nil))
		}
	}
	if _, ok := store.JoinChecksums(store.SHA256, nil); ok {
		t.Error("SHA-256 cannot be joined")
	}
}

func TestCopySharesTheBody(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir)
	makeBucket(t, s, "bucket")
	body := noise(1, 3<<20)
	put(t, s, "bucket", "a", body)
	for _, key := range []string{"b", "a"} { // also onto itself
		meta := store.Meta{User: map[string]string{"new": key}}
		info, err := s.Copy(t.Context(), store.CopyRequest{SourceBucket: "bucket", SourceKey: "a", Bucket: "bucket", Key: key, Meta: &meta})
		if err != nil || info.User["new"] != key || info.ETag != etag(body) {
			t.Fatalf("%+v, %v", info, err)
		}
	}
	if blobFiles(t, dir) != 1 {
		t.Error("the body was stored again")
	}
	remove(t, s, "bucket", "a")
	if !bytes.Equal(read(t, s, "bucket", "b"), body) {
		t.Error("the copy lost its bytes with the original")
	}
	remove(t, s, "bucket", "b")
	eventually(t, "no blob left", func() bool { return blobFiles(t, dir) == 0 })
}

func TestCopyPartTakesRanges(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	makeBucket(t, s, "bucket")
	a, b := noise(1, 5<<20), noise(2, 5<<20+99)
	upload(t, s, "bucket", "source", a, b)
	whole := append(bytes.Clone(a), b...)
	u, err := s.CreateUpload(t.Context(), store.UploadRequest{Bucket: "bucket", Key: "k"})
	if err != nil {
		t.Fatal(err)
	}
	req := store.CopyPartRequest{Bucket: "bucket", Key: "k", UploadID: u.ID, SourceBucket: "bucket", SourceKey: "source"}
	var parts []store.CompletePart
	var want []byte
	for i, r := range [][2]int64{{100, 6 << 20}, {0, -1}, {5<<20 - 1, 2}} {
		req.Number, req.Offset, req.Length = i+1, r[0], r[1]
		p, err := s.CopyPart(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		end := r[0] + r[1]
		if r[1] < 0 {
			end = int64(len(whole))
		}
		piece := whole[r[0]:end]
		if p.ETag != etag(piece) {
			t.Errorf("part %d: ETag is not the MD5 of its bytes", i+1)
		}
		want = append(want, piece...)
		parts = append(parts, store.CompletePart{Number: p.Number, ETag: p.ETag})
	}
	req.Offset, req.Length = 6<<20, 99<<20
	_, err = s.CopyPart(t.Context(), req)
	wantCode(t, err, fault.InvalidRange)

	remove(t, s, "bucket", "source")
	if _, err := s.CompleteUpload(t.Context(), store.CompleteRequest{Bucket: "bucket", Key: "k", UploadID: u.ID, Parts: parts, Size: -1}); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(read(t, s, "bucket", "k"), want) {
		t.Error("other bytes came back")
	}
}
