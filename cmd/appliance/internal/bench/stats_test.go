package bench_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"math/rand/v2"
	"testing"
	"time"

	"larder/cmd/appliance/internal/bench"
)

func TestEstimate(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		values           []float64
		value, low, high float64
		confidence       float64
	}{
		{[]float64{7}, 7, 7, 7, 0},
		{[]float64{3, 1, 2}, 2, 1, 3, 1 - 2.0/8},
		{[]float64{5, 1, 4, 2, 3}, 3, 1, 5, 1 - 2.0/32},
		{[]float64{6, 1, 5, 2, 4, 3}, 3.5, 1, 6, 1 - 2.0/64},
		{[]float64{9, 1, 8, 2, 7, 3, 6, 4, 5}, 5, 2, 8, 1 - 20.0/512},
		{[]float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, 6.5, 3, 10, 1 - 158.0/4096},
	} {
		e := bench.EstimateOf(c.values)
		if e.Value != c.value || e.Low != c.low || e.High != c.high || e.Confidence != c.confidence || e.Rounds != len(c.values) {
			t.Errorf("%v: %+v", c.values, e)
		}
	}
	if e := bench.EstimateOf(nil); e != (bench.Estimate{}) {
		t.Errorf("of nothing: %+v", e)
	}
}

// TestEstimateCovers draws samples whose true median is known and counts how often
// the interval holds it.
func TestEstimateCovers(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{6, 9, 20} {
		held, tries := 0, 20_000
		for range tries {
			values := make([]float64, n)
			for i := range values {
				values[i] = random.ExpFloat64() // its median is ln 2
			}
			if e := bench.EstimateOf(values); e.Low <= 0.6931471805599453 && e.High >= 0.6931471805599453 {
				held++
			}
		}
		if share := float64(held) / float64(tries); share < 0.945 {
			t.Errorf("%d values: the interval held the median in %.3f of all cases", n, share)
		}
	}
}

func TestLatency(t *testing.T) {
	t.Parallel()
	var took []time.Duration
	for i := range 200 {
		took = append(took, time.Duration(200-i)*time.Millisecond)
	}
	if l := bench.LatencyOf(took); l.P50 != 100 || l.P99 != 198 {
		t.Errorf("%+v", l)
	}
	if l := bench.LatencyOf([]time.Duration{time.Millisecond}); l.P50 != 1 || l.P99 != 1 {
		t.Errorf("of one: %+v", l)
	}
	if bench.LatencyOf(nil) != nil {
		t.Error("of none: not nil")
	}
}

// TestPayload holds that a payload is what it says, however it is read, and that
// its blocks differ.
func TestPayload(t *testing.T) {
	t.Parallel()
	for _, size := range []int64{1, 1 << 10, 40 << 20} {
		body, says, sum := bench.PayloadOf(1, size, 100_003)
		want := sha256.Sum256(body)
		if int64(len(body)) != size || says != size || sum != hex.EncodeToString(want[:]) {
			t.Errorf("%d bytes: %d were read, %d announced, hash %s instead of %x", size, len(body), says, sum, want)
		}
	}
	body, _, _ := bench.PayloadOf(1, 40<<20, 5)
	if bytes.Equal(body[:1<<20], body[1<<20:2<<20]) || !bytes.Equal(body[8:1<<20], body[1<<20+8:2<<20]) {
		t.Error("two blocks must differ in their stamp and in nothing else")
	}
}
