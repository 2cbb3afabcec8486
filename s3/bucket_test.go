package s3_test

import (
	"net/http"
	"strings"
	"testing"

	"larder/s3"
)

func TestBuckets(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	a := s.want(200, request{method: "PUT", target: "/pics", body: `<CreateBucketConfiguration xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><LocationConstraint>mars</LocationConstraint></CreateBucketConfiguration>`})
	if a.header.Get("Location") != "/pics" {
		t.Error(a.header)
	}
	s.refused(409, "BucketAlreadyOwnedByYou", request{method: "PUT", target: "/pics"})
	s.refused(400, "MalformedXML", request{method: "PUT", target: "/new", body: "<x/>"})
	s.refused(400, "MalformedXML", request{method: "PUT", target: "/new", body: "<!DOCTYPE a><CreateBucketConfiguration/>"})
	s.refused(400, "MaxMessageLengthExceeded", request{method: "PUT", target: "/new", body: strings.Repeat(" ", 65<<10)})
	s.refused(501, "NotImplemented", request{method: "PUT", target: "/new", header: map[string]string{"x-amz-bucket-object-lock-enabled": "true"}})
	if a := s.head("/pics"); a.status != 200 || a.header.Get("X-Amz-Bucket-Region") != "us-east-1" {
		t.Error(a)
	}
	s.put("/pics/k", "x")
	s.refused(409, "BucketNotEmpty", request{method: "DELETE", target: "/pics"})
	s.want(204, request{method: "DELETE", target: "/pics/k"})
	s.want(204, request{method: "DELETE", target: "/pics"})
	s.refused(404, "NoSuchBucket", request{method: "DELETE", target: "/pics"})
	s.refused(404, "NoSuchBucket", request{method: "GET", target: "/pics?location"})
}

// Clients probe (kopia#913): absent settings answer their own code, unknown ones 501, and nothing
// falls through to a listing.
func TestSubresources(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.bucket("pics")
	s.put("/pics/k", "x")
	for selector, code := range map[string]string{
		"object-lock": "ObjectLockConfigurationNotFoundError", "policy": "NoSuchBucketPolicy", "policyStatus": "NoSuchBucketPolicy",
		"lifecycle": "NoSuchLifecycleConfiguration", "cors": "NoSuchCORSConfiguration", "tagging": "NoSuchTagSet",
		"encryption": "ServerSideEncryptionConfigurationNotFoundError", "website": "NoSuchWebsiteConfiguration",
		"replication":       "ReplicationConfigurationNotFoundError",
		"publicAccessBlock": "NoSuchPublicAccessBlockConfiguration", "ownershipControls": "OwnershipControlsNotFoundError",
	} {
		s.refused(404, code, request{method: "GET", target: "/pics?" + selector})
		s.refused(404, "NoSuchBucket", request{method: "GET", target: "/none?" + selector})
	}
	for _, selector := range []string{"notification", "logging", "accelerate", "requestPayment", "intelligent-tiering", "made-up",
		"made-up=1", "analytics", "inventory", "metrics", "uploads&acl"} {
		s.refused(501, "NotImplemented", request{method: "GET", target: "/pics?" + selector})
	}
	for _, selector := range []string{"torrent", "made-up", "restore", "uploads"} {
		s.refused(501, "NotImplemented", request{method: "GET", target: "/pics/k?" + selector})
	}
	s.refused(404, "NoSuchObjectLockConfiguration", request{method: "GET", target: "/pics/k?retention"})
	s.refused(404, "NoSuchObjectLockConfiguration", request{method: "GET", target: "/pics/k?legal-hold"})
	s.refused(404, "NoSuchKey", request{method: "GET", target: "/pics/none?retention"})
	s.holds("/pics/k?_=12345", "x")
	if body := s.want(200, request{method: "GET", target: "/pics?versioning"}).body; !strings.Contains(body, "></VersioningConfiguration>") {
		t.Error(body)
	}
}

// What other servers took for a put or a delete of the thing itself.
func TestSubresourcesChangeNothing(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.bucket("pics")
	s.put("/pics/k", "x")
	for _, q := range []request{
		{method: "PUT", target: "/pics/k?tagging", body: "<Tagging/>"}, {method: "PUT", target: "/pics/k?made-up", body: "y"},
		{method: "PUT", target: "/pics/k?retention", body: "y"}, {method: "PUT", target: "/pics/k?a=b", body: "y"},
		{method: "DELETE", target: "/pics/k?tagging"}, {method: "DELETE", target: "/pics?lifecycle"},
		{method: "DELETE", target: "/pics?policy"}, {method: "PUT", target: "/pics?versioning", body: "<a/>"},
		{method: "PUT", target: "/new?policy", body: "{}"}, {method: "POST", target: "/pics/k?restore", body: "x"},
		{method: "POST", target: "/pics/k?select&select-type=2", body: "x"}, {method: "POST", target: "/pics", body: "form"},
		{method: "HEAD", target: "/"}, {method: "PUT", target: "/"}, {method: "DELETE", target: "/"},
	} {
		if a := s.send(q); a.status != 501 {
			t.Errorf("%s %s: %d %s", q.method, q.target, a.status, a.body)
		}
	}
	s.holds("/pics/k", "x")
	s.refused(405, "MethodNotAllowed", request{method: "PATCH", target: "/pics/k"})
	s.refused(405, "MethodNotAllowed", request{method: "TRACE", target: "/pics/k"})
}

// Media servers send canned ACLs with every upload, mastodon#17978.
func TestACLs(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.bucket("pics")
	for _, acl := range []string{"private", "public-read", "bucket-owner-full-control"} {
		s.put("/pics/k", "x", "x-amz-acl", acl)
		s.want(200, request{method: "POST", target: "/pics/m?uploads", header: map[string]string{"x-amz-acl": acl}})
		s.want(200, request{method: "PUT", target: "/pics/copy", header: map[string]string{"x-amz-acl": acl, "x-amz-copy-source": "/pics/k"}})
	}
	s.refused(403, "AccessDenied", request{method: "GET", target: "/pics/k", anonymous: true})
	s.refused(400, "InvalidArgument", request{method: "PUT", target: "/pics/k", body: "y", header: map[string]string{"x-amz-acl": "everybody"}})
	s.refused(400, "AccessControlListNotSupported", request{method: "PUT", target: "/pics/k", body: "y", header: map[string]string{"x-amz-grant-read": "id=1"}})
	s.holds("/pics/k", "x")
	for _, target := range []string{"/pics?acl", "/pics/k?acl"} {
		policy := s.want(200, request{method: "GET", target: target}).body
		if !strings.Contains(policy, "<Permission>FULL_CONTROL</Permission>") || !strings.Contains(policy, s3.OwnerID) {
			t.Error(policy)
		}
		s.want(200, request{method: "PUT", target: target, body: policy})
		s.want(200, request{method: "PUT", target: target, header: map[string]string{"x-amz-acl": "private"}})
		s.refused(400, "AccessControlListNotSupported", request{method: "PUT", target: target, header: map[string]string{"x-amz-acl": "public-read"}})
		s.refused(400, "AccessControlListNotSupported", request{method: "PUT", target: target, body: strings.ReplaceAll(policy, s3.OwnerID, "other")})
	}
	s.refused(404, "NoSuchKey", request{method: "GET", target: "/pics/none?acl"})
}

func TestHeadersOfMissingFeaturesAreRefused(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.bucket("pics")
	for _, h := range []string{"x-amz-object-lock-mode", "x-amz-object-lock-legal-hold", "x-amz-server-side-encryption",
		"x-amz-server-side-encryption-customer-algorithm", "x-amz-website-redirect-location"} {
		for _, q := range []request{{method: "PUT", target: "/pics/k", body: "x"}, {method: "POST", target: "/pics/k?uploads"}} {
			q.header = map[string]string{h: "x"}
			s.refused(501, "NotImplemented", q)
		}
	}
	s.gone("/pics/k")
}

func TestIgnoredHeaders(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.bucket("pics")
	s.put("/pics/k?x-id=PutObject", "x", "x-amz-storage-class", "GLACIER", "x-amz-request-payer", "requester",
		"x-amz-tagging", "", "x-amz-expected-bucket-owner", s3.OwnerID)
	if a := s.head("/pics/k"); a.status != http.StatusOK || a.header.Get("X-Amz-Storage-Class") != "" {
		t.Error(a)
	}
	s.refused(403, "AccessDenied", request{method: "PUT", target: "/pics/k", body: "y",
		header: map[string]string{"x-amz-expected-bucket-owner": "111122223333"}})
	s.holds("/pics/k", "x")
}

func TestVirtualHosts(t *testing.T) {
	t.Parallel()
	s := startStack(t, options{config: func(c *s3.Config) { c.Domains = []string{"s3.nas.test"}; c.Region = "home" }})
	s.bucket("pics")
	host := func(h string) func(*http.Request) { return func(r *http.Request) { r.Host = h } }
	port := s.url[strings.LastIndex(s.url, ":"):]
	for _, h := range []string{"pics.s3.nas.test", "pics.s3.nas.test" + port} {
		q := s.build(request{method: "PUT", target: "/NAS_1.hbk/", anonymous: true, change: host(h)})
		s.sign(q, request{})
		resp, err := s.client.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != 200 || resp.Header.Get("ETag") != etagOf("") {
			t.Error(h, resp.Status, resp.Header)
		}
	}
	s.holds("/pics/NAS_1.hbk/", "")
	if a := s.get("/pics?location"); !strings.Contains(a.body, ">home</LocationConstraint>") {
		t.Error(a.body)
	}
}
