package admin

import (
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"

	"larder/fault"
)

// maxBody bounds a request's body in bytes.
const maxBody = 64 << 10

// readJSON decodes a request's body into v. Unknown fields, anything after the
// one JSON value, bodies over 64 KiB and other content types are refused; the
// last also because a form on a foreign page cannot send application/json.
func readJSON(w http.ResponseWriter, r *http.Request, v any) error {
	const op = "admin.readJSON"
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "application/json" {
		return fault.New(op, fault.InvalidArgument, "Content-Type", err).
			WithHint("Send the body as Content-Type: application/json.")
	}
	dec := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return badBody(op, err)
	}
	if err := dec.Decode(&struct{}{}); !errors.Is(err, io.EOF) {
		return badBody(op, errors.New("more than one JSON value"))
	}
	return nil
}

// badBody keeps the message of package json to itself where it would quote the
// body, which may hold a password.
func badBody(op string, err error) error {
	var tooLarge *http.MaxBytesError
	var known *fault.Error
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &tooLarge):
		return fault.New(op, fault.EntityTooLarge, "body", nil).WithHint("The body is larger than 64 KiB.")
	case errors.As(err, &known):
		return fault.New(op, known.Code, known.Resource, nil).WithHint(known.Hint)
	case errors.As(err, &kind):
		return fault.New(op, fault.InvalidArgument, kind.Field, nil).
			WithHint("The field " + kind.Field + " has the wrong type.")
	case strings.HasPrefix(err.Error(), "json: unknown field "):
		return fault.New(op, fault.InvalidArgument, "body", nil).
			WithHint("Unknown field " + strings.TrimPrefix(err.Error(), "json: unknown field ") + ".")
	}
	return fault.New(op, fault.InvalidArgument, "body", nil).WithHint("The body is not one JSON object of the expected form.")
}
