package store_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"

	"larder/store"
)

// histories are what may have happened to a store before it is compacted. Each
// leaves some keys, and some that are gone.
func histories() map[string]func(t *testing.T, s *store.Store) {
	all := map[string]func(t *testing.T, s *store.Store){
		"puts": func(t *testing.T, s *store.Store) {
			makeBucket(t, s, "bucket")
			for i := range 30 {
				put(t, s, "bucket", fmt.Sprint(i), noise(uint64(i), 100*i%900)) // inline, blobs, empty ones
			}
		},
		"overwrites": func(t *testing.T, s *store.Store) {
			makeBucket(t, s, "bucket")
			for i := range 60 {
				put(t, s, "bucket", fmt.Sprint(i%7), noise(uint64(i), 100*i%900))
			}
		},
		"deletes": func(t *testing.T, s *store.Store) {
			makeBucket(t, s, "bucket")
			for i := range 60 {
				put(t, s, "bucket", fmt.Sprint(i%9), noise(uint64(i), 100*i%900))
				if i%2 == 0 {
					remove(t, s, "bucket", fmt.Sprint((i+4)%9))
				}
			}
		},
		"copies":      copies,
		"multipart":   multiparts,
		"buckets":     bucketsAgain,
		"settings":    settingsKept,
		"late ends":   lateEnds,
		"all is gone": allIsGone,
	}
	for seed := range uint64(4) {
		all[fmt.Sprint("random ", seed)] = func(t *testing.T, s *store.Store) { churn(t, s, seed, 150) }
	}
	return maps.Clone(all)
}

func copyTo(t testing.TB, s *store.Store, from, to string) {
	t.Helper()
	_, err := s.Copy(context.Background(), store.CopyRequest{SourceBucket: "bucket", SourceKey: from, Bucket: "bucket", Key: to})
	if err != nil {
		t.Fatal(err)
	}
}

// copies lets bodies outlive the names that brought them, and the other way
// round: names in one segment, bodies in another.
func copies(t *testing.T, s *store.Store) {
	makeBucket(t, s, "bucket")
	put(t, s, "bucket", "a", noise(1, 500))
	put(t, s, "bucket", "large", noise(2, 2000))
	copyTo(t, s, "a", "b")
	copyTo(t, s, "b", "c")
	copyTo(t, s, "large", "l")
	put(t, s, "bucket", "a", noise(3, 500))
	remove(t, s, "bucket", "large")
	for i := range 20 {
		put(t, s, "bucket", "x", noise(uint64(i), 590))
		copyTo(t, s, "b", "d")
		if i%3 == 0 {
			remove(t, s, "bucket", "d") // between two copies only b holds the body
		}
	}
	remove(t, s, "bucket", "b")
	copyTo(t, s, "c", "e")
	remove(t, s, "bucket", "c")
	put(t, s, "bucket", "gone", noise(4, 500))
	copyTo(t, s, "gone", "gone too")
	remove(t, s, "bucket", "gone")
	remove(t, s, "bucket", "gone too")
}

// multiparts has every end of an upload, and uploads without one.
func multiparts(t *testing.T, s *store.Store) {
	makeBucket(t, s, "bucket")
	put(t, s, "bucket", "source", noise(1, 3000))
	for i := range 6 {
		key := fmt.Sprint("multi", i%4)
		u := startUpload(t, s, "bucket", key)
		putPart(t, s, u, 1, noise(uint64(10+i), 400)) // replaced
		parts := []store.Part{
			putPart(t, s, u, 1, noise(uint64(20+i), 500)),
			copyPart(t, s, u, 2, "source", int64(100*i), 700),
			putPart(t, s, u, 3, noise(uint64(30+i), 2000)),
		}
		putPart(t, s, u, 9, noise(uint64(40+i), 300)) // not listed
		switch i {
		case 1:
			abort(t, s, u)
		case 2: // goes on
		default:
			complete(t, s, u, parts...)
			complete(t, s, u, parts...)
		}
		for k := range 6 {
			put(t, s, "bucket", "x", noise(uint64(k), 590))
		}
	}
	copyTo(t, s, "multi0", "copy")
	remove(t, s, "bucket", "multi0") // made twice
	remove(t, s, "bucket", "source")
	put(t, s, "bucket", "multi3", noise(7, 100))
}

func abort(t testing.TB, s *store.Store, u store.Upload) {
	t.Helper()
	if err := s.AbortUpload(context.Background(), u.Bucket, u.Key, u.ID); err != nil {
		t.Fatal(err)
	}
}

func bucketsAgain(t *testing.T, s *store.Store) {
	for i := range 8 {
		makeBucket(t, s, "bucket")
		for k := range 5 {
			put(t, s, "bucket", fmt.Sprint(k), noise(uint64(i+k), 500))
		}
		if i == 7 {
			break
		}
		u := startUpload(t, s, "bucket", "never")
		putPart(t, s, u, 1, noise(3, 500))
		abort(t, s, u)
		for k := range 5 {
			remove(t, s, "bucket", fmt.Sprint(k))
		}
		if err := s.DeleteBucket(t.Context(), "bucket"); err != nil {
			t.Fatal(err)
		}
	}
}

func settingsKept(t *testing.T, s *store.Store) {
	for _, name := range []string{"bucket", "other", "gone"} {
		makeBucket(t, s, name)
		for i := range 5 {
			if err := s.SetBucketSettings(t.Context(), name, store.BucketSettings{UnverifiedReads: i%2 == 0}); err != nil {
				t.Fatal(err)
			}
			put(t, s, "bucket", "x", noise(uint64(i), 590))
		}
	}
	if err := s.DeleteBucket(t.Context(), "gone"); err != nil {
		t.Fatal(err)
	}
}

// lateEnds compacts between what is begun and what ends it, so that segments
// are rewritten at different times and tombstones wait for them.
func lateEnds(t *testing.T, s *store.Store) {
	makeBucket(t, s, "bucket")
	makeBucket(t, s, "short")
	var uploads []store.Upload
	var parts [][]store.Part
	for i := range 12 {
		put(t, s, "bucket", fmt.Sprint("k", i), noise(uint64(i), 500))
		u := startUpload(t, s, "bucket", fmt.Sprint("u", i))
		uploads = append(uploads, u)
		parts = append(parts, []store.Part{putPart(t, s, u, 1, noise(uint64(50+i), 500))})
	}
	put(t, s, "short", "k", noise(1, 500))
	compactAll(t, s, 2)
	for i := range 12 {
		switch i % 4 {
		case 0:
			remove(t, s, "bucket", fmt.Sprint("k", i))
			abort(t, s, uploads[i])
		case 1:
			put(t, s, "bucket", fmt.Sprint("k", i), noise(uint64(i+20), 500))
			complete(t, s, uploads[i], parts[i]...)
		case 2:
			complete(t, s, uploads[i], parts[i]...)
			copyTo(t, s, fmt.Sprint("u", i), fmt.Sprint("copy", i))
			put(t, s, "bucket", fmt.Sprint("u", i), noise(uint64(i+30), 100))
		}
	}
	remove(t, s, "short", "k")
	if err := s.DeleteBucket(t.Context(), "short"); err != nil {
		t.Fatal(err)
	}
	fillMore(t, s, 12)
	firstOnly(t, s) // the tombstones' segments stay as they are
	for i := range 12 {
		if i%4 == 2 {
			remove(t, s, "bucket", fmt.Sprint("u", i))
		}
		if i%4 == 1 {
			remove(t, s, "bucket", fmt.Sprint("k", i))
			remove(t, s, "bucket", fmt.Sprint("u", i))
		}
		if i%4 == 3 { // begun long ago, ended now, and dead at once
			complete(t, s, uploads[i], parts[i]...)
			put(t, s, "bucket", fmt.Sprint("u", i), noise(uint64(i+40), 100))
		}
	}
	fillMore(t, s, 12)
}

func fillMore(t testing.TB, s *store.Store, n int) {
	t.Helper()
	for i := range n {
		put(t, s, "bucket", "fill", noise(uint64(i), 590))
	}
}

// firstOnly compacts the older half of the segments.
func firstOnly(t testing.TB, s *store.Store) {
	t.Helper()
	for i := range len(s.Sealed()) / 2 {
		if err := s.CompactAt(context.Background(), i); err != nil {
			t.Fatal(err)
		}
	}
	s.Settle()
}

func allIsGone(t *testing.T, s *store.Store) {
	makeBucket(t, s, "bucket")
	for i := range 60 {
		put(t, s, "bucket", fmt.Sprint(i), noise(uint64(i), 500))
	}
	for i := range 60 {
		remove(t, s, "bucket", fmt.Sprint(i))
	}
	if err := s.DeleteBucket(t.Context(), "bucket"); err != nil {
		t.Fatal(err)
	}
}

// churn makes random changes with compactions between them.
func churn(t *testing.T, s *store.Store, seed uint64, n int) {
	rng := rand.New(rand.NewPCG(seed, 1))
	makeBucket(t, s, "bucket")
	var uploads []store.Upload
	parts := map[string][]store.Part{}
	there := map[string]bool{}
	for i := range n {
		key := fmt.Sprint("k", rng.IntN(6))
		switch op := rng.IntN(12); {
		case op < 4:
			put(t, s, "bucket", key, noise(uint64(i), rng.IntN(900)))
			there[key] = true
		case op < 6:
			remove(t, s, "bucket", key)
			delete(there, key)
		case op < 8 && there[key]:
			to := fmt.Sprint("k", rng.IntN(6))
			if to != key {
				copyTo(t, s, key, to)
				there[to] = true
			}
		case op == 8:
			uploads = append(uploads, startUpload(t, s, "bucket", key))
		case op == 9 && len(uploads) > 0:
			u := uploads[rng.IntN(len(uploads))]
			parts[u.ID] = []store.Part{putPart(t, s, u, 1, noise(uint64(i), 1+rng.IntN(900)))}
			if there[key] {
				info, _ := s.Head(t.Context(), "bucket", key)
				if info.Size > 0 {
					parts[u.ID] = append(parts[u.ID], copyPart(t, s, u, 2, key, 0, info.Size))
				}
			}
		case op == 10 && len(uploads) > 0:
			u := uploads[0]
			uploads = uploads[1:]
			if len(parts[u.ID]) == 0 || rng.IntN(3) == 0 {
				abort(t, s, u)
				continue
			}
			complete(t, s, u, parts[u.ID]...)
			there[u.Key] = true
		case op == 11:
			if rng.IntN(3) == 0 {
				firstOnly(t, s)
			} else {
				compactAll(t, s, 1+rng.IntN(4))
			}
		}
	}
}
