package view

import "time"

// Grant is a right on a part of what is stored.
type Grant struct{ Bucket, Prefix, Rights string }

// Key is an access key as it is listed.
type Key struct {
	ID, Name         string
	Link             string
	Toggle, Delete   string // addresses of the confirmations
	Grants           []Grant
	State            string
	StateKind        Kind
	Disabled         bool
	Created          time.Time
	Expires, LastUse time.Time // zero = never
	LastAddr         string
}

// Snippet is settings for one program, in parts to copy.
type Snippet struct {
	Program string
	Parts   []SnippetPart
	Note    string
}

// SnippetPart is one block of code with what it is.
type SnippetPart struct{ Title, Code string }

// NewSecret is the page that shows a new key's secret, once.
type NewSecret struct {
	Key      Key
	Secret   string
	Endpoint string
	Snippets []Snippet
	Handle   string // names the secret in the form that forgets it
	Minutes  string // how long the page can be reloaded
}

// NewKey is the form that makes a key.
type NewKey struct {
	Name, Bucket, Pattern, Prefix, Expiry Field
	Buckets, Expiries                     []Option
	Rights                                []Choice
}
