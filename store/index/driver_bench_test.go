package index_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"larder/store/index"

	_ "modernc.org/sqlite" // the same engine below database/sql
)

// This file measures what docs/decisions/0002 decides: the index as it is
// against the same statements over the same engine through database/sql, with
// prepared statements on one pinned connection. The side of database/sql does
// not compute row checksums and wraps nothing, so the comparison favours it.

// compare runs both sides in turns, n times within each turn, and reports the
// median time of one run on each side. On a shared machine that says more than
// one side after the other.
func compare(b *testing.B, n int, statements, databaseSQL func(i int) error) {
	var took [2][]float64
	for i := 0; b.Loop(); i += n {
		for side, f := range []func(int) error{statements, databaseSQL} {
			start := time.Now()
			for k := range n {
				must(b, f(i+k))
			}
			took[side] = append(took[side], float64(time.Since(start).Nanoseconds())/1e3/float64(n))
		}
	}
	for side := range took {
		slices.Sort(took[side])
	}
	ours, theirs := took[0][len(took[0])/2], took[1][len(took[1])/2]
	b.ReportMetric(ours, "µs-statements")
	b.ReportMetric(theirs, "µs-databasesql")
	b.ReportMetric(theirs/ours, "ratio")
}

// sqlSide is a database/sql connection with its statements.
type sqlSide struct {
	conn                                       *sql.Conn
	row, list, begin, put, body, state, commit *sql.Stmt
}

func openSQL(b *testing.B, path string) *sqlSide {
	b.Helper()
	db, err := sql.Open("sqlite", "file:"+path+
		"?_pragma=synchronous(1)&_pragma=wal_autocheckpoint(0)&_pragma=journal_size_limit(4194304)"+
		"&_pragma=cache_size(-16384)&_pragma=mmap_size(0)&_pragma=cell_size_check(1)")
	must(b, err)
	db.SetMaxOpenConns(1)
	ctx := context.Background()
	conn, err := db.Conn(ctx)
	must(b, err)
	b.Cleanup(func() { conn.Close(); db.Close() })
	s := &sqlSide{conn: conn}
	for text, to := range map[string]**sql.Stmt{
		`SELECT sequence, size, modified, etag, sum, meta FROM objects WHERE bucket = ?1 AND key = ?2`: &s.row,
		`SELECT key, sequence, size, modified, etag, sum, meta
			FROM objects WHERE bucket = ?1+0 AND key >= ?2 ORDER BY key LIMIT ?3`: &s.list,
		`BEGIN IMMEDIATE`: &s.begin,
		`REPLACE INTO objects (bucket, key, sequence, size, modified, etag, sum, meta)
			VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)`: &s.put,
		`REPLACE INTO bodies (sequence, segment, offset, length, body_offset, body_length, refs, blob, sum)
			VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)`: &s.body,
		`REPLACE INTO state (id, format, store, sequence, segment, offset, sum) VALUES (1, ?1, ?2, ?3, ?4, ?5, ?6)`: &s.state,
		`COMMIT`: &s.commit,
	} {
		*to, err = conn.PrepareContext(ctx, text)
		must(b, err)
	}
	return s
}

func (s *sqlSide) readRow(bucket uint64, key string) (index.Row, error) {
	r := index.Row{Bucket: bucket, Key: key}
	var sum int64
	err := s.row.QueryRowContext(context.Background(), int64(bucket), []byte(key)).
		Scan(&r.Sequence, &r.Size, &r.Modified, &r.ETag, &sum, &r.Meta)
	return r, err
}

func (s *sqlSide) readList(bucket uint64, from string, limit int) ([]index.Row, error) {
	rows, err := s.list.QueryContext(context.Background(), int64(bucket), []byte(from), limit)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []index.Row
	for rows.Next() {
		r := index.Row{Bucket: bucket}
		var sum int64
		if err := rows.Scan(&r.Key, &r.Sequence, &r.Size, &r.Modified, &r.ETag, &sum, &r.Meta); err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, rows.Err()
}

// apply puts a row and a body as a Tx does, without counters and checksums.
func (s *sqlSide) apply(first, n int) error {
	ctx := context.Background()
	if _, err := s.begin.ExecContext(ctx); err != nil {
		return err
	}
	for i := first; i < first+n; i++ {
		r, b := benchRow(i), benchBody(i)
		_, err := s.put.ExecContext(ctx, int64(r.Bucket), []byte(r.Key), int64(r.Sequence), r.Size, r.Modified, r.ETag, int64(1), r.Meta)
		if err != nil {
			return err
		}
		_, err = s.body.ExecContext(ctx, int64(b.Sequence), int64(b.Segment), b.Offset, b.Length, b.BodyOffset, b.BodyLength, b.Refs, nil, int64(1))
		if err != nil {
			return err
		}
	}
	if _, err := s.state.ExecContext(ctx, 1, storeID[:], int64(first+n), 1, 1, int64(1)); err != nil {
		return err
	}
	_, err := s.commit.ExecContext(ctx)
	return err
}

func BenchmarkDriverRow(b *testing.B) {
	x, path := benchIndex(b)
	s := openSQL(b, path)
	compare(b, 20, func(i int) error {
		_, found, err := x.Row(2, benchKey(i%benchKeys))
		if err == nil && !found {
			err = errors.New("not found")
		}
		return err
	}, func(i int) error {
		_, err := s.readRow(2, benchKey(i%benchKeys))
		return err
	})
}

func BenchmarkDriverList(b *testing.B) {
	x, path := benchIndex(b)
	s := openSQL(b, path)
	compare(b, 1, func(int) error {
		page, err := x.List(index.ListQuery{Bucket: 2, Prefix: "backup/", Max: 1000})
		return enough(len(page.Rows), err)
	}, func(int) error {
		rows, err := s.readList(2, "backup/", 1000)
		return enough(len(rows), err)
	})
}

func enough(rows int, err error) error {
	if err == nil && rows != 1000 {
		err = fmt.Errorf("%d rows", rows)
	}
	return err
}

// BenchmarkDriverApply overwrites rows and bodies in batches, so that the
// database does not grow. The medians leave the checkpoints out.
func BenchmarkDriverApply(b *testing.B) {
	for _, batch := range []int{1, 64} {
		b.Run(fmt.Sprint("batch=", batch), func(b *testing.B) {
			x, path := benchIndex(b)
			s := openSQL(b, path)
			first := func(i int) int { return i * batch % (benchKeys - batch) }
			compare(b, 1, func(i int) error {
				if n, err := x.WALSize(); err != nil || n > 16<<20 {
					must(b, x.Checkpoint(index.Truncate))
				}
				return applyBatch(x, first(i), batch)
			}, func(i int) error { return s.apply(first(i), batch) })
		})
	}
}

func applyBatch(x *index.Index, first, n int) error {
	tx, err := x.Begin()
	if err != nil {
		return err
	}
	for i := first; i < first+n; i++ {
		if err := tx.PutRow(benchRow(i)); err != nil {
			return err
		}
		if err := tx.PutBody(benchBody(i)); err != nil {
			return err
		}
	}
	tx.SetApplied(index.Position{Sequence: uint64(first + n)})
	return tx.Commit()
}

// TestBothSidesAgree keeps the comparison honest: both read the same.
func TestBothSidesAgree(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "index.db")
	x := open(t, path)
	fill(t, x, 10)
	db, err := sql.Open("sqlite", "file:"+path)
	must(t, err)
	defer db.Close()
	var version string
	var size int64
	must(t, db.QueryRow(`SELECT sqlite_version(), size FROM objects WHERE bucket = 2 AND key = ?`, []byte(benchKey(3))).Scan(&version, &size))
	row, found, err := x.Row(2, benchKey(3))
	if !found || err != nil || row.Size != size {
		t.Errorf("%+v, %v, %v; database/sql read %d", row, found, err, size)
	}
	if ours, err := x.Pragma(false, "user_version"); err != nil || ours != "3" {
		t.Error(ours, err)
	}
	t.Log("SQLite", version)
}
