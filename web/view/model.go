// Package view draws the console's pages: templ components and the plain
// structures they are drawn from. It knows no handler, no door and no store;
// whatever is shown has been made ready by package web.
package view

import (
	"strings"
	"time"
)

// Shell is what surrounds every page of a session.
type Shell struct {
	Title   string // of the page, plain text
	Section string // place in the navigation that is current
	User    string
	Theme   string // "light", "dark" or "" for the system's
	Token   string // of every form on the page
	Here    string // path and query of the page, to come back to
	Version string
	Now     time.Time
	May     May
	Flash   *Notice
	Notices []Notice // that stand on every page: read-only, disk nearly full
}

// May says which doors are worth showing. It decides nothing: whoever finds
// the way to a hidden page is refused there.
type May struct {
	Keys, Users bool // see and manage
	Write       bool // create and delete buckets and objects
}

// Lone is what surrounds a page without a session: set-up, login, errors.
type Lone struct {
	Title     string
	Theme     string
	Token     string
	Here      string
	Version   string
	SecureURL string // the same page over TLS, when this connection has none
}

// Kind of a notice, badge or health line. It names an icon and a colour.
type Kind string

// The kinds, best first.
const (
	Good Kind = "good"
	Info Kind = "info"
	Warn Kind = "warn"
	Bad  Kind = "bad"
)

// Word is what the kind is called, since a colour alone tells nothing.
func (k Kind) Word() string {
	switch k {
	case Good:
		return "Done"
	case Warn:
		return "Take care"
	case Bad:
		return "Problem"
	}
	return "Note"
}

// Notice is a message that stands above a page's content.
type Notice struct {
	Kind  Kind
	Title string
	Text  string
	Link  string // where to go about it; "" = nowhere
	Label string // of the link
}

// Field is one input of a form with its label, hint and error.
type Field struct {
	Name, Label  string
	Type         string // "" = text
	Value        string
	Hint         string
	Error        string // "" = none; never says only "invalid"
	Autocomplete string
	Placeholder  string
	Class        string // of the input, besides "input"
	MaxLength    string
	Optional     bool
	Autofocus    bool
	ReadOnly     bool
}

// ID is the id of the input element.
func (f Field) ID() string { return "f-" + f.Name }

// DescribedBy lists the ids of hint and error, or is "".
func (f Field) DescribedBy() string {
	var ids []string
	if f.Hint != "" {
		ids = append(ids, f.ID()+"-hint")
	}
	if f.Error != "" {
		ids = append(ids, f.ID()+"-error")
	}
	return strings.Join(ids, " ")
}

func (f Field) kind() string {
	if f.Type == "" {
		return "text"
	}
	return f.Type
}

// Problems are the errors of a form's fields, in order, and Text is what is
// wrong with the form as a whole.
type Problems struct {
	Text   string
	Fields []Field
}

// Any reports whether there is something to show.
func (p Problems) Any() bool { return p.Text != "" || len(p.broken()) > 0 }

func (p Problems) broken() []Field {
	var out []Field
	for _, f := range p.Fields {
		if f.Error != "" {
			out = append(out, f)
		}
	}
	return out
}

// Choice is one radio card.
type Choice struct {
	Value, Title, Text string
	Checked            bool
}

// Option is one entry of a select.
type Option struct {
	Value, Label string
	Selected     bool
}

// Fact is a line of a description list. Mono draws the value as code.
type Fact struct {
	Term, Value string
	Mono        bool
	Time        time.Time // drawn instead of Value when set
}

// Crumb is a step of a breadcrumb. The last one has no link.
type Crumb struct{ Name, Link string }

// Hidden is a hidden input of a form.
type Hidden struct{ Name, Value string }
