package view

import "time"

// Verification is the state of the scrub, and what may be done about it.
type Verification struct {
	There       bool // false: this server has none
	Kind        Kind
	State       string // one phrase for the badge
	Facts       []Fact
	Done, Total int64 // of the pass that runs; Total 0 = none runs
	BarLabel    string
	Manage      bool
	Paused      bool
	Running     bool
	Damage      []Damage
	More        int64 // findings that are not listed
}

// Damage is one finding.
type Damage struct {
	Open         bool
	What         string // the object, or what kind of thing suffers
	Link         string // to the object, "" = none
	Place        string // file and offset
	Reason       string
	Found        time.Time
	How          string
	Consequences string // what it means and what to do
}

// Snapshots are the newest copies of users and keys.
type Snapshots struct {
	There bool
	List  []Fact
	Count int
}
