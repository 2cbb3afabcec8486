package store

import (
	"fmt"
	"hash"
	"strings"
	"testing"

	"larder/store/journal"
)

// RememberLess lets the store keep fewer changes for watchers. Call it before
// any change.
func (s *Store) RememberLess(pages int) { s.history.maxPages = pages }

// PageChanges is how many changes are forgotten together.
const PageChanges = pageChanges

// Remembered adds n changes of keys of a length to a history and returns how
// many it keeps, and how many bytes of keys.
func Remembered(n, keyBytes int) (changes, bytes int) {
	h := newHistory(0)
	for i := range n {
		h.add(changeFor(uint64(i+1), strings.Repeat("k", keyBytes)))
	}
	return int(h.end - h.first), h.bytes
}

func changeFor(sequence uint64, key string) []applied {
	return []applied{{rec: &journal.Record{Kind: journal.Put, Sequence: sequence, Bucket: 1, Key: key}}}
}

// HistoryAllocs is how many allocations a change costs while nobody watches.
func HistoryAllocs() float64 {
	h := newHistory(0)
	done := changeFor(0, "photos/2024/summer/beach-0001.jpg")
	return testing.AllocsPerRun(10*pageChanges, func() {
		done[0].rec.Sequence++
		h.add(done)
	})
}

// DigestsOf names the hashes that run over a body.
func DigestsOf(asked Algorithm, skipMD5, skipSHA256 bool) string {
	return hashNames(newDigester(wanted{asked: asked, skipMD5: skipMD5, skipSHA256: skipSHA256}).hashes)
}

func hashNames(hashes []hash.Hash) string {
	var names []string
	for _, h := range hashes {
		names = append(names, fmt.Sprint(h.Size()))
	}
	return strings.Join(names, " ")
}

// Waiting is how many changes wait for the committer.
func (s *Store) Waiting() int {
	s.committer.mu.Lock()
	defer s.committer.mu.Unlock()
	return len(s.committer.queue)
}

// Watched tells whether a watcher has waited since the last change.
func (s *Store) Watched() bool {
	s.history.waiting.Lock()
	defer s.history.waiting.Unlock()
	return s.history.wake != nil
}
