package auth_test

import (
	"strings"
	"testing"
	"time"

	"larder/auth"
	"larder/auth/sigv4"
	"larder/fault"
)

// sign is what a client sends for a string to sign.
func sign(id string, secret auth.Secret, text string) auth.SignedRequest {
	r := auth.SignedRequest{KeyID: id, Date: "20261130", Region: "us-east-1", Service: "s3", StringToSign: text}
	r.Signature = sigv4.Sign(sigv4.DeriveKey(secret.Reveal(), r.Date, r.Region, r.Service), text)
	return r
}

func TestVerifySignature(t *testing.T) {
	t.Parallel()
	f := open(t)
	k, secret := f.key(t)
	for range 2 { // derived anew, then from the cache
		c, key, err := f.VerifySignature(t.Context(), sign(k.ID, secret, "text"), addr(1))
		if err != nil {
			t.Fatal(err)
		}
		if c.ID() != k.ID || c.Kind() != auth.KindKey || c.Name() != "test" || c.Addr() != addr(1) {
			t.Errorf("caller %+v", c)
		}
		if sigv4.Sign(key, "chunk") != sign(k.ID, secret, "chunk").Signature {
			t.Error("wrong signing key")
		}
		clear(key) // the caller's own copy
	}
}

func TestWrongSignatures(t *testing.T) {
	t.Parallel()
	f := open(t)
	k, secret := f.key(t)
	tests := map[string]struct {
		change func(*auth.SignedRequest)
		code   fault.Code
	}{
		"text":           {func(r *auth.SignedRequest) { r.StringToSign = "other" }, fault.BadSignature},
		"region":         {func(r *auth.SignedRequest) { r.Region = "eu-west-1" }, fault.BadSignature},
		"service":        {func(r *auth.SignedRequest) { r.Service = "sts" }, fault.BadSignature},
		"date":           {func(r *auth.SignedRequest) { r.Date = "20261201" }, fault.BadSignature},
		"long date":      {func(r *auth.SignedRequest) { r.Date += "0" }, fault.BadSignature},
		"long region":    {func(r *auth.SignedRequest) { r.Region = strings.Repeat("r", 65) }, fault.BadSignature},
		"upper case":     {func(r *auth.SignedRequest) { r.Signature = strings.ToUpper(r.Signature) }, fault.BadSignature},
		"empty":          {func(r *auth.SignedRequest) { r.Signature = "" }, fault.BadSignature},
		"cut":            {func(r *auth.SignedRequest) { r.Signature = r.Signature[:63] }, fault.BadSignature},
		"unknown key":    {func(r *auth.SignedRequest) { r.KeyID = "LKAAAAAAAAAAAAAAAAAA" }, fault.NoSuchAccessKey},
		"no key":         {func(r *auth.SignedRequest) { r.KeyID = "" }, fault.NoSuchAccessKey},
		"key, long":      {func(r *auth.SignedRequest) { r.KeyID = strings.Repeat("k", 5000) }, fault.NoSuchAccessKey},
		"key, lower":     {func(r *auth.SignedRequest) { r.KeyID = strings.ToLower(r.KeyID) }, fault.NoSuchAccessKey},
		"nine other":     {func(r *auth.SignedRequest) { r.Alternates = make([]string, 9) }, fault.BadSignature},
		"none of others": {func(r *auth.SignedRequest) { r.StringToSign, r.Alternates = "x", []string{"y", "z"} }, fault.BadSignature},
	}
	n := 0
	for name, tt := range tests {
		r := sign(k.ID, secret, "text")
		tt.change(&r)
		n++
		c, key, err := f.VerifySignature(t.Context(), r, addr(n))
		if got := fault.CodeOf(err); got != tt.code {
			t.Errorf("%s: got %v, want %v", name, err, tt.code)
		}
		if !c.IsZero() || key != nil {
			t.Errorf("%s: gave something away", name)
		}
	}
}

func TestAlternateSignatures(t *testing.T) {
	t.Parallel()
	f := open(t)
	k, secret := f.key(t)
	r := sign(k.ID, secret, "as the client saw it")
	r.StringToSign, r.Alternates = "as it came", []string{"no", "as the client saw it"}
	if _, _, err := f.VerifySignature(t.Context(), r, addr(1)); err != nil {
		t.Error(err)
	}
}

// TestSignatureFailuresLock: failures from an address lock it for those who
// guess, but neither other addresses nor right signatures, also of a key that
// was never seen there: clients behind one proxy share its address.
func TestSignatureFailuresLock(t *testing.T) {
	t.Parallel()
	f := open(t)
	k, secret := f.key(t)
	good := sign(k.ID, secret, "text")
	if _, _, err := f.VerifySignature(t.Context(), good, addr(1)); err != nil {
		t.Fatal(err)
	}
	bad := sign("LKAAAAAAAAAAAAAAAAAA", secret, "text")
	limited := false
	for range 100 {
		_, _, err := f.VerifySignature(t.Context(), bad, addr(1))
		limited = limited || fault.CodeOf(err) == fault.RateLimited
	}
	if !limited {
		t.Error("a hundred failures were not limited")
	}
	for n := range 3 {
		if _, _, err := f.VerifySignature(t.Context(), good, addr(1+n)); err != nil {
			t.Errorf("address %d: %v", n, err)
		}
	}
	other, otherSecret := f.key(t)
	guess := sign(other.ID, "guess", "text")
	_, _, err := f.VerifySignature(t.Context(), guess, addr(1))
	wantCode(t, err, fault.RateLimited)
	if _, _, err := f.VerifySignature(t.Context(), sign(other.ID, otherSecret, "text"), addr(1)); err != nil {
		t.Errorf("a right signature from an address where others fail: %v", err)
	}
	_, _, err = f.VerifySignature(t.Context(), bad, addr(1))
	wantCode(t, err, fault.RateLimited)
}

// TestRevocation: a key is refused on its next request after it was disabled,
// deleted or has expired, whatever the caches hold, and a Caller that was made
// before loses its rights.
func TestRevocation(t *testing.T) {
	t.Parallel()
	f := open(t)
	tests := map[string]struct {
		revoke func(id string) error
		code   fault.Code
		signed fault.Code
	}{
		"disabled": {func(id string) error { return f.SetKeyDisabled(t.Context(), id, true) }, fault.Denied, fault.Denied},
		"deleted":  {func(id string) error { return f.DeleteKey(t.Context(), id) }, fault.Unauthenticated, fault.NoSuchAccessKey},
		"expired":  {func(string) error { f.clock.Advance(time.Hour); return nil }, fault.Denied, fault.Denied},
	}
	for name, tt := range tests {
		k, secret, err := f.CreateKey(t.Context(), auth.KeySpec{
			Grants: []auth.Grant{{Bucket: "*", Rights: auth.Full}}, Expires: f.clock.Now().Add(time.Hour),
		})
		if err != nil {
			t.Fatal(err)
		}
		c, err := f.Bearer(t.Context(), k.ID, secret, addr(1))
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := f.VerifySignature(t.Context(), sign(k.ID, secret, "x"), addr(1)); err != nil {
			t.Fatal(err)
		}
		if err := f.Guard().Check(t.Context(), c, auth.GetObject, auth.Resource{Bucket: "b", Key: "k"}); err != nil {
			t.Fatal(err)
		}
		if err := tt.revoke(k.ID); err != nil {
			t.Fatal(err)
		}
		_, err = f.Bearer(t.Context(), k.ID, secret, addr(1))
		if fault.CodeOf(err) != tt.code {
			t.Errorf("%s: bearer: %v", name, err)
		}
		_, _, err = f.VerifySignature(t.Context(), sign(k.ID, secret, "x"), addr(1))
		if fault.CodeOf(err) != tt.signed {
			t.Errorf("%s: signature: %v", name, err)
		}
		err = f.Guard().Check(t.Context(), c, auth.GetObject, auth.Resource{Bucket: "b", Key: "k"})
		if fault.CodeOf(err) != fault.Denied {
			t.Errorf("%s: guard: %v", name, err)
		}
	}
}

func TestEnableAgain(t *testing.T) {
	t.Parallel()
	f := open(t)
	k, secret := f.key(t)
	for _, disabled := range []bool{true, false} {
		if err := f.SetKeyDisabled(t.Context(), k.ID, disabled); err != nil {
			t.Fatal(err)
		}
		_, err := f.Bearer(t.Context(), k.ID, secret, addr(1))
		if (err != nil) != disabled {
			t.Errorf("disabled %v: %v", disabled, err)
		}
	}
}
