package s3

import (
	"net/http"
	"slices"
	"strings"

	"larder/auth"
	"larder/auth/sigv4"
)

// level tells what the target names.
func (t target) level() level {
	switch {
	case t.bucket == "":
		return atService
	case t.key == "":
		return atBucket
	}
	return atObject
}

// find picks the route of a request. What Larder lacks is a route too, so that
// it is refused only after the caller is known.
func (s *Server) find(c *call) (*route, error) {
	if !slices.Contains([]string{http.MethodGet, http.MethodHead, http.MethodPut, http.MethodPost, http.MethodDelete}, c.r.Method) {
		return nil, refuse(methodNotAllowed, "")
	}
	at := c.target.level()
	copies := slices.Contains(c.amzNames(), "x-amz-copy-source")
	for i := range s.routes {
		rt := &s.routes[i]
		if rt.method != c.r.Method || rt.level != at || rt.copies && !copies || !rt.selected(c.query) {
			continue
		}
		if !rt.takesAll(c.query) {
			break
		}
		return rt, c.checkVersion(rt)
	}
	return missingRoute(at), nil
}

// selected tells whether the query picks the route.
func (rt *route) selected(q sigv4.Query) bool {
	if rt.selector == "" {
		return true
	}
	name, want, valued := strings.Cut(rt.selector, "=")
	value, ok := q.Get(name)
	return ok && (!valued || value == want)
}

// takesAll tells whether every parameter means something to the route. One
// that does not may be a subresource that Larder has never heard of, and must
// not fall through to what the path alone would mean. Only when an object is
// read, parameters with a value are passed over, as AWS does: people add them
// to get around caches.
func (rt *route) takesAll(q sigv4.Query) bool {
	selector, _, _ := strings.Cut(rt.selector, "=")
	for _, p := range q {
		switch {
		case p.Name == selector && selector != "", slices.Contains(rt.params, p.Name), universal(p.Name):
		case (rt.op == GetObject || rt.op == HeadObject) && p.Value != "" && !subresource(p.Name):
		default:
			return false
		}
	}
	return true
}

// universal are parameters that any request may have.
func universal(name string) bool {
	return name == "x-id" || strings.HasPrefix(strings.ToLower(name), "x-amz-")
}

// subresource are parameters that ask for something else than the object.
func subresource(name string) bool {
	switch name {
	case "acl", "annotation", "attributes", "encryption", "legal-hold", "restore", "retention", "select",
		"select-type", "tagging", "torrent", "uploadId", "uploads", "versions", "renameObject":
		return true
	}
	return false
}

// missingRoute is what is served when no row of the table fits.
func missingRoute(at level) *route {
	action := auth.ReadBucket
	if at == atService {
		action = auth.ListBuckets
	}
	return &route{op: NotImplemented, name: "NotImplemented", level: at, action: action, serve: (*call).notImplemented}
}

// notImplemented says so to callers with rights in the bucket; to others it
// says what every refused request says.
func (c *call) notImplemented() error {
	if err := c.allowed(c.route); err != nil {
		return err
	}
	return refuse(notImplemented, "This server does not implement what the request asks for.")
}

// allowed asks for the right to a route's action where no door is passed.
func (c *call) allowed(rt *route) error {
	res := auth.Resource{Bucket: c.target.bucket, Key: c.target.key}
	return c.s.auth.Guard().Check(c.ctx, c.caller, rt.action, res)
}

// absent answers for a setting that nothing has, of a bucket or of an object
// that must be there.
func (c *call) absent(answer code) error {
	var err error
	if c.target.level() == atBucket {
		_, err = c.s.gate.HeadBucket(c.ctx, c.caller, c.target.bucket)
	} else {
		_, err = c.s.gate.Head(c.ctx, c.caller, c.target.bucket, c.target.key)
	}
	if err != nil {
		return err
	}
	return refuse(answer, "")
}

// checkVersion refuses versions other than the null version, which is the only
// one that an object of a bucket without versioning has.
func (c *call) checkVersion(rt *route) error {
	v, ok := c.query.Get("versionId")
	if !ok || v == "null" {
		return nil
	}
	if v == "" {
		return refuse(invalidArgument, "Version id cannot be the empty string.")
	}
	if err := c.allowed(rt); err != nil {
		return err
	}
	return refuse(noSuchVersion, "")
}
