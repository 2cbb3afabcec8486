package e2e_test

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"time"
)

const crashBucket = "crash"

// crashes is a server that is ended the hard way, again and again, and the
// ledger that says what has to be there afterwards.
type crashes struct {
	t       *testing.T
	s       *server
	c       *s3Client
	book    *ledger
	keeper  *keeper
	deaths  int
	reads   int64         // by readers during the writing
	looked  int64         // keys read after a crash
	slowest time.Duration // from exec to ready after a crash
	began   time.Time
	told    int // how many times progressEvery crashes were told of
}

// progressEvery is after how many crashes a long run says how far it is.
const progressEvery = 100

// newCrashes serves with small segments, so that a short run sees many of them.
func newCrashes(t *testing.T, how setup) *crashes {
	t.Helper()
	how.env = append([]string{"LARDER_SEGMENT_SIZE=1048576"}, how.env...)
	// A port that the system chooses must not be that of a server which was just
	// killed, of another run beside this one.
	how.args = append(slices.Clone(how.args), "--native", "127.0.0.2:0")
	s := serve(t, how)
	x := &crashes{t: t, s: s, c: s.client(), book: newLedger(), began: time.Now()}
	t.Cleanup(x.failed)
	x.c.must(http.StatusOK, http.MethodPut, "/"+crashBucket, nil)
	x.keeper = newKeeper(s)
	s.stop()
	s.start()
	return x
}

// restart starts the server again and looks at what stands. Every tenth time
// it looks at everything, otherwise at what was written to since the last time.
func (x *crashes) restart() {
	x.t.Helper()
	x.deaths++
	x.slowest = max(x.slowest, x.s.restart())
	x.keeper.verify()
	if x.deaths/progressEvery > x.told {
		x.told = x.deaths / progressEvery
		x.t.Logf("%d crashes in %.0f s so far, %d changes acknowledged", x.deaths, time.Since(x.began).Seconds(), x.book.promised()+x.keeper.acks)
	}
	if x.deaths%10 == 0 {
		x.verifyAll()
		return
	}
	x.look(x.book.fresh())
}

func (x *crashes) verifyAll() {
	x.t.Helper()
	x.look(x.book.names())
}

func (x *crashes) look(names []string) {
	x.t.Helper()
	x.looked += int64(len(names))
	verifyNames(x.t, x.c, x.book, names)
	if x.t.Failed() {
		x.t.FailNow()
	}
}

// failed leaves the figures of a run that failed, which is no reason to hide how
// far it came.
func (x *crashes) failed() {
	if x.t.Failed() {
		note(x.t, map[string]any{"crashes_until_it_failed": x.deaths, "seed": fmt.Sprint(runSeed), "failed": 1})
	}
}

// figures are what the run has shown, under a name for its crashes.
func (x *crashes) figures(kind string) {
	x.t.Helper()
	if x.book.promised() == 0 || x.keeper.acks <= firstKeys || x.reads == 0 {
		x.t.Fatalf("nothing was shown: %d changes of objects, %d of keys and buckets, %d reads", x.book.promised(), x.keeper.acks, x.reads)
	}
	figures(x.t, map[string]any{
		kind: x.deaths, "acknowledged": x.book.promised() + x.keeper.acks, "verified": x.looked, "read_during": x.reads,
		"slowest_start_ms": x.slowest.Milliseconds(), "seed": fmt.Sprint(runSeed), "lost": 0,
	})
	x.t.Logf("%d %s: %d changes acknowledged (%d of keys and buckets), %d keys looked at afterwards, %d objects read meanwhile, slowest start %.0f ms",
		x.deaths, kind, x.book.promised()+x.keeper.acks, x.keeper.acks, x.looked, x.reads, x.slowest.Seconds()*1000)
}

func crashBody(key string, s state) []byte { return s.body(key) }

// verify reads every key that was ever written to, and the listing.
func verify(t *testing.T, c *s3Client, book *ledger) {
	t.Helper()
	verifyNames(t, c, book, book.names())
}

// verifyNames reads the keys given, and the whole listing.
func verifyNames(t *testing.T, c *s3Client, book *ledger, names []string) {
	t.Helper()
	var next atomic.Int64
	atOnce(4, func(int) error {
		for i := int(next.Add(1)) - 1; i < len(names); i = int(next.Add(1)) - 1 {
			if err := verifyKey(t, c, book, names[i]); err != nil {
				t.Error(err)
			}
		}
		return nil
	})
	listed, want := c.allKeys(crashBucket), book.standing()
	if !slices.Equal(listed, want) {
		t.Errorf("%d keys are listed, %d stand: %q and %q differ", len(listed), len(want), without(listed, want), without(want, listed))
	}
}

// without is what stands in a and not in b.
func without(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(s string) bool { return slices.Contains(b, s) })
}

func verifyKey(t *testing.T, c *s3Client, book *ledger, key string) error {
	a, err := c.try(t.Context(), http.MethodGet, "/"+crashBucket+"/"+key, nil, 0)
	if err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	if a.status != http.StatusOK && a.code != "NoSuchKey" {
		return fmt.Errorf("%s: %v", key, a)
	}
	return book.settle(key, func(s state) bool {
		if s.version == 0 {
			return a.status == http.StatusNotFound
		}
		meta := a.header.Get(metaState)
		return a.status == http.StatusOK && (meta == "" || meta == s.meta()) && bytes.Equal(a.body, s.body(key))
	})
}

// noOrphans waits until no more files of bodies lie there than objects and
// parts of unfinished uploads need.
func noOrphans(t *testing.T, s *server, c *s3Client, book *ledger) {
	t.Helper()
	abortUploads(c, crashBucket)
	for _, key := range book.standing() {
		c.must(http.StatusNoContent, http.MethodDelete, "/"+crashBucket+"/"+key, nil)
	}
	await(t, "the space of deleted objects and cut uploads to be given back", readyWithin, func() bool {
		return len(blobFiles(t, s.blobDir())) == 0
	})
}

// abortUploads ends every multipart upload that is in progress.
func abortUploads(c *s3Client, bucket string) {
	c.t.Helper()
	var list struct {
		IsTruncated bool
		Upload      []struct {
			Key      string
			UploadID string `xml:"UploadId"`
		}
	}
	a := c.must(http.StatusOK, http.MethodGet, "/"+bucket+"?uploads=", nil)
	if err := xml.Unmarshal(a.body, &list); err != nil {
		c.t.Fatal(err)
	}
	for _, u := range list.Upload {
		c.must(http.StatusNoContent, http.MethodDelete, "/"+bucket+"/"+u.Key+"?uploadId="+u.UploadID, nil)
	}
	if list.IsTruncated {
		abortUploads(c, bucket)
	}
}

// blobDir is the folder that holds the folder of large bodies.
func (s *server) blobDir() string {
	for i, arg := range s.setup.args {
		if arg == "--blob-dir" {
			return s.setup.args[i+1]
		}
	}
	return s.dir
}
