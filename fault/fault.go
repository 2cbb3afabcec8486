// Package fault is Larder's error vocabulary: the one error type that crosses
// packages, and the numbered codes that every front end maps to its own answer.
//
// Codes are append-only. Their numbers are the error codes of the native
// protocol, so a number is never reused and never changes its meaning.
package fault

import (
	"errors"
	"strings"
)

// Error says what failed (Op), how (Code), on what (Resource) and why (Err).
//
// Err is private: it may name files and queries and is for the log only.
// Hint is public: one sentence that tells a person what would be right.
type Error struct {
	Op       string // the operation, as package.Method
	Code     Code
	Resource string // the bucket, key, file or id it happened to; may be empty
	Hint     string
	Err      error
}

// New returns an Error without a hint. err may be nil.
func New(op string, code Code, resource string, err error) *Error {
	return &Error{Op: op, Code: code, Resource: resource, Err: err}
}

// WithHint returns a copy of e that carries a sentence for the person who asked.
func (e *Error) WithHint(hint string) *Error {
	c := *e
	c.Hint = hint
	return &c
}

// Error is the text for the log. It never contains a secret, since neither
// resources nor operations are secrets.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Op)
	b.WriteString(": ")
	b.WriteString(e.Code.String())
	if e.Resource != "" {
		b.WriteString(" (" + e.Resource + ")")
	}
	if e.Hint != "" {
		b.WriteString(": " + e.Hint)
	}
	if e.Err != nil {
		b.WriteString(": " + e.Err.Error())
	}
	return b.String()
}

// Unwrap gives errors.Is and errors.As the private cause.
func (e *Error) Unwrap() error { return e.Err }

// CodeOf returns the code of the outermost Error in err's chain, Internal for
// any other error, and OK for nil. It never fails.
func CodeOf(err error) Code {
	if err == nil {
		return OK
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return Internal
}

// HintOf returns the first public hint in err's chain, or "".
func HintOf(err error) string {
	for err != nil {
		var e *Error
		if !errors.As(err, &e) {
			return ""
		}
		if e.Hint != "" {
			return e.Hint
		}
		err = e.Err
	}
	return ""
}

// ResourceOf returns the resource of the outermost Error in err's chain, or "".
func ResourceOf(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.Resource
	}
	return ""
}
