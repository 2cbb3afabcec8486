package store

import (
	"strings"
	"time"
)

// The rhythm of a replay's reports.
const (
	reportEvery = time.Second     // to Config.Progress
	logEvery    = 5 * time.Second // to the log
)

// replayMeter tells how far a replay has come. A nil meter tells nobody.
type replayMeter struct {
	store          *Store
	done, total    int64 // bytes of records; total 0 = unknown
	records        int64
	started        time.Time
	reported, said time.Time // the last times
}

// newReplayMeter is for one replay. whole says that it begins with the first
// record.
func (s *Store) newReplayMeter(whole bool) *replayMeter {
	now := s.cfg.Now()
	m := &replayMeter{store: s, started: now, reported: now, said: now}
	if !whole {
		return m
	}
	entries, err := s.fs.List(segmentsDir)
	if err != nil {
		return m // the journal will tell
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name, ".seg") {
			m.total += e.Size
		}
	}
	return m
}

// step counts one record of so many bytes.
func (m *replayMeter) step(n int64) {
	m.done += n
	m.records++
	if m.records%64 != 0 { // a clock costs more than a record
		return
	}
	now := m.store.cfg.Now()
	if now.Sub(m.reported) >= reportEvery && m.store.cfg.Progress != nil {
		m.reported = now
		m.store.cfg.Progress(m.done, m.total)
	}
	if now.Sub(m.said) < logEvery {
		return
	}
	m.said = now
	args := []any{"records", m.records, "seconds", int64(now.Sub(m.started).Seconds())}
	if m.total > 0 {
		args = append(args, "percent", min(99, m.done*100/m.total))
	}
	m.store.log.Info("reading the journal into the index", args...)
}
