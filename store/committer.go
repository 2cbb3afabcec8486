package store

import (
	"sync"

	"larder/fault"
	"larder/store/index"
	"larder/store/journal"
	"larder/store/vfs"
)

const (
	maxBatchChanges = 256      // changes that share one sync
	maxBatchBytes   = 16 << 20 // inline bodies that share one sync
	maxQueue        = 4096     // changes that wait; more are refused
	maxQueueBytes   = 64 << 20 // inline bodies that wait; more are refused
	checkpointBytes = 8 << 20  // of WAL, before the committer checkpoints
	extentBytes     = 12       // of an extent in a record, as a rule
)

// committer is the one goroutine that changes the store. It owns the journal's
// head, the index's write connection and the bucket table.
//
// It takes whatever waits, without a timer, so that an idle store adds no
// delay. For each batch it prepares the changes in the order they came,
// appends their records, and then lets one fdatasync run while it applies
// them to the index. The index transaction is committed after the sync has
// succeeded, so the index never stands ahead of the durable journal; only then
// is anybody answered.
type committer struct {
	store *Store
	begin func() (viewTx, error) // of the index
	stop  chan struct{}          // closed when run has returned

	mu     sync.Mutex
	wake   *sync.Cond
	queue  []*change
	bytes  int      // inline bodies of the changes accepted and not yet looked at
	chores []*chore // run one at a time, between batches
	closed bool

	// behind holds records that are durable but could not be applied, since
	// the index had no room. run only; nothing newer is applied before them.
	behind []applied

	// segment is the last one that the index was told of. run only.
	segment uint64
}

// applied pairs a record with where it lies.
type applied struct {
	rec *journal.Record
	loc journal.Location
}

func newCommitter(s *Store) *committer {
	c := &committer{store: s, begin: s.index.Begin, stop: make(chan struct{})}
	c.wake = sync.NewCond(&c.mu)
	return c
}

// submit hands a change in and waits until it is durable and visible, or
// refused. Once it is accepted nothing withdraws it.
func (c *committer) submit(ch *change) error {
	if err := c.accept(ch); err != nil {
		return err
	}
	<-ch.done
	return ch.err
}

// accept queues a change without waiting for it.
func (c *committer) accept(ch *change) error {
	ch.done = make(chan struct{})
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return shuttingDown()
	}
	if len(c.queue) >= maxQueue || c.bytes > 0 && c.bytes+ch.bytes > maxQueueBytes {
		return fault.New("store", fault.Unavailable, "", nil).WithHint("Too many changes are waiting. Try again.")
	}
	c.queue = append(c.queue, ch)
	c.bytes += ch.bytes
	c.wake.Signal()
	return nil
}

// close refuses further changes and waits for those accepted.
func (c *committer) close() {
	c.mu.Lock()
	c.closed = true
	c.wake.Signal()
	c.mu.Unlock()
	<-c.stop
}

func (c *committer) run() {
	defer close(c.stop)
	for {
		waiting, job := c.take()
		if waiting == nil && job == nil {
			return
		}
		for len(waiting) > 0 {
			taken := c.next(waiting)
			c.unload(waiting[:taken])
			waiting = waiting[taken:]
		}
		if job != nil {
			job.done <- job.run()
		}
	}
}

// unload makes room in the queue for as many bytes as changes have brought.
func (c *committer) unload(done []*change) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, ch := range done {
		c.bytes -= ch.bytes
	}
}

// next commits the first batch of those that wait and returns how many changes
// it took. Conditions are decided only once all durable records are applied:
// whoever decides against less writes a record that cannot be applied.
func (c *committer) next(waiting []*change) (taken int) {
	if err := c.catchUp(); err != nil {
		for _, ch := range waiting {
			ch.answer(err)
		}
		return len(waiting)
	}
	c.store.keepReserve()
	b := c.prepare(waiting)
	c.commit(b)
	return b.taken
}

// take waits for changes and chores and returns all of those and one of these,
// or nothing after close.
func (c *committer) take() (waiting []*change, job *chore) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.queue) == 0 && len(c.chores) == 0 && !c.closed {
		c.wake.Wait()
	}
	waiting = c.queue
	c.queue = nil
	if len(c.chores) > 0 {
		job = c.chores[0]
		c.chores = c.chores[1:]
	}
	return waiting, job
}

// batch is what shares one sync.
type batch struct {
	taken   int       // changes looked at, refused ones included
	changes []*change // those that brought a record
	records []*journal.Record
	blobs   []string
	bytes   int
	full    error               // why nothing that needs space is taken
	written map[string]struct{} // names that the batch alters
}

// prepare asks each waiting change for its record, until the batch is full or
// a change depends on what an earlier one of the same batch alters: that one
// must see it committed first. Refused changes are answered at once and spoil
// nobody.
func (c *committer) prepare(waiting []*change) *batch {
	b := &batch{written: make(map[string]struct{}), full: c.store.room(0)}
	for _, ch := range waiting {
		if len(b.changes) == maxBatchChanges || b.bytes > maxBatchBytes || b.dependsOn(ch) {
			return b
		}
		b.taken++
		rec, err := c.ask(ch)
		if err == nil && rec != nil && !freesSpace(rec) {
			err = b.full
		}
		if err != nil || rec == nil {
			ch.answer(err)
			continue
		}
		b.add(ch, rec)
	}
	return b
}

// ask runs a change's own checks, unless the store takes no changes.
func (c *committer) ask(ch *change) (*journal.Record, error) {
	if err := c.store.writable(); err != nil {
		return nil, err
	}
	return ch.prepare()
}

func (b *batch) dependsOn(ch *change) bool {
	for _, name := range ch.reads {
		if _, ok := b.written[name]; ok {
			return true
		}
	}
	return false
}

func (b *batch) add(ch *change, rec *journal.Record) {
	ch.rec = rec
	b.changes = append(b.changes, ch)
	b.records = append(b.records, rec)
	b.bytes += len(rec.Body) + extentBytes*len(rec.Extents)
	if rec.Blob != "" {
		b.blobs = append(b.blobs, rec.Blob)
	}
	for _, name := range ch.writes {
		b.written[name] = struct{}{}
	}
}

// keepFreeing refuses the changes of a batch that need space with err, and
// tells whether that leaves some which did not get their chance: deletions have
// a reserve in the journal.
func (b *batch) keepFreeing(err error) bool {
	all := b.changes
	b.changes, b.records = nil, nil
	for _, ch := range all {
		if freesSpace(ch.rec) {
			b.changes, b.records = append(b.changes, ch), append(b.records, ch.rec)
			continue
		}
		ch.answer(err)
	}
	return len(b.changes) > 0 && len(b.changes) < len(all)
}

// commit makes a batch durable and visible and answers everybody in it.
func (c *committer) commit(b *batch) {
	if len(b.changes) == 0 {
		return
	}
	err := c.write(b)
	if err != nil && b.spoiled(err) {
		for _, ch := range b.changes {
			if err := c.catchUp(); err != nil { // with the one before
				ch.answer(err)
				continue
			}
			c.commit(b.only(ch))
		}
		return
	}
	for _, ch := range b.changes {
		ch.answer(err)
	}
}

// spoiled tells whether one record that cannot be written kept the others of
// its batch from being so.
func (b *batch) spoiled(err error) bool {
	switch fault.CodeOf(err) {
	case fault.InvalidArgument, fault.MetadataTooLarge, fault.EntityTooLarge:
		return len(b.changes) > 1
	}
	return false
}

// only is a batch of one change of b.
func (b *batch) only(ch *change) *batch {
	one := &batch{written: make(map[string]struct{})}
	one.add(ch, ch.rec)
	return one
}

// write is the order of a put: directory entries of blobs, records, one sync
// beside the index transaction, its commit.
func (c *committer) write(b *batch) error {
	s := c.store
	if len(b.blobs) > 0 {
		if err := s.blobs.SyncDirs(b.blobs); err != nil {
			return s.writeFault(err)
		}
	}
	locs, err := s.journal.Append(b.records)
	if fault.CodeOf(err) == fault.NoSpace && b.keepFreeing(err) {
		locs, err = s.journal.Append(b.records)
	}
	kept := err == nil || s.journal.Err() != nil // a failed write may have got all the bytes there
	for _, ch := range b.changes {
		ch.appended = kept
	}
	if err != nil {
		return c.appendFailed(err)
	}
	synced := make(chan error, 1)
	go func() { synced <- vfs.BeforeAnswer(s.journal.Sync) }()

	todo := make([]applied, len(locs))
	for i, loc := range locs {
		todo[i] = applied{b.records[i], loc}
	}
	a, applyErr := c.apply(todo)
	if err := <-synced; err != nil {
		a.rollback()
		s.fail(err)
		return s.writable()
	}
	if applyErr == nil {
		applyErr = c.publish(a, todo)
	}
	if applyErr != nil {
		a.rollback()
		c.behind = append(c.behind, todo...)
		return c.fellBehind(applyErr)
	}
	return nil
}

// appendFailed tells what left the journal as it was, such as a full disk, no
// file descriptors, or a record over its limits, from a failure, which is
// final.
func (c *committer) appendFailed(err error) error {
	if c.store.journal.Err() == nil {
		return err
	}
	c.store.fail(err)
	return c.store.writable()
}

// fellBehind gives the index its reserve when it has no room, and tries once
// more with that.
func (c *committer) fellBehind(err error) error {
	err = c.store.lackOfRoom(err)
	if fault.CodeOf(err) == fault.NoSpace && c.store.spendReserve() {
		return c.catchUp()
	}
	return c.applyFailed(err)
}

// applyFailed: the records are durable, so they will be applied before
// anything newer, by the next batch or by the next start. Their changes are
// not acknowledged.
func (c *committer) applyFailed(err error) error {
	if fault.CodeOf(err) == fault.NoSpace {
		c.store.log.Error("the index has no room and is behind the journal", "error", err)
		return err
	}
	c.store.fail(err)
	return c.store.writable()
}

// apply brings records into an open index transaction. On an error the applier
// is still good for rollback.
func (c *committer) apply(todo []applied) (*applier, error) {
	tx, err := c.begin()
	if err != nil {
		return newApplier(nil), err
	}
	a := newApplier(tx)
	a.segment = c.segment
	for _, t := range todo {
		if err := a.record(t.rec, t.loc); err != nil {
			return a, err
		}
		a.last = index.Position{Sequence: t.rec.Sequence, Segment: t.loc.Segment, Offset: t.loc.Offset + t.loc.Length}
	}
	tx.SetApplied(a.last)
	return a, nil
}

// publish commits the transaction, in which done was applied, and lets readers,
// counters and watchers see it.
func (c *committer) publish(a *applier, done []applied) error {
	s := c.store
	if err := a.tx.Commit(); err != nil {
		return err
	}
	a.tx = nil
	c.segment = a.segment
	s.buckets.apply(a.buckets)
	s.rows.apply(a.rows)
	s.history.add(done)
	for _, id := range a.arrived {
		s.blobs.Done(id)
	}
	if len(a.arrived) > 0 {
		s.blobs.Noted(a.last.Sequence)
	}
	s.reclaimer.add(blobsOf(a.freed))
	s.compactor.note(a.bodies)
	if err := s.checkpoint(); err != nil {
		s.fail(err)
	}
	return nil
}

// checkpoint moves a long WAL into the index. Without room for that it stays
// where it is, which harms nothing; any other error is a failed write or sync.
func (s *Store) checkpoint() error {
	size, err := s.index.WALSize()
	if err != nil || size <= checkpointBytes {
		return nil
	}
	err = s.lackOfRoom(s.checkpointIndex(index.Passive))
	if fault.CodeOf(err) == fault.NoSpace {
		s.log.Warn("there is no room to move the index's log into the index", "error", err)
		return nil
	}
	return err
}

// catchUp applies what an earlier batch could not.
func (c *committer) catchUp() error {
	if len(c.behind) == 0 {
		return nil
	}
	if err := c.store.writable(); err != nil {
		return err
	}
	a, err := c.apply(c.behind)
	if err == nil {
		err = c.publish(a, c.behind)
	}
	if err != nil {
		a.rollback()
		return c.fellBehind(err)
	}
	c.behind = nil
	return nil
}
