package store_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"syscall"
	"testing"

	"larder/fault"
	"larder/store"
	"larder/store/vfs"
)

// ledger is what a client knows: for each key the contents that may stand
// there, "" for none. An acknowledged change leaves one; one that failed adds
// what it would have done, since it may be there wholly or not at all.
type ledger struct {
	may   map[string]map[string]bool
	acked int
}

func (l *ledger) note(err error, key, content string) {
	if err == nil {
		l.may[key] = map[string]bool{content: true}
		l.acked++
		return
	}
	if l.may[key] == nil {
		l.may[key] = map[string]bool{"": true}
	}
	l.may[key][content] = true
}

// verify reads every key of a store on a sound disk.
func (l *ledger) verify(t *testing.T, s *store.Store, when string) {
	t.Helper()
	for key, may := range l.may {
		body, err := tryRead(s, "bucket", key)
		content := "=" + string(body)
		switch fault.CodeOf(err) {
		case fault.OK:
		case fault.NoSuchKey, fault.NoSuchBucket:
			content = ""
		default:
			t.Errorf("%s: get %s: %v", when, key, err)
			continue
		}
		if !may[content] {
			t.Errorf("%s: %s holds %d bytes, allowed are %d contents", when, key, len(body), len(may))
		}
	}
}

// script does a bit of everything, whatever fails, and notes it.
type script struct {
	s      *store.Store
	ledger *ledger
}

func (c *script) put(key string, seed uint64, n int) {
	body := noise(seed, n)
	_, err := c.s.Put(context.Background(), store.PutRequest{Bucket: "bucket", Key: key, Body: bytes.NewReader(body), Size: int64(n)})
	c.ledger.note(err, key, "="+string(body))
}

func (c *script) remove(key string) {
	c.ledger.note(c.s.Delete(context.Background(), store.DeleteRequest{Bucket: "bucket", Key: key}), key, "")
}

func (c *script) copy(from, to string) {
	body, err := tryRead(c.s, "bucket", from)
	if err != nil {
		return
	}
	_, err = c.s.Copy(context.Background(), store.CopyRequest{SourceBucket: "bucket", SourceKey: from, Bucket: "bucket", Key: to})
	c.ledger.note(err, to, "="+string(body))
}

// upload completes an upload of two parts, of which one is a copy of from, and
// leaves out a third.
func (c *script) upload(key, from string, seed uint64, n int) {
	ctx := context.Background()
	u, err := c.s.CreateUpload(ctx, store.UploadRequest{Bucket: "bucket", Key: key})
	if err != nil {
		return
	}
	own := noise(seed, n)
	p1, err1 := c.s.PutPart(ctx, store.PartRequest{Bucket: "bucket", Key: key, UploadID: u.ID, Number: 1, Body: bytes.NewReader(own), Size: int64(n)})
	_, _ = c.s.PutPart(ctx, store.PartRequest{Bucket: "bucket", Key: key, UploadID: u.ID, Number: 2, Body: bytes.NewReader(own[1:]), Size: -1})
	shared, err2 := tryRead(c.s, "bucket", from)
	p3, err3 := c.s.CopyPart(ctx, store.CopyPartRequest{Bucket: "bucket", Key: key, UploadID: u.ID, Number: 3, SourceBucket: "bucket", SourceKey: from, Length: -1})
	if err1 != nil || err2 != nil || err3 != nil {
		_ = c.s.AbortUpload(ctx, "bucket", key, u.ID)
		return
	}
	_, err = c.s.CompleteUpload(ctx, store.CompleteRequest{Bucket: "bucket", Key: key, UploadID: u.ID, Size: -1,
		Parts: []store.CompletePart{{Number: 1, ETag: p1.ETag}, {Number: 3, ETag: p3.ETag}}})
	c.ledger.note(err, key, "="+string(own)+string(shared))
}

func (c *script) run() {
	ctx := context.Background()
	_, _ = c.s.CreateBucket(ctx, "bucket")
	_, _ = c.s.CreateBucket(ctx, "other")
	c.put("inline", 1, 50)
	c.put("blob", 2, 5000)
	c.put("rolls", 3, 6000) // inline and blobs alternate over a segment's border
	c.put("inline", 4, 60)
	c.copy("blob", "copy")
	c.put("blob", 5, 400)
	c.upload("multi", "copy", 6, 300)
	c.remove("inline")
	c.upload("copy", "multi", 7, 20)
	_ = c.s.DeleteBucket(ctx, "other")
	for i := range 4 {
		c.put(fmt.Sprint("fill", i), uint64(10+i), 64)
	}
	c.remove("multi")
	c.put("last", 8, 63)
}

// openFaulty opens a store whose file systems follow one plan.
func openFaulty(dir string, p *plan) (*store.Store, error) { return openTwoFaulty(dir, "", p, p) }

// openTwoFaulty opens a store whose blobs lie elsewhere, with a plan for each of
// its file systems.
func openTwoFaulty(dir, blobDir string, data, blobs *plan) (*store.Store, error) {
	plans := []*plan{data, blobs} // in the order in which they are opened
	s, err := store.OpenOn(context.Background(), store.Config{Dir: dir, BlobDir: blobDir, SegmentSize: 4 << 10, InlineLimit: 64},
		func(f vfs.FS) vfs.FS {
			p := plans[0]
			plans = plans[1:]
			return faulty{f, p}
		})
	if err == nil {
		s.AllowSmallParts()
	}
	return s, err
}

// TestEveryFault lets each operation on the disk fail in turn, once and for
// ever, while the script runs. Afterwards, and after a restart on a sound disk,
// what was acknowledged is there and the rest is wholly there or not at all.
func TestEveryFault(t *testing.T) {
	t.Parallel()
	whole := &plan{}
	faultRun(t, "sound", whole)
	stride := 7 // with seven kinds that begin at different operations, each is hit
	if testing.Short() {
		stride = 20
	}
	kinds := map[string]*plan{
		"EIO once": {err: syscall.EIO}, "EIO for ever": {err: syscall.EIO, forever: true},
		"ENOSPC once": {err: syscall.ENOSPC}, "ENOSPC for ever": {err: syscall.ENOSPC, forever: true},
		"EMFILE once": {err: syscall.EMFILE}, "EDQUOT once": {err: syscall.EDQUOT}, "EROFS for ever": {err: syscall.EROFS, forever: true},
	}
	for i, name := range slices.Sorted(maps.Keys(kinds)) {
		kind := kinds[name]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for n := 1 + i; n <= whole.count && !t.Failed(); n += stride {
				faultRun(t, fmt.Sprintf("%s at operation %d", name, n), &plan{at: n, err: kind.err, forever: kind.forever})
			}
		})
	}
}

// passes tells whether the fault is one after which writing goes on: no space
// or no descriptors, and not at a sync.
func (p *plan) passes() bool {
	if p.err == syscall.EIO || p.err == syscall.EROFS || p.forever {
		return false
	}
	switch p.hit {
	case vfs.OpCreate, vfs.OpMkdir, vfs.OpPreallocate, vfs.OpWrite, vfs.OpOpen, vfs.OpRead:
		return true
	case vfs.OpSyncDir: // a folder that could not be opened
		return p.err == syscall.EMFILE
	}
	return false
}

// TestEveryFaultOfOneDisk is TestEveryFault for a store on two file systems of
// which one fails.
func TestEveryFaultOfOneDisk(t *testing.T) {
	t.Parallel()
	kinds := []plan{
		{err: syscall.EIO, forever: true}, {err: syscall.ENOSPC, forever: true}, {err: syscall.EROFS, forever: true},
		{err: syscall.EIO}, {err: syscall.EMFILE}, {err: syscall.EDQUOT},
	}
	for _, which := range []string{"data", "blobs"} {
		t.Run(which, func(t *testing.T) {
			t.Parallel()
			open := func(dir string, p *plan) (*store.Store, error) {
				data, blobs := p, &plan{}
				if which == "blobs" {
					data, blobs = blobs, data
				}
				if err := os.MkdirAll(dir+"/data", 0o700); err != nil {
					return nil, err
				}
				return openTwoFaulty(dir+"/data", dir, data, blobs)
			}
			whole := &plan{}
			faultRunOn(t, "sound", whole, open)
			for i := range kinds {
				for n := 1 + i; n <= whole.count && !t.Failed(); n += 25 {
					p := &plan{at: n, err: kinds[i].err, forever: kinds[i].forever}
					faultRunOn(t, fmt.Sprintf("%v (for ever: %v) at operation %d", p.err, p.forever, n), p, open)
				}
			}
		})
	}
}

func faultRun(t *testing.T, name string, p *plan) {
	t.Helper()
	faultRunOn(t, name, p, openFaulty)
}

func faultRunOn(t *testing.T, name string, p *plan, open func(dir string, p *plan) (*store.Store, error)) {
	t.Helper()
	dir := t.TempDir()
	l := &ledger{may: map[string]map[string]bool{}}
	s, err := open(dir, p)
	if err == nil {
		(&script{s, l}).run()
		p.heal()
		l.verify(t, s, name+", live")
		switch {
		case p.hit == vfs.OpRemove, p.forever && s.Stats().ReadOnly == "": // a freed blob may still be there: the next start removes it
		case s.Stats().ReadOnly == "":
			check(t, s)
		case p.passes():
			t.Errorf("%s: the store is read-only", name)
		}
		_ = s.Close()
	}
	p.heal()
	again, err := open(dir, &plan{})
	if err != nil {
		t.Errorf("%s: the store does not open: %v", name, err)
		return
	}
	l.verify(t, again, name+", restarted")
	check(t, again)
	if err := again.Close(); err != nil {
		t.Error(name, err)
	}
	if p.at == 0 && name == "sound" && l.acked != 15 {
		t.Errorf("on a sound disk %d changes of 15 succeed", l.acked)
	}
}
