package store

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"

	"larder/fault"
	"larder/store/index"
	"larder/store/journal"
	"larder/store/vfs"
)

// Picture is the store as it was at one moment, for copying while it goes on:
// the files that hold every change up to Sequence, and none after it. Until
// Close none of them is removed, so space that is freed meanwhile comes back
// only then.
type Picture struct {
	StoreID  string // as in VERSION
	Sequence uint64 // of the last change in the picture
	Segments []PictureFile

	store  *Store
	pinned uint64
	closed bool
}

// PictureFile is a file of a picture. Its first Size bytes never change; what
// stands behind them does not belong to the picture.
type PictureFile struct {
	Name  string // below the data folder, or for blobs below the blob folder
	Size  int64
	Whole bool // the file ends there and never grows
}

// Picture takes a picture. It costs next to nothing and holds nobody up.
func (s *Store) Picture(ctx context.Context) (*Picture, error) {
	if s.closed.Load() {
		return nil, shuttingDown()
	}
	id, err := s.readIdentity(versionFile)
	if err != nil {
		return nil, err
	}
	p := &Picture{StoreID: hex.EncodeToString(id[:]), store: s, pinned: s.reclaimer.pin()}
	if err := p.frame(ctx); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// frame chooses segments and moment, in this order: a compacted segment lacks
// what had been replaced when it was made, so the picture must hold the records
// that replaced it. When the head is another one at the second look, they do not
// fit, and it looks again.
func (p *Picture) frame(ctx context.Context) error {
	const op, tries = "store.Picture", 100
	for range tries {
		if err := ctx.Err(); err != nil {
			return fault.New(op, fault.Canceled, "", err)
		}
		segments := p.store.journal.Segments()
		at := p.store.index.Applied()
		if files, ok := pictureOf(segments, at); ok {
			p.Sequence, p.Segments = at.Sequence, files
			return nil
		}
	}
	return fault.New(op, fault.Internal, "", errors.New("the segments do not fit the index"))
}

// pictureOf names the segments with the records up to a position, in order. The
// one that the position lies in counts up to there.
func pictureOf(segments []journal.Segment, at index.Position) (files []PictureFile, ok bool) {
	for _, seg := range segments {
		f := PictureFile{Name: segmentName(seg.Number), Size: seg.Size, Whole: !seg.Head}
		switch {
		case seg.First > at.Sequence+1:
			return files, len(files) > 0
		case seg.First == at.Sequence+1: // none of its records yet
			f.Size, f.Whole = segmentHeaderBytes, false
		case seg.Head || seg.Last > at.Sequence:
			if seg.Number != at.Segment {
				return nil, false
			}
			f.Size, f.Whole = at.Offset, false
		}
		files = append(files, f)
	}
	return files, true
}

// segmentHeaderBytes is how long a segment without records is, docs/format.md.
const segmentHeaderBytes = 64

func segmentName(number uint64) string { return fmt.Sprintf("%s/%010d.seg", segmentsDir, number) }

// Blobs calls fn for every blob of the picture and perhaps for later ones, in
// order of their names. It stops with fn's error, or ctx's.
func (p *Picture) Blobs(ctx context.Context, fn func(PictureFile) error) error {
	s := p.store
	return s.blobs.Walk(ctx, func(id string, size int64) error {
		if s.blobs.Pending(id) {
			named, err := s.index.HasBlob(id)
			if err != nil || !named {
				return err // its record comes after the picture
			}
		}
		return fn(PictureFile{Name: blobName(id), Size: size, Whole: true})
	})
}

func blobName(id string) string { return blobsDir + "/" + id[:2] + "/" + id[2:4] + "/" + id }

// Open opens a file of the picture. A blob that was freed before the picture was
// taken may be gone: fs.ErrNotExist.
func (p *Picture) Open(f PictureFile) (vfs.File, error) {
	files := p.store.fs
	if len(f.Name) > len(blobsDir) && f.Name[:len(blobsDir)+1] == blobsDir+"/" {
		files = p.store.blobFS
	}
	file, err := files.Open(f.Name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err != nil {
		return nil, fault.New("store.Picture", vfs.CodeOfRead(err), f.Name, err)
	}
	return file, nil
}

// Close lets go of the files. It may be called twice.
func (p *Picture) Close() {
	if !p.closed {
		p.closed = true
		p.store.reclaimer.unpin(p.pinned)
	}
}
