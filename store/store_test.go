package store_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"larder/fault"
	"larder/store"
)

// sizes lie on both sides of every border: empty, inline limit, chunk, block.
var sizes = []int{0, 1, 1000, 64 << 10, 64<<10 + 1, 128 << 10, 128<<10 + 1, 512 << 10, 1<<20 + 7, 3<<20 + 12345}

func TestPutThenGetGivesTheSameBytes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir)
	makeBucket(t, s, "bucket")
	for i, n := range sizes {
		key := fmt.Sprintf("dir/%d", n)
		body := noise(uint64(i), n)
		info := put(t, s, "bucket", key, body)
		if info.ETag != etag(body) || info.Size != int64(n) {
			t.Errorf("%d bytes: %+v", n, info)
		}
		if !bytes.Equal(read(t, s, "bucket", key), body) {
			t.Errorf("%d bytes: other bytes came back", n)
		}
	}
}

func TestGetRanges(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	makeBucket(t, s, "bucket")
	for i, n := range sizes {
		body := noise(uint64(i), n)
		put(t, s, "bucket", "k", body)
		o, err := s.Get(t.Context(), "bucket", "k")
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range [][2]int{{0, n}, {0, 1}, {n / 2, n / 3}, {n - 1, 1}, {n / 3, 70_000}, {65_535, 2}} {
			off, length := r[0], r[1]
			if off < 0 || off+length > n {
				continue
			}
			var buf bytes.Buffer
			if _, err := o.CopyRange(t.Context(), plain{&buf}, int64(off), int64(length)); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(buf.Bytes(), body[off:off+length]) {
				t.Errorf("%d bytes, range %d+%d differs", n, off, length)
			}
		}
		o.Close()
	}
}

func TestStateSurvivesRestartCrashAndALostIndex(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir)
	fill(t, s)
	want := state(t, s)

	for name, copied := range map[string]string{"killed": crash(t, dir), "index lost": crash(t, dir), "index damaged": crash(t, dir)} {
		switch name {
		case "index lost":
			removeIndex(t, copied)
		case "index damaged":
			removeIndex(t, copied)
			if err := os.WriteFile(filepath.Join(copied, "index.db"), noise(1, 8192), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got := state(t, open(t, copied)); got != want {
			t.Errorf("%s: the store came back as\n%s\nwant\n%s", name, got, want)
		}
	}
}

// fill makes a bit of everything.
func fill(t *testing.T, s *store.Store) {
	t.Helper()
	makeBucket(t, s, "one")
	makeBucket(t, s, "two")
	makeBucket(t, s, "gone")
	if err := s.DeleteBucket(t.Context(), "gone"); err != nil {
		t.Fatal(err)
	}
	for i, n := range sizes {
		put(t, s, "one", fmt.Sprintf("k%d", i), noise(uint64(i), n))
	}
	put(t, s, "one", "k1", noise(77, 200_000)) // overwritten
	remove(t, s, "one", "k2")
	_, err := s.Copy(t.Context(), store.CopyRequest{SourceBucket: "one", SourceKey: "k9", Bucket: "two", Key: "copy"})
	if err != nil {
		t.Fatal(err)
	}
	upload(t, s, "two", "multi", noise(5, 5<<20), noise(6, 200_000))
	u, err := s.CreateUpload(t.Context(), store.UploadRequest{Bucket: "two", Key: "unfinished"})
	if err != nil {
		t.Fatal(err)
	}
	putPart(t, s, u, 1, noise(8, 300_000))
	_, err = s.Put(t.Context(), store.PutRequest{
		Bucket: "two", Key: "meta", Body: strings.NewReader("x"), Size: 1, Owner: "me", Checksum: store.SHA1,
		Meta: store.Meta{
			Headers: store.Headers{
				ContentType: "text/x", CacheControl: "a", ContentDisposition: "b",
				ContentEncoding: "gzip", ContentLanguage: "de", Expires: "never",
			},
			User: map[string]string{"b": "2", "a": "ä"}, Tags: map[string]string{"t": "v"},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
}

// state writes down all that a store holds.
func state(t *testing.T, s *store.Store) string {
	t.Helper()
	var b strings.Builder
	buckets, err := s.Buckets(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, bucket := range buckets {
		fmt.Fprintf(&b, "%+v\n", bucket)
		for _, o := range list(t, s, bucket.Name) {
			info, err := s.Head(t.Context(), bucket.Name, o.Key)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&b, "  %+v %s\n", info, etag(read(t, s, bucket.Name, o.Key)))
		}
		uploads, err := s.ListUploads(t.Context(), store.UploadsRequest{Bucket: bucket.Name, Max: 1000})
		if err != nil {
			t.Fatal(err)
		}
		for _, u := range uploads.Uploads {
			page, err := s.ListParts(t.Context(), bucket.Name, u.Key, u.ID, 0, 1000)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&b, "  %+v\n", page)
		}
	}
	return b.String()
}

func removeIndex(t testing.TB, dir string) {
	t.Helper()
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(filepath.Join(dir, "index.db"+suffix)); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
	}
}

func TestRefusedPutsStoreNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir)
	makeBucket(t, s, "bucket")
	old := noise(1, 300_000)
	put(t, s, "bucket", "k", old)
	refuse := errors.New("no")
	cases := map[string]struct {
		req  store.PutRequest
		code fault.Code
	}{
		"verify":       {store.PutRequest{Key: "k", Size: 400_000, Verify: func(store.Digests) error { return refuse }}, fault.Internal},
		"short":        {store.PutRequest{Key: "k", Size: 500_000}, fault.IncompleteBody},
		"long":         {store.PutRequest{Key: "k", Size: 200_000}, fault.IncompleteBody},
		"small short":  {store.PutRequest{Key: "k", Size: 500}, fault.IncompleteBody},
		"no bucket":    {store.PutRequest{Bucket: "other", Key: "k", Size: 400_000}, fault.NoSuchBucket},
		"condition":    {store.PutRequest{Key: "k", Size: 400_000, Cond: store.Condition{IfNoneMatch: true}}, fault.Precondition},
		"other etag":   {store.PutRequest{Key: "k", Size: 400_000, Cond: store.Condition{IfMatch: "x"}}, fault.Precondition},
		"match absent": {store.PutRequest{Key: "n", Size: 400_000, Cond: store.Condition{IfMatch: "x"}}, fault.NoSuchKey},
		"empty key":    {store.PutRequest{Key: "", Size: 400_000}, fault.InvalidKey},
		"long key":     {store.PutRequest{Key: strings.Repeat("k", 1025), Size: 400_000}, fault.KeyTooLong},
		"not utf-8":    {store.PutRequest{Key: "\xff", Size: 400_000}, fault.InvalidKey},
		"nul":          {store.PutRequest{Key: "a\x00b", Size: 400_000}, fault.InvalidKey},
		"metadata":     {store.PutRequest{Key: "k", Size: 400_000, Meta: store.Meta{User: map[string]string{"a": strings.Repeat("x", 2048)}}}, fault.MetadataTooLarge},
		"too large":    {store.PutRequest{Key: "k", Size: store.MaxPutBytes + 1}, fault.EntityTooLarge},
	}
	for name, c := range cases {
		if c.req.Bucket == "" {
			c.req.Bucket = "bucket"
		}
		c.req.Body = bytes.NewReader(noise(2, 400_000))
		_, err := s.Put(t.Context(), c.req)
		if fault.CodeOf(err) != c.code {
			t.Errorf("%s: %v, want %v", name, err, c.code)
		}
		if !bytes.Equal(read(t, s, "bucket", "k"), old) {
			t.Errorf("%s: the old object is not what it was", name)
		}
	}
	eventually(t, "one blob left", func() bool { return blobFiles(t, dir) == 1 })
	if len(list(t, s, "bucket")) != 1 {
		t.Error("something was stored")
	}
}

func TestASecondProcessIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	open(t, dir)
	_, err := store.Open(t.Context(), store.Config{Dir: dir})
	wantCode(t, err, fault.Locked)
}

func TestBrakes(t *testing.T) {
	t.Parallel()
	made := t.TempDir()
	s := open(t, made)
	makeBucket(t, s, "bucket")
	other := t.TempDir()
	open(t, other)
	cases := map[string]struct {
		spoil func(dir string) error
		code  fault.Code
	}{
		"blobs not mounted": {func(d string) error { return os.RemoveAll(d + "/blobs") }, fault.ForeignStore},
		"foreign blobs":     {func(d string) error { return copyFile(other+"/blobs/VERSION", d+"/blobs/VERSION") }, fault.ForeignStore},
		"foreign index": {func(d string) error {
			os.Remove(d + "/index.db-wal")
			return copyFile(crash(t, other)+"/index.db", d+"/index.db")
		}, fault.ForeignStore},
		"VERSION missing":    {func(d string) error { return os.Remove(d + "/VERSION") }, fault.ForeignStore},
		"newer format":       {func(d string) error { return os.WriteFile(d+"/VERSION", []byte("larder 2\nstore 00\n"), 0o600) }, fault.NewerFormat},
		"segments gone":      {func(d string) error { return os.RemoveAll(d + "/segments") }, fault.ForeignStore},
		"VERSION unreadable": {func(d string) error { return os.WriteFile(d+"/VERSION", []byte("??"), 0o600) }, fault.Corrupt},
	}
	for name, c := range cases {
		dir := crash(t, made)
		if err := c.spoil(dir); err != nil {
			t.Fatal(name, err)
		}
		got, err := store.Open(t.Context(), store.Config{Dir: dir})
		if err == nil {
			got.Close()
		}
		if fault.CodeOf(err) != c.code || fault.HintOf(err) == "" {
			t.Errorf("%s: %v, want %v with a hint", name, err, c.code)
		}
	}
}

func copyFile(from, to string) error {
	b, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, b, 0o600)
}
