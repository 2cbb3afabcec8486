package bench

import (
	"math"
	"slices"
	"time"
)

// Estimate is the median of some rounds and an interval for the true one: two of
// the rounds' own values, so nothing is assumed about how they are distributed.
type Estimate struct {
	Value      float64 `json:"value"`
	Low        float64 `json:"low"`
	High       float64 `json:"high"`
	Rounds     int     `json:"rounds"`
	Confidence float64 `json:"confidence"` // that the interval holds the true median; 0.95 or more from six rounds on
}

// wanted is the confidence that an interval should have.
const wanted = 0.95

// estimate takes the narrowest interval of order statistics that has the wanted
// confidence, or the widest there is.
func estimate(values []float64) Estimate {
	n := len(values)
	if n == 0 {
		return Estimate{}
	}
	sorted := slices.Sorted(slices.Values(values))
	rank := 0
	for rank+1 < (n+1)/2 && covers(n, rank+1) >= wanted {
		rank++
	}
	return Estimate{
		Value: median(sorted), Low: sorted[rank], High: sorted[n-1-rank], Rounds: n, Confidence: covers(n, rank),
	}
}

// covers is the probability that the median of a distribution lies between the
// values of rank and n-1-rank of n sorted ones: 1 - 2 P(B <= rank) for a
// binomial B of n fair throws.
func covers(n, rank int) float64 {
	tail, choose := 0.0, 1.0
	for i := 0; i <= rank; i++ {
		tail += choose
		choose = choose * float64(n-i) / float64(i+1)
	}
	return max(0, 1-2*tail/math.Pow(2, float64(n)))
}

func median(sorted []float64) float64 {
	n := len(sorted)
	if n%2 == 1 {
		return sorted[n/2]
	}
	return (sorted[n/2-1] + sorted[n/2]) / 2
}

// Latency describes how long single operations took, in milliseconds.
type Latency struct {
	P50 float64 `json:"p50_ms"`
	P99 float64 `json:"p99_ms"`
}

// latencyOf sorts took. Nil for none.
func latencyOf(took []time.Duration) *Latency {
	if len(took) == 0 {
		return nil
	}
	slices.Sort(took)
	return &Latency{P50: milliseconds(quantile(took, 0.50)), P99: milliseconds(quantile(took, 0.99))}
}

// quantile is the smallest value that at least the share q of all do not exceed.
func quantile(sorted []time.Duration, q float64) time.Duration {
	return sorted[max(0, int(math.Ceil(q*float64(len(sorted))))-1)]
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
