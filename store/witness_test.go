package store_test

import (
	"bytes"
	"context"
	"maps"
	"testing"

	"larder/fault"
	"larder/store"
	"larder/store/index"
)

// countedView counts what is asked of the index.
type countedView struct {
	store.View
	n map[string]int
}

func (v *countedView) Begin() (store.ViewTx, error) {
	tx, err := v.View.Begin()
	return &countedTx{tx, v.n}, err
}

func (v *countedView) Row(bucket uint64, key string) (index.Row, bool, error) {
	v.n["Row"]++
	return v.View.Row(bucket, key)
}

func (v *countedView) Current(bucket uint64, key string) (index.Row, index.Body, bool, error) {
	v.n["Current"]++
	return v.View.Current(bucket, key)
}

func (v *countedView) Body(sequence uint64) (index.Body, bool, error) {
	v.n["Body"]++
	return v.View.Body(sequence)
}

type countedTx struct {
	store.ViewTx
	n map[string]int
}

func (tx *countedTx) Row(bucket uint64, key string) (index.Row, bool, error) {
	tx.n["tx.Row"]++
	return tx.ViewTx.Row(bucket, key)
}

func (tx *countedTx) Body(sequence uint64) (index.Body, bool, error) {
	tx.n["tx.Body"]++
	return tx.ViewTx.Body(sequence)
}

func (tx *countedTx) PutRow(r index.Row) error {
	tx.n["tx.PutRow"]++
	return tx.ViewTx.PutRow(r)
}

func (tx *countedTx) PutBody(b index.Body) error {
	tx.n["tx.PutBody"]++
	return tx.ViewTx.PutBody(b)
}

func (tx *countedTx) DeleteBody(sequence uint64) error {
	tx.n["tx.DeleteBody"]++
	return tx.ViewTx.DeleteBody(sequence)
}

func (tx *countedTx) DropWitness(sequence uint64) error {
	tx.n["tx.DropWitness"]++
	return tx.ViewTx.DropWitness(sequence)
}

func (tx *countedTx) AddRef(sequence uint64, delta int64, ends bool) (int64, index.Body, error) {
	tx.n["tx.AddRef"]++
	return tx.ViewTx.AddRef(sequence, delta, ends)
}

// openCounted opens a store that keeps so many rows in memory, 0 for the usual.
func openCounted(t *testing.T, cacheRows int) (*store.Store, *countedView) {
	t.Helper()
	v := &countedView{n: map[string]int{}}
	s, err := store.OpenOnGround(t.Context(), store.Config{Dir: t.TempDir(), CompactRate: -1, CacheRows: cacheRows}, store.Ground{
		Disk: store.OSDisk,
		Index: func(ctx context.Context, cfg index.Config) (store.View, error) {
			x, err := store.OpenSQLView(ctx, cfg)
			v.View = x
			return v, err
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	s.Settle()
	makeBucket(t, s, "bucket")
	clear(v.n)
	return s, v
}

// TestWitnessesCostPutsNothing counts the statements of changes: those of an
// object with bytes of its own are as many as without witnesses.
func TestWitnessesCostPutsNothing(t *testing.T) {
	t.Parallel()
	s, v := openCounted(t, 0)
	steps := []struct {
		what string
		do   func()
		want map[string]int
	}{
		{"put", func() { put(t, s, "bucket", "k", noise(1, 100)) }, map[string]int{"tx.Row": 1, "tx.PutBody": 1, "tx.PutRow": 1}},
		{"overwrite", func() { put(t, s, "bucket", "k", noise(2, 100)) },
			map[string]int{"tx.Row": 1, "tx.PutBody": 1, "tx.PutRow": 1, "tx.Body": 1, "tx.DeleteBody": 1}},
		{"copy", func() { copyOver(t, s, "copy", "k", nil) },
			map[string]int{"tx.Row": 1, "tx.PutBody": 1, "tx.PutRow": 1, "tx.Body": 1, "tx.AddRef": 1}},
		{"overwrite of what a copy needs", func() { put(t, s, "bucket", "k", noise(3, 100)) },
			map[string]int{"tx.Row": 1, "tx.PutBody": 1, "tx.PutRow": 1, "tx.Body": 1, "tx.AddRef": 1}},
		{"empty", func() { put(t, s, "bucket", "e", nil) }, map[string]int{"tx.Row": 1, "tx.PutBody": 1, "tx.PutRow": 1}},
		{"deletion of it", func() { remove(t, s, "bucket", "e") }, map[string]int{"tx.Row": 1, "tx.DropWitness": 1}},
	}
	for _, step := range steps {
		clear(v.n)
		step.do()
		if !maps.Equal(v.n, step.want) {
			t.Errorf("%s: %v, want %v", step.what, v.n, step.want)
		}
	}
}

// TestWitnessesCostReadsNothing counts the statements of reads.
func TestWitnessesCostReadsNothing(t *testing.T) {
	t.Parallel()
	s, v := openCounted(t, 3)
	put(t, s, "bucket", "k", noise(1, 100))
	for _, key := range []string{"other", "a", "b", "c"} {
		put(t, s, "bucket", key, nil)
	}
	clear(v.n)
	if got := read(t, s, "bucket", "k"); !bytes.Equal(got, noise(1, 100)) {
		t.Error("other bytes")
	}
	if want := map[string]int{"Current": 1}; !maps.Equal(v.n, want) {
		t.Errorf("a get runs %v, want %v", v.n, want)
	}
	clear(v.n)
	read(t, s, "bucket", "k")
	if _, err := s.Head(t.Context(), "bucket", "k"); err != nil || len(v.n) > 0 {
		t.Errorf("from the cache: %v, %v", v.n, err)
	}
	if _, err := s.Head(t.Context(), "bucket", "other"); err != nil || v.n["Current"] != 1 || len(v.n) != 1 {
		t.Errorf("a head runs %v, %v", v.n, err)
	}
	_, err := s.Head(t.Context(), "bucket", "never")
	wantCode(t, err, fault.NoSuchKey)
}
