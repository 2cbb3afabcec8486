package bench_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"larder/cmd/appliance/internal/bench"
)

func TestExercise(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*bench.Exercise){
		"as it is": func(*bench.Exercise) {},
		"varied":   func(e *bench.Exercise) { e.VaryRequest = true },
		"by index": func(e *bench.Exercise) { e.VaryRequest, e.UseIndex = true, true },
		"large":    func(e *bench.Exercise) { e.BlockSize = 3<<20 + 5 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := small(t, "exercise")
			change(&cfg.Exercise)
			r, _ := mustRun(t, cfg)
			saneCells(t, r, "read", "write")
			for _, c := range r.Cells {
				if f := c.Contenders[0]; f.MiB <= 0 || f.Bytes != f.Operations*cfg.Exercise.BlockSize {
					t.Errorf("%s: %+v", c.Op, f)
				}
			}
		})
	}
}

func TestExerciseBySecond(t *testing.T) {
	t.Parallel()
	cfg := small(t, "exercise")
	cfg.Exercise.RunTime, cfg.Exercise.Repeat = 1100*time.Millisecond, 1
	r, out := mustRun(t, cfg)
	for _, c := range r.Cells {
		if f := c.Contenders[0]; len(f.PerSecond) == 0 || slices.Max(f.PerSecond) <= 0 {
			t.Errorf("%s: seconds %v", c.Op, f.PerSecond)
		}
	}
	if !strings.Contains(out, "s3 read, second 1: ") {
		t.Errorf("no second is printed:\n%s", out)
	}
}

func TestExerciseOfReadersAlone(t *testing.T) {
	t.Parallel()
	cfg := small(t, "exercise")
	cfg.Exercise.Writers = 0
	r, _ := mustRun(t, cfg)
	saneCells(t, r, "read")
	if len(r.Cells) != 1 {
		t.Errorf("%d cells", len(r.Cells))
	}
}

// TestExerciseFindsDamage holds that a block with other bytes than it was stored
// with is an error, be it as long as before or not.
func TestExerciseFindsDamage(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]bench.Damage{
		"one bit":   func(_ string, b []byte) []byte { b = bytes.Clone(b); b[len(b)/2] ^= 1; return b },
		"one less":  func(_ string, b []byte) []byte { return b[:len(b)-1] },
		"one twice": func(_ string, b []byte) []byte { return append(bytes.Clone(b), b[len(b)-1]) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := small(t, "exercise")
			cfg.Exercise.Writers, cfg.Exercise.RunTime, cfg.Exercise.UseIndex = 0, 500*time.Millisecond, true
			f, damaged, err := bench.ExerciseDamaged(t.Context(), cfg, damage)
			if err != nil {
				t.Fatal(err)
			}
			if f.Errors == 0 || !strings.Contains(f.FirstError, damaged) || !strings.Contains(f.FirstError, "corrupt") {
				t.Errorf("%d errors, the first: %q; damaged was %s", f.Errors, f.FirstError, damaged)
			}
			if f.Operations == 0 {
				t.Error("no sound block was read")
			}
		})
	}
}
