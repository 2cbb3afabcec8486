package auth

// Action is what a caller wants to do. Each method of a door names exactly one.
type Action uint8

// The actions. Those on buckets and objects take a Resource; the others none,
// but for ChangeOwnPassword, whose Resource.Key is the user's name.
const (
	ListBuckets Action = iota + 1
	CreateBucket
	DeleteBucket
	ReadBucket   // head, location, versioning state and other settings
	ListObjects  // Resource.Key is the requested prefix
	GetObject    // also head
	PutObject    // create or overwrite
	CreateObject // create only, never overwrite
	DeleteObject
	ListUploads // Resource.Key is the requested prefix
	AbortUpload
	ListParts
	ReadSummary
	ManageKeys
	ReadKeys
	ManageUsers
	ReadUsers
	ChangeOwnPassword
	SetBucket // settings of a bucket
	ReadScrub
	ManageScrub
	MakeBackup  // to a folder of the server's machine: for its local caller only
	ExportFiles // likewise
	lastAction  = ExportFiles
)

// String returns the name of the action as the audit log writes it.
func (a Action) String() string {
	names := [...]string{
		"", "ListBuckets", "CreateBucket", "DeleteBucket", "ReadBucket", "ListObjects", "GetObject",
		"PutObject", "CreateObject", "DeleteObject", "ListUploads", "AbortUpload", "ListParts",
		"ReadSummary", "ManageKeys", "ReadKeys", "ManageUsers", "ReadUsers", "ChangeOwnPassword",
		"SetBucket", "ReadScrub", "ManageScrub", "MakeBackup", "ExportFiles",
	}
	if a == 0 || int(a) >= len(names) {
		return "Action(?)"
	}
	return names[a]
}

// Actions returns every action in order. Tests of front ends walk it.
func Actions() []Action {
	out := make([]Action, 0, lastAction)
	for a := ListBuckets; a <= lastAction; a++ {
		out = append(out, a)
	}
	return out
}

// Resource is what an action is done to. For ListObjects and ListUploads, Key is
// the requested prefix.
type Resource struct{ Bucket, Key string }
