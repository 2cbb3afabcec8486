package view

import "time"

// Bucket is a line of the list of buckets.
type Bucket struct {
	Name           string
	Link, Delete   string
	NewKey         string // makes a key for the bucket
	Settings       string
	Objects, Bytes int64
	Created        time.Time
}

// Buckets is the list, whole.
type Buckets struct {
	List  []Bucket
	Bytes int64 // of all, what the bars are parts of
}
