package store

import (
	"strconv"

	"larder/store/journal"
)

// change is one operation on its way through the committer.
type change struct {
	// reads and writes name what the change depends on and what it alters.
	// Two changes share a batch only when the later does not read what the
	// earlier writes.
	reads, writes []string

	// prepare checks the change's conditions against the committed state and
	// returns its record. No record and no error: there is nothing to do.
	// It runs on the committer's goroutine.
	prepare func() (*journal.Record, error)

	// bytes of an inline body that wait with the change.
	bytes int

	// appended: the record may be on the disk, whatever err says, so what it
	// names must stay. Read it after done.
	appended bool

	rec  *journal.Record // with its sequence, once committed
	err  error
	done chan struct{} // closed when answered
}

func (ch *change) answer(err error) {
	ch.err = err
	close(ch.done)
}

// The names that changes read and write. Their first byte keeps the kinds
// apart.

func bucketName(name string) string { return "b" + name }

// bucketContent is read by a bucket's deletion and written by everything that
// adds to a bucket.
func bucketContent(name string) string { return "c" + name }

func objectName(bucket, key string) string {
	return "o" + strconv.Itoa(len(bucket)) + bucket + key
}

func uploadName(id string) string { return "u" + id }

// partsName is written by each part of an upload and read by what ends it.
func partsName(upload string) string { return "p" + upload }
