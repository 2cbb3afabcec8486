package e2e_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"larder/client"
	"larder/fault"
)

const nativeKills = 24

// serveNative starts a server whose native port stays the same, and a client.
func serveNative(t *testing.T) (*server, *client.Client) {
	t.Helper()
	addr := freeAddr(t)
	s := serve(t, setup{args: []string{"--native", addr}, env: []string{"LARDER_SEGMENT_SIZE=1048576"}})
	c, err := client.New(client.Config{Addr: addr, KeyID: s.key, Secret: s.secret})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return s, c
}

func getNative(ctx context.Context, c *client.Client, bucket, key string) ([]byte, error) {
	r, err := c.Get(ctx, bucket, key, nil)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(r)
}

// TestNativeAndS3 see the same objects, with the same names for their content.
func TestNativeAndS3(t *testing.T) {
	t.Parallel()
	s, c := serveNative(t)
	s3 := s.client()
	s3.must(http.StatusOK, http.MethodPut, "/photos", nil)
	for _, size := range []int{0, 1, 1000, 131_072, 131_073, 5_000_000} {
		body := payloadBytes("both", size, int64(size))
		o, err := c.Put(t.Context(), "photos", "by native", bytes.NewReader(body), &client.PutOptions{
			Meta: client.Meta{Headers: client.Headers{ContentType: "text/x-test"}, User: map[string]string{"who": "ich"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		a := s3.must(http.StatusOK, http.MethodGet, "/photos/by%20native", nil)
		if !bytes.Equal(a.body, body) || a.header.Get("Etag") != `"`+o.ETag+`"` || a.header.Get("X-Amz-Meta-Who") != "ich" ||
			a.header.Get("Content-Type") != "text/x-test" {
			t.Errorf("%d bytes by native, read by S3: %d bytes, %v", size, len(a.body), a.header)
		}
		s3.must(http.StatusOK, http.MethodPut, "/photos/by-s3", body)
		if got, err := getNative(t.Context(), c, "photos", "by-s3"); err != nil || !bytes.Equal(got, body) {
			t.Errorf("%d bytes by S3, read by native: %d bytes, %v", size, len(got), err)
		}
	}
	unnamed, err := c.Put(t.Context(), "photos", "fast", bytes.NewReader(make([]byte, 300_000)), &client.PutOptions{SkipMD5: true, SkipSHA256: true})
	if err != nil {
		t.Fatal(err)
	}
	if a := s3.must(http.StatusOK, http.MethodHead, "/photos/fast", nil); a.header.Get("Etag") != `"`+unnamed.ETag+`"` {
		t.Errorf("%v, want the ETag %s", a.header, unnamed.ETag)
	}
}

// nativeKey is one key of a writer: the versions that were begun and answered.
type nativeKey struct {
	name         string
	begun, acked int
}

func (k *nativeKey) body(version int) []byte {
	return payloadBytes(k.name, version, []int64{1, 900, 60_000, 140_000, 700_000}[version%5])
}

// TestNativeKill kills the server while clients put by the native protocol: what
// was answered with yes is there afterwards, byte for byte.
func TestNativeKill(t *testing.T) {
	heavy(t)
	s, c := serveNative(t)
	choose := random("native kills")
	if _, err := c.CreateBucket(t.Context(), crashBucket); err != nil {
		t.Fatal(err)
	}
	keys := make([]*nativeKey, 12)
	for i := range keys {
		keys[i] = &nativeKey{name: fmt.Sprintf("key %d", i)}
	}
	rounds := cycles(t, nativeKills)
	for range rounds {
		ctx, cancel := context.WithCancel(t.Context())
		var writers sync.WaitGroup
		for _, k := range keys {
			writers.Go(func() { k.write(ctx, c) })
		}
		time.Sleep(time.Duration(20+choose.IntN(150)) * time.Millisecond) // the random moment is the test
		s.kill()
		cancel()
		writers.Wait()
		s.start()
		for _, k := range keys {
			k.check(t, c)
		}
	}
	acked := 0
	for _, k := range keys {
		acked += k.acked
	}
	if acked < rounds {
		t.Errorf("only %d puts were answered", acked)
	}
	figures(t, map[string]any{"kills": rounds, "acknowledged": acked, "lost": 0})
}

// write puts one version after the other until one fails.
func (k *nativeKey) write(ctx context.Context, c *client.Client) {
	for ctx.Err() == nil {
		k.begun++
		if _, err := c.Put(ctx, crashBucket, k.name, bytes.NewReader(k.body(k.begun)), nil); err != nil {
			return
		}
		k.acked = k.begun
	}
}

// check demands the last version that was answered, or the one that was begun
// after it.
func (k *nativeKey) check(t *testing.T, c *client.Client) {
	t.Helper()
	got, err := getNative(t.Context(), c, crashBucket, k.name)
	if fault.CodeOf(err) == fault.NoSuchKey && k.acked == 0 {
		return
	}
	if err != nil {
		t.Fatalf("%s: %v", k.name, err)
	}
	for v := k.acked; v <= k.begun; v++ {
		if v > 0 && bytes.Equal(got, k.body(v)) {
			k.acked, k.begun = v, max(v, k.begun)
			return
		}
	}
	t.Fatalf("%s: %d bytes that are neither version %d, which was answered, nor %d", k.name, len(got), k.acked, k.begun)
}

// TestNativeWatch misses nothing over kills of the server: a client that comes
// back gets what it has not seen, or is told that it must list anew.
func TestNativeWatch(t *testing.T) {
	t.Parallel()
	s, c := serveNative(t)
	if _, err := c.CreateBucket(t.Context(), crashBucket); err != nil {
		t.Fatal(err)
	}
	w, err := c.Watch(t.Context(), crashBucket, "", 0)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	known := map[string]bool{}
	for round := range 5 {
		for i := range 20 {
			key := fmt.Sprintf("%d/%d", round, i)
			if _, err := c.Put(t.Context(), crashBucket, key, bytes.NewReader(nil), nil); err != nil {
				t.Fatal(err)
			}
		}
		if round%2 == 0 {
			s.kill()
			s.start()
		}
		ctx, cancel := context.WithTimeout(t.Context(), readyWithin)
		for len(known) < 20*(round+1) {
			e, err := w.Next(ctx)
			if err != nil {
				t.Fatalf("round %d, %d keys known: %v", round, len(known), err)
			}
			if known[e.Key] = true; e.Gap {
				delete(known, "")
				for entry, err := range c.List(ctx, crashBucket, client.ListOptions{}) {
					if err != nil {
						t.Fatal(err)
					}
					known[entry.Key] = true
				}
			}
		}
		cancel()
	}
}
