package vfs

// OpKind names a method of FS or File.
type OpKind uint8

// The operations, in no order that means anything.
const (
	OpCreate OpKind = iota
	OpOpen
	OpOpenWrite
	OpSyncDir
	OpRename
	OpRemove
	OpMkdir
	OpList
	OpStat
	OpLock
	OpSpace
	OpRead
	OpWrite
	OpSync
	OpTruncate
	OpPreallocate
	OpClose
	opCount
)

// opNames is never written to.
var opNames = [opCount]string{
	"create", "open", "openwrite", "syncdir", "rename", "remove", "mkdir", "list", "stat",
	"lock", "space", "read", "write", "sync", "truncate", "preallocate", "close",
}

func (k OpKind) String() string {
	if k < opCount {
		return opNames[k]
	}
	return "unknown"
}

// Changes reports whether the operation can change what a power cut leaves.
func (k OpKind) Changes() bool {
	switch k {
	case OpCreate, OpSyncDir, OpRename, OpRemove, OpMkdir, OpWrite, OpSync, OpTruncate, OpPreallocate:
		return true
	}
	return false
}

// Op is one operation on a Mem, as its injector sees it before it happens.
type Op struct {
	Kind   OpKind
	Name   string // of the file or folder; of Rename the old name
	Offset int64  // of a read or write; of Truncate and Preallocate the size
	Length int    // of a read or write

	mem *Mem // see Before
}

// Partial is an injected error that comes after the operation had an effect: a
// write takes its first Bytes bytes; any other operation is done wholly.
type Partial struct {
	Bytes int
	Err   error
}

func (p *Partial) Error() string { return p.Err.Error() }

// Unwrap gives the injected cause.
func (p *Partial) Unwrap() error { return p.Err }
