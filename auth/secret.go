package auth

import (
	"fmt"
	"log/slog"
)

const redacted = "[redacted]"

// Secret is a password or the secret of an access key. However it is printed,
// logged or encoded, it shows as "[redacted]"; only Reveal gives the text.
type Secret string

// Reveal returns the text itself.
func (s Secret) Reveal() string { return string(s) }

// String returns "[redacted]".
func (s Secret) String() string { return redacted }

// GoString returns "[redacted]".
func (s Secret) GoString() string { return redacted }

// Format writes "[redacted]" for every verb, %x and %#v too.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(redacted)) }

// LogValue makes slog print "[redacted]".
func (s Secret) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalJSON encodes "[redacted]".
func (s Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + redacted + `"`), nil }

// MarshalText encodes "[redacted]". (A Secret as the key of a map is beyond help:
// package json takes strings as they are there.)
func (s Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }
