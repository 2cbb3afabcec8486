package s3

import "net/http"

// code is an S3 error code, as clients branch on it:
// https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html.
type code string

// answer is the HTTP status of a code and what it says to a person when
// nothing better is known.
type answer struct {
	status  int
	message string
}

// The codes that Larder answers. Those without a constant of their own stand
// in the table of subresources.
const (
	accessDenied         code = "AccessDenied"
	accessForbidden      code = "AccessForbidden"
	aclNotSupported      code = "AccessControlListNotSupported"
	authMalformed        code = "AuthorizationHeaderMalformed"
	authQueryMalformed   code = "AuthorizationQueryParametersError"
	badDigest            code = "BadDigest"
	bucketNotEmpty       code = "BucketNotEmpty"
	bucketOwnedByYou     code = "BucketAlreadyOwnedByYou"
	conditionalConflict  code = "ConditionalRequestConflict"
	entityExists         code = "EntityAlreadyExists"
	entityTooLarge       code = "EntityTooLarge"
	entityTooSmall       code = "EntityTooSmall"
	incompleteBody       code = "IncompleteBody"
	insufficientStorage  code = "InsufficientStorage"
	internalError        code = "InternalError"
	invalidAccessKeyID   code = "InvalidAccessKeyId"
	invalidArgument      code = "InvalidArgument"
	invalidBucketName    code = "InvalidBucketName"
	invalidChunkSize     code = "InvalidChunkSizeError"
	invalidDigest        code = "InvalidDigest"
	invalidPart          code = "InvalidPart"
	invalidPartNumber    code = "InvalidPartNumber"
	invalidPartOrder     code = "InvalidPartOrder"
	invalidRange         code = "InvalidRange"
	invalidRequest       code = "InvalidRequest"
	invalidTag           code = "InvalidTag"
	invalidToken         code = "InvalidToken"
	invalidURI           code = "InvalidURI"
	keyTooLong           code = "KeyTooLongError"
	malformedTrailer     code = "MalformedTrailerError"
	malformedXML         code = "MalformedXML"
	maxMessageExceeded   code = "MaxMessageLengthExceeded"
	metadataTooLarge     code = "MetadataTooLarge"
	methodNotAllowed     code = "MethodNotAllowed"
	missingContentLength code = "MissingContentLength"
	noSuchBucket         code = "NoSuchBucket"
	noSuchEntity         code = "NoSuchEntity"
	noSuchKey            code = "NoSuchKey"
	noSuchUpload         code = "NoSuchUpload"
	noSuchVersion        code = "NoSuchVersion"
	notImplemented       code = "NotImplemented"
	notModified          code = "NotModified"
	preconditionFailed   code = "PreconditionFailed"
	requestTimeout       code = "RequestTimeout"
	serviceUnavailable   code = "ServiceUnavailable"
	signatureMismatch    code = "SignatureDoesNotMatch"
	slowDown             code = "SlowDown"
	timeTooSkewed        code = "RequestTimeTooSkewed"
	sha256Mismatch       code = "XAmzContentSHA256Mismatch"
	noSuchLockConfig     code = "NoSuchObjectLockConfiguration"
)

// answers is never written to.
var answers = map[code]answer{
	accessDenied:         {http.StatusForbidden, "Access Denied."},
	accessForbidden:      {http.StatusForbidden, "CORSResponse: CORS is not enabled for this bucket."},
	aclNotSupported:      {http.StatusBadRequest, "The bucket does not allow ACLs: access is given by the grants of a key."},
	authMalformed:        {http.StatusBadRequest, "The authorization header that you provided is not valid."},
	authQueryMalformed:   {http.StatusBadRequest, "The authorization query parameters that you provided are not valid."},
	badDigest:            {http.StatusBadRequest, "A checksum of the request does not fit what was received. The data was damaged on the way."},
	bucketNotEmpty:       {http.StatusConflict, "The bucket that you tried to delete is not empty."},
	bucketOwnedByYou:     {http.StatusConflict, "The bucket that you tried to create already exists, and you own it."},
	conditionalConflict:  {http.StatusConflict, "A conflicting operation happened at the same time. Try again."},
	entityExists:         {http.StatusConflict, "What you tried to create already exists."},
	entityTooLarge:       {http.StatusBadRequest, "Your proposed upload exceeds the maximum allowed size."},
	entityTooSmall:       {http.StatusBadRequest, "A part is smaller than the minimum of 5 MiB. Only the last part may be."},
	incompleteBody:       {http.StatusBadRequest, "You did not provide the number of bytes that the headers announced."},
	insufficientStorage:  {http.StatusInsufficientStorage, "The disk of the server is full. Reading and deleting still work."},
	internalError:        {http.StatusInternalServerError, "The server failed. Its log says why, under the request id."},
	invalidAccessKeyID:   {http.StatusForbidden, "The access key id that you provided does not exist on this server."},
	invalidArgument:      {http.StatusBadRequest, "Invalid Argument."},
	invalidBucketName:    {http.StatusBadRequest, "The specified bucket is not valid: use 3 to 63 lower-case letters, digits, dots and hyphens."},
	invalidChunkSize:     {http.StatusBadRequest, "A signed chunk is larger than 16 MiB. Send smaller chunks."},
	invalidDigest:        {http.StatusBadRequest, "The Content-MD5 or checksum value that you specified is not valid."},
	invalidPart:          {http.StatusBadRequest, "One or more of the specified parts could not be found, or its ETag or checksum differs."},
	invalidPartNumber:    {http.StatusRequestedRangeNotSatisfiable, "The requested partnumber is not satisfiable."},
	invalidPartOrder:     {http.StatusBadRequest, "The list of parts was not in ascending order of part numbers."},
	invalidRange:         {http.StatusRequestedRangeNotSatisfiable, "The requested range is not satisfiable."},
	invalidRequest:       {http.StatusBadRequest, "Invalid Request."},
	invalidTag:           {http.StatusBadRequest, "A tag is not valid: names have 1 to 128 characters, values up to 256, each name once."},
	invalidToken:         {http.StatusBadRequest, "The provided token is malformed or otherwise invalid."},
	invalidURI:           {http.StatusBadRequest, "Couldn't parse the specified URI."},
	keyTooLong:           {http.StatusBadRequest, "Your key is too long: it may have 1,024 bytes."},
	malformedTrailer:     {http.StatusBadRequest, "The request contained trailing data that was not well-formed or did not conform to x-amz-trailer."},
	malformedXML:         {http.StatusBadRequest, "The XML that you provided was not well-formed or did not validate against the published schema."},
	maxMessageExceeded:   {http.StatusBadRequest, "Your request was too big."},
	metadataTooLarge:     {http.StatusBadRequest, "Your metadata headers exceed the maximum allowed metadata size of 2,048 bytes."},
	methodNotAllowed:     {http.StatusMethodNotAllowed, "The specified method is not allowed against this resource."},
	missingContentLength: {http.StatusLengthRequired, "You must provide the Content-Length HTTP header."},
	noSuchBucket:         {http.StatusNotFound, "The specified bucket does not exist."},
	noSuchEntity:         {http.StatusNotFound, "What you named does not exist."},
	noSuchKey:            {http.StatusNotFound, "The specified key does not exist."},
	noSuchUpload:         {http.StatusNotFound, "The specified upload does not exist. The upload id may be invalid, or the upload may have been aborted or completed."},
	noSuchVersion:        {http.StatusNotFound, "The specified version does not exist."},
	notImplemented:       {http.StatusNotImplemented, "A header or parameter that you provided implies functionality that is not implemented."},
	notModified:          {http.StatusNotModified, ""},
	preconditionFailed:   {http.StatusPreconditionFailed, "At least one of the pre-conditions you specified did not hold."},
	requestTimeout:       {http.StatusBadRequest, "Your socket connection to the server was not read from or written to within the timeout period."},
	serviceUnavailable:   {http.StatusServiceUnavailable, "The server cannot take this request now. Try again."},
	signatureMismatch:    {http.StatusForbidden, "The request signature we calculated does not match the signature you provided. Check your secret key and signing method."},
	slowDown:             {http.StatusServiceUnavailable, "Please reduce your request rate."},
	timeTooSkewed:        {http.StatusForbidden, "The difference between the request time and the server's time is too large."},
	sha256Mismatch:       {http.StatusBadRequest, "The provided 'x-amz-content-sha256' header does not match what was computed."},
	noSuchLockConfig:     {http.StatusNotFound, "The specified object does not have an ObjectLock configuration."},

	"ObjectLockConfigurationNotFoundError":           {http.StatusNotFound, "Object Lock configuration does not exist for this bucket."},
	"NoSuchBucketPolicy":                             {http.StatusNotFound, "The bucket policy does not exist."},
	"NoSuchLifecycleConfiguration":                   {http.StatusNotFound, "The lifecycle configuration does not exist."},
	"NoSuchCORSConfiguration":                        {http.StatusNotFound, "The CORS configuration does not exist."},
	"NoSuchTagSet":                                   {http.StatusNotFound, "The TagSet does not exist."},
	"ServerSideEncryptionConfigurationNotFoundError": {http.StatusNotFound, "The server side encryption configuration was not found."},
	"NoSuchWebsiteConfiguration":                     {http.StatusNotFound, "The specified bucket does not have a website configuration."},
	"ReplicationConfigurationNotFoundError":          {http.StatusNotFound, "The replication configuration was not found."},
	"NoSuchPublicAccessBlockConfiguration":           {http.StatusNotFound, "The public access block configuration was not found."},
	"OwnershipControlsNotFoundError":                 {http.StatusNotFound, "The bucket ownership controls were not found."},
}
