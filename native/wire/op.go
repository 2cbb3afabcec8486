package wire

import "strconv"

// Op is what a request asks for.
type Op uint16

// The operations.
const (
	OpInfo Op = 1

	OpListBuckets  Op = 16
	OpCreateBucket Op = 17
	OpHeadBucket   Op = 18
	OpDeleteBucket Op = 19

	OpPut        Op = 32
	OpGet        Op = 33
	OpHead       Op = 34
	OpDelete     Op = 35
	OpDeleteMany Op = 36
	OpList       Op = 37
	OpCopy       Op = 38

	OpCreateUpload   Op = 48
	OpPutPart        Op = 49
	OpCopyPart       Op = 50
	OpCompleteUpload Op = 51
	OpAbortUpload    Op = 52
	OpListUploads    Op = 53
	OpListParts      Op = 54

	OpWatch Op = 64
)

// group is a set of fields that some operations take.
type group uint32

const (
	ofBucket group = 1 << iota
	ofKey
	ofUpload
	ofPart
	ofSource
	ofRange
	ofIfMatch
	ofIfAbsent
	ofReadCondition
	ofMeta
	ofAlgorithm
	ofReplace
	ofPutOptions
	ofDeletes
	ofParts
	ofPrefix
	ofDelimiter
	ofAfter
	ofMax
	ofAfterUpload
	ofAfterPart
	ofFrom

	ofObject    = ofBucket | ofKey
	ofCondition = ofIfMatch | ofIfAbsent
)

// takes is the table of operations: which fields a request may have, and its
// name. Known is false for an operation that there is none of.
func (o Op) takes() (fields group, name string, known bool) {
	switch o {
	case OpInfo:
		return 0, "Info", true
	case OpListBuckets:
		return 0, "ListBuckets", true
	case OpCreateBucket:
		return ofBucket, "CreateBucket", true
	case OpHeadBucket:
		return ofBucket, "HeadBucket", true
	case OpDeleteBucket:
		return ofBucket, "DeleteBucket", true
	case OpPut:
		return ofObject | ofMeta | ofCondition | ofPutOptions, "Put", true
	case OpGet:
		return ofObject | ofIfMatch | ofReadCondition | ofRange, "Get", true
	case OpHead:
		return ofObject | ofIfMatch | ofReadCondition, "Head", true
	case OpDelete:
		return ofObject | ofIfMatch, "Delete", true
	case OpDeleteMany:
		return ofBucket | ofDeletes, "DeleteMany", true
	case OpList:
		return ofBucket | ofPrefix | ofDelimiter | ofAfter | ofMax, "List", true
	case OpCopy:
		return ofObject | ofSource | ofCondition | ofReplace | ofMeta, "Copy", true
	}
	return o.takesOfUploads()
}

func (o Op) takesOfUploads() (fields group, name string, known bool) {
	switch o {
	case OpCreateUpload:
		return ofObject | ofMeta | ofAlgorithm, "CreateUpload", true
	case OpPutPart:
		return ofObject | ofUpload | ofPart | ofPutOptions, "PutPart", true
	case OpCopyPart:
		return ofObject | ofUpload | ofPart | ofSource | ofRange, "CopyPart", true
	case OpCompleteUpload:
		return ofObject | ofUpload | ofCondition | ofParts, "CompleteUpload", true
	case OpAbortUpload:
		return ofObject | ofUpload, "AbortUpload", true
	case OpListUploads:
		return ofBucket | ofPrefix | ofAfter | ofAfterUpload | ofMax, "ListUploads", true
	case OpListParts:
		return ofObject | ofUpload | ofAfterPart | ofMax, "ListParts", true
	case OpWatch:
		return ofBucket | ofPrefix | ofFrom, "Watch", true
	}
	return 0, "", false
}

// Known tells whether there is such an operation.
func (o Op) Known() bool {
	_, _, known := o.takes()
	return known
}

// HasBody tells whether a request of the operation has a body behind it.
func (o Op) HasBody() bool { return o == OpPut || o == OpPutPart }

// MostBytes is the largest payload of a request of the operation.
func (o Op) MostBytes() int {
	if o == OpDeleteMany || o == OpCompleteUpload {
		return MaxLongRequest
	}
	return MaxRequest
}

// String is the operation's name.
func (o Op) String() string {
	if _, name, known := o.takes(); known {
		return name
	}
	return "operation " + strconv.Itoa(int(o))
}
