package admin

import (
	"time"

	"larder/scrubber"
)

// ScrubStatus is scrubber.Status on the wire; times are null for never.
type ScrubStatus struct {
	State      string       `json:"state"` // idle, running or paused
	Behind     bool         `json:"behind"`
	Pass       uint64       `json:"pass"`
	Stage      string       `json:"stage"`
	Started    *time.Time   `json:"started"`
	Deadline   *time.Time   `json:"deadline"`
	Next       *time.Time   `json:"next"`
	Done       int64        `json:"done_bytes"`
	Total      int64        `json:"total_bytes"`
	Rate       int64        `json:"rate"` // bytes a second
	Left       int64        `json:"left_seconds"`
	Open       int          `json:"open_findings"`
	Overflowed int64        `json:"overflowed_findings"`
	Error      string       `json:"error,omitempty"`
	Last       *ScrubReport `json:"last"` // of the last pass that ended
}

// ScrubReport is what one whole pass saw.
type ScrubReport struct {
	Pass       uint64         `json:"pass"`
	Started    *time.Time     `json:"started"`
	Ended      *time.Time     `json:"ended"`
	Complete   bool           `json:"complete"` // everything was looked at
	Damaged    bool           `json:"damaged"`  // some findings are open
	Segments   int64          `json:"segments"`
	Records    int64          `json:"records"`
	Blobs      int64          `json:"blobs"`
	Rows       int64          `json:"rows"`
	Bytes      int64          `json:"bytes"`
	Findings   []ScrubFinding `json:"findings"`
	Overflowed int64          `json:"overflowed_findings"`
}

// ScrubFinding is one piece of damage and what it harms.
type ScrubFinding struct {
	ID       uint64     `json:"id"`
	Kind     string     `json:"kind"` // object, garbage or index
	Open     bool       `json:"open"`
	Bucket   string     `json:"bucket,omitempty"`
	Key      string     `json:"key,omitempty"`
	Sequence uint64     `json:"sequence"`
	File     string     `json:"file"`
	Offset   int64      `json:"offset"` // -1: the whole file
	Length   int64      `json:"length"` // -1: not known
	Reason   string     `json:"reason"`
	Found    *time.Time `json:"found"`
	Seen     *time.Time `json:"seen"`
	Healed   *time.Time `json:"healed"`
	How      string     `json:"how,omitempty"`
}

// StatusOnWire encodes a status.
func StatusOnWire(s scrubber.Status) ScrubStatus {
	out := ScrubStatus{
		State: string(s.State), Behind: s.Behind, Pass: s.Pass, Stage: s.Stage,
		Started: when(s.Started), Deadline: when(s.Deadline), Next: when(s.Next),
		Done: s.Done, Total: s.Total, Rate: s.Rate, Left: int64(s.Left / time.Second),
		Open: s.Open, Overflowed: s.Overflowed, Error: s.Error,
	}
	if s.Last.Pass > 0 {
		last := ReportOnWire(s.Last)
		out.Last = &last
	}
	return out
}

// ReportOnWire encodes a report.
func ReportOnWire(r scrubber.Report) ScrubReport {
	return ScrubReport{
		Pass: r.Pass, Started: when(r.Started), Ended: when(r.Ended), Complete: r.Complete, Damaged: r.Damaged(),
		Segments: r.Segments, Records: r.Records, Blobs: r.Blobs, Rows: r.Rows, Bytes: r.Bytes,
		Findings: FindingsOnWire(r.Findings), Overflowed: r.Overflowed,
	}
}

// FindingsOnWire encodes findings; none are an empty list.
func FindingsOnWire(findings []scrubber.Finding) []ScrubFinding {
	out := make([]ScrubFinding, len(findings))
	for i, f := range findings {
		out[i] = ScrubFinding{
			ID: f.ID, Kind: string(f.Kind), Open: f.Open(), Bucket: f.Bucket, Key: f.Key, Sequence: f.Sequence,
			File: f.File, Offset: f.Offset, Length: f.Length, Reason: f.Reason,
			Found: when(f.Found), Seen: when(f.Seen), Healed: when(f.Healed), How: f.How,
		}
	}
	return out
}
