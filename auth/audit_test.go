package auth_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"larder/auth"
	"larder/fault"
)

func (f *fixture) audit(t *testing.T) []auth.Entry {
	t.Helper()
	entries, err := f.Audit(t.Context(), 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	return entries
}

// TestAuditEveryChange: each change is in the log with who made it, in order.
func TestAuditEveryChange(t *testing.T) {
	t.Parallel()
	f := open(t)
	if report, err := f.VerifyAudit(t.Context()); err != nil || report.Last != 0 {
		t.Fatal("the log of a new store", report, err)
	}
	password := f.user(t, "ann", auth.RoleAdmin)
	_, c, err := f.Login(t.Context(), "ann", password, addr(1), "")
	if err != nil {
		t.Fatal(err)
	}
	by := f.By(c)
	k, _, err := by.CreateKey(t.Context(), auth.KeySpec{Grants: []auth.Grant{{Bucket: "b", Rights: auth.List}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{
		by.SetKeyDisabled(t.Context(), k.ID, true), by.SetKeyDisabled(t.Context(), k.ID, false), by.DeleteKey(t.Context(), k.ID),
		f.Record(t.Context(), auth.Event{By: f.Local(), Action: "CreateBucket", Target: "b\n2"}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	wantCode(t, by.DeleteKey(t.Context(), k.ID), fault.NoSuchAccessKey) // no change, no line
	var got []string
	for _, e := range f.audit(t) {
		got = append(got, fmt.Sprintf("%d %s/%s@%s %s %s %s %s", e.Sequence, e.Kind, e.Actor, e.Addr, e.Action,
			strings.ReplaceAll(e.Target, k.ID, "KEY"), e.Outcome, e.Detail))
	}
	want := []string{
		"1 server/larder@ CreateUser ann ok admin",
		"2 user/ann@10.0.0.1 Login ann ok ",
		`3 user/ann@10.0.0.1 CreateKey KEY ok [{"bucket":"b","prefix":"","rights":"list"}]`,
		"4 user/ann@10.0.0.1 DisableKey KEY ok ",
		"5 user/ann@10.0.0.1 EnableKey KEY ok ",
		"6 user/ann@10.0.0.1 DeleteKey KEY ok ",
		"7 local/local@ CreateBucket b\uFFFD2 ok ",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
	report, err := f.VerifyAudit(t.Context())
	if err != nil || report.First != 1 || report.Last != 7 || len(report.Head) != 32 {
		t.Error(report, err)
	}
}

// TestAuditTampering: whatever is done to the log without secret.key
// shows, and the first wrong entry is named.
func TestAuditTampering(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ sql, where string }{
		"edit a text":    {`UPDATE audit SET actor = 'bob' WHERE sequence = 3`, "audit entry 3"},
		"edit a time":    {`UPDATE audit SET time = time + 1 WHERE sequence = 3`, "audit entry 3"},
		"edit a count":   {`UPDATE audit SET count = 2 WHERE sequence = 3`, "audit entry 3"},
		"move a byte":    {`UPDATE audit SET action = 'CreateUserx', target = substr(target, 2) WHERE sequence = 3`, "audit entry 3"},
		"drop one":       {`DELETE FROM audit WHERE sequence = 3`, "audit entry 3"},
		"drop the first": {`DELETE FROM audit WHERE sequence = 1`, "audit entry 1"},
		"drop the last":  {`DELETE FROM audit WHERE sequence = 5`, "audit entry 5"},
		"drop all":       {`DELETE FROM audit`, "audit entry 1"},
		"drop head too":  {`DELETE FROM audit; DELETE FROM audit_head`, "audit entry 0"},
		"swap two": {`UPDATE audit SET sequence = -1 WHERE sequence = 3; UPDATE audit SET sequence = 3 WHERE sequence = 4;
			UPDATE audit SET sequence = 4 WHERE sequence = -1`, "audit entry 3"},
		"cut the end": {`DELETE FROM audit WHERE sequence > 3; UPDATE audit_head SET last = 3,
			last_mac = (SELECT mac FROM audit WHERE sequence = 3)`, "audit entry 3"},
		"cut the start": {`UPDATE audit_head SET before = 2, before_mac = (SELECT mac FROM audit WHERE sequence = 2);
			DELETE FROM audit WHERE sequence < 3`, "audit entry 5"},
		"add one": {`INSERT INTO audit SELECT 6, time, kind, actor, addr, action, target, outcome, detail, count, mac
			FROM audit WHERE sequence = 5`, "audit entry 6"},
	} {
		f := open(t)
		for i := range 5 {
			f.user(t, fmt.Sprintf("user%d", i), auth.RoleAdmin)
		}
		if _, err := f.VerifyAudit(t.Context()); err != nil {
			t.Fatal(err)
		}
		f.sql(t, tt.sql)
		_, err := f.VerifyAudit(t.Context())
		if fault.CodeOf(err) != fault.Corrupt || fault.ResourceOf(err) != tt.where {
			t.Errorf("%s: %v", name, err)
		}
		if strings.HasPrefix(name, "cut") || name == "drop head too" {
			// going on does not launder it
			f.user(t, "later", auth.RoleAdmin)
			if _, err := f.VerifyAudit(t.Context()); fault.CodeOf(err) != fault.Corrupt {
				t.Errorf("%s, then another entry: %v", name, err)
			}
		}
	}
}

// TestAuditBeforeChange: a change whose line cannot be written is not made.
func TestAuditBeforeChange(t *testing.T) {
	t.Parallel()
	f := open(t)
	k, secret := f.key(t)
	f.sql(t, `DROP TABLE audit`)
	if err := f.DeleteKey(t.Context(), k.ID); err == nil {
		t.Error("deleted")
	}
	if _, _, err := f.CreateKey(t.Context(), auth.KeySpec{Grants: k.Grants}); err == nil {
		t.Error("created")
	}
	if _, err := f.Bearer(t.Context(), k.ID, secret, addr(1)); err != nil {
		t.Error(err)
	}
	if keys, _ := f.Keys(t.Context()); len(keys) != 1 {
		t.Errorf("%d keys", len(keys))
	}
}

func TestAuditIsBounded(t *testing.T) {
	t.Parallel()
	f := open(t)
	f.SetAuditLimit(10)
	for i := range 25 {
		f.user(t, fmt.Sprintf("user%d", i), auth.RoleAdmin)
	}
	report, err := f.VerifyAudit(t.Context())
	if err != nil || report.First != 16 || report.Last != 25 || len(f.audit(t)) != 10 {
		t.Error(report, err)
	}
}

// TestDenialsCollapse: a flood of refusals is a few lines that count them all.
func TestDenialsCollapse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := open(t, func(c *auth.Config) { c.Now = time.Now })
		f.clock.ns.Store(time.Now().UnixNano())
		reader := f.caller(t, auth.Grant{Bucket: "b", Rights: auth.Read})
		before := len(f.audit(t))
		deny := func() {
			res := auth.Resource{Bucket: "b", Key: strings.Repeat("k", 5000)}
			_ = f.Guard().Check(t.Context(), reader, auth.PutObject, res)
			_ = f.Guard().Check(t.Context(), auth.Caller{}, auth.GetObject, res)
			_, _ = f.Bearer(t.Context(), reader.ID(), "wrong secret", addr(9))
		}
		for range 100 {
			deny()
		}
		time.Sleep(11 * time.Second)
		synctest.Wait()
		entries := f.audit(t)[before:]
		if len(entries) != 3 {
			t.Fatalf("%d lines: %v", len(entries), entries)
		}
		counts := map[string]int64{}
		for _, e := range entries {
			counts[e.Kind+" "+e.Actor+" "+e.Action+" "+e.Outcome] = e.Count
			if len(e.Target) > 256 {
				t.Error("a line is too long")
			}
		}
		if counts["key "+reader.ID()+" PutObject denied"] != 100 || counts["nobody  GetObject denied"] != 100 {
			t.Errorf("counts %v", counts)
		}
		if n := counts["key "+reader.ID()+" Authenticate failed"]; n == 0 {
			t.Errorf("counts %v", counts)
		}
		for range 100 { // goes on: no line for ten minutes, then one
			deny()
		}
		time.Sleep(9 * time.Minute)
		synctest.Wait()
		if n := len(f.audit(t)) - before; n != 3 {
			t.Errorf("%d lines after nine minutes", n)
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if n := len(f.audit(t)) - before; n != 6 {
			t.Errorf("%d lines after eleven minutes", n)
		}
		if _, err := f.VerifyAudit(t.Context()); err != nil {
			t.Error(err)
		}
		_ = f.Close()
	})
}

// TestDenialsAreBounded: refusals of very many kinds share one line, and none is
// lost.
func TestDenialsAreBounded(t *testing.T) {
	t.Parallel()
	f := open(t)
	const kinds = 5000
	for i := range kinds {
		res := auth.Resource{Bucket: fmt.Sprintf("bucket-%d", i)}
		_ = f.Guard().Check(t.Context(), auth.Caller{}, auth.ReadBucket, res)
	}
	f.Flush(true)
	var total int64
	entries := f.audit(t)
	for _, e := range entries {
		total += e.Count
	}
	if len(entries) > 300 || total != kinds {
		t.Errorf("%d lines that count %d", len(entries), total)
	}
}

// TestDenialsAtClose: what was counted is written when the store closes.
func TestDenialsAtClose(t *testing.T) {
	t.Parallel()
	f := open(t)
	_ = f.Guard().Check(t.Context(), auth.Caller{}, auth.ManageUsers, auth.Resource{})
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	f.Auth = f.openAgain(t)
	if entries := f.audit(t); len(entries) != 1 || entries[0].Action != "ManageUsers" || entries[0].Outcome != "denied" {
		t.Errorf("lines %v", entries)
	}
}
