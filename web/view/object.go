package view

import "time"

// Entry is a line of the object browser: a folder or an object.
type Entry struct {
	Name     string // without the folder it stands in
	Folder   bool
	Link     string // opens the folder, or the object's page
	Download string
	Delete   string
	Pick     string // value of the check box
	Size     int64
	Modified time.Time
}

// Browser is one page of a folder.
type Browser struct {
	Title, Bucket string
	Crumbs        []Crumb
	Entries       []Entry
	Here          string // the folder's own address, first page
	HereHidden    []Hidden
	Filter        string // beginning of the names shown
	Shown         string // what the pager says
	First, Next   string // "" = there is none
	PickAction    string
	NewFolder     string
	NewKey        string // makes a key for the bucket
	UploadURL     string // of this bucket; the key is appended
	MayURL        string // asks whether an upload would be taken; the key is appended
	Prefix        string // percent-encoded
	MaxBytes      string // of one upload, in digits
	S3URL         string
	Empty         bool // nothing in the folder at all, as opposed to nothing that fits the filter
}

// Object is the page of one object.
type Object struct {
	Crumbs           []Crumb
	Name, Icon       string
	Facts, Meta      []Fact
	Download, Delete string
	Address          string // at the S3 port, the key percent-encoded
}
