package sigv4

// Canonical opens the canonical form of a query to tests.
func (q Query) Canonical() string { return q.canonical() }
