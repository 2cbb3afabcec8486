package sigv4

import "larder/fault"

// Reason says why a signature cannot even be verified.
type Reason uint8

// The reasons. Each front end answers them in its own words.
const (
	NoCredentials  Reason = 1  // nothing is signed
	MalformedAuth  Reason = 2  // the Authorization header cannot be read
	MalformedQuery Reason = 3  // the X-Amz-* parameters cannot be read
	Obsolete       Reason = 4  // Signature Version 2
	Unsupported    Reason = 5  // another algorithm or another scheme
	Ambiguous      Reason = 6  // credentials in more than one place
	NoDate         Reason = 7  // no x-amz-date
	Skewed         Reason = 8  // the clocks differ by more than MaxSkew
	PastExpiry     Reason = 9  // a link after its life
	TooEarly       Reason = 10 // a link from the future
	NotSigned      Reason = 11 // a header that must be signed is not
	BadHeaders     Reason = 12 // SignedHeaders does not fit the request
	ForeignToken   Reason = 13 // a session token, which Larder never issues
	NoPayloadHash  Reason = 14 // no x-amz-content-sha256
	BadTarget      Reason = 15 // the path or the query cannot be decoded
)

// Reasons returns every reason, for tests of the tables over them.
func Reasons() []Reason {
	out := make([]Reason, 0, BadTarget)
	for r := NoCredentials; r <= BadTarget; r++ {
		out = append(out, r)
	}
	return out
}

// Error is the error of Parse. Its message is public: it repeats nothing but
// names of headers and parameters.
type Error struct {
	Reason  Reason
	Message string
}

// Error gives the public message.
func (e *Error) Error() string { return "sigv4: " + e.Message }

// Unwrap lets fault.CodeOf classify the error.
func (e *Error) Unwrap() error {
	return fault.New("sigv4.Parse", e.code(), "", nil).WithHint(e.Message)
}

func (e *Error) code() fault.Code {
	switch e.Reason {
	case NoCredentials, Unsupported, NoDate, ForeignToken:
		return fault.Unauthenticated
	case Skewed, TooEarly:
		return fault.ClockSkew
	case PastExpiry:
		return fault.Expired
	case NotSigned, BadHeaders:
		return fault.BadSignature
	}
	return fault.InvalidArgument
}

func refuse(r Reason, message string) error { return &Error{Reason: r, Message: message} }
