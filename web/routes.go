package web

import "net/http"

// access says what a request needs before its route's handler runs.
type access uint8

const (
	public     access = iota // nothing, also before set-up
	claim                    // that no user exists yet
	guest                    // that set-up is done; whoever has a session is sent home
	member                   // a session
	credential               // the admin API: a key, a bearer secret or a session
)

// Sizes of what a form may be, in bytes.
const (
	smallForm = 4 << 10  // passwords
	plainForm = 64 << 10 // everything else
	wideForm  = 1 << 20  // a page of selected keys
)

// route is one line of the table. A route that changes anything takes a form
// with a token, or, when raw, a body with the token in a header.
type route struct {
	method, path string
	access       access
	form         int64 // largest form in bytes; 0 = the method takes none
	raw          bool
	handle       func(*exchange) error
}

// routes is every route of the console but the admin API's, with what it
// needs. A test walks it without a session and from another origin.
func (c *Console) routes() []route {
	const get, post, put = http.MethodGet, http.MethodPost, http.MethodPut
	return []route{
		{get, "/assets/:file", public, 0, false, c.asset},
		{get, "/healthz", public, 0, false, c.healthz},
		{post, "/theme", public, plainForm, false, c.chooseTheme},
		{get, "/setup", claim, 0, false, c.showSetup},
		{post, "/setup", claim, smallForm, false, c.setUp},
		{get, "/login", guest, 0, false, c.showLogin},
		{post, "/login", guest, smallForm, false, c.logIn},
		{post, "/logout", member, smallForm, false, c.logOut},

		{get, "/", member, 0, false, c.showHome},
		{get, "/home/numbers", member, 0, false, c.showNumbers},
		{get, "/system", member, 0, false, c.showSystem},
		{post, "/system/scrub", member, smallForm, false, c.changeScrub},

		{get, "/buckets", member, 0, false, c.showBuckets},
		{get, "/buckets/new", member, 0, false, c.showNewBucket},
		{post, "/buckets/new", member, plainForm, false, c.createBucket},
		{get, "/buckets/settings", member, 0, false, c.showBucketSettings},
		{post, "/buckets/settings", member, plainForm, false, c.setBucketSettings},
		{get, "/buckets/delete", member, 0, false, c.askDeleteBucket},
		{post, "/buckets/delete", member, plainForm, false, c.deleteBucket},

		{get, "/objects", member, 0, false, c.showObjects},
		{get, "/objects/show", member, 0, false, c.showObject},
		{get, "/objects/download", member, 0, false, c.download},
		{get, "/objects/may", member, 0, false, c.mayUpload},
		{put, "/objects/upload", member, 0, true, c.upload},
		{get, "/objects/folder", member, 0, false, c.showNewFolder},
		{post, "/objects/folder", member, plainForm, false, c.createFolder},
		{post, "/objects/pick", member, wideForm, false, c.askDeletePicked},
		{get, "/objects/delete", member, 0, false, c.askDeleteObject},
		{post, "/objects/delete", member, wideForm, false, c.deleteObjects},

		{get, "/keys", member, 0, false, c.showKeys},
		{get, "/keys/new", member, 0, false, c.showNewKey},
		{post, "/keys/new", member, plainForm, false, c.createKey},
		{get, "/keys/secret", member, 0, false, c.showSecret},
		{post, "/keys/stored", member, plainForm, false, c.forgetSecret},
		{get, "/keys/show", member, 0, false, c.showKey},
		{get, "/keys/disable", member, 0, false, c.askDisableKey},
		{post, "/keys/disable", member, plainForm, false, c.disableKey},
		{get, "/keys/enable", member, 0, false, c.askEnableKey},
		{post, "/keys/enable", member, plainForm, false, c.enableKey},
		{get, "/keys/delete", member, 0, false, c.askDeleteKey},
		{post, "/keys/delete", member, plainForm, false, c.deleteKey},

		{get, "/users", member, 0, false, c.showUsers},
		{get, "/users/new", member, 0, false, c.showNewUser},
		{post, "/users/new", member, smallForm, false, c.createUser},
		{get, "/users/delete", member, 0, false, c.askDeleteUser},
		{post, "/users/delete", member, plainForm, false, c.deleteUser},
		{get, "/account", member, 0, false, c.showAccount},
		{post, "/account", member, smallForm, false, c.changePassword},
	}
}
