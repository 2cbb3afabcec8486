package index

import (
	"errors"

	"larder/fault"

	"zombiezen.com/go/sqlite"
)

// The private causes of faults that do not come from SQLite.
var (
	errClosed    = errors.New("index is closed")
	errBusy      = errors.New("a transaction is open")
	errDone      = errors.New("transaction is over")
	errSum       = errors.New("row checksum does not match")
	errMissing   = errors.New("row is missing")
	errWitness   = errors.New("nothing says that the row still stands")
	errBlobs     = errors.New("the way by blob does not lead to the bodies that name blobs")
	errVouched   = errors.New("the bodies name other records than those that stand")
	errNegative  = errors.New("counter falls below zero")
	errNotEmpty  = errors.New("bucket holds objects or uploads")
	errNoBucket  = errors.New("rows belong to no bucket")
	errSize      = errors.New("file size does not fit its header")
	errSchema    = errors.New("schema is not the one that was made")
	errIdentity  = errors.New("identity in the file's header does not fit its state row")
	errNoState   = errors.New("state row is missing")
	errForeign   = errors.New("file is not an index of Larder")
	errOtherID   = errors.New("index belongs to another store")
	errNewer     = errors.New("index was written by a newer version")
	errTooOld    = errors.New("SQLite is older than 3.54")
	errNotWAL    = errors.New("SQLite did not switch to WAL")
	errIntegrity = errors.New("integrity check")
)

// failure wraps an error of SQLite with the operation and the code it means.
// A fault passes unchanged.
func failure(op, resource string, err error) error {
	if err == nil {
		return nil
	}
	var f *fault.Error
	if errors.As(err, &f) {
		return err
	}
	return fault.New(op, codeOf(err), resource, err)
}

// codeOf sorts SQLite's results. What is left is Internal: for the writer that
// includes every failed read, write and sync, after which nothing may go on
// as before.
func codeOf(err error) fault.Code {
	code := sqlite.ErrCode(err)
	switch code {
	case sqlite.ResultIOErrShortRead: // a page beyond the end of the file
		return fault.Corrupt
	case sqlite.ResultIOErrSHMSize: // the -shm file could not grow
		return fault.NoSpace
	}
	switch code.ToPrimary() {
	case sqlite.ResultCorrupt, sqlite.ResultNotADB, sqlite.ResultFormat:
		return fault.Corrupt
	case sqlite.ResultFull:
		return fault.NoSpace
	case sqlite.ResultBusy, sqlite.ResultLocked:
		return fault.Unavailable
	case sqlite.ResultInterrupt:
		return fault.Canceled
	case sqlite.ResultReadOnly, sqlite.ResultPerm:
		return fault.ReadOnly
	}
	return fault.Internal
}

func corrupt(op, resource string, err error) error {
	return fault.New(op, fault.Corrupt, resource, err)
}
