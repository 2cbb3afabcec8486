package auth_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"larder/auth"
)

// bytes is everything that lies in the folder of the database: the file, its
// WAL and its shared memory.
func (f *fixture) bytes(t *testing.T) []byte {
	t.Helper()
	files, err := filepath.Glob(f.path + "*")
	if err != nil {
		t.Fatal(err)
	}
	var out []byte
	for _, name := range files {
		b, err := os.ReadFile(name) // a test's own folder
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, b...)
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: mode %v, %v", filepath.Base(name), info.Mode(), err)
		}
	}
	return out
}

// TestSecretsStayInMemory: no secret that passed through is in a
// file of the database or in the log, in clear or encoded, while it runs, after
// deletions and after Close.
func TestSecretsStayInMemory(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	f := open(t, func(c *auth.Config) {
		c.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	canaries := passSecretsThrough(t, f, &log)
	look := func(when string) {
		files := f.bytes(t)
		for name, secret := range canaries {
			for _, form := range [][]byte{
				[]byte(secret), []byte(hex.EncodeToString([]byte(secret))),
				[]byte(base64.StdEncoding.EncodeToString([]byte(secret))),
			} {
				if bytes.Contains(files, form) {
					t.Errorf("%s: %s is in a file", when, name)
				}
				if bytes.Contains(log.Bytes(), form) {
					t.Errorf("%s: %s is in the log", when, name)
				}
			}
		}
	}
	f.Flush(true)
	look("running")
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	look("closed")
}

// passSecretsThrough uses secrets in every way, rightly and wrongly, and logs
// every answer.
func passSecretsThrough(t *testing.T, f *fixture, log *bytes.Buffer) map[string]string {
	t.Helper()
	ctx := t.Context()
	k, secret := f.key(t)
	gone, goneSecret := f.key(t)
	imported, userPassword := auth.Secret("canary-imported"), auth.Secret("canary-password")
	code := f.NewSetupCode()
	token, c, err := f.Setup(ctx, code, userPassword, addr(1), "")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(err)
	_, _, err = f.ImportKey(ctx, "imported", imported, "", []auth.Grant{{Bucket: "*", Rights: auth.Full}})
	must(err)
	signed := sign(k.ID, secret, "text")
	_, signingKey, err := f.VerifySignature(ctx, signed, addr(1))
	must(err)
	_, err = f.Bearer(ctx, gone.ID, goneSecret, addr(1))
	must(err)
	must(f.DeleteKey(ctx, gone.ID))
	must(f.ChangePassword(ctx, "admin", "canary-new-password"))
	var errs []error
	for _, s := range []auth.Secret{"canary-wrong", secret, goneSecret} {
		_, e1 := f.Bearer(ctx, s.Reveal(), s, addr(2)) // the secret in the wrong field
		_, e2 := f.Bearer(ctx, "imported", s, addr(3))
		_, _, e3 := f.Login(ctx, s.Reveal(), s, addr(4), "")
		_, e4 := f.Session(ctx, s.Reveal(), addr(5))
		_, _, e5 := f.Setup(ctx, s.Reveal(), s, addr(6), "")
		_, e6 := f.CreateUser(ctx, "bob", s+s+s, auth.RoleAdmin)
		errs = append(errs, e1, e2, e3, e4, e5, e6)
	}
	bad := signed
	bad.StringToSign = "other"
	_, _, err = f.VerifySignature(ctx, bad, addr(7))
	logger := slog.New(slog.NewTextHandler(log, nil))
	for _, err := range append(errs, err) {
		logger.Error("refused", "err", err)
		fmt.Fprintf(log, "%+v %#v\n", err, err)
	}
	logger.Info("values", "caller", c, "key", k, "spec", auth.KeySpec{}, "secret", secret)
	return map[string]string{
		"the secret": secret.Reveal(), "the deleted secret": goneSecret.Reveal(),
		"the imported secret": imported.Reveal(), "the password": userPassword.Reveal(),
		"the new password": "canary-new-password", "a wrong secret": "canary-wrong",
		"the session token": token, "the set-up code": code, "the signing key": string(signingKey),
		"a signature": signed.Signature, "secret.key": string(secretKey(7)),
	}
}
