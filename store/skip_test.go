package store_test

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"larder/fault"
	"larder/scrubber"
	"larder/store"
)

// skips are the digests that a client may do without.
type skips struct{ md5, sha256 bool }

var allSkips = [...]skips{{false, false}, {true, false}, {false, true}, {true, true}}

// fits checks what a front end was told of a body.
func (k skips) fits(t *testing.T, what string, d store.Digests, body []byte) {
	t.Helper()
	sum := store.CRC64NVME.New()
	sum.Write(body)
	if (d.MD5 == nil) != k.md5 || (d.SHA256 == nil) != k.sha256 || !bytes.Equal(d.Checksum.Value, sum.Sum(nil)) || d.Size != int64(len(body)) {
		t.Errorf("%s, %+v: %+v", what, k, d)
	}
}

// etag checks an ETag: the MD5 of the body, or none at all.
func (k skips) etag(t *testing.T, what, tag string, body []byte) {
	t.Helper()
	if k.md5 && !regexp.MustCompile(`^[0-9a-f]{32}-0$`).MatchString(tag) || !k.md5 && tag != etag(body) {
		t.Errorf("%s, %+v: ETag %s", what, k, tag)
	}
}

func (k skips) put(t *testing.T, s *store.Store, key string, body []byte, cond store.Condition) (store.Info, error) {
	t.Helper()
	return s.Put(t.Context(), store.PutRequest{
		Bucket: "bucket", Key: key, Body: bytes.NewReader(body), Size: -1, SkipMD5: k.md5, SkipSHA256: k.sha256, Cond: cond,
		Verify: func(d store.Digests) error { k.fits(t, key, d, body); return nil },
	})
}

func (k skips) part(t *testing.T, s *store.Store, u store.Upload, number int, body []byte) store.CompletePart {
	t.Helper()
	p, err := s.PutPart(t.Context(), store.PartRequest{
		Bucket: u.Bucket, Key: u.Key, UploadID: u.ID, Number: number, Body: bytes.NewReader(body), Size: -1,
		SkipMD5: k.md5, SkipSHA256: k.sha256,
		Verify: func(d store.Digests) error { k.fits(t, u.Key, d, body); return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	k.etag(t, "part", p.ETag, body)
	return store.CompletePart{Number: number, ETag: p.ETag}
}

// skipSizes are an empty body, inline ones, and blobs of one and of many blocks.
var skipSizes = [...]int{0, 50, 64, 65, 300_000, 1<<20 + 17}

// TestDigestsThatAreSkipped stores bodies of all sizes with and without MD5 and
// SHA-256, by puts, parts and copies. All of it comes back from a restart, from a
// crash, and without the index.
func TestDigestsThatAreSkipped(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openSmall(t, dir)
	makeBucket(t, s, "bucket")
	for i, k := range allSkips {
		for _, size := range skipSizes {
			body, key := noise(uint64(size), size), fmt.Sprintf("%d/%d", i, size)
			info, err := k.put(t, s, key, body, store.Condition{})
			if err != nil {
				t.Fatal(err)
			}
			k.etag(t, "put", info.ETag, body)
			if !bytes.Equal(read(t, s, "bucket", key), body) {
				t.Errorf("%s: other bytes came back", key)
			}
			copied, err := s.Copy(t.Context(), store.CopyRequest{
				SourceBucket: "bucket", SourceKey: key, SourceCond: store.ReadCondition{IfMatch: []string{info.ETag}},
				Bucket: "bucket", Key: "copy/" + key, Checksum: store.SHA256,
			})
			if err != nil || copied.ETag != info.ETag {
				t.Errorf("copy of %s: %+v, %v", key, copied, err)
			}
		}
	}
	uploadsThatSkip(t, s)
	wholeAfterScrub(t, s)
	sameAfterwards(t, "skipped digests", s, dir)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	want := rows(t, dir)
	removeIndex(t, dir)
	if err := openSmall(t, dir).Close(); err != nil {
		t.Fatal(err)
	}
	if got := rows(t, dir); got != want {
		t.Errorf("the index made again is\n%s\nwant\n%s", got, want)
	}
}

// uploadsThatSkip makes objects of parts of every kind, and leaves an upload open.
func uploadsThatSkip(t *testing.T, s *store.Store) {
	t.Helper()
	a, b := noise(3, 100), noise(4, 200_000)
	for i, first := range allSkips {
		for j, second := range allSkips {
			key := fmt.Sprintf("upload/%d%d", i, j)
			u, err := s.CreateUpload(t.Context(), store.UploadRequest{Bucket: "bucket", Key: key})
			if err != nil {
				t.Fatal(err)
			}
			req := store.CompleteRequest{Bucket: "bucket", Key: key, UploadID: u.ID, Size: -1, Parts: []store.CompletePart{
				first.part(t, s, u, 1, a), second.part(t, s, u, 2, b),
			}}
			info, err := s.CompleteUpload(t.Context(), req)
			if err != nil {
				t.Fatal(err)
			}
			want := "-2"
			if first.md5 || second.md5 {
				want = "-0"
			}
			if !strings.HasSuffix(info.ETag, want) || !bytes.Equal(read(t, s, "bucket", key), append(a[:100:100], b...)) {
				t.Errorf("%s: %+v, want an ETag with %s", key, info, want)
			}
			if again, err := s.CompleteUpload(t.Context(), req); err != nil || again.ETag != info.ETag {
				t.Errorf("%s again: %+v, %v", key, again, err)
			}
		}
	}
	u, err := s.CreateUpload(t.Context(), store.UploadRequest{Bucket: "bucket", Key: "open"})
	if err != nil {
		t.Fatal(err)
	}
	p := skips{md5: true, sha256: true}.part(t, s, u, 1, b)
	other := skips{md5: true, sha256: true}.part(t, s, u, 1, b)
	_, err = s.CompleteUpload(t.Context(), store.CompleteRequest{Bucket: "bucket", Key: "open", UploadID: u.ID, Size: -1, Parts: []store.CompletePart{p}})
	if wantCode(t, err, fault.InvalidPart); p.ETag == other.ETag {
		t.Error("two parts have one ETag")
	}
	if _, err := s.CopyPart(t.Context(), store.CopyPartRequest{
		Bucket: "bucket", Key: "open", UploadID: u.ID, Number: 2, SourceBucket: "bucket", SourceKey: "upload/33", Length: -1,
	}); err != nil {
		t.Error(err)
	}
}

// wholeAfterScrub reads everything that is stored and holds it against its records.
func wholeAfterScrub(t *testing.T, s *store.Store) {
	t.Helper()
	sc, err := scrubber.New(t.Context(), scrubber.Config{Store: s})
	if err != nil {
		t.Fatal(err)
	}
	r, err := sc.Pass(t.Context(), nil)
	if err != nil || len(r.Findings) > 0 {
		t.Errorf("found %+v, %v", r.Findings, err)
	}
}

// TestConditionsOnAnETagThatIsNoMD5 compares it as any other. The same bytes
// stored again have another one, so that whoever holds the first is told.
func TestConditionsOnAnETagThatIsNoMD5(t *testing.T) {
	t.Parallel()
	s := openSmall(t, t.TempDir())
	makeBucket(t, s, "bucket")
	k, body := skips{md5: true}, noise(1, 1000)
	first, err := k.put(t, s, "k", body, store.Condition{})
	if err != nil {
		t.Fatal(err)
	}
	second, err := k.put(t, s, "k", body, store.Condition{IfMatch: first.ETag})
	if err != nil || second.ETag == first.ETag {
		t.Errorf("%+v behind %s, %v", second, first.ETag, err)
	}
	_, err = k.put(t, s, "k", body, store.Condition{IfMatch: first.ETag})
	wantCode(t, err, fault.Precondition)
	info, err := s.Head(t.Context(), "bucket", "k")
	if err != nil {
		t.Fatal(err)
	}
	wantCode(t, store.ReadCondition{IfMatch: []string{second.ETag}}.Check(info.ETag, info.Modified), fault.OK)
	wantCode(t, store.ReadCondition{IfMatch: []string{first.ETag}}.Check(info.ETag, info.Modified), fault.Precondition)
	wantCode(t, store.ReadCondition{IfNoneMatch: []string{second.ETag}}.Check(info.ETag, info.Modified), fault.NotModified)
	wantCode(t, s.Delete(t.Context(), store.DeleteRequest{Bucket: "bucket", Key: "k", IfMatch: first.ETag}), fault.Precondition)
	wantCode(t, s.Delete(t.Context(), store.DeleteRequest{Bucket: "bucket", Key: "k", IfMatch: second.ETag}), fault.OK)
}

// TestSkippedDigestsAreNotComputed counts the hashes that run over a body, by
// the size of their sums.
func TestSkippedDigestsAreNotComputed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		asked store.Algorithm
		skips skips
		want  string
	}{
		{store.NoChecksum, skips{}, "8 16 32"},
		{store.NoChecksum, skips{md5: true}, "8 32"},
		{store.CRC32C, skips{sha256: true}, "4 16"},
		{store.CRC64NVME, skips{md5: true, sha256: true}, "8"},
		{store.SHA256, skips{md5: true, sha256: true}, "32"}, // asked for by name
	} {
		if got := store.DigestsOf(c.asked, c.skips.md5, c.skips.sha256); got != c.want {
			t.Errorf("%v, %+v: sums of %s bytes, want %s", c.asked, c.skips, got, c.want)
		}
	}
}

// BenchmarkPutDigests shows what a large put costs with all digests and with the
// checksum alone.
func BenchmarkPutDigests(b *testing.B) {
	body := noise(1, 8<<20)
	for _, k := range allSkips {
		b.Run(fmt.Sprintf("md5=%v,sha256=%v", !k.md5, !k.sha256), func(b *testing.B) {
			s, _ := counted(b)
			b.SetBytes(int64(len(body)))
			for b.Loop() {
				_, err := s.Put(b.Context(), store.PutRequest{
					Bucket: "bucket", Key: "k", Body: bytes.NewReader(body), Size: int64(len(body)), SkipMD5: k.md5, SkipSHA256: k.sha256,
				})
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
