package index

import (
	"errors"
	"io/fs"
	"os"

	"larder/fault"
)

// CheckpointMode says how far Checkpoint goes.
type CheckpointMode uint8

// The modes of Checkpoint.
const (
	Passive  CheckpointMode = iota // move what no running read needs; waits for nobody
	Truncate                       // wait for running reads, move everything, empty the log
)

// Checkpoint moves the log into the database and syncs both: on return with
// nil what was moved is durable. A read in the way is no error, the rest is
// then moved by the next call; so every error is a failed write or sync, after
// which the writer must stop. It fails with fault.Conflict while a Tx is open.
func (x *Index) Checkpoint(mode CheckpointMode) error {
	const op = "index.Checkpoint"
	if !x.writing.TryLock() {
		return fault.New(op, fault.Conflict, "", errBusy)
	}
	defer x.writing.Unlock()
	if x.isClosed() {
		return fault.New(op, fault.Unavailable, "", errClosed)
	}
	return x.note(x.writer.checkpoint(mode))
}

func (c *conn) checkpoint(mode CheckpointMode) error {
	text := "wal_checkpoint(PASSIVE)"
	if mode == Truncate {
		text = "wal_checkpoint(TRUNCATE)"
	}
	_, err := c.pragma(text)
	return failure("index.Checkpoint", "", err)
}

// WALSize returns the size of the log file in bytes. Call Checkpoint when it
// passes a limit well above 4 MiB: to that much the file is cut when a
// complete Passive checkpoint lets the next commits begin it anew. A log that
// keeps growing has a read in its way, which Truncate waits for.
func (x *Index) WALSize() (int64, error) {
	info, err := os.Stat(x.path + "-wal")
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fault.New("index.WALSize", fault.Internal, x.path, err)
	}
	return info.Size(), nil
}
