package store_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"larder/store"
)

// fillMany stores n small objects from many clients, so that they share syncs.
func fillMany(t testing.TB, s *store.Store, n int) {
	t.Helper()
	var wg sync.WaitGroup
	next := make(chan int)
	for range 64 {
		wg.Go(func() {
			for i := range next {
				_, err := s.Put(context.Background(), store.PutRequest{
					Bucket: "bucket", Key: manyKey(i), Body: strings.NewReader("x"), Size: 1,
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
}

func TestListingPagesAreWholeAndInOrder(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	makeBucket(t, s, "bucket")
	const n = 2500
	fillMany(t, s, n)
	all := list(t, s, "bucket")
	if len(all) != n {
		t.Fatalf("%d objects listed, %d stored", len(all), n)
	}
	for i := 1; i < n; i++ {
		if all[i-1].Key >= all[i].Key {
			t.Fatalf("%q before %q", all[i-1].Key, all[i].Key)
		}
	}
	var prefixes []string
	req := store.ListRequest{Bucket: "bucket", Delimiter: "/", Max: 7}
	for {
		page, err := s.List(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		prefixes = append(prefixes, page.Prefixes...)
		if !page.Truncated {
			break
		}
		req.After = page.Next
	}
	if len(prefixes) != 100 || prefixes[0] != "dir000/" || prefixes[99] != "dir099/" {
		t.Errorf("%d common prefixes: %v", len(prefixes), prefixes)
	}
}

func TestTheRowCacheIsBounded(t *testing.T) {
	t.Parallel()
	s, err := store.Open(t.Context(), store.Config{Dir: t.TempDir(), CacheRows: 10})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	makeBucket(t, s, "bucket")
	for i := range 30 {
		put(t, s, "bucket", fmt.Sprint(i), nil)
	}
	for i := range 30 {
		if _, err := s.Head(t.Context(), "bucket", fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
	}
	if n := s.CachedRows(); n != 10 {
		t.Errorf("%d rows cached, the limit is 10", n)
	}
}
