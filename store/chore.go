package store

import (
	"larder/fault"
)

// chore is work for the committer's goroutine that brings no record, such as
// moving bodies that compaction has rewritten. The committer runs one between
// two batches, so chores are short.
type chore struct {
	run  func() error
	done chan error
}

// do runs a chore and waits for it.
func (c *committer) do(run func() error) error {
	job := &chore{run: run, done: make(chan error, 1)}
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return shuttingDown()
	}
	c.chores = append(c.chores, job)
	c.wake.Signal()
	c.mu.Unlock()
	return <-job.done
}

// alterIndex changes the index alone: in a transaction of its own, between two
// batches, with the position applied left as it is. It returns when that is
// visible; it is durable when the index is synced next. What it alters must say
// the same as the journal: it may be lost in a crash. The rows that alter
// returns are brought into the cache.
//
// It does nothing while the index is behind the journal for lack of room
// (fault.NoSpace).
func (s *Store) alterIndex(alter func(viewTx) ([]rowUpdate, error)) error {
	c := s.committer
	return c.do(func() error {
		if err := s.writable(); err != nil {
			return err
		}
		if err := c.catchUp(); err != nil {
			return err
		}
		return c.alter(alter)
	})
}

// indexOnly is alterIndex for what the row cache does not hold.
func (s *Store) indexOnly(alter func(viewTx) error) error {
	return s.alterIndex(func(tx viewTx) ([]rowUpdate, error) { return nil, alter(tx) })
}

func (c *committer) alter(alter func(viewTx) ([]rowUpdate, error)) error {
	tx, err := c.begin()
	if err != nil {
		return c.choreFailed(err)
	}
	rows, err := alter(tx)
	if err == nil {
		err = tx.Commit()
	}
	if err != nil {
		tx.Rollback()
		return c.choreFailed(err)
	}
	c.store.rows.apply(rows)
	if err := c.store.checkpoint(); err != nil {
		c.store.fail(err)
	}
	return nil
}

// choreFailed: a lack of room passes, and a damaged row is made again with the
// whole index at the next start. Anything else is a failed write or sync.
func (c *committer) choreFailed(err error) error {
	err = c.store.lackOfRoom(err)
	switch fault.CodeOf(err) {
	case fault.NoSpace, fault.Corrupt:
		return err
	}
	c.store.fail(err)
	return err
}
