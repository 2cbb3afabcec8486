package gate_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"larder/auth"
	"larder/fault"
	"larder/store"
)

// TestWhoMayListMayWatch asks for the right to list under the watched prefix,
// and again when it may have been taken away.
func TestWhoMayListMayWatch(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	if _, err := s.CreateBucket(t.Context(), s.full, "bucket"); err != nil {
		t.Fatal(err)
	}
	reader := s.caller(t, "bucket", "in/", auth.Read)
	for prefix, want := range map[string]fault.Code{"in/": fault.OK, "in/side": fault.OK, "": fault.Denied, "in": fault.Denied, "out/": fault.Denied} {
		_, err := s.Watch(t.Context(), reader, "bucket", prefix, 0)
		wantCode(t, "reader of in/ under "+prefix, err, want)
	}
	_, err := s.Watch(t.Context(), reader, "none", "in/", 0)
	wantCode(t, "another bucket", err, fault.Denied)
	_, err = s.Watch(t.Context(), s.full, "none", "", 0)
	wantCode(t, "no bucket", err, fault.NoSuchBucket)
	_, err = s.Watch(t.Context(), s.caller(t, "bucket", "", auth.Write), "bucket", "", 0)
	wantCode(t, "writer", err, fault.Denied)

	w, err := s.Watch(t.Context(), reader, "bucket", "in/", 0)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	wantCode(t, "put", s.put(t, s.full, "out/k"), fault.OK)
	wantCode(t, "put", s.put(t, s.full, "in/k"), fault.OK)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if c, err := w.Next(ctx); err != nil || c.Key != "in/k" {
		t.Errorf("%+v, %v", c, err)
	}
	wantCode(t, "still", s.MayWatch(t.Context(), reader, "bucket", "in/"), fault.OK)
	if err := s.auth.SetKeyDisabled(t.Context(), reader.ID(), true); err != nil {
		t.Fatal(err)
	}
	wantCode(t, "revoked", s.MayWatch(t.Context(), reader, "bucket", "in/"), fault.Denied)
}

// TestTheDoorPassesOnWhichDigestsToSkip stores without MD5 and SHA-256.
func TestTheDoorPassesOnWhichDigestsToSkip(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	if _, err := s.CreateBucket(t.Context(), s.full, "bucket"); err != nil {
		t.Fatal(err)
	}
	var got store.Digests
	info, err := s.Put(t.Context(), s.full, store.PutRequest{
		Bucket: "bucket", Key: "k", Body: strings.NewReader("x"), Size: 1, SkipMD5: true, SkipSHA256: true,
		Verify: func(d store.Digests) error { got = d; return nil },
	})
	if err != nil || !strings.HasSuffix(info.ETag, "-0") || got.MD5 != nil || got.SHA256 != nil {
		t.Errorf("%+v, %+v, %v", info, got, err)
	}
}
