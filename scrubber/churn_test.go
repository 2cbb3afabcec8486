package scrubber_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"larder/store"
)

// churn stores, overwrites, copies, completes and deletes until ctx ends.
func churn(ctx context.Context, t *testing.T, s *store.Store, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, seed))
	for ctx.Err() == nil {
		key := fmt.Sprintf("churn/%d/%d", seed, rng.IntN(20))
		size := []int{0, 100, 5000, 60_000, 200_000}[rng.IntN(5)]
		switch rng.IntN(8) {
		case 0, 1:
			remove(t, s, key)
		case 2:
			_, err := s.Copy(context.Background(), store.CopyRequest{
				SourceBucket: "bucket", SourceKey: "small/0" + strconv.Itoa(rng.IntN(3)), Bucket: "bucket", Key: key,
			})
			if err != nil {
				t.Error(err)
			}
		case 3:
			id := upload(t, s, key, rng.IntN(2) == 0)
			s.AbortUpload(context.Background(), "bucket", key, id) // of those that were not completed
		default:
			put(t, s, key, noise(rng.Uint64(), size))
		}
	}
}

// cycles is how much longer than usual a campaign runs.
func cycles(t *testing.T) time.Duration {
	t.Helper()
	text := os.Getenv("LARDER_CYCLES")
	if text == "" {
		return 1
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("LARDER_CYCLES=%s", text)
	}
	return time.Duration(n)
}

// TestWhatIsInUseIsNeverAccused runs passes while everything is overwritten,
// deleted, completed and compacted beneath them.
func TestWhatIsInUseIsNeverAccused(t *testing.T) {
	t.Parallel()
	s, err := store.Open(t.Context(), store.Config{Dir: t.TempDir(), SegmentSize: 128 << 10, CompactRate: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	fill(t, s)
	ctx, stop := context.WithTimeout(t.Context(), 3*time.Second*cycles(t))
	defer stop()
	var workers sync.WaitGroup
	for seed := range uint64(3) {
		workers.Go(func() { churn(ctx, t, s, seed) })
	}
	passes := 0
	for ; ctx.Err() == nil; passes++ {
		for _, f := range pass(t, s).Findings {
			t.Errorf("pass %d: %+v", passes, f)
			stop()
		}
	}
	workers.Wait()
	for _, f := range pass(t, s).Findings {
		t.Errorf("at the end: %+v", f)
	}
	t.Logf("%d passes over %d changes", passes, s.Stats().Sequence)
	figures(t, map[string]any{"passes": passes, "changes": s.Stats().Sequence, "false_alarms": 0})
}

// figures appends what a test has measured to the file that the environment
// names.
func figures(t *testing.T, values map[string]any) {
	t.Helper()
	name := os.Getenv("LARDER_FIGURES")
	if name == "" {
		return
	}
	line, err := json.Marshal(map[string]any{"test": t.Name(), "figures": values})
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write(append(line, '\n')); err != nil {
		t.Fatal(err)
	}
}
