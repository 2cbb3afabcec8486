package s3

import (
	"errors"
	"io"
	"os"

	"larder/auth/sigv4"
	"larder/fault"
)

// refusal is an error that this package finds itself: a fault of the protocol,
// with a message for the person who sent it.
type refusal struct {
	code    code
	message string // "" = the code's own
}

func (r *refusal) Error() string {
	if r.message == "" {
		return "s3: " + string(r.code)
	}
	return "s3: " + string(r.code) + ": " + r.message
}

func refuse(c code, message string) error { return &refusal{c, message} }

// Errors of bodies on their way in. None of them is, or wraps, io.EOF or
// io.ErrUnexpectedEOF, which would look like the end of a body.
var (
	errChunk            = refuse(invalidRequest, "The aws-chunked framing of the body is broken.")
	errChunkSize        = refuse(invalidChunkSize, "")
	errChunkSignature   = refuse(signatureMismatch, "The signature of a chunk does not match.")
	errTrailerSignature = refuse(signatureMismatch, "The signature of the trailer does not match.")
	errTrailer          = refuse(malformedTrailer, "")
	errTooMuch          = refuse(incompleteBody, "The body holds more bytes than x-amz-decoded-content-length says.")
	errTooLittle        = refuse(incompleteBody, "The body holds fewer bytes than were announced.")
	errTooSlow          = refuse(requestTimeout, "")
)

// cut turns what net/http says about a broken-off body into a refusal.
func cut(err error) error {
	var own *refusal
	switch {
	case errors.As(err, &own):
		return err
	case errors.Is(err, os.ErrDeadlineExceeded):
		return errTooSlow
	case err == io.EOF, errors.Is(err, io.ErrUnexpectedEOF):
		return errTooLittle
	}
	return refuse(incompleteBody, "The body could not be read to its end.")
}

// codeOf is the only place that maps Larder's codes to S3's. ok is false for a
// code that is not in the table.
func codeOf(c fault.Code) (s3 code, ok bool) {
	s3, ok = codes[c]
	return s3, ok
}

// codes is never written to; a test proves it complete.
var codes = map[fault.Code]code{
	fault.Internal:          internalError,
	fault.NoSuchBucket:      noSuchBucket,
	fault.NoSuchKey:         noSuchKey,
	fault.NoSuchVersion:     noSuchVersion,
	fault.NoSuchUpload:      noSuchUpload,
	fault.NoSuchUser:        noSuchEntity,
	fault.NoSuchAccessKey:   invalidAccessKeyID,
	fault.BucketExists:      bucketOwnedByYou,
	fault.BucketNotEmpty:    bucketNotEmpty,
	fault.UserExists:        entityExists,
	fault.AccessKeyExists:   entityExists,
	fault.InvalidArgument:   invalidArgument,
	fault.InvalidBucketName: invalidBucketName,
	fault.InvalidKey:        invalidURI,
	fault.KeyTooLong:        keyTooLong,
	fault.MetadataTooLarge:  metadataTooLarge,
	fault.EntityTooLarge:    entityTooLarge,
	fault.EntityTooSmall:    entityTooSmall,
	fault.InvalidRange:      invalidRange,
	fault.InvalidPart:       invalidPart,
	fault.InvalidPartOrder:  invalidPartOrder,
	fault.BadDigest:         badDigest,
	fault.IncompleteBody:    incompleteBody,
	fault.Precondition:      preconditionFailed,
	fault.Conflict:          conditionalConflict,
	fault.NotImplemented:    notImplemented,
	fault.WeakPassword:      invalidArgument,
	fault.NotModified:       notModified,
	fault.Unauthenticated:   accessDenied,
	fault.BadSignature:      signatureMismatch,
	fault.Denied:            accessDenied,
	fault.RateLimited:       slowDown,
	fault.Expired:           accessDenied,
	fault.ClockSkew:         timeTooSkewed,
	fault.SetupDone:         invalidRequest,
	fault.NoSpace:           insufficientStorage,
	fault.ReadOnly:          serviceUnavailable,
	fault.Corrupt:           internalError,
	fault.Unavailable:       serviceUnavailable,
	fault.Canceled:          requestTimeout,
	fault.ForeignStore:      internalError,
	fault.NewerFormat:       internalError,
	fault.IndexAhead:        internalError,
	fault.Locked:            internalError,
	fault.IndexStale:        internalError,
}

// signatureCodes maps the reasons of package sigv4; a test proves it complete.
// It is never written to.
var signatureCodes = map[sigv4.Reason]code{
	sigv4.NoCredentials:  accessDenied,
	sigv4.MalformedAuth:  authMalformed,
	sigv4.MalformedQuery: authQueryMalformed,
	sigv4.Obsolete:       invalidRequest,
	sigv4.Unsupported:    invalidArgument,
	sigv4.Ambiguous:      invalidArgument,
	sigv4.NoDate:         accessDenied,
	sigv4.Skewed:         timeTooSkewed,
	sigv4.PastExpiry:     accessDenied,
	sigv4.TooEarly:       accessDenied,
	sigv4.NotSigned:      accessDenied,
	sigv4.BadHeaders:     signatureMismatch,
	sigv4.ForeignToken:   invalidToken,
	sigv4.NoPayloadHash:  invalidRequest,
	sigv4.BadTarget:      invalidURI,
}

// verdict is an error as it will be answered.
type verdict struct {
	code    code
	status  int
	message string
}

// judge classifies any error.
func judge(err error) verdict {
	c, message := classify(err)
	a := answers[c]
	if message == "" {
		message = a.message
	}
	return verdict{c, a.status, message}
}

func classify(err error) (code, string) {
	var own *refusal
	var signature *sigv4.Error
	switch {
	case errors.As(err, &own):
		return own.code, own.message
	case errors.As(err, &signature):
		return signatureCodes[signature.Reason], signature.Message
	}
	c, ok := codeOf(fault.CodeOf(err))
	if !ok {
		return internalError, ""
	}
	return c, fault.HintOf(err)
}

// isGone tells that an upload is not there (any more).
func isGone(err error) bool { return fault.CodeOf(err) == fault.NoSuchUpload }
