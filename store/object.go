package store

import (
	"context"
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
	pieces []piece
	pinned uint64
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
	b, err := s.buckets.get(bucket)
	if err != nil {
		return b, nil, err
	}
	e, err := s.lookup(b.ID, key)
	if err == nil && e == nil {
		err = fault.New("store.Get", fault.NoSuchKey, bucket+"/"+key, nil)
	}
	return b, e, err
}

// Get opens the current version of a key. The caller closes it.
func (s *Store) Get(_ context.Context, bucket, key string) (*Object, error) {
	o := &Object{store: s, pinned: s.reclaimer.pin()}
	if err := s.openObject(o, bucket, key); err != nil {
		o.Close()
		return nil, err
	}
	return o, nil
}

// openObject resolves a version's extents. A version that was replaced between
// the look-up of its row and that of its bodies is looked up again.
func (s *Store) openObject(o *Object, bucket, key string) error {
	for {
		_, e, err := s.find(bucket, key)
		if err != nil {
			return err
		}
		o.info = infoOf(bucket, e.row, e.rec)
		o.pieces, err = s.pieces(e)
		if err != nil {
			return err
		}
		if o.pieces != nil {
			return nil
		}
		_, again, err := s.find(bucket, key)
		if err != nil {
			return err
		}
		if again.row.Sequence == e.row.Sequence {
			return fault.New("store.Get", fault.Corrupt, bucket+"/"+key, nil).
				WithHint("The index does not know where this object's bytes are.")
		}
	}
}

// pieces finds where a version's bytes lie, or nil when a body is not there
// (any more).
func (s *Store) pieces(e *entry) ([]piece, error) {
	extents := e.extents()
	if len(extents) != 1 {
		return s.manyPieces(extents)
	}
	if b := e.body.Load(); b != nil {
		return []piece{{extents[0], *b}}, nil
	}
	b, found, err := s.index.Body(extents[0].Body)
	if err != nil || !found {
		return nil, err
	}
	e.body.Store(&b)
	return []piece{{extents[0], b}}, nil
}

func (s *Store) manyPieces(extents []journal.Extent) ([]piece, error) {
	found := make(map[uint64]index.Body, len(extents))
	sequences := make([]uint64, 0, len(extents))
	for _, e := range extents {
		if _, ok := found[e.Body]; !ok {
			found[e.Body] = index.Body{}
			sequences = append(sequences, e.Body)
		}
	}
	list, err := s.index.Bodies(sequences)
	if fault.CodeOf(err) == fault.Corrupt {
		return nil, nil // not all are there: the caller finds out why
	}
	if err != nil {
		return nil, err
	}
	for _, b := range list {
		found[b.Sequence] = b
	}
	pieces := make([]piece, len(extents))
	for i, e := range extents {
		pieces[i] = piece{e, found[e.Body]}
	}
	return pieces, nil
}

// Info describes the version.
func (o *Object) Info() Info { return o.info }

// Close lets the version's space be reclaimed. It may be called twice.
func (o *Object) Close() error {
	if !o.closed {
		o.closed = true
		o.store.reclaimer.unpin(o.pinned)
	}
	return nil
}

// CopyRange writes n bytes from offset off to w and returns how many. Every
// byte is verified against its checksum before it is written: on a mismatch it
// stops with fault.Corrupt, and w has got less than n bytes. A w that has
// ReadFrom, as a TCP connection has, gets large bodies by sendfile.
func (o *Object) CopyRange(ctx context.Context, w io.Writer, off, n int64) (int64, error) {
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
	return done, nil
}

// copyPiece writes n bytes of a piece, from offset off within its extent.
func (s *Store) copyPiece(ctx context.Context, w io.Writer, p piece, off, n int64) (int64, error) {
	off += p.extent.Offset
	if p.body.Blob != "" {
		return s.copyBlob(ctx, w, p.body.Blob, off, n)
	}
	buf := windows.Get().(*[]byte)
	defer windows.Put(buf)
	body, err := s.journal.ReadBody(locationOf(p.body), *buf)
	if err != nil {
		return 0, err
	}
	written, err := w.Write(body[off : off+n])
	return int64(written), err
}

func locationOf(b index.Body) journal.Location {
	return journal.Location{
		Segment: b.Segment, Offset: b.Offset, Length: b.Length,
		BodyOffset: b.BodyOffset, BodyLength: b.BodyLength, Sequence: b.Sequence,
	}
}

func (s *Store) copyBlob(ctx context.Context, w io.Writer, id string, off, n int64) (int64, error) {
	b, err := s.blobs.Open(id)
	if err != nil {
		return 0, err
	}
	defer b.Close()
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
	written, err := w.Write(buf[off-start : off-start+n])
	return int64(written), err
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
	if err == nil && sent < n {
		err = fault.New("store.Get", fault.Corrupt, "", io.ErrUnexpectedEOF)
	}
	return sent, err
}
