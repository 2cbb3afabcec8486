package s3

import (
	"net/http"
	"slices"

	"larder/auth"
)

// Operation numbers what S3 clients can ask for. It decides the handler, the
// action that the caller needs a right to, and the label in logs and metrics.
type Operation uint8

// The operations. The zero Operation is everything that Larder does not have.
const (
	NotImplemented Operation = iota
	ListBuckets
	CreateBucket
	HeadBucket
	DeleteBucket
	GetBucketLocation
	GetBucketVersioning
	GetBucketACL
	PutBucketACL
	GetBucketSetting // a setting that no bucket has
	ListObjects
	ListObjectsV2
	ListObjectVersions
	ListMultipartUploads
	DeleteObjects
	PutObject
	CopyObject
	GetObject
	HeadObject
	DeleteObject
	GetObjectACL
	PutObjectACL
	GetObjectTagging
	GetObjectLock // retention and legal hold, which no object has
	GetObjectAttributes
	CreateMultipartUpload
	UploadPart
	UploadPartCopy
	CompleteMultipartUpload
	AbortMultipartUpload
	ListParts
)

// level is what a request's target names.
type level uint8

const (
	atService level = iota
	atBucket
	atObject
)

// route is one row of the table: what a request must look like, and what it
// then is.
type route struct {
	op     Operation
	name   string // the operation's, as AWS names it
	method string
	level  level
	// selector is the query parameter that picks the route, "" for what a method
	// means by itself. "a=b" also demands the value.
	selector string
	copies   bool     // x-amz-copy-source must be there
	params   []string // further parameters that belong to it
	action   auth.Action
	serve    func(*call) error
}

// routes is the table of everything that can be asked for. The first row that
// fits holds, so rows with a selector come before those without.
func routes() []route {
	all := slices.Concat(bucketRoutes(), settingRoutes(), uploadRoutes(), objectRoutes())
	slices.SortStableFunc(all, func(a, b route) int {
		switch {
		case (a.selector == "") == (b.selector == ""):
			return 0
		case a.selector == "":
			return 1
		}
		return -1
	})
	return all
}

func bucketRoutes() []route {
	listing := []string{"prefix", "delimiter", "encoding-type", "max-keys", "marker", "metadata",
		"list-type", "continuation-token", "fetch-owner", "start-after"}
	versions := []string{"prefix", "delimiter", "encoding-type", "max-keys", "key-marker", "version-id-marker"}
	const get, put = http.MethodGet, http.MethodPut
	return []route{
		{ListBuckets, "ListBuckets", get, atService, "", false,
			[]string{"max-buckets", "prefix", "continuation-token", "bucket-region"}, auth.ListBuckets, (*call).listBuckets},
		{GetBucketLocation, "GetBucketLocation", get, atBucket, "location", false, nil, auth.ReadBucket, (*call).bucketLocation},
		{GetBucketVersioning, "GetBucketVersioning", get, atBucket, "versioning", false, nil, auth.ReadBucket, (*call).bucketVersioning},
		{GetBucketACL, "GetBucketAcl", get, atBucket, "acl", false, nil, auth.ReadBucket, (*call).bucketACL},
		{PutBucketACL, "PutBucketAcl", put, atBucket, "acl", false, nil, auth.CreateBucket, (*call).putBucketACL},
		{ListMultipartUploads, "ListMultipartUploads", get, atBucket, "uploads", false,
			[]string{"prefix", "delimiter", "encoding-type", "max-uploads", "key-marker", "upload-id-marker"},
			auth.ListUploads, (*call).listUploads},
		{ListObjectVersions, "ListObjectVersions", get, atBucket, "versions", false, versions, auth.ListObjects, (*call).listVersions},
		{DeleteObjects, "DeleteObjects", http.MethodPost, atBucket, "delete", false, nil, auth.DeleteObject, (*call).deleteObjects},
		{ListObjectsV2, "ListObjectsV2", get, atBucket, "list-type=2", false, listing, auth.ListObjects, (*call).listV2},
		{ListObjects, "ListObjects", get, atBucket, "", false, listing, auth.ListObjects, (*call).listV1},
		{CreateBucket, "CreateBucket", put, atBucket, "", false, nil, auth.CreateBucket, (*call).createBucket},
		{HeadBucket, "HeadBucket", http.MethodHead, atBucket, "", false, nil, auth.ReadBucket, (*call).headBucket},
		{DeleteBucket, "DeleteBucket", http.MethodDelete, atBucket, "", false, nil, auth.DeleteBucket, (*call).deleteBucket},
	}
}

// settingRoutes are the settings that clients look for and that no bucket and
// no object has: each is absent with a code of its own, never a listing.
func settingRoutes() []route {
	absent := func(op Operation, name string, at level, selector string, c code, action auth.Action) route {
		serve := func(c2 *call) error { return c2.absent(c) }
		return route{op, name, http.MethodGet, at, selector, false, []string{"versionId", "withUpdatedAt"}, action, serve}
	}
	ofBucket := func(name, selector string, c code) route {
		return absent(GetBucketSetting, name, atBucket, selector, c, auth.ReadBucket)
	}
	return []route{
		ofBucket("GetObjectLockConfiguration", "object-lock", "ObjectLockConfigurationNotFoundError"),
		ofBucket("GetBucketPolicy", "policy", "NoSuchBucketPolicy"),
		ofBucket("GetBucketPolicyStatus", "policyStatus", "NoSuchBucketPolicy"),
		ofBucket("GetBucketLifecycleConfiguration", "lifecycle", "NoSuchLifecycleConfiguration"),
		ofBucket("GetBucketCors", "cors", "NoSuchCORSConfiguration"),
		ofBucket("GetBucketTagging", "tagging", "NoSuchTagSet"),
		ofBucket("GetBucketEncryption", "encryption", "ServerSideEncryptionConfigurationNotFoundError"),
		ofBucket("GetBucketWebsite", "website", "NoSuchWebsiteConfiguration"),
		ofBucket("GetBucketReplication", "replication", "ReplicationConfigurationNotFoundError"),
		ofBucket("GetPublicAccessBlock", "publicAccessBlock", "NoSuchPublicAccessBlockConfiguration"),
		ofBucket("GetBucketOwnershipControls", "ownershipControls", "OwnershipControlsNotFoundError"),
		absent(GetObjectLock, "GetObjectRetention", atObject, "retention", noSuchLockConfig, auth.GetObject),
		absent(GetObjectLock, "GetObjectLegalHold", atObject, "legal-hold", noSuchLockConfig, auth.GetObject),
	}
}

func uploadRoutes() []route {
	const post, put = http.MethodPost, http.MethodPut
	part := []string{"partNumber"}
	return []route{
		{CreateMultipartUpload, "CreateMultipartUpload", post, atObject, "uploads", false, nil, auth.CreateObject, (*call).createUpload},
		{UploadPartCopy, "UploadPartCopy", put, atObject, "uploadId", true, part, auth.CreateObject, (*call).uploadPartCopy},
		{UploadPart, "UploadPart", put, atObject, "uploadId", false, part, auth.CreateObject, (*call).uploadPart},
		{CompleteMultipartUpload, "CompleteMultipartUpload", post, atObject, "uploadId", false, nil, auth.CreateObject, (*call).completeUpload},
		{AbortMultipartUpload, "AbortMultipartUpload", http.MethodDelete, atObject, "uploadId", false, nil, auth.AbortUpload, (*call).abortUpload},
		{ListParts, "ListParts", http.MethodGet, atObject, "uploadId", false,
			[]string{"max-parts", "part-number-marker", "encoding-type"}, auth.ListParts, (*call).listParts},
	}
}

func objectRoutes() []route {
	reading := []string{"versionId", "partNumber", "response-content-type", "response-content-language",
		"response-expires", "response-cache-control", "response-content-disposition", "response-content-encoding"}
	version := []string{"versionId"}
	const get, put = http.MethodGet, http.MethodPut
	return []route{
		{GetObjectACL, "GetObjectAcl", get, atObject, "acl", false, version, auth.GetObject, (*call).objectACL},
		{PutObjectACL, "PutObjectAcl", put, atObject, "acl", false, version, auth.PutObject, (*call).putObjectACL},
		{GetObjectTagging, "GetObjectTagging", get, atObject, "tagging", false, version, auth.GetObject, (*call).objectTagging},
		{GetObjectAttributes, "GetObjectAttributes", get, atObject, "attributes", false,
			[]string{"versionId"}, auth.GetObject, (*call).objectAttributes},
		{CopyObject, "CopyObject", put, atObject, "", true, nil, auth.CreateObject, (*call).copyObject},
		{PutObject, "PutObject", put, atObject, "", false, nil, auth.CreateObject, (*call).putObject},
		{GetObject, "GetObject", get, atObject, "", false, reading, auth.GetObject, (*call).getObject},
		{HeadObject, "HeadObject", http.MethodHead, atObject, "", false, reading, auth.GetObject, (*call).headObject},
		{DeleteObject, "DeleteObject", http.MethodDelete, atObject, "", false, version, auth.DeleteObject, (*call).deleteObject},
	}
}
