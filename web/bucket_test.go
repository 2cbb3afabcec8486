package web_test

import (
	"net/http"
	"strings"
	"testing"

	"larder/store"
)

func TestBuckets(t *testing.T) {
	t.Parallel()
	l, b := claimed(t)
	b.get("/buckets").status(t, http.StatusOK).has(t, "No buckets yet")
	b.post("/buckets/new", "/buckets/new", "name", "backup.one").leads(t, "/objects?bucket=backup.one")
	b.get("/objects?bucket=backup.one").has(t, "The bucket backup.one is there.")
	b.post("/buckets/new", "/buckets/new", "name", "backup.one").status(t, http.StatusUnprocessableEntity).has(t, "there already")
	l.put("backup.one", "k", strings.Repeat("x", 2048))
	a := b.get("/buckets").has(t, "backup.one").has(t, "2.0 KiB").has(t, "1 bucket, 2.0 KiB in all")
	if a.doc.Find("tbody tr").Length() != 1 {
		t.Error("one bucket, but not one line")
	}
	b.get("/buckets/delete?bucket=backup.one").has(t, "holds 1 object (2.0 KiB)").has(t, "Go back")
	b.post("/buckets/delete", "/buckets", "bucket", "backup.one").status(t, http.StatusConflict).has(t, "not empty")
	if err := l.gate.Delete(t.Context(), l.auth.Local(), store.DeleteRequest{Bucket: "backup.one", Key: "k"}); err != nil {
		t.Fatal(err)
	}
	ask := b.get("/buckets/delete?bucket=backup.one").has(t, "Delete the bucket backup.one?")
	if ask.doc.Find("main .button-danger").Length() != 1 {
		t.Error("no button to delete an empty bucket")
	}
	b.post("/buckets/delete", "/buckets", "bucket", "backup.one").leads(t, "/buckets")
	b.get("/buckets").has(t, "The bucket backup.one is deleted.").has(t, "No buckets yet")
	b.post("/buckets/delete", "/buckets", "bucket", "backup.one").status(t, http.StatusNotFound)
}

func TestBucketNames(t *testing.T) {
	t.Parallel()
	_, b := claimed(t)
	for _, name := range []string{"", "ab", strings.Repeat("a", 64), "Upper", "under_score", "-a-", "a..b", "1.2.3.4", "a/b", "a b", "ä-b", "<b>x</b>"} {
		a := b.post("/buckets/new", "/buckets/new", "name", name).status(t, http.StatusUnprocessableEntity)
		input := a.doc.Find("#f-name")
		if id, _ := input.Attr("aria-describedby"); id != "f-name-error" || a.doc.Find("#f-name-error").Length() != 1 {
			t.Errorf("%q: the error is not tied to its field (%q)", name, id)
		}
		if value, _ := input.Attr("value"); value != name {
			t.Errorf("%q came back as %q", name, value)
		}
		if a.doc.Find(`.notice-bad[role="alert"][autofocus] a[href="#f-name"]`).Length() != 1 {
			t.Errorf("%q: the summary does not lead to the field", name)
		}
	}
	b.get("/buckets").has(t, "No buckets yet")
}
