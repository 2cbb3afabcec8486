package store

import (
	"context"

	"larder/store/index"
	"larder/store/vfs"
)

// view is what the store asks of its index. Package index keeps it in SQLite;
// the crash tests put one in its place that keeps SQLite's promises on a
// simulated disk, where SQLite itself cannot run.
type view interface {
	Begin() (viewTx, error)
	Applied() index.Position
	Damaged() bool
	Checkpoint(index.CheckpointMode) error
	WALSize() (int64, error)
	Sync() error
	Vacuum(pages int) (more bool, err error)
	Verify(context.Context) error
	Close() error

	Row(bucket uint64, key string) (index.Row, bool, error)
	Current(bucket uint64, key string) (index.Row, index.Body, bool, error)
	Body(sequence uint64) (index.Body, bool, error)
	Bodies(after uint64, max int) ([]index.Body, error)
	Segments() ([]uint64, error)
	HasBlob(id string) (bool, error)
	Bucket(id uint64) (index.Bucket, bool, error)
	Buckets() ([]index.Bucket, error)
	Upload(id string) (index.Upload, bool, error)
	Part(upload string, number int) (index.Part, bool, error)
	Parts(upload string, after, max int) ([]index.Part, error)
	List(index.ListQuery) (index.ListPage, error)
	Uploads(index.UploadQuery) (index.UploadPage, error)
}

// viewTx is one change of the view: see index.Tx.
type viewTx interface {
	PutBucket(index.Bucket) error
	DeleteBucket(id uint64) error
	AddBucket(id uint64, objects, bytes, uploads int64) error
	PutRow(index.Row) error
	DeleteRow(bucket uint64, key string) error
	PutBody(index.Body) error
	AddRef(sequence uint64, delta int64, ends bool) (int64, index.Body, error)
	DeleteBody(sequence uint64) error
	DropWitness(sequence uint64) error
	MoveBody(sequence, segment uint64, offset, length, bodyOffset int64) (bool, error)
	Unreferenced(max int) ([]uint64, error)
	AddSegment(number uint64) error
	DropSegment(number uint64) error
	PutUpload(index.Upload) error
	DeleteUpload(id string) error
	PutPart(index.Part) error
	DeleteParts(upload string) error
	SetApplied(index.Position)
	Commit() error
	Rollback()

	Row(bucket uint64, key string) (index.Row, bool, error)
	Body(sequence uint64) (index.Body, bool, error)
	Bucket(id uint64) (index.Bucket, bool, error)
	Upload(id string) (index.Upload, bool, error)
	Part(upload string, number int) (index.Part, bool, error)
	Parts(upload string, after, max int) ([]index.Part, error)
}

// sqlView is the view in SQLite.
type sqlView struct{ *index.Index }

// Begin is index.Begin.
func (v sqlView) Begin() (viewTx, error) {
	tx, err := v.Index.Begin()
	if err != nil {
		return nil, err // not a nil *Tx in an interface
	}
	return tx, nil
}

func openSQLView(ctx context.Context, cfg index.Config) (view, error) {
	x, err := index.Open(ctx, cfg)
	if err != nil {
		return nil, err
	}
	return sqlView{x}, nil
}

// ground is what a store stands on. Tests put faults, counters and simulated
// disks there.
type ground struct {
	disk  func(dir string) (vfs.FS, error)
	index func(context.Context, index.Config) (view, error)
}

// solid is the ground of every store but in tests.
func solid() ground { return ground{disk: vfs.OS, index: openSQLView} }
