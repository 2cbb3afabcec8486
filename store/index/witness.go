package index

import (
	"strconv"

	"zombiezen.com/go/sqlite"
)

// witnessFormat is the format that says of bodies whether their versions stand.
const witnessFormat = 3

// Witness is the body of a version or part that brought no bytes. It says that
// the record stands, and nothing else.
func Witness(sequence uint64) Body { return Body{Sequence: sequence, Current: true} }

// Bare tells whether a body is a mere witness.
func (b *Body) Bare() bool { return b.Length == 0 && b.Refs == 0 && b.Current }

// Current returns the current version of a key with its body, and whether there
// is one, in one statement. It is fault.Corrupt when the body does not say that
// the version stands: then the page with the row is an old one, or that with the
// body. The body of a version that brought no bytes is a witness.
func (x *Index) Current(bucket uint64, key string) (Row, Body, bool, error) {
	v, found, err := find(x, "index.Current", func(c *conn) (current, bool, error) { return c.current(bucket, key) })
	return v.row, v.body, found, err
}

type current struct {
	row  Row
	body Body
}

func (c *conn) current(bucket uint64, key string) (current, bool, error) {
	s := c.use(selectCurrent)
	s.BindInt64(1, int64(bucket))
	c.bindKey(s, 2, key)
	return first("index.Current", key, s, func(s *sqlite.Stmt) (v current, err error) {
		if v.row, err = c.decodeRow(s, 0, bucket, key); err != nil {
			return v, err
		}
		if s.ColumnInt64(14) != 1 {
			return v, errWitness
		}
		v.body, err = c.decodeBodyAt(s, 6, v.row.Sequence)
		return v, err
	})
}

// DropWitness removes the body of a version or part that brought no bytes, when
// it stands no longer. It is fault.Corrupt when there is none, since then it did
// not stand before.
func (t *Tx) DropWitness(sequence uint64) error {
	const op = "index.DropWitness"
	s, err := t.start(op, deleteWitness)
	if err != nil {
		return err
	}
	name := strconv.FormatUint(sequence, 10)
	s.BindInt64(1, int64(sequence))
	if err := exec(s); err != nil {
		return t.fail(op, name, err)
	}
	if t.c.db.Changes() == 0 {
		return t.fail(op, name, corrupt(op, name, errWitness))
	}
	return nil
}

// fillWitnesses says of all versions and parts that are there that they stand.
func (c *conn) fillWitnesses() error {
	for _, st := range []statement{selectBody, putBody} {
		s, err := c.db.Prepare(queries()[st])
		if err != nil {
			return err
		}
		c.stmts[st] = s
	}
	if err := c.eachSequence(`SELECT sequence FROM objects`, func(n uint64) error {
		b, found, err := c.body(n)
		if !found {
			b = Witness(n)
		}
		b.Current = true
		if err == nil {
			err = c.putBody(c.use(putBody), &b)
		}
		return err
	}); err != nil {
		return err
	}
	return c.eachSequence(`SELECT sequence FROM parts`, func(n uint64) error {
		_, found, err := c.body(n)
		if err == nil && !found {
			b := Witness(n)
			err = c.putBody(c.use(putBody), &b)
		}
		return err
	})
}

func (c *conn) eachSequence(query string, f func(uint64) error) error {
	s, _, err := c.db.PrepareTransient(query)
	if err != nil {
		return err
	}
	defer s.Finalize()
	for {
		found, err := s.Step()
		if err != nil || !found {
			return err
		}
		if err := f(uint64(s.ColumnInt64(0))); err != nil {
			return err
		}
	}
}
