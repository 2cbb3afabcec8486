package web

import (
	"net/http"
	"time"

	"larder/auth"
	"larder/fault"
	"larder/store"
	"larder/web/view"
)

// allBuckets is the pattern that every bucket matches.
const allBuckets = "*"

// keyForm is the form that makes a key, with what a person has filled in.
type keyForm struct {
	name, bucket, pattern, prefix, expiry view.Field
	rights                                string
	problem                               string
}

func newKeyForm() keyForm {
	return keyForm{
		name: view.Field{
			Name: "name", Label: "Name", Placeholder: "restic on the laptop", Class: "input-narrow", MaxLength: "100", Autofocus: true,
			Hint: "The program and machine it is for, so that you know it in a year.",
		},
		bucket: view.Field{Name: "bucket", Label: "In which buckets", Class: "input-narrow", Value: allBuckets},
		prefix: view.Field{
			Name: "prefix", Label: "Only below this folder", Placeholder: "laptop/", Class: "input-narrow input-mono", Optional: true,
			Hint: "The beginning of the object names, up to a slash. Empty means the whole bucket.",
		},
		pattern: view.Field{
			Name: "pattern", Label: "Buckets by pattern, instead of the choice above", Placeholder: "backup-*", Class: "input-narrow input-mono", Optional: true, MaxLength: "63",
			Hint: "A * stands for any characters. Buckets that are created later match too.",
		},
		expiry: view.Field{Name: "expiry", Label: "Expires", Class: "input-narrow", Value: "never"},
		rights: auth.ReadWrite.String(),
	}
}

func (f *keyForm) read(x *exchange) {
	f.name.Value, f.bucket.Value, f.pattern.Value = x.form("name"), x.form("bucket"), x.form("pattern")
	f.prefix.Value, f.expiry.Value, f.rights = x.form("prefix"), x.form("expiry"), x.form("rights")
}

// rightsChoices explains each preset in one line.
func rightsChoices(chosen string) []view.Choice {
	list := []view.Choice{
		{Value: "read-write", Title: "Read and write", Text: "Everything within the bucket. For sync and most programs."},
		{Value: "append-only", Title: "Append only", Text: "Adds and reads, never overwrites or deletes. For backups that an intruder must not destroy."},
		{Value: "read", Title: "Read", Text: "Lists and downloads. For restores and media players."},
		{Value: "write", Title: "Write", Text: "Uploads, overwrites and deletes, but sees nothing. For cameras and log shippers."},
		{Value: "list", Title: "List", Text: "Sees names and sizes, not contents. For monitoring."},
		{Value: "full", Title: "Full", Text: "All of it; on all buckets it also creates and deletes buckets."},
	}
	for i := range list {
		list[i].Checked = list[i].Value == chosen
	}
	return list
}

func expiryOptions(chosen string) []view.Option {
	list := []view.Option{
		{Value: "never", Label: "Never (default)"}, {Value: "30", Label: "In 30 days"},
		{Value: "90", Label: "In 90 days"}, {Value: "365", Label: "In a year"},
	}
	for i := range list {
		list[i].Selected = list[i].Value == chosen
	}
	return list
}

func (c *Console) showNewKey(x *exchange) error {
	f := newKeyForm()
	f.bucket.Value = x.query("bucket")
	return c.newKeyPage(x, http.StatusOK, f)
}

func (c *Console) newKeyPage(x *exchange, status int, f keyForm) error {
	// Asking for the keys shows before the form is filled in whether the
	// person may manage them.
	if _, err := c.cfg.Admin.Keys(x.ctx(), x.caller); err != nil {
		return err
	}
	buckets, err := c.cfg.Gate.ListBuckets(x.ctx(), x.caller)
	if err != nil {
		return err
	}
	if f.bucket.Value == "" && x.r.Method == http.MethodGet {
		f.bucket.Value = onlyBucket(buckets)
	}
	options := []view.Option{{Value: allBuckets, Label: "All buckets, also later ones", Selected: f.bucket.Value == allBuckets}}
	for _, b := range buckets {
		options = append(options, view.Option{Value: b.Name, Label: b.Name, Selected: f.bucket.Value == b.Name})
	}
	p := view.Problems{Text: f.problem, Fields: []view.Field{f.name, f.bucket, f.prefix, f.pattern, f.expiry}}
	return x.show(status, view.NewKeyPage(x.shell("keys", "Create key"), p, view.NewKey{
		Name: f.name, Bucket: f.bucket, Pattern: f.pattern, Prefix: f.prefix, Expiry: f.expiry,
		Buckets: options, Expiries: expiryOptions(f.expiry.Value), Rights: rightsChoices(f.rights),
	}))
}

// onlyBucket is the choice that a new key begins with: the only bucket there
// is, or all.
func onlyBucket(list []store.Bucket) string {
	if len(list) == 1 {
		return list[0].Name
	}
	return allBuckets
}

// spec is what the form asks for. Errors stand at their fields.
func (f *keyForm) spec(now time.Time) (auth.KeySpec, bool) {
	if f.name.Value == "" {
		f.name.Error = "Give the key a name."
	}
	g := auth.Grant{Bucket: f.bucket.Value, Prefix: f.prefix.Value}
	if f.pattern.Value != "" {
		g.Bucket = f.pattern.Value
	}
	if g.Bucket == "" {
		f.bucket.Error = "Choose a bucket, or all of them."
	}
	var err error
	if g.Rights, err = auth.ParseRights(f.rights); err != nil {
		f.problem = "Choose what the key may do."
	}
	spec := auth.KeySpec{Name: f.name.Value, Grants: []auth.Grant{g}}
	switch f.expiry.Value {
	case "never":
	case "30", "90", "365":
		days := map[string]int{"30": 30, "90": 90, "365": 365}[f.expiry.Value]
		spec.Expires = now.AddDate(0, 0, days)
	default:
		f.expiry.Error = "Choose one of the listed times."
	}
	return spec, f.name.Error == "" && f.bucket.Error == "" && f.expiry.Error == "" && f.problem == ""
}

// createKey makes the key and goes on to the page that shows its secret.
func (c *Console) createKey(x *exchange) error {
	f := newKeyForm()
	f.read(x)
	spec, ok := f.spec(c.cfg.Now())
	if !ok {
		return c.newKeyPage(x, http.StatusUnprocessableEntity, f)
	}
	k, secret, err := c.cfg.Admin.CreateKey(x.ctx(), x.caller, spec)
	switch fault.CodeOf(err) {
	case fault.OK:
		handle := c.secrets.put(x.session, k.ID, secret)
		return x.redirect("/keys/secret?handle=" + handle)
	case fault.InvalidArgument, fault.InvalidBucketName, fault.InvalidKey, fault.KeyTooLong:
		f.problem = textOf(err)
		return c.newKeyPage(x, http.StatusUnprocessableEntity, f)
	}
	return err
}
