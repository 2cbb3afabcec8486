package gate_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/netip"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"larder/auth"
	"larder/fault"
	"larder/gate"
	"larder/store"
)

// stack is a gate before a real store, and the identities behind it.
type stack struct {
	*gate.Gate
	auth  *auth.Auth
	store *store.Store
	full  auth.Caller
}

func newStack(t *testing.T) *stack {
	t.Helper()
	dir := t.TempDir()
	s, err := store.Open(t.Context(), store.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	a, err := auth.Open(t.Context(), auth.Config{
		Path: filepath.Join(dir, "system.db"), SecretKey: bytes.Repeat([]byte{7}, 32), BcryptCost: 4,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	return &stack{Gate: gate.New(gate.Config{Store: s, Guard: a.Guard(), Audit: a}), auth: a, store: s, full: a.Local()}
}

// caller makes a key with one grant and logs in with it.
func (s *stack) caller(t *testing.T, bucket, prefix string, rights auth.Rights) auth.Caller {
	t.Helper()
	k, secret, err := s.auth.CreateKey(t.Context(), auth.KeySpec{
		Name: "test", Grants: []auth.Grant{{Bucket: bucket, Prefix: prefix, Rights: rights}},
	})
	if err != nil {
		t.Fatal(err)
	}
	c, err := s.auth.Bearer(t.Context(), k.ID, secret, netip.MustParseAddr("192.0.2.1"))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (s *stack) put(t *testing.T, c auth.Caller, key string) error {
	t.Helper()
	_, err := s.Put(t.Context(), c, store.PutRequest{Bucket: "bucket", Key: key, Body: strings.NewReader("x"), Size: 1})
	return err
}

func wantCode(t *testing.T, what string, err error, code fault.Code) {
	t.Helper()
	if fault.CodeOf(err) != code {
		t.Errorf("%s: got %v, want %v", what, err, code)
	}
}

// TestNobodyMayDoAnything calls every method of the door as a caller without
// rights. A method that is added is tested by being there.
func TestNobodyMayDoAnything(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	if _, err := s.CreateBucket(t.Context(), s.full, "bucket"); err != nil {
		t.Fatal(err)
	}
	wantCode(t, "put", s.put(t, s.full, "k"), fault.OK)
	door := reflect.ValueOf(s.Gate)
	for i := range door.NumMethod() {
		name := door.Type().Method(i).Name
		err := callAsNobody(t.Context(), door.Method(i))
		wantCode(t, name, err, fault.Denied)
	}
	if n := door.NumMethod(); n < 20 {
		t.Errorf("only %d methods were tried", n)
	}
	if b, _ := s.store.Bucket(t.Context(), "bucket"); b.Objects != 1 {
		t.Error("something was changed")
	}
}

// callAsNobody fills a method's arguments in with the bucket and the key that
// are there. It returns the method's error, or that of its first item.
func callAsNobody(ctx context.Context, m reflect.Value) error {
	args := make([]reflect.Value, m.Type().NumIn())
	for i := range args {
		args[i] = argument(ctx, m.Type().In(i))
	}
	var err error
	for _, out := range m.Call(args) {
		switch v := out.Interface().(type) {
		case error:
			err = v
		case []error:
			if len(v) > 0 {
				err = v[0]
			}
		}
	}
	return err
}

func argument(ctx context.Context, t reflect.Type) reflect.Value {
	switch t {
	case reflect.TypeFor[context.Context]():
		return reflect.ValueOf(ctx)
	case reflect.TypeFor[[]store.DeleteRequest]():
		return reflect.ValueOf([]store.DeleteRequest{{Key: "k"}})
	}
	v := reflect.New(t).Elem()
	switch t.Kind() {
	case reflect.String:
		v.SetString("bucket")
	case reflect.Struct:
		for field, value := range map[string]string{"Bucket": "bucket", "SourceBucket": "bucket", "Key": "k", "SourceKey": "k"} {
			if f := v.FieldByName(field); f.IsValid() && f.CanSet() {
				f.SetString(value)
			}
		}
	}
	return v
}

func TestAppendOnlyAddsAndNothingElse(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	if _, err := s.CreateBucket(t.Context(), s.full, "bucket"); err != nil {
		t.Fatal(err)
	}
	c := s.caller(t, "bucket", "", auth.AppendOnly)
	del := func(key string) error {
		return s.Delete(t.Context(), c, store.DeleteRequest{Bucket: "bucket", Key: key})
	}
	wantCode(t, "new", s.put(t, c, "data/1"), fault.OK)
	wantCode(t, "overwrite", s.put(t, c, "data/1"), fault.Denied)
	wantCode(t, "delete", del("data/1"), fault.Denied)
	wantCode(t, "lock", s.put(t, c, "locks/1"), fault.OK)
	wantCode(t, "unlock", del("locks/1"), fault.OK)
	wantCode(t, "may overwrite", s.MayPut(t.Context(), c, "bucket", "data/1", store.Condition{}), fault.Denied)
	wantCode(t, "may add", s.MayPut(t.Context(), c, "bucket", "data/2", store.Condition{}), fault.OK)

	_, err := s.Copy(t.Context(), c, store.CopyRequest{SourceBucket: "bucket", SourceKey: "data/1", Bucket: "bucket", Key: "data/1", Meta: &store.Meta{}})
	wantCode(t, "overwrite by copy", err, fault.Denied)
	wantCode(t, "overwrite by upload", s.overwriteByUpload(t, c), fault.Denied)

	_, err = s.Put(t.Context(), c, store.PutRequest{Bucket: "bucket", Key: "data/1", Body: strings.NewReader("x"), Size: 1, Cond: store.Condition{IfNoneMatch: true}})
	wantCode(t, "asked for itself", err, fault.Precondition)
}

func (s *stack) overwriteByUpload(t *testing.T, c auth.Caller) error {
	t.Helper()
	u, err := s.CreateUpload(t.Context(), c, store.UploadRequest{Bucket: "bucket", Key: "data/1"})
	if err != nil {
		t.Fatal(err)
	}
	p, err := s.PutPart(t.Context(), c, store.PartRequest{
		Bucket: "bucket", Key: "data/1", UploadID: u.ID, Number: 1, Body: strings.NewReader("y"), Size: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.CompleteUpload(t.Context(), c, store.CompleteRequest{
		Bucket: "bucket", Key: "data/1", UploadID: u.ID, Size: -1, Parts: []store.CompletePart{{Number: 1, ETag: p.ETag}},
	})
	return err
}

func TestWhoMayNotListLearnsNothing(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	if _, err := s.CreateBucket(t.Context(), s.full, "bucket"); err != nil {
		t.Fatal(err)
	}
	wantCode(t, "put", s.put(t, s.full, "in/k"), fault.OK)
	reader := s.caller(t, "bucket", "in/", auth.Read)
	_, err := s.Head(t.Context(), reader, "bucket", "in/none")
	wantCode(t, "may list", err, fault.NoSuchKey)
	for _, key := range []string{"other", "in", "inn/k"} {
		_, err = s.Head(t.Context(), reader, "bucket", key)
		wantCode(t, key, err, fault.Denied)
	}
	writer := s.caller(t, "bucket", "", auth.Write)
	_, err = s.Copy(t.Context(), writer, store.CopyRequest{SourceBucket: "bucket", SourceKey: "in/k", Bucket: "bucket", Key: "mine"})
	wantCode(t, "a copy is a read", err, fault.Denied)
}

func TestRevokedKeysAreRefusedFromTheNextRequestOn(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	if _, err := s.CreateBucket(t.Context(), s.full, "bucket"); err != nil {
		t.Fatal(err)
	}
	c := s.caller(t, "*", "", auth.Full)
	wantCode(t, "before", s.put(t, c, "k"), fault.OK)
	if err := s.auth.SetKeyDisabled(t.Context(), c.ID(), true); err != nil {
		t.Fatal(err)
	}
	wantCode(t, "after", s.put(t, c, "k"), fault.Denied)
}

func TestListBucketsShowsWhatTheCallerHasARightIn(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	for _, name := range []string{"alpha", "beta", "backup-1"} {
		if _, err := s.CreateBucket(t.Context(), s.full, name); err != nil {
			t.Fatal(err)
		}
	}
	c := s.caller(t, "backup-*", "", auth.List)
	got, err := s.ListBuckets(t.Context(), c)
	if err != nil || len(got) != 1 || got[0].Name != "backup-1" {
		t.Error(fmt.Sprint(got), err)
	}
}

func TestAnotherKeysUploadIsNotAborted(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	if _, err := s.CreateBucket(t.Context(), s.full, "bucket"); err != nil {
		t.Fatal(err)
	}
	mine, other := s.caller(t, "bucket", "", auth.AppendOnly), s.caller(t, "bucket", "", auth.AppendOnly)
	u, err := s.CreateUpload(t.Context(), mine, store.UploadRequest{Bucket: "bucket", Key: "k"})
	if err != nil {
		t.Fatal(err)
	}
	wantCode(t, "another's", s.AbortUpload(t.Context(), other, "bucket", "k", u.ID), fault.Denied)
	part := store.PartRequest{Bucket: "bucket", Key: "k", UploadID: u.ID, Number: 1, Body: strings.NewReader("x"), Size: 1}
	_, err = s.PutPart(t.Context(), other, part)
	wantCode(t, "another's part", err, fault.Denied)
	wantCode(t, "another's part, asked before", s.MayPutPart(t.Context(), other, "bucket", "k", u.ID), fault.Denied)
	_, err = s.CompleteUpload(t.Context(), other, store.CompleteRequest{Bucket: "bucket", Key: "k", UploadID: u.ID, Size: -1, Parts: []store.CompletePart{{Number: 1}}})
	wantCode(t, "another's completion", err, fault.Denied)
	_, err = s.PutPart(t.Context(), mine, part)
	wantCode(t, "one's own part", err, fault.OK)
	wantCode(t, "one's own", s.AbortUpload(t.Context(), mine, "bucket", "k", u.ID), fault.OK)
}

func TestBucketChangesAreInTheAuditLog(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	if _, err := s.CreateBucket(t.Context(), s.full, "bucket"); err != nil {
		t.Fatal(err)
	}
	if err := s.DeleteBucket(t.Context(), s.full, "bucket"); err != nil {
		t.Fatal(err)
	}
	entries, err := s.auth.Audit(t.Context(), 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	var seen []string
	for _, e := range entries {
		if e.Target == "bucket" && e.Outcome == "ok" {
			seen = append(seen, e.Action)
		}
	}
	if len(seen) != 2 {
		t.Errorf("the audit log has %v", seen)
	}
}

// revoking is a body in the middle of which the key that sends it is disabled.
type revoking struct{ revoke func() }

func (r revoking) Read(p []byte) (int, error) {
	r.revoke()
	return copy(p, "x"), io.EOF
}

func TestAKeyRevokedWhileItsBodyComesStoresNothing(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	if _, err := s.CreateBucket(t.Context(), s.full, "bucket"); err != nil {
		t.Fatal(err)
	}
	c := s.caller(t, "*", "", auth.Full)
	u, err := s.CreateUpload(t.Context(), c, store.UploadRequest{Bucket: "bucket", Key: "m"})
	if err != nil {
		t.Fatal(err)
	}
	body := revoking{func() {
		if err := s.auth.SetKeyDisabled(t.Context(), c.ID(), true); err != nil {
			t.Error(err)
		}
	}}
	_, err = s.Put(t.Context(), c, store.PutRequest{Bucket: "bucket", Key: "k", Body: body, Size: 1})
	wantCode(t, "put", err, fault.Denied)
	if err := s.auth.SetKeyDisabled(t.Context(), c.ID(), false); err != nil {
		t.Fatal(err)
	}
	_, err = s.PutPart(t.Context(), c, store.PartRequest{Bucket: "bucket", Key: "m", UploadID: u.ID, Number: 1, Body: body, Size: 1})
	wantCode(t, "part", err, fault.Denied)
	if b, _ := s.store.Bucket(t.Context(), "bucket"); b.Objects != 0 {
		t.Error("something was stored")
	}
}

func TestWhoMayNotReadComparesNothing(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	if _, err := s.CreateBucket(t.Context(), s.full, "bucket"); err != nil {
		t.Fatal(err)
	}
	wantCode(t, "put", s.put(t, s.full, "there"), fault.OK)
	c := s.caller(t, "bucket", "", auth.Write)
	cond := store.Condition{IfMatch: "x"}
	for _, key := range []string{"there", "absent"} {
		_, err := s.Put(t.Context(), c, store.PutRequest{Bucket: "bucket", Key: key, Body: strings.NewReader("x"), Size: 1, Cond: cond})
		wantCode(t, "put "+key, err, fault.Denied)
		wantCode(t, "asked before "+key, s.MayPut(t.Context(), c, "bucket", key, cond), fault.Denied)
		req := store.DeleteRequest{Bucket: "bucket", Key: key, IfMatch: "x"}
		wantCode(t, "delete "+key, s.Delete(t.Context(), c, req), fault.Denied)
		errs, err := s.DeleteMany(t.Context(), c, "bucket", []store.DeleteRequest{req})
		if err != nil {
			t.Fatal(err)
		}
		wantCode(t, "delete many "+key, errs[0], fault.Denied)
	}
}
