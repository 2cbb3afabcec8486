package admin

import (
	"encoding/json"
	"net/http"

	"larder/fault"
)

// answer is what the JSON API says for one fault code.
type answer struct {
	status int
	code   string
}

// answerFor is the API's one table from codes to answers. The names are part of
// the API and never change.
func answerFor(code fault.Code) (answer, bool) {
	a, ok := map[fault.Code]answer{
		fault.Internal:          {http.StatusInternalServerError, "internal"},
		fault.NoSuchBucket:      {http.StatusNotFound, "no_such_bucket"},
		fault.NoSuchKey:         {http.StatusNotFound, "no_such_object"},
		fault.NoSuchVersion:     {http.StatusNotFound, "no_such_version"},
		fault.NoSuchUpload:      {http.StatusNotFound, "no_such_upload"},
		fault.NoSuchUser:        {http.StatusNotFound, "no_such_user"},
		fault.NoSuchAccessKey:   {http.StatusNotFound, "no_such_key"},
		fault.BucketExists:      {http.StatusConflict, "bucket_exists"},
		fault.BucketNotEmpty:    {http.StatusConflict, "bucket_not_empty"},
		fault.UserExists:        {http.StatusConflict, "user_exists"},
		fault.AccessKeyExists:   {http.StatusConflict, "key_exists"},
		fault.InvalidArgument:   {http.StatusBadRequest, "invalid_argument"},
		fault.InvalidBucketName: {http.StatusBadRequest, "invalid_bucket_name"},
		fault.InvalidKey:        {http.StatusBadRequest, "invalid_object_key"},
		fault.KeyTooLong:        {http.StatusBadRequest, "object_key_too_long"},
		fault.MetadataTooLarge:  {http.StatusBadRequest, "metadata_too_large"},
		fault.EntityTooLarge:    {http.StatusRequestEntityTooLarge, "too_large"},
		fault.EntityTooSmall:    {http.StatusBadRequest, "too_small"},
		fault.InvalidRange:      {http.StatusRequestedRangeNotSatisfiable, "invalid_range"},
		fault.InvalidPart:       {http.StatusBadRequest, "invalid_part"},
		fault.InvalidPartOrder:  {http.StatusBadRequest, "invalid_part_order"},
		fault.BadDigest:         {http.StatusBadRequest, "bad_digest"},
		fault.IncompleteBody:    {http.StatusBadRequest, "incomplete_body"},
		fault.Precondition:      {http.StatusPreconditionFailed, "precondition_failed"},
		fault.Conflict:          {http.StatusConflict, "conflict"},
		fault.NotImplemented:    {http.StatusNotImplemented, "not_implemented"},
		fault.WeakPassword:      {http.StatusBadRequest, "weak_password"},
		fault.NotModified:       {http.StatusNotModified, "not_modified"},
		fault.Unauthenticated:   {http.StatusUnauthorized, "unauthenticated"},
		fault.BadSignature:      {http.StatusUnauthorized, "bad_signature"},
		fault.Denied:            {http.StatusForbidden, "denied"},
		fault.RateLimited:       {http.StatusTooManyRequests, "rate_limited"},
		fault.Expired:           {http.StatusUnauthorized, "expired"},
		fault.ClockSkew:         {http.StatusUnauthorized, "clock_skew"},
		fault.SetupDone:         {http.StatusConflict, "setup_done"},
		fault.NoSpace:           {http.StatusInsufficientStorage, "no_space"},
		fault.ReadOnly:          {http.StatusServiceUnavailable, "read_only"},
		fault.Corrupt:           {http.StatusInternalServerError, "corrupt"},
		fault.Unavailable:       {http.StatusServiceUnavailable, "unavailable"},
		fault.Canceled:          {statusClientClosed, "canceled"},
		fault.ForeignStore:      {http.StatusInternalServerError, "foreign_store"},
		fault.NewerFormat:       {http.StatusInternalServerError, "newer_format"},
		fault.IndexAhead:        {http.StatusInternalServerError, "index_ahead"},
		fault.Locked:            {http.StatusInternalServerError, "locked"},
		fault.IndexStale:        {http.StatusInternalServerError, "index_stale"},
	}[code]
	return a, ok
}

// statusClientClosed is what nginx logs for a client that went away; nobody is
// left to read it.
const statusClientClosed = 499

// errorBody is the form of every error: {"error":{"code":"...","message":"..."}}.
type errorBody struct {
	Error errorDetail `json:"error"`
}

type errorDetail struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// writeError answers with the code's own status, name and public hint. The
// private part of an error never leaves the process.
func writeError(w http.ResponseWriter, err error) {
	status, detail := errorFor(err)
	switch status {
	case http.StatusUnauthorized:
		w.Header().Set("WWW-Authenticate", `Bearer realm="Larder"`)
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		w.Header().Set("Retry-After", "2")
	}
	writeJSON(w, status, errorBody{detail})
}

func errorFor(err error) (status int, detail errorDetail) {
	code := fault.CodeOf(err)
	a, ok := answerFor(code)
	if !ok {
		a, _ = answerFor(fault.Internal)
	}
	message := fault.HintOf(err)
	if message == "" {
		message = code.String()
	}
	return a.status, errorDetail{a.code, message}
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		http.Error(w, `{"error":{"code":"internal","message":"internal error"}}`, http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n')) // an error here means that nobody listens
}
