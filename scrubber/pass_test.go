package scrubber_test

import (
	"testing"
)

// TestAPassOverAWholeStoreFindsNothing runs over something of every kind, before
// and after a restart.
func TestAPassOverAWholeStoreFindsNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir)
	fill(t, s)
	for _, f := range pass(t, s).Findings {
		t.Errorf("found %+v", f)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	r := pass(t, open(t, dir))
	for _, f := range r.Findings {
		t.Errorf("found after a restart %+v", f)
	}
	if r.Segments < 3 || r.Records < 50 || r.Blobs < 5 || r.Rows < 60 || r.Bytes < 1<<20 {
		t.Errorf("the pass saw too little: %+v", r)
	}
}
