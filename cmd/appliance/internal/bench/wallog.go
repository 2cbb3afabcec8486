package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"larder/fault"
)

// walLog is one log as its writer knows it: a small object that names the payloads
// of the newest entries.
type walLog struct {
	name string
	etag string // of the newest version; "" before the first

	mu      sync.Mutex
	entries []walEntry // guarded by mu; all of them
}

// walEntry is one commit.
type walEntry struct {
	number  int // from 1 on
	payload string
	acked   time.Time // when the store had answered; zero as long as it has not
}

const walWindow = 64 // entries that a log object names

func newWALLog(name string) *walLog { return &walLog{name: name} }

func (w *walLog) key() string      { return "wal/log/" + w.name }
func (w *walLog) payloads() string { return "wal/data/" + w.name + "/" }

func (w *walLog) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.entries)
}

// committed are the keys of all payloads.
func (w *walLog) committed() (keys []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range w.entries {
		keys = append(keys, e.payload)
	}
	return keys
}

// commit puts a payload and then the log that names it.
func (w *walLog) commit(ctx context.Context, l lane, body payload) error {
	next := w.next("")
	if _, err := l.target.Put(ctx, l.bucket, next.payload, body, condition{absent: true}); err != nil {
		return err
	}
	etag, err := w.put(ctx, l, next)
	if err != nil {
		return err
	}
	w.take(next, etag)
	return nil
}

// next is the entry that follows, whose payload carries the name of its writer.
func (w *walLog) next(writer string) walEntry {
	n := w.count() + 1
	return walEntry{number: n, payload: fmt.Sprintf("%s%08d%s", w.payloads(), n, writer)}
}

// put replaces the log object by one with another entry, if it still is the
// newest.
func (w *walLog) put(ctx context.Context, l lane, e walEntry) (string, error) {
	only := condition{etag: w.etag, absent: w.etag == ""}
	return l.target.Put(ctx, l.bucket, w.key(), payload{block: w.text(e), times: 1}, only)
}

// text is the log object with one more entry.
func (w *walLog) text(e walEntry) []byte {
	w.mu.Lock()
	defer w.mu.Unlock()
	var b bytes.Buffer
	for _, old := range w.entries[max(0, len(w.entries)-walWindow+1):] {
		fmt.Fprintln(&b, old.number, old.payload)
	}
	fmt.Fprintln(&b, e.number, e.payload)
	return b.Bytes()
}

// take makes an entry one of the log's.
func (w *walLog) take(e walEntry, etag string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	e.acked = time.Now()
	w.entries, w.etag = append(w.entries, e), etag
}

// acked is when an entry was acknowledged; ok is false as long as it is not.
func (w *walLog) acked(number int) (at time.Time, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if number > len(w.entries) {
		return at, false
	}
	return w.entries[number-1].acked, true
}

// read reads the log object unless it is the version of an ETag; then, and when
// there is none yet, there are no entries.
func (w *walLog) read(ctx context.Context, l lane, unless string) ([]walEntry, string, error) {
	var text bytes.Buffer
	got, err := l.target.Get(ctx, l.bucket, w.key(), unless, &text)
	if fault.CodeOf(err) == fault.NoSuchKey || err == nil && got.same {
		return nil, unless, nil
	}
	if err != nil {
		return nil, unless, err
	}
	var entries []walEntry
	for line := range strings.Lines(text.String()) {
		var e walEntry
		if _, err := fmt.Sscan(line, &e.number, &e.payload); err != nil {
			return nil, unless, fault.New("bench.wal", fault.Corrupt, w.key(), err)
		}
		entries = append(entries, e)
	}
	return entries, got.etag, nil
}

// race lets several writers want the next entry. Exactly one must get it; the
// others remove what they had put.
func (w *walLog) race(ctx context.Context, l lane, body payload) error {
	var wg sync.WaitGroup
	errs, etags := make([]error, walRacers), make([]string, walRacers)
	for i := range walRacers {
		e := w.next(fmt.Sprintf("-%d", i))
		wg.Go(func() { etags[i], errs[i] = w.contest(ctx, l, e, body) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	winners := 0
	for i, etag := range etags {
		if etag != "" {
			winners++
			defer w.take(w.next(fmt.Sprintf("-%d", i)), etag)
		}
	}
	if winners != 1 {
		return fault.New("bench.wal", fault.Conflict, w.key(), fmt.Errorf("%d of %d writers won the race", winners, walRacers))
	}
	return nil
}

// contest is one writer of a race. The ETag is "" when another one has won.
func (w *walLog) contest(ctx context.Context, l lane, e walEntry, body payload) (string, error) {
	if _, err := l.target.Put(ctx, l.bucket, e.payload, body, condition{absent: true}); err != nil {
		return "", err
	}
	etag, err := w.put(ctx, l, e)
	if code := fault.CodeOf(err); code == fault.Precondition || code == fault.Conflict {
		return "", l.target.Delete(ctx, l.bucket, e.payload)
	}
	return etag, err
}
