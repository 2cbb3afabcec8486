package store

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"

	"larder/fault"
	"larder/store/blob"
	"larder/store/index"
	"larder/store/vfs"
)

// windowSize is how much of a blob is verified before it is sent: a multiple
// of the chunk size, small enough to be still in the page cache then.
const windowSize = 1 << 20

// windows lends the buffers of bodies on their way out.
var windows = sync.Pool{New: func() any { b := make([]byte, windowSize); return &b }}

// Object is an open object version. It stays readable, whole, while it is
// overwritten or deleted. It is used by one goroutine at a time.
type Object struct {
	store  *Store
	info   Info
	pieces []piece // held at the reclaimer until Close
	closed bool
	trust  bool // the bucket wants its blobs sent unverified
}

// Head describes the current version of a key. It usually runs no SQL.
func (s *Store) Head(_ context.Context, bucket, key string) (Info, error) {
	_, e, err := s.find(bucket, key)
	if err != nil {
		return Info{}, err
	}
	return infoOf(bucket, e.row, e.rec), nil
}

// find looks a key up, or fails with fault.NoSuchBucket or fault.NoSuchKey.
func (s *Store) find(bucket, key string) (Bucket, *entry, error) {
	b, err := s.bucket(bucket)
	if err != nil {
		return b, nil, err
	}
	e, err := s.lookup(b.ID, key)
	if err == nil && e == nil {
		err = noSuchKey(bucket, key)
	}
	return b, e, err
}

func noSuchKey(bucket, key string) error {
	return fault.New("store.Get", fault.NoSuchKey, bucket+"/"+key, nil)
}

// Get opens the current version of a key. The caller closes it.
func (s *Store) Get(_ context.Context, bucket, key string) (*Object, error) {
	pinned := s.reclaimer.pin()
	defer s.reclaimer.unpin(pinned)
	e, pieces, err := s.resolve(bucket, key)
	if err != nil {
		return nil, err
	}
	b, err := s.bucket(bucket)
	if err != nil {
		return nil, err
	}
	s.reclaimer.hold(pieces)
	return &Object{store: s, info: infoOf(bucket, e.row, e.rec), pieces: pieces, trust: b.Settings.UnverifiedReads}, nil
}

// Info describes the version.
func (o *Object) Info() Info { return o.info }

// Close lets the version's space be reclaimed. It may be called twice.
func (o *Object) Close() error {
	if !o.closed {
		o.closed = true
		o.store.reclaimer.release(o.pieces)
	}
	return nil
}

// CopyRange writes n bytes from offset off to w and returns how many. Every
// byte is verified against its checksum before it is written, unless the
// bucket's settings spare blobs that: on a mismatch it stops with
// fault.Corrupt, and w has got less than n bytes. When w fails, or
// ctx ends, it is fault.Canceled; a range that is not within the object is
// fault.InvalidRange. A w that has ReadFrom, as a TCP connection has, gets large
// bodies by sendfile.
func (o *Object) CopyRange(ctx context.Context, w io.Writer, off, n int64) (int64, error) {
	const op = "store.Get"
	if off < 0 || n < 0 || off > o.info.Size || n > o.info.Size-off {
		return 0, fault.New(op, fault.InvalidRange, o.info.Bucket+"/"+o.info.Key, nil)
	}
	if o.store.closed.Load() {
		return 0, shuttingDown()
	}
	var done int64
	start := int64(0)
	for _, p := range o.pieces {
		end := start + p.extent.Length
		from, to := max(off, start), min(off+n, end)
		if from < to {
			c, err := o.store.copyPiece(ctx, w, p, span{from - start, to - from}, o.trust)
			done += c
			if err != nil {
				return done, err
			}
		}
		start = end
	}
	if done < n {
		return done, fault.New(op, fault.Corrupt, o.info.Bucket+"/"+o.info.Key, io.ErrUnexpectedEOF)
	}
	return done, nil
}

// writeTo writes verified bytes to a client.
func writeTo(w io.Writer, p []byte) (int64, error) {
	n, err := w.Write(p)
	return int64(n), clientFault(err)
}

// clientFault is an error of the writer that CopyRange was given: the client
// went away, unless the writer has its own verdict.
func clientFault(err error) error {
	var f *fault.Error
	if err == nil || errors.As(err, &f) {
		return err
	}
	return fault.New("store.Get", fault.Canceled, "", err)
}

// span is a range of a body.
type span struct{ off, n int64 }

// copyBlob writes a range of a blob, verified unless trust is set.
func (s *Store) copyBlob(ctx context.Context, w io.Writer, body index.Body, r span, trust bool) (int64, error) {
	b, err := s.blobs.Open(body.Blob)
	if err != nil {
		return 0, err
	}
	defer b.Close()
	if b.Size() != body.BodyLength {
		return 0, fault.New("store.Get", fault.Corrupt, body.Blob, nil).WithHint("The blob is not as long as the index says.")
	}
	buf := windows.Get().(*[]byte)
	defer windows.Put(buf)
	copyNext := copyWindow
	if trust {
		copyNext = copyUnverified
	}
	var done int64
	for done < r.n {
		if err := ctx.Err(); err != nil {
			return done, fault.New("store.Get", fault.Canceled, "", err)
		}
		c, err := copyNext(w, b, *buf, r.off+done, r.n-done)
		done += c
		if err != nil {
			return done, err
		}
	}
	return done, nil
}

// copyWindow verifies the window that off lies in and writes what is wanted of
// it, at most n bytes.
func copyWindow(w io.Writer, b *blob.Body, buf []byte, off, n int64) (int64, error) {
	start := off - off%windowSize
	end := min(start+windowSize, b.Size())
	if err := readWindow(b, buf[:end-start], start); err != nil {
		return 0, err
	}
	n = min(n, end-off)
	if rf, ok := w.(io.ReaderFrom); ok {
		if f, ok := b.File().(vfs.OSFile); ok {
			return sendfile(rf, f.OSFile(), off, n)
		}
	}
	return writeTo(w, buf[off-start:off-start+n])
}

// trustedSize is how much is sent unverified before the request's end is asked
// for again.
const trustedSize = 16 << 20

// copyUnverified writes at most n bytes as they lie on the disk.
func copyUnverified(w io.Writer, b *blob.Body, buf []byte, off, n int64) (int64, error) {
	if rf, ok := w.(io.ReaderFrom); ok {
		if f, ok := b.File().(vfs.OSFile); ok {
			return sendfile(rf, f.OSFile(), off, min(n, trustedSize))
		}
	}
	buf = buf[:min(n, int64(len(buf)))]
	if c, err := b.File().ReadAt(buf, off); c < len(buf) {
		return 0, fault.New("store.Get", vfs.CodeOfRead(err), "", err)
	}
	return writeTo(w, buf)
}

func readWindow(b *blob.Body, p []byte, off int64) error {
	n, err := b.ReadVerified(p, off)
	if err == io.EOF && n == len(p) {
		err = nil
	}
	if err == nil && n < len(p) {
		err = fault.New("store.Get", fault.Corrupt, "", io.ErrUnexpectedEOF)
	}
	return err
}

// sendfile hands verified bytes from the page cache to a connection. The file
// is this reader's own, so its offset is free to move.
func sendfile(w io.ReaderFrom, f *os.File, off, n int64) (int64, error) {
	if _, err := f.Seek(off, io.SeekStart); err != nil {
		return 0, fault.New("store.Get", fault.Internal, "", err)
	}
	sent, err := w.ReadFrom(&io.LimitedReader{R: f, N: n})
	err = clientFault(err)
	if err == nil && sent < n {
		err = fault.New("store.Get", fault.Corrupt, "", io.ErrUnexpectedEOF)
	}
	return sent, err
}
