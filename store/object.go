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
	"larder/store/journal"
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
}

// piece is one extent and where its body lies.
type piece struct {
	extent journal.Extent
	body   index.Body
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
	s.reclaimer.hold(pieces)
	return &Object{store: s, info: infoOf(bucket, e.row, e.rec), pieces: pieces}, nil
}

// resolve finds the current version of a key and where its bytes are. A version
// that is replaced between the look-up of its row and that of its bodies is
// looked up again.
func (s *Store) resolve(bucket, key string) (*entry, []piece, error) {
	b, e, err := s.find(bucket, key)
	for err == nil {
		var pieces []piece
		pieces, err = s.pieces(e)
		if err != nil || pieces != nil {
			return e, pieces, err
		}
		e, err = s.successor(b, key, e)
	}
	return nil, nil, err
}

// successor finds what took the place of a version whose body is gone. It asks
// the index, which a batch alters before the row cache.
func (s *Store) successor(b Bucket, key string, gone *entry) (*entry, error) {
	row, found, err := s.index.Row(b.ID, key)
	switch {
	case err != nil:
		return nil, err
	case !found:
		return nil, noSuchKey(b.Name, key)
	case row.Sequence == gone.row.Sequence:
		return nil, fault.New("store.Get", fault.Corrupt, b.Name+"/"+key, nil).
			WithHint("The index does not know where this object's bytes are.")
	}
	return newEntry(row)
}

// pieces finds where a version's bytes lie, or nil when a body is not there
// (any more). Nobody alters what it returns.
func (s *Store) pieces(e *entry) ([]piece, error) {
	if p := e.pieces.Load(); p != nil {
		return *p, nil
	}
	pieces, err := s.findPieces(e.extents())
	if err != nil || pieces == nil {
		return nil, err
	}
	e.pieces.Store(&pieces)
	return pieces, nil
}

// findPieces asks for one body at a time, each once. It returns nil when one is
// missing: the version was replaced meanwhile.
func (s *Store) findPieces(extents []journal.Extent) ([]piece, error) {
	known := make(map[uint64]index.Body, len(extents))
	pieces := make([]piece, len(extents))
	for i, e := range extents {
		b, ok := known[e.Body]
		if !ok {
			var err error
			if b, ok, err = s.index.Body(e.Body); err != nil || !ok {
				return nil, err
			}
			known[e.Body] = b
		}
		pieces[i] = piece{e, b}
	}
	return pieces, nil
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
// byte is verified against its checksum before it is written: on a mismatch it
// stops with fault.Corrupt, and w has got less than n bytes. When w fails, or
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
			c, err := o.store.copyPiece(ctx, w, p, from-start, to-from)
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

// copyPiece writes n bytes of a piece, from offset off within its extent.
func (s *Store) copyPiece(ctx context.Context, w io.Writer, p piece, off, n int64) (int64, error) {
	if err := ctx.Err(); err != nil {
		return 0, fault.New("store.Get", fault.Canceled, "", err)
	}
	off += p.extent.Offset
	if off+n > p.body.BodyLength {
		return 0, fault.New("store.Get", fault.Corrupt, "", io.ErrUnexpectedEOF)
	}
	if p.body.Blob != "" {
		return s.copyBlob(ctx, w, p.body, off, n)
	}
	buf := windows.Get().(*[]byte)
	defer windows.Put(buf)
	body, err := s.journal.ReadBody(locationOf(p.body), *buf)
	if err != nil {
		return 0, err
	}
	return writeTo(w, body[off:off+n])
}

func locationOf(b index.Body) journal.Location {
	return journal.Location{
		Segment: b.Segment, Offset: b.Offset, Length: b.Length,
		BodyOffset: b.BodyOffset, BodyLength: b.BodyLength, Sequence: b.Sequence,
	}
}

func (s *Store) copyBlob(ctx context.Context, w io.Writer, body index.Body, off, n int64) (int64, error) {
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
	var done int64
	for done < n {
		if err := ctx.Err(); err != nil {
			return done, fault.New("store.Get", fault.Canceled, "", err)
		}
		c, err := copyWindow(w, b, *buf, off+done, n-done)
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
