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

const (
	crashWriters = 16
	crashRounds  = 6
	crashBucket  = "crash"
)

// crashSizes stand on both sides of the inline limit of 128 KiB and of a chunk.
func crashSizes() []int64 {
	return []int64{0, 1, 900, 4096, 65_535, 65_536, 131_071, 131_072, 131_073, 300_000, 1 << 20, 5<<20 + 1}
}

// TestKillDuringUploads kills the server again and again while 16 clients put,
// overwrite, delete and complete multipart uploads, and demands that everything
// that was answered with yes is there, byte for byte, and nothing else.
func TestKillDuringUploads(t *testing.T) {
	s := serve(t, setup{})
	c := s.client()
	c.must(http.StatusOK, http.MethodPut, "/"+crashBucket, nil)
	book, choose := newLedger(), random("kills")
	rounds := crashRounds
	if testing.Short() {
		rounds = 2
	}
	for round := range rounds {
		crowd := startCrowd(c, book, round, false)
		crowd.awaitAcks(t)
		pause := time.Duration(5+choose.IntN(1200)) * time.Millisecond
		time.Sleep(pause) // the random moment is the test
		s.kill()
		crowd.wait()
		if round%2 == 1 {
			s.killDuringStart(time.Duration(choose.IntN(60)) * time.Millisecond)
		}
		took := s.restart()
		t.Logf("round %d: killed %s after the start of the uploads with %d acknowledged, ready again in %.0f ms",
			round, pause, crowd.acks.Load(), took.Seconds()*1000)
		verify(t, c, book)
		if t.Failed() {
			return
		}
	}
	s.stop()
	s.loseIndex()
	t.Logf("started with a lost index in %.0f ms", s.restart().Seconds()*1000)
	verify(t, c, book)
	t.Logf("%d keys written to, %d objects stand, all as acknowledged", len(book.names()), len(book.standing()))
	noOrphans(t, s, c, book)
}

func crashBody(key string, s state) []byte { return payloadBytes(key, s.version, s.size) }

// verify reads every key that was ever written to, and the listing.
func verify(t *testing.T, c *s3Client, book *ledger) {
	t.Helper()
	names := book.names()
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
		t.Errorf("%d keys are listed, %d stand", len(listed), len(want))
	}
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
		return a.status == http.StatusOK && bytes.Equal(a.body, crashBody(key, s))
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
		return len(blobFiles(t, s.dir)) == 0
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
