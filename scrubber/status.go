package scrubber

import (
	"time"

	"larder/store"
)

// State says what a scrubber does at the moment.
type State string

// The states.
const (
	Idle    State = "idle"    // the pass of this period is done, the next one waits for its time
	Running State = "running" // a pass is on its way
	Paused  State = "paused"  // until Resume, over restarts too
)

// Status is a scrubber's state at one moment. Times are zero where there is
// none yet. All sizes are in bytes.
type Status struct {
	State State `json:"state"`
	// Behind is the alarm: at the pace that is allowed, the pass cannot end
	// within the period, or has not.
	Behind bool `json:"behind"`

	Pass     uint64    `json:"pass"`     // number of the pass that runs, or ran last; 0 = none yet
	Started  time.Time `json:"started"`  // of that pass
	Deadline time.Time `json:"deadline"` // when it is to be done
	Next     time.Time `json:"next"`     // when the next one begins; zero while one runs
	Stage    string    `json:"stage"`    // what is being verified: journal (segments and blobs), comparing, rows; "" while none runs

	Done  int64         `json:"done_bytes"`  // verified in this pass
	Total int64         `json:"total_bytes"` // to be verified in this pass, as far as is known now
	Rate  int64         `json:"rate"`        // bytes a second that the pass may read now
	Left  time.Duration `json:"left_ns"`     // at that rate

	Open       int    `json:"open_findings"`       // damage that is there now, as far as is known
	Overflowed int64  `json:"overflowed_findings"` // damage that there was no room to list, in this pass
	Error      string `json:"error,omitempty"`     // why the last step failed, when it was not for damage

	Last Report `json:"last"` // of the last pass that ended; its Pass is 0 when there is none
}

// Report is what one whole pass has seen.
type Report struct {
	Pass     uint64    `json:"pass"`
	Started  time.Time `json:"started"`
	Ended    time.Time `json:"ended"`
	Complete bool      `json:"complete"` // everything was looked at

	Segments int64 `json:"segments"`
	Records  int64 `json:"records"`
	Blobs    int64 `json:"blobs"`
	Rows     int64 `json:"rows"`  // of the index
	Bytes    int64 `json:"bytes"` // read and verified

	// Findings are all that are open at the end of the pass, and those that
	// this pass has healed. Overflowed counts those that could not be kept.
	Findings   []Finding `json:"findings"`
	Overflowed int64     `json:"overflowed_findings"`
}

// Damaged tells whether the pass has left open findings.
func (r Report) Damaged() bool {
	for _, f := range r.Findings {
		if f.Open() {
			return true
		}
	}
	return r.Overflowed > 0
}

// Finding is one piece of damage. It is bound to a place and to what stood
// there: what was overwritten, deleted or moved since is no longer accused.
type Finding struct {
	ID   uint64     `json:"id"`   // unique in this store, never used again
	Kind store.Harm `json:"kind"` // object, garbage or index

	// Bucket and Key name the version that suffers, where one is known: Key is
	// empty for what belongs to no key. One piece of damage that several
	// versions need gives a finding for each of them.
	Bucket   string `json:"bucket,omitempty"`
	Key      string `json:"key,omitempty"`
	Sequence uint64 `json:"sequence"` // of the record, 0 when it cannot be told

	File   string `json:"file"`   // below the data folder or the blob folder, with slashes
	Offset int64  `json:"offset"` // of the damage in the file; -1 for the whole file, or in an index row
	Length int64  `json:"length"` // of what cannot be trusted, -1 when unknown
	Reason string `json:"reason"`

	Found  time.Time `json:"found"`         // confirmed by a second read
	Seen   time.Time `json:"seen"`          // confirmed last
	Healed time.Time `json:"healed"`        // zero while it is open
	How    string    `json:"how,omitempty"` // why it is healed
}

// Open tells whether the damage is still there, as far as is known.
func (f Finding) Open() bool { return f.Healed.IsZero() }

// stageName is what a Status says of a cursor.
func stageName(c store.Cursor) string {
	switch {
	case c.Skim:
		return "comparing"
	case c.Stage == store.StageRows:
		return "rows"
	}
	return "journal"
}
