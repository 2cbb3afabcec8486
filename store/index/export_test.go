package index

// Runs returns how often statements have been run on the read connections,
// those that begin and end a page left out. No read may be running.
func (x *Index) Runs() int {
	var held []*conn
	for range cap(x.readers) {
		held = append(held, <-x.readers)
	}
	n := 0
	for _, c := range held {
		for st := selectRow; st < readStatements; st++ {
			n += c.runs[st]
		}
		x.readers <- c
	}
	return n
}

// WriterRuns returns how often statements have been run on the writer.
func (x *Index) WriterRuns() int {
	n := 0
	for _, runs := range x.writer.runs {
		n += runs
	}
	return n
}

// Schema returns the schema as SQLite keeps it.
func (x *Index) Schema() (string, error) {
	return with(x, "index.Schema", (*conn).schema)
}

// Plans returns the query plan of every statement that has one.
func (x *Index) Plans() (map[string][]string, error) {
	return with(x, "index.Plans", func(c *conn) (map[string][]string, error) {
		plans := make(map[string][]string)
		for _, q := range queries() {
			s, _, err := c.db.PrepareTransient("EXPLAIN QUERY PLAN " + q)
			if err != nil {
				return nil, err
			}
			for {
				row, err := s.Step()
				if err != nil {
					return nil, err
				}
				if !row {
					break
				}
				plans[q] = append(plans[q], s.ColumnText(3))
			}
			s.Finalize()
		}
		return plans, nil
	})
}

// Pragma returns a pragma's value, of the writer or of a reader.
func (x *Index) Pragma(writer bool, name string) (string, error) {
	if writer {
		return x.writer.pragma(name)
	}
	return with(x, "index.Pragma", func(c *conn) (string, error) { return c.pragma(name) })
}

// Idle tells whether no connection holds a transaction or an unfinished
// statement. No read may be running.
func (x *Index) Idle() bool {
	idle := x.writer.db.AutocommitEnabled() && x.writer.db.CheckReset() == ""
	var held []*conn
	for range cap(x.readers) {
		c := <-x.readers
		held = append(held, c)
		idle = idle && c.db.AutocommitEnabled() && c.db.CheckReset() == ""
	}
	for _, c := range held {
		x.readers <- c
	}
	return idle
}

// Successor and Migrate are for tests of the parts.
var Successor = successor

// ApplicationID is what a file of ours carries.
const ApplicationID = applicationID

// MaxPageBytes is the bound of a page in memory.
const MaxPageBytes = maxPageBytes
