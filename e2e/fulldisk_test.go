package e2e_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

const smallDisk = 192 << 20

// TestFullDisk fills a small file system by uploads and from outside. Puts are
// refused with a code of their own, everything acknowledged stays, reads and
// deletes go on, and writes work again as soon as there is space.
func TestFullDisk(t *testing.T) {
	d := newDisk(t, smallDisk, ext4)
	s := serve(t, setup{dir: d.data()})
	c, book := s.client(), newLedger()
	c.must(http.StatusOK, http.MethodPut, "/"+crashBucket, nil)

	large := fillUntilRefused(t, c, book, "large", 1<<20)
	t.Logf("%d objects of 1 MiB fitted onto %d MiB", large, smallDisk>>20)
	verify(t, c, book)
	for i := range large / 2 {
		deleteNoted(t, c, book, fmt.Sprintf("large/%04d", i))
	}
	worksAgain(t, c, book, "after deletes", 1<<20)

	// From outside and to the last byte, first in the middle of an upload.
	empty := fullDuringUpload(t, s, c, book, d)
	if status, text := (&faulted{t: t, s: s}).health(); status != http.StatusOK || !strings.Contains(text, "The disk is full") {
		t.Errorf("/readyz on a full disk says %d %s", status, text)
	}
	if n := fillUntilRefused(t, c, book, "inline", 100_000); n > 0 {
		t.Logf("%d objects of 100 kB fitted into the journal after another program had filled the disk", n)
	}
	verify(t, c, book)
	deleteNoted(t, c, book, fmt.Sprintf("large/%04d", large-1))
	verify(t, c, book)
	s.kill()
	empty()
	s.restart()
	verify(t, c, book)
	worksAgain(t, c, book, "after the restart", 1<<20)
	verify(t, c, book)
	if begun, failed := s.log.count("puts are refused"), s.log.count("level=ERROR msg=\"s3 request\""); begun == 0 || begun > 8 || failed > 0 {
		t.Errorf("the log says %d times that the disk is full, and %d times that a request failed", begun, failed)
	}
}

// fullDuringUpload lets another program fill the disk while a body is on its
// way: the upload is refused, the old object stays, no file stays behind. It
// returns what empties the disk again.
func fullDuringUpload(t *testing.T, s *server, c *s3Client, book *ledger, d *disk) (empty func()) {
	t.Helper()
	const size = 12 << 20
	files := len(blobFiles(t, s.dir))
	target := "/" + crashBucket + "/" + book.standing()[0]
	body := newGate(payload("cut off", 0, size), size/4)
	done := make(chan answer, 1)
	go func() {
		a, err := c.try(t.Context(), http.MethodPut, target, body, size)
		if err != nil {
			t.Error(err)
		}
		done <- a
	}()
	<-body.half
	await(t, "the upload's file", wireWithin, func() bool { return len(blobFiles(t, s.dir)) > files })
	first := d.fill()
	close(body.rest)
	if a := <-done; a.code != "InsufficientStorage" {
		t.Errorf("an upload during which the disk became full: %v", a)
	}
	await(t, "the refused upload's file to go", wireWithin, func() bool { return len(blobFiles(t, s.dir)) == files })
	verify(t, c, book)
	second := d.fill() // what the refused upload gave back
	return func() { first(); second() }
}

// fillUntilRefused puts objects until one is refused, which must be for want
// of space, and returns how many were taken.
func fillUntilRefused(t *testing.T, c *s3Client, book *ledger, prefix string, size int64) int {
	t.Helper()
	for i := range smallDisk / int(size) {
		key := fmt.Sprintf("%s/%04d", prefix, i)
		want := state{version: 1, size: size}
		book.intend(key, want)
		a := c.do(http.MethodPut, "/"+crashBucket+"/"+key, crashBody(key, want))
		if a.status == http.StatusOK {
			book.ack(key)
			continue
		}
		book.refused(key)
		if a.status != http.StatusInsufficientStorage || a.code != "InsufficientStorage" {
			t.Fatalf("put on the full disk: %v", a)
		}
		return i
	}
	t.Fatal("the disk does not become full")
	return 0
}

func deleteNoted(t *testing.T, c *s3Client, book *ledger, key string) {
	t.Helper()
	book.intend(key, state{})
	c.must(http.StatusNoContent, http.MethodDelete, "/"+crashBucket+"/"+key, nil)
	book.ack(key)
}

// worksAgain waits until a put is taken: the space of deleted objects comes
// back in the background.
func worksAgain(t *testing.T, c *s3Client, book *ledger, key string, size int64) {
	t.Helper()
	await(t, "puts to work again "+key, wireWithin, func() bool {
		name := "again/" + fmt.Sprintf("%x", key)
		want := state{version: 1, size: size}
		book.intend(name, want)
		if c.do(http.MethodPut, "/"+crashBucket+"/"+name, crashBody(name, want)).status != http.StatusOK {
			book.refused(name)
			return false
		}
		book.ack(name)
		return true
	})
}
