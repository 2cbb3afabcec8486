package e2e_test

import (
	"bytes"
	"context"
	"encoding/xml"
	"fmt"
	"net/http"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
)

const (
	hoardSegment = 1 << 20 // bytes of a segment, so that there are many
	hoardReaders = 4
)

// hoard is a store with something of every kind in it, and the book of what
// stands there. Everything is in the bucket of the crash tests.
type hoard struct {
	t     *testing.T
	c     *s3Client
	book  *ledger
	stale []byte // the file of a blob whose object was overwritten
}

// hoardSetup is a server with small segments.
func hoardSetup(dir string) setup {
	return setup{dir: dir, env: []string{fmt.Sprint("LARDER_SEGMENT_SIZE=", hoardSegment)}}
}

// fillHoard stores objects inline and as blobs, empty ones, many of one size,
// overwritten, deleted and copied ones, one of parts, and an upload that is not
// complete.
func fillHoard(t *testing.T, s *server, inline, blobs int) *hoard {
	t.Helper()
	h := &hoard{t: t, c: s.client(), book: newLedger()}
	h.c.must(http.StatusOK, http.MethodPut, "/"+crashBucket, nil)
	sizes := []int64{0, 1, 900, 4096, 900, 20_003, 65_536, 65_537, 131_072}
	h.each(inline, func(i int) { h.put(fmt.Sprintf("inline/%04d", i), sizes[i%len(sizes)]) })
	h.put("blob/0000", 131_073)
	h.stale = h.onlyBlob(s.dir)
	sizes = []int64{131_073, 200_000, 200_000, 262_144, 300_001, 500_000}
	h.each(blobs, func(i int) { h.put(fmt.Sprintf("blob/%04d", i), sizes[i%len(sizes)]) })
	h.each(inline/20, func(i int) { h.put(fmt.Sprintf("inline/%04d", i*11), 900) })
	h.each(10, func(i int) { h.put(fmt.Sprintf("gone/%04d", i), 700) })
	for i := range 10 {
		deleteNoted(t, h.c, h.book, fmt.Sprintf("gone/%04d", i))
	}
	h.multipart("parts/0000", 5<<20+300_000)
	a := h.c.must(http.StatusOK, http.MethodPost, "/"+crashBucket+"/parts/open?uploads=", nil)
	h.c.must(http.StatusOK, http.MethodPut, "/"+crashBucket+"/parts/open?partNumber=1&uploadId="+uploadID(t, a), payloadBytes("open", 1, 150_000))
	if t.Failed() {
		t.FailNow()
	}
	return h
}

func uploadID(t *testing.T, a answer) string {
	t.Helper()
	var started struct {
		UploadID string `xml:"UploadId"`
	}
	if err := xml.Unmarshal(a.body, &started); err != nil {
		t.Fatal(err)
	}
	return started.UploadID
}

// onlyBlob reads the one blob that there is so far.
func (h *hoard) onlyBlob(dir string) []byte {
	h.t.Helper()
	files := blobFiles(h.t, dir)
	if len(files) != 1 {
		h.t.Fatalf("%d blobs after the first one", len(files))
	}
	b, err := os.ReadFile(files[0])
	if err != nil {
		h.t.Fatal(err)
	}
	return b
}

// each calls act for 0 to n-1, several at once.
func (h *hoard) each(n int, act func(i int)) {
	h.t.Helper()
	var next atomic.Int64
	atOnce(hoardReaders, func(int) error {
		for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
			act(i)
		}
		return nil
	})
}

// put stores the next version of a key.
func (h *hoard) put(key string, size int64) {
	next := state{version: h.book.stateOf(key).version + 1, size: size}
	h.store(key, next)
}

// again stores the content that stands under a key once more.
func (h *hoard) again(key string) { h.store(key, h.book.stateOf(key)) }

func (h *hoard) store(key string, s state) {
	h.book.intend(key, s)
	a, err := h.c.try(h.t.Context(), http.MethodPut, "/"+crashBucket+"/"+key, s.body(key), 0)
	if err != nil || a.status != http.StatusOK {
		h.t.Errorf("put %s: %v, %v", key, a, err)
		h.book.refused(key)
		return
	}
	h.book.ack(key)
}

// multipart stores an object in two parts.
func (h *hoard) multipart(key string, size int64) {
	h.t.Helper()
	h.book.intend(key, state{version: 1, size: size})
	target, body := "/"+crashBucket+"/"+key, payloadBytes(key, 1, size)
	id := uploadID(h.t, h.c.must(http.StatusOK, http.MethodPost, target+"?uploads=", nil))
	var etags []string
	for i, part := range [][]byte{body[:5<<20], body[5<<20:]} {
		a := h.c.must(http.StatusOK, http.MethodPut, fmt.Sprintf("%s?partNumber=%d&uploadId=%s", target, i+1, id), part)
		etags = append(etags, a.header.Get("ETag"))
	}
	h.c.must(http.StatusOK, http.MethodPost, target+"?uploadId="+id, completeXML(etags))
	h.book.ack(key)
}

// copy stores what stands under a key under another one.
func (h *hoard) copy(key, from string) {
	h.t.Helper()
	h.book.intend(key, h.book.stateOf(from).copied(from, h.book.stateOf(key).version+1))
	h.c.must(http.StatusOK, http.MethodPut, "/"+crashBucket+"/"+key, nil, header("X-Amz-Copy-Source", "/"+crashBucket+"/"+from))
	h.book.ack(key)
}

// reading is what clients got who asked for everything.
type reading struct {
	mu                         sync.Mutex
	right                      int
	failed, missing, wrong     []string // keys
	listedMore, listedTooFew   int
	listingFailed, wrongListed bool
}

func (r *reading) note(list *[]string, key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	*list = append(*list, key)
}

func (r *reading) allRight() bool {
	return len(r.failed)+len(r.missing)+len(r.wrong) == 0 && !r.wrongListed && !r.listingFailed
}

func (r *reading) String() string {
	return fmt.Sprintf("%d right, failed %.8v, missing %.8v, wrong %.8v; listing failed %v, %d keys too many, %d too few",
		r.right, r.failed, r.missing, r.wrong, r.listingFailed, r.listedMore, r.listedTooFew)
}

// readAll asks for every key that was ever written to, and for the listing.
// Which keys fail is the caller's to judge; wrong bytes never are.
func (h *hoard) readAll() *reading {
	h.t.Helper()
	r, names := &reading{}, h.book.names()
	h.each(len(names), func(i int) { h.read(r, names[i]) })
	h.list(r)
	slices.Sort(r.failed)
	for _, key := range r.wrong {
		h.t.Errorf("wrong bytes were delivered as a whole answer: %s", key)
	}
	return r
}

// read asks for one key, in whole or, for some, a range.
func (h *hoard) read(r *reading, key string) {
	want := h.book.stateOf(key)
	body, status, edits := want.body(key), http.StatusOK, []edit(nil)
	if size := len(body); size > 1000 && size%2 == 1 {
		from := (size / 3) | 1
		edits = append(edits, header("Range", fmt.Sprintf("bytes=%d-%d", from, size-2)))
		body, status = body[from:size-1], http.StatusPartialContent
	}
	a, err := h.c.try(h.t.Context(), http.MethodGet, "/"+crashBucket+"/"+key, nil, 0, edits...)
	switch {
	case err != nil || a.status >= 500:
		r.note(&r.failed, key)
	case a.status == http.StatusNotFound && want.version > 0:
		r.note(&r.missing, key)
	case a.status == http.StatusNotFound, want.version > 0 && a.status == status && bytes.Equal(a.body, body):
		r.mu.Lock()
		r.right++
		r.mu.Unlock()
	default:
		h.t.Logf("%s: status %d with %d bytes, want %s", key, a.status, len(a.body), want)
		r.note(&r.wrong, key)
	}
}

// list compares the listing with the book.
func (h *hoard) list(r *reading) {
	ctx, cancel := context.WithTimeout(h.t.Context(), readyWithin)
	defer cancel()
	a, err := h.c.try(ctx, http.MethodGet, "/"+crashBucket+"?list-type=2", nil, 0)
	var p page
	if err != nil || a.status != http.StatusOK || xml.Unmarshal(a.body, &p) != nil {
		r.listingFailed = true
		return
	}
	got, _ := p.names()
	want := h.book.standing()
	r.wrongListed = !slices.Equal(got, want)
	for _, key := range got {
		if _, found := slices.BinarySearch(want, key); !found {
			r.listedMore++
		}
	}
	r.listedTooFew = len(want) - (len(got) - r.listedMore)
}
