package e2e_test

import (
	"bytes"
	"fmt"
	"net/http"
	"sync"
	"testing"
)

// TestOneOfManyCreators sends 200 puts of one key at once, each only if nothing
// stands there: one is answered 200 and its bytes stand, 199 are answered 412.
func TestOneOfManyCreators(t *testing.T) {
	const writers, rounds = 200, 3
	s := serve(t, setup{})
	c := s.client()
	c.must(http.StatusOK, http.MethodPut, "/race", nil)
	for round := range rounds {
		// The sizes stand on both sides of the inline limit.
		key, size := fmt.Sprintf("/race/lock-%d", round), int64([rounds]int{20, 4096, 200_000}[round])
		answers := atOnce(writers, func(i int) answer {
			a, err := c.try(t.Context(), http.MethodPut, key, payloadBytes(key, i, size), 0, header("If-None-Match", "*"))
			if err != nil {
				t.Error(err)
			}
			return a
		})
		winner, count := -1, map[string]int{}
		for i, a := range answers {
			count[fmt.Sprint(a.status, a.code)]++
			if a.status == http.StatusOK {
				winner = i
			}
		}
		t.Logf("%d bytes: %v", size, count)
		if count["200"] != 1 || count["412PreconditionFailed"] != writers-1 {
			t.Fatalf("answers %v, want one 200 and %d times 412", count, writers-1)
		}
		got := c.must(http.StatusOK, http.MethodGet, key, nil)
		if !bytes.Equal(got.body, payloadBytes(key, winner, size)) {
			t.Error("the bytes that stand are not the winner's")
		}
	}
}

// atOnce calls f(0) to f(n-1) in goroutines that are let go together.
func atOnce[T any](n int, f func(i int) T) []T {
	var ready, done sync.WaitGroup
	begin := make(chan struct{})
	out := make([]T, n)
	for i := range n {
		ready.Add(1)
		done.Go(func() {
			ready.Done()
			<-begin
			out[i] = f(i)
		})
	}
	ready.Wait()
	close(begin)
	done.Wait()
	return out
}
