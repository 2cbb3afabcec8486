package e2e_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

const (
	manyObjects  = 100_000
	manyFolders  = 250
	fewObjects   = 100
	startWithin  = 2 * time.Second
	headRatio    = 3 // of the medians; generous, since other processes run too
	headMeasures = 2_000
)

// manyKey names object i: folders of equal size, which a listing gives in the
// order of i.
func manyKey(i int) string {
	const each = manyObjects / manyFolders
	return fmt.Sprintf("d%03d/f%06d", i/each, i%each)
}

// TestManyObjects fills a bucket with 100,000 objects, pages through it in
// every way, asks for single ones, and kills and starts the server.
func TestManyObjects(t *testing.T) {
	heavy(t)
	s := serve(t, setup{})
	c := s.client()
	fill(c, "few", fewObjects)
	fill(c, "many", manyObjects)
	t.Logf("with %d objects: %s resident", manyObjects, mib(memoryOf(t, s.pid()).now))

	t.Run("flat", func(t *testing.T) { listFlat(t, c) })
	t.Run("delimiter", func(t *testing.T) { listFolders(t, c) })
	t.Run("odd pages", func(t *testing.T) { listOddPages(t, c) })
	few, many := medianHead(c, "few", fewObjects), medianHead(c, "many", manyObjects)
	t.Logf("HEAD, median of %d: %d objects %s, %d objects %s", headMeasures, fewObjects, few, manyObjects, many)
	if many > headRatio*few {
		t.Errorf("HEAD takes %s among %d objects and %s among %d", many, manyObjects, few, fewObjects)
	}
	startAfterKill(t, s, c)
}

// fill puts n small objects over 64 connections.
func fill(c *s3Client, bucket string, n int) {
	c.t.Helper()
	const lanes = 64
	c.must(http.StatusOK, http.MethodPut, "/"+bucket, nil)
	var next atomic.Int64
	began := time.Now()
	atOnce(lanes, func(int) error {
		for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
			key := manyKey(i)
			a, err := c.try(c.t.Context(), http.MethodPut, "/"+bucket+"/"+key, []byte(key), 0)
			if err != nil || a.status != http.StatusOK {
				c.t.Errorf("put %s: %v, %v", key, a, err)
				return err
			}
		}
		return nil
	})
	took := time.Since(began).Seconds()
	c.t.Logf("%d puts over %d connections: %.1f s, %.0f a second", n, lanes, took, float64(n)/took)
	if c.t.Failed() {
		c.t.FailNow()
	}
}

// pager walks a listing of one version and returns all keys and prefixes in
// the order of the pages.
func pager(c *s3Client, query string, v2 bool) (keys, prefixes []string, pages int) {
	c.t.Helper()
	for next := ""; ; {
		target := "/many?" + query
		if v2 {
			target += "&list-type=2"
		}
		p := c.list(target + next)
		pages++
		k, x := p.names()
		keys, prefixes = append(keys, k...), append(prefixes, x...)
		if !p.IsTruncated {
			return keys, prefixes, pages
		}
		next = "&continuation-token=" + url.QueryEscape(p.NextContinuationToken)
		if !v2 {
			next = "&marker=" + url.QueryEscape(nextMarker(p))
		}
		if pages > manyObjects {
			c.t.Fatal("the listing does not end")
		}
	}
}

// nextMarker is what V1 clients go on from: AWS gives NextMarker only with a
// delimiter, else the last key is the marker.
func nextMarker(p page) string {
	if p.NextMarker != "" || len(p.Contents) == 0 {
		return p.NextMarker
	}
	return p.Contents[len(p.Contents)-1].Key
}

func listFlat(t *testing.T, c *s3Client) {
	want := make([]string, manyObjects)
	for i := range want {
		want[i] = manyKey(i)
	}
	for _, v2 := range []bool{false, true} {
		began := time.Now()
		keys, prefixes, pages := pager(c, "", v2)
		t.Logf("flat, V2 %v: %d pages, %.2f s", v2, pages, time.Since(began).Seconds())
		if !slices.Equal(keys, want) || len(prefixes) != 0 || pages != manyObjects/1000 {
			t.Errorf("V2 %v: %d keys and %d prefixes on %d pages, in order %v", v2, len(keys), len(prefixes), pages, slices.IsSorted(keys))
		}
	}
}

func listFolders(t *testing.T, c *s3Client) {
	var want []string
	for i := range manyFolders {
		want = append(want, fmt.Sprintf("d%03d/", i))
	}
	for _, v2 := range []bool{false, true} {
		for _, max := range []int{1000, 100, 7} {
			began := time.Now()
			keys, prefixes, pages := pager(c, fmt.Sprintf("delimiter=/&max-keys=%d", max), v2)
			t.Logf("delimiter /, V2 %v, max-keys %d: %d pages, %.1f ms", v2, max, pages, time.Since(began).Seconds()*1000)
			if len(keys) != 0 || !slices.Equal(prefixes, want) || pages != (manyFolders+max-1)/max {
				t.Errorf("V2 %v, max-keys %d: %d keys, %d prefixes, %d pages", v2, max, len(keys), len(prefixes), pages)
			}
		}
	}
}

// listOddPages pages with prefixes and delimiters anywhere in a name, by
// numbers that divide nothing, and compares with a listing made here.
func listOddPages(t *testing.T, c *s3Client) {
	for _, query := range []string{
		"prefix=d017/&max-keys=7",
		"prefix=d017/&delimiter=/&max-keys=7",
		"prefix=d0&delimiter=/&max-keys=3",
		"prefix=d017/f&delimiter=00&max-keys=1",
		"prefix=d017/f00&delimiter=7&max-keys=3",
		"prefix=d2&delimiter=9/f0&max-keys=999",
		"prefix=nothing&max-keys=3",
		"prefix=d249/f000399",
	} {
		wantKeys, wantPrefixes := expected(t, query)
		for _, v2 := range []bool{false, true} {
			keys, prefixes, _ := pager(c, query, v2)
			if !slices.Equal(keys, wantKeys) || !slices.Equal(prefixes, wantPrefixes) {
				t.Errorf("%s, V2 %v: %d keys, %d prefixes, want %d and %d", query, v2, len(keys), len(prefixes), len(wantKeys), len(wantPrefixes))
			}
		}
	}
}

// expected is the whole listing, by S3's definition.
func expected(t *testing.T, query string) (keys, prefixes []string) {
	q, err := url.ParseQuery(query)
	if err != nil {
		t.Fatal(err)
	}
	prefix, delimiter := q.Get("prefix"), q.Get("delimiter")
	for i := range manyObjects {
		key := manyKey(i)
		rest, ok := strings.CutPrefix(key, prefix)
		if !ok {
			continue
		}
		before, _, rolled := strings.Cut(rest, delimiter)
		common := prefix + before + delimiter
		switch {
		case delimiter == "" || !rolled:
			keys = append(keys, key)
		case len(prefixes) == 0 || prefixes[len(prefixes)-1] != common:
			prefixes = append(prefixes, common)
		}
	}
	return keys, prefixes
}

// medianHead asks for random objects of the n, one after the other.
func medianHead(c *s3Client, bucket string, n int) time.Duration {
	c.t.Helper()
	choose := random("head " + bucket)
	took := make([]time.Duration, headMeasures)
	for i := range took {
		key := manyKey(choose.IntN(n))
		began := time.Now()
		a := c.must(http.StatusOK, http.MethodHead, "/"+bucket+"/"+key, nil)
		took[i] = time.Since(began)
		if a.header.Get("Content-Length") != strconv.Itoa(len(key)) {
			c.t.Fatalf("HEAD %s: %v", key, a.header)
		}
	}
	slices.Sort(took)
	return took[len(took)/2]
}

// startAfterKill kills the server while it is being written to and measures
// how long it takes from exec to ready.
func startAfterKill(t *testing.T, s *server, c *s3Client) {
	for round := range 3 {
		putting := make(chan struct{})
		go func() {
			defer close(putting)
			for i := 0; ; i++ {
				key := fmt.Sprintf("/many/e%d/%d", round, i)
				if _, err := c.try(t.Context(), http.MethodPut, key, []byte("more"), 0); err != nil {
					return
				}
			}
		}()
		await(t, "puts during the kill", readyWithin, func() bool {
			return c.do(http.MethodHead, fmt.Sprintf("/many/e%d/20", round), nil).status == http.StatusOK
		})
		s.kill()
		<-putting
		took := s.restart()
		t.Logf("start after a kill with %d objects: %.0f ms", manyObjects, took.Seconds()*1000)
		if took > startWithin {
			t.Errorf("the start took %s", took)
		}
		if key := manyKey(random("after kill").IntN(manyObjects)); string(c.must(http.StatusOK, http.MethodGet, "/many/"+key, nil).body) != key {
			t.Errorf("%s has other bytes after the kill", key)
		}
	}
	s.stop()
	s.loseIndex()
	t.Logf("start with a lost index, which is rebuilt for %d objects: %.1f s", manyObjects, s.restart().Seconds())
	keys, _, _ := pager(c, "prefix=d", true)
	if len(keys) != manyObjects {
		t.Errorf("%d of %d objects are listed after the kills", len(keys), manyObjects)
	}
}
