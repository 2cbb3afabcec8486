package e2e_test

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"testing"
)

// finding is what a pass says about one damaged piece.
type finding struct {
	Kind     string `json:"kind"`
	Bucket   string `json:"bucket"`
	Key      string `json:"key"`
	Sequence uint64 `json:"sequence"`
	File     string `json:"file"`   // relative to the data folder
	Offset   int64  `json:"offset"` // -1 = the whole file
	Length   int64  `json:"length"` // -1 = nobody knows
	Reason   string `json:"reason"`
	Open     bool   `json:"open"` // false = it has healed
	How      string `json:"how"`  // why it has
}

// verdict is what a pass found. It is not complete when the damage kept it from
// going on: a segment that is gone, for instance.
type verdict struct {
	open, healed []finding
	complete     bool
}

// accuses tells whether a finding is about a place.
func (f finding) accuses(p place) bool {
	switch {
	case f.Offset < 0:
		return f.File == p.file
	case f.Length == 0: // something is missing there
		return f.File == p.file && p.from <= f.Offset && f.Offset <= p.to
	case f.Length < 0:
		return f.File == p.file && f.Offset < p.to
	}
	return p.touches(place{f.File, f.Offset, f.Offset + f.Length})
}

// accuses tells whether any finding is about a place.
func (v verdict) accuses(p place) bool {
	for _, f := range v.open {
		if f.accuses(p) {
			return true
		}
	}
	return false
}

const foundDamage = 2 // exit code of `larder verify`

// verify runs a whole pass with `larder verify`, on the folder of a server that
// runs or of one that does not.
func (s *server) verify() verdict {
	s.t.Helper()
	cmd := exec.CommandContext(s.t.Context(), larder, "verify", "--json", "--data", s.dir)
	cmd.Env = append(cleanEnv(), s.setup.env...)
	var errors bytes.Buffer
	cmd.Stderr = &errors
	out, _ := cmd.Output() // the exit code says it
	code := cmd.ProcessState.ExitCode()
	if code != 0 && code != foundDamage {
		s.t.Errorf("verify ended with %d: %s%s", code, out, &errors)
		return verdict{}
	}
	v := parseVerdict(s.t, out)
	if (len(v.open) > 0) != (code == foundDamage) {
		s.t.Errorf("verify ended with %d and %d open findings", code, len(v.open))
	}
	return v
}

func parseVerdict(t *testing.T, out []byte) (v verdict) {
	t.Helper()
	var doc struct {
		Complete   bool      `json:"complete"`
		Findings   []finding `json:"findings"`
		Overflowed int       `json:"overflowed_findings"`
	}
	if err := json.Unmarshal(out, &doc); err != nil || doc.Overflowed > 0 {
		t.Fatalf("verify printed %.500q: %v", out, err)
	}
	v.complete = doc.Complete
	for _, f := range doc.Findings {
		if f.Open {
			v.open = append(v.open, f)
		} else {
			v.healed = append(v.healed, f)
		}
	}
	return v
}
