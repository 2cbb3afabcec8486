package view

// Stat is one number that matters.
type Stat struct {
	Icon, Label string
	Value, Unit string
	Sub         string
	Points      []float64 // the curve of the last hour, oldest first; fewer than two draw none
	Low, High   string    // what the curve's ends mean, for screen readers
	Part, Whole int64     // a bar instead of a curve when Whole is set
	BarClass    string
	BarLabel    string
}

// Health is the worst of all that is to be said, in one line.
type Health struct {
	Kind        Kind
	Title, Text string
}

// Step is one of the things to do until the first backup.
type Step struct {
	Title, Text string
	Link, Label string
	Done, Now   bool
}

// Home is the page of numbers.
type Home struct {
	Health Health
	Stats  []Stat
	Steps  []Step // empty when all are done
	S3URL  string
	Facts  []Fact
	Secure Notice // the not-encrypted notice; no text when encrypted
}
