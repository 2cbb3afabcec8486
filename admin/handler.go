package admin

import (
	"context"
	"net/http"
	"time"

	"larder/auth"
	"larder/fault"
	"larder/store"
)

// Buckets is the part of the data plane's door that the JSON API offers. A
// *gate.Gate is one; it checks the caller's rights itself.
type Buckets interface {
	ListBuckets(ctx context.Context, c auth.Caller) ([]store.Bucket, error)
	CreateBucket(ctx context.Context, c auth.Caller, name string) (store.Bucket, error)
	DeleteBucket(ctx context.Context, c auth.Caller, name string) error
	HeadBucket(ctx context.Context, c auth.Caller, name string) (store.Bucket, error)
	SetBucketSettings(ctx context.Context, c auth.Caller, name string, settings store.BucketSettings) error
}

// api serves the JSON API. Each handler returns what to encode, or an error.
type api struct {
	service *Service
	buckets Buckets
	caller  func(*http.Request) (auth.Caller, error)
}

// route is one line of the API. Its handler is called with a verified caller
// only; the door behind it checks the action.
type route struct {
	pattern string // method and path, as http.ServeMux reads them
	action  auth.Action
	status  int // of success
	handle  func(api, http.ResponseWriter, *http.Request, auth.Caller) (any, error)
	stream  func(api, http.ResponseWriter, *http.Request, auth.Caller, func(any)) (any, error) // instead of handle
}

// routes is the whole API. No line can be without its action; a test calls each
// without a caller and with one that has no rights.
func routes() []route {
	return []route{
		{pattern: "GET /api/v1/summary", action: auth.ReadSummary, status: http.StatusOK, handle: api.summary},
		{pattern: "GET /api/v1/keys", action: auth.ReadKeys, status: http.StatusOK, handle: api.keys},
		{pattern: "POST /api/v1/keys", action: auth.ManageKeys, status: http.StatusCreated, handle: api.createKey},
		{pattern: "GET /api/v1/keys/{id}", action: auth.ReadKeys, status: http.StatusOK, handle: api.key},
		{pattern: "PATCH /api/v1/keys/{id}", action: auth.ManageKeys, status: http.StatusOK, handle: api.patchKey},
		{pattern: "DELETE /api/v1/keys/{id}", action: auth.ManageKeys, status: http.StatusNoContent, handle: api.deleteKey},
		{pattern: "GET /api/v1/users", action: auth.ReadUsers, status: http.StatusOK, handle: api.users},
		{pattern: "POST /api/v1/users", action: auth.ManageUsers, status: http.StatusCreated, handle: api.createUser},
		{pattern: "DELETE /api/v1/users/{name}", action: auth.ManageUsers, status: http.StatusNoContent, handle: api.deleteUser},
		{pattern: "PUT /api/v1/users/{name}/password", action: auth.ManageUsers, status: http.StatusNoContent, handle: api.changePassword},
		{pattern: "GET /api/v1/buckets", action: auth.ListBuckets, status: http.StatusOK, handle: api.listBuckets},
		{pattern: "POST /api/v1/buckets", action: auth.CreateBucket, status: http.StatusCreated, handle: api.createBucket},
		{pattern: "PATCH /api/v1/buckets/{name}", action: auth.SetBucket, status: http.StatusOK, handle: api.patchBucket},
		{pattern: "DELETE /api/v1/buckets/{name}", action: auth.DeleteBucket, status: http.StatusNoContent, handle: api.deleteBucket},
		{pattern: "GET /api/v1/scrub", action: auth.ReadScrub, status: http.StatusOK, handle: api.scrubStatus},
		{pattern: "GET /api/v1/scrub/findings", action: auth.ReadScrub, status: http.StatusOK, handle: api.scrubFindings},
		{pattern: "POST /api/v1/scrub/{command}", action: auth.ManageScrub, status: http.StatusNoContent, handle: api.scrubCommand},
		{pattern: "POST /api/v1/verify", action: auth.ManageScrub, status: http.StatusOK, stream: api.verify},
		{pattern: "GET /api/v1/snapshots", action: auth.ReadKeys, status: http.StatusOK, handle: api.snapshots},
		{pattern: "POST /api/v1/backup", action: auth.MakeBackup, status: http.StatusOK, stream: api.backup},
		{pattern: "POST /api/v1/export", action: auth.ExportFiles, status: http.StatusOK, stream: api.export},
	}
}

// Handler serves the JSON API below /api/v1/. caller verifies who sent a request
// and fails with a fault.Error; a zero Caller is refused too.
//
// Fields are snake_case, times RFC 3339 in UTC and null for never, errors
// {"error":{"code","message"}} with a code that never changes its meaning. Long
// work answers line by line, see stream.
func (s *Service) Handler(buckets Buckets, caller func(*http.Request) (auth.Caller, error)) http.Handler {
	a := api{service: s, buckets: buckets, caller: caller}
	mux := http.NewServeMux()
	for _, rt := range routes() {
		mux.Handle(rt.pattern, a.serve(rt))
	}
	mux.HandleFunc("/", a.unknown)
	return mux
}

// serve wraps a route: the caller first, then the handler, then one place that
// encodes what came of it.
func (a api) serve(rt route) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		c, err := a.verified(r)
		if err != nil {
			a.refuse(w, r, err)
			return
		}
		if rt.stream != nil {
			a.serveStream(w, r, c, rt)
			return
		}
		out, err := rt.handle(a, w, r, c)
		switch {
		case err != nil:
			a.refuse(w, r, err)
		case rt.status == http.StatusNoContent:
			w.Header().Set("Cache-Control", "no-store")
			w.WriteHeader(rt.status)
		default:
			writeJSON(w, rt.status, out)
		}
	}
}

// verified returns the caller, who is somebody.
func (a api) verified(r *http.Request) (auth.Caller, error) {
	c, err := a.caller(r)
	if err == nil && c.IsZero() {
		err = fault.New("admin.Handler", fault.Unauthenticated, "", nil).WithHint("Log in, or send an access key.")
	}
	return c, err
}

// refuse answers an error, and logs those that are ours.
func (a api) refuse(w http.ResponseWriter, r *http.Request, err error) {
	a.logOwn(r, err)
	writeError(w, err)
}

func (a api) logOwn(r *http.Request, err error) {
	if ans, _ := answerFor(fault.CodeOf(err)); ans.status == 0 || ans.status >= http.StatusInternalServerError {
		a.service.log.Error("admin API request failed", "method", r.Method, "route", r.Pattern, "err", err)
	}
}

// unknown answers paths and methods that do not exist, to verified callers only.
func (a api) unknown(w http.ResponseWriter, r *http.Request) {
	if _, err := a.verified(r); err != nil {
		a.refuse(w, r, err)
		return
	}
	writeJSON(w, http.StatusNotFound, errorBody{errorDetail{"no_such_route", "There is nothing here; see the list of routes."}})
}

// when encodes a time that may be never.
func when(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC().Truncate(time.Second)
	return &t
}
