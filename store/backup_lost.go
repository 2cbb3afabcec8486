package store

import (
	"context"
	"fmt"
	"io/fs"

	"larder/fault"
)

// A data folder that was copied while Larder ran (rsync, cp) may hold the record
// of a large body without its blob: the folder blobs/ was copied first, and the
// body came later. Only then are blobs missing without damage, so only then is
// every one of them looked for.

// judgeCopy says what is wrong with a copied folder; err is what its opening came
// to. A copy may lack segments too: a compaction replaced them while the others
// were copied.
func (s *Store) judgeCopy(ctx context.Context, err error) error {
	if err == nil {
		return s.refuseLost(ctx)
	}
	if fault.CodeOf(err) != fault.Corrupt {
		return err
	}
	return fault.New("store.Open", fault.Corrupt, fault.ResourceOf(err), err).WithHint(
		"This data folder was copied while Larder ran, and the journal in the copy does not hold together. " +
			"Copy the folder again (with rsync -a --delete, the original being stopped), or use `larder backup`. " +
			"If the original is gone, this copy cannot be used: restore a backup.")
}

// refuseLost fails with fault.Corrupt when the index names blobs that are not
// there as a whole.
func (s *Store) refuseLost(ctx context.Context) error {
	lost, err := s.lostBodies(ctx)
	if err != nil || len(lost) == 0 {
		return err
	}
	return fault.New("store.Open", fault.Corrupt, s.cfg.BlobDir, fs.ErrNotExist).WithHint(fmt.Sprintf(
		"This data folder was copied while Larder ran, and %d large bodies that the journal names are not in the copy. "+
			"Copy the folder again (with rsync -a --delete, the original being stopped), or use `larder backup`. "+
			"If the original is gone, `larder rebuild-index --drop-lost` names the objects that are lost and removes them; all others are whole.",
		len(lost)))
}

// lostBodies names the bodies whose blobs are not there, or not as a whole.
func (s *Store) lostBodies(ctx context.Context) (map[uint64]bool, error) {
	lost := map[uint64]bool{}
	for after := uint64(0); ; {
		if err := ctx.Err(); err != nil {
			return nil, fault.New("store.Open", fault.Canceled, "", err)
		}
		bodies, err := s.index.Bodies(after, MaxPage)
		if err != nil || len(bodies) == 0 {
			return lost, err
		}
		for _, b := range bodies {
			after = b.Sequence
			if b.Blob != "" && !s.hasWhole(b.Blob, b.BodyLength) {
				lost[b.Sequence] = true
			}
		}
	}
}

func (s *Store) hasWhole(blob string, size int64) bool {
	b, err := s.blobs.Open(blob)
	if err != nil {
		return false
	}
	defer b.Close()
	return b.Size() == size
}

// Lost is an object, or an upload in progress, some bytes of which are not there.
type Lost struct {
	Bucket, Key string
	Upload      string // id, "" for an object
}

// Lost names what needs a blob that is not there. It looks at every object once,
// and is for a store that nobody else uses.
func (s *Store) Lost(ctx context.Context) ([]Lost, error) {
	bodies, err := s.lostBodies(ctx)
	if err != nil || len(bodies) == 0 {
		return nil, err
	}
	buckets, err := s.Buckets(ctx)
	if err != nil {
		return nil, err
	}
	var out []Lost
	for _, b := range buckets {
		objects, err := s.lostObjects(ctx, b.Name, bodies)
		if err != nil {
			return nil, err
		}
		uploads, err := s.lostUploads(ctx, b.Name, bodies)
		if err != nil {
			return nil, err
		}
		out = append(append(out, objects...), uploads...)
	}
	return out, nil
}

func (s *Store) lostObjects(ctx context.Context, bucket string, bodies map[uint64]bool) (out []Lost, err error) {
	for req := (ListRequest{Bucket: bucket, Max: MaxPage}); ; {
		page, err := s.List(ctx, req)
		if err != nil {
			return nil, err
		}
		for _, info := range page.Objects {
			_, e, err := s.find(bucket, info.Key)
			if err != nil {
				return nil, err
			}
			for _, x := range e.extents() {
				if bodies[x.Body] {
					out = append(out, Lost{Bucket: bucket, Key: info.Key})
					break
				}
			}
		}
		if !page.Truncated {
			return out, nil
		}
		req.After = page.Next
	}
}

func (s *Store) lostUploads(ctx context.Context, bucket string, bodies map[uint64]bool) (out []Lost, err error) {
	for req := (UploadsRequest{Bucket: bucket, Max: MaxPage}); ; {
		page, err := s.ListUploads(ctx, req)
		if err != nil {
			return nil, err
		}
		for _, u := range page.Uploads {
			lost, err := s.lostParts(u.ID, bodies)
			if err != nil {
				return nil, err
			}
			if lost {
				out = append(out, Lost{bucket, u.Key, u.ID})
			}
		}
		if !page.Truncated {
			return out, nil
		}
		req.KeyMarker, req.UploadMarker = page.NextKey, page.NextUpload
	}
}

// lostParts tells whether a part of an upload needs one of the bodies.
func (s *Store) lostParts(upload string, bodies map[uint64]bool) (bool, error) {
	for after := 0; ; {
		rows, err := s.index.Parts(upload, after, MaxPage)
		if err != nil || len(rows) == 0 {
			return false, err
		}
		for _, row := range rows {
			_, rec, err := partOf(row)
			if err != nil {
				return false, err
			}
			for _, x := range extentsOf(rec.Extents, row.Sequence, row.Size) {
				if bodies[x.Body] {
					return true, nil
				}
			}
			after = row.Number
		}
	}
}

// Drop removes what Lost has named: the object is deleted, the upload aborted.
func (s *Store) Drop(ctx context.Context, l Lost) error {
	if l.Upload != "" {
		return s.AbortUpload(ctx, l.Bucket, l.Key, l.Upload)
	}
	return s.Delete(ctx, DeleteRequest{Bucket: l.Bucket, Key: l.Key})
}
