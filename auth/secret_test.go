package auth_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"larder/auth"
)

func TestSecretNeverPrints(t *testing.T) {
	t.Parallel()
	const text = "canary-5f2e"
	s := auth.Secret(text)
	nested := struct {
		S auth.Secret
		P *auth.Secret
		M map[auth.Secret]auth.Secret
	}{s, &s, map[auth.Secret]auth.Secret{s: s}}
	var out bytes.Buffer
	encoded := struct{ S, Z any }{s, []*auth.Secret{&s}}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%10.3s", "%t"} {
		fmt.Fprintf(&out, verb+" "+verb+" "+verb+"\n", s, nested, []auth.Secret{s})
	}
	fmt.Fprintln(&out, s, nested, s.String(), s.GoString(), fmt.Errorf("wrapped: %v", s))
	slog.New(slog.NewTextHandler(&out, nil)).Info("x", "s", s, "nested", nested, "encoded", encoded)
	slog.New(slog.NewJSONHandler(&out, nil)).Info("x", "s", s, "encoded", encoded)
	if err := json.NewEncoder(&out).Encode(encoded); err != nil {
		t.Fatal(err)
	}
	for _, form := range []string{text, fmt.Sprintf("%x", text), fmt.Sprintf("%X", text)} {
		if strings.Contains(out.String(), form) {
			t.Errorf("%q shows in:\n%s", form, out.String())
		}
	}
	if s.Reveal() != text {
		t.Error("Reveal does not")
	}
}
