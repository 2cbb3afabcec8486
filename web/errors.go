package web

import (
	"net/http"

	"larder/fault"
	"larder/web/view"
)

// answer is what the console says about a fault: status, heading and one
// sentence. A hint that the fault carries is added to it.
type answer struct {
	status      int
	title, text string
}

// answers has an entry for every fault.Code; a test holds it to that.
func answers() map[fault.Code]answer {
	return map[fault.Code]answer{
		fault.Internal: {500, "Something failed here", "Larder could not carry this out. The log has the reason under the request number below."},

		fault.NoSuchBucket:    {404, "No such bucket", "There is no bucket of this name. It may have been deleted meanwhile."},
		fault.NoSuchKey:       {404, "No such object", "There is no object of this name. It may have been deleted meanwhile."},
		fault.NoSuchVersion:   {404, "No such version", "This version of the object is not there."},
		fault.NoSuchUpload:    {404, "No such upload", "This upload is not in progress. It was finished or cancelled."},
		fault.NoSuchUser:      {404, "No such user", "There is no user of this name."},
		fault.NoSuchAccessKey: {404, "No such key", "There is no access key with this id. It may have been deleted meanwhile."},
		fault.BucketExists:    {409, "The bucket exists", "A bucket of this name is there already. Choose another name."},
		fault.BucketNotEmpty:  {409, "The bucket is not empty", "Only an empty bucket can be deleted. Delete its objects and cancel its unfinished uploads first."},
		fault.UserExists:      {409, "The user exists", "A user of this name, or one that looks the same, is there already."},
		fault.AccessKeyExists: {409, "The key exists", "An access key with this id is there already."},

		fault.InvalidArgument:   {400, "This cannot be done as asked", "A part of the request is not as it should be."},
		fault.InvalidBucketName: {400, "Not a bucket name", "A bucket name has 3 to 63 lower-case letters, digits, dots and hyphens."},
		fault.InvalidKey:        {400, "Not an object name", "An object name is valid UTF-8 without NUL characters."},
		fault.KeyTooLong:        {400, "The name is too long", "An object name has at most 1,024 bytes, folders included."},
		fault.MetadataTooLarge:  {400, "Too much metadata", "Metadata has at most 2,048 bytes."},
		fault.EntityTooLarge:    {413, "Too large", "One upload has at most 5 GiB. An S3 client sends larger objects in parts."},
		fault.EntityTooSmall:    {400, "Too small", "A part of an upload is smaller than 5 MiB."},
		fault.InvalidRange:      {416, "No such range", "The object ends before the range that was asked for."},
		fault.InvalidPart:       {400, "A part is missing", "A part of the upload is not there or differs from what was said."},
		fault.InvalidPartOrder:  {400, "Parts out of order", "The parts of an upload are listed in ascending order."},
		fault.BadDigest:         {400, "Damaged on the way", "What arrived is not what was sent, so nothing was stored. Try again."},
		fault.IncompleteBody:    {400, "Cut on the way", "The upload ended early, so nothing was stored. Try again."},
		fault.Precondition:      {412, "Changed meanwhile", "An object of this name is there already or was changed meanwhile."},
		fault.Conflict:          {409, "Changed meanwhile", "Somebody else changed this at the same moment. Look again, then repeat it if you still want to."},
		fault.NotImplemented:    {501, "Not there yet", "Larder cannot do this."},
		fault.WeakPassword:      {400, "The password is too weak", "Choose a longer password."},
		fault.NotModified:       {304, "Not changed", "Nothing has changed."},

		fault.Unauthenticated: {401, "Please log in", "Your session has ended, so nothing was changed. Log in and repeat what you did."},
		fault.BadSignature:    {403, "The signature is wrong", "The request was not signed with the key that it names."},
		fault.Denied:          {403, "You may not do this", "This was refused, and nothing was changed. An administrator can say what your role may do."},
		fault.RateLimited:     {429, "Too many attempts", "Too many requests came from your address. Wait a little, then try again."},
		fault.Expired:         {403, "It has expired", "The key or session has expired."},
		fault.ClockSkew:       {403, "The clocks differ", "Your machine's clock and this one's are more than 15 minutes apart."},
		fault.SetupDone:       {409, "Set-up is done", "This Larder has an administrator already. Log in instead."},

		fault.NoSpace:      {507, "The disk is full", "There is no room left, so nothing was stored. Reading and deleting go on."},
		fault.ReadOnly:     {503, "Larder is read-only", "Writing to the disk failed, so nothing is written until Larder is restarted. Reading goes on."},
		fault.Corrupt:      {500, "Stored bytes are damaged", "What is on the disk is not what was stored. Larder does not hand it out."},
		fault.Unavailable:  {503, "Not now", "Larder is shutting down or too busy. Try again in a moment."},
		fault.Canceled:     {499, "Cancelled", "The request was cancelled, so nothing was changed."},
		fault.ForeignStore: {500, "Files of another Larder", "The files on the disk belong to another store."},
		fault.NewerFormat:  {500, "Written by a newer Larder", "The files on the disk were written by a newer version."},
		fault.IndexAhead:   {500, "The index is ahead", "The index knows more than the journal, so Larder does not go on."},
		fault.Locked:       {500, "In use by another process", "Another process holds the data folder."},
		fault.IndexStale:   {500, "The index is out of date", "The index names files of the journal that are gone, so it has to be made anew."},
	}
}

// pageMissing is an address that the console does not have.
type pageMissing struct{ status int }

func (p *pageMissing) Error() string { return http.StatusText(p.status) }

func (p *pageMissing) answer() answer {
	switch p.status {
	case http.StatusMethodNotAllowed:
		return answer{p.status, "Not like that", "This address takes another kind of request."}
	case http.StatusMisdirectedRequest:
		return answer{p.status, "Not my name", "Larder does not answer to this host name. Its settings list the names of the console."}
	}
	return answer{http.StatusNotFound, "No such page", "There is nothing at this address."}
}

func answerTo(err error) answer {
	if p, ok := err.(*pageMissing); ok {
		return p.answer()
	}
	if a, ok := answers()[fault.CodeOf(err)]; ok {
		return a
	}
	return answers()[fault.Internal]
}

// textOf is what a person is told about err in one or two sentences.
func textOf(err error) string {
	a := answerTo(err)
	if hint := fault.HintOf(err); hint != "" {
		return hint
	}
	return a.text
}

// fail answers an error with a page, or in plain text to our script, and logs
// what is our own failure with its private cause.
func (c *Console) fail(x *exchange, err error) {
	a := answerTo(err)
	if a.status >= 500 && a.status != http.StatusInsufficientStorage { // the store says once that its disk is full
		c.cfg.Log.Error("console request failed", "request", x.id, "method", x.r.Method, "path", x.r.URL.Path, "err", err)
	}
	if fault.CodeOf(err) == fault.RateLimited {
		x.w.Header().Set("Retry-After", "5")
	}
	if x.raw {
		http.Error(x.w, a.text+hintAfter(err), a.status)
		return
	}
	if werr := x.failPage(a, fault.HintOf(err)); werr != nil {
		c.cfg.Log.Debug("error page not delivered", "request", x.id, "err", werr)
	}
}

func hintAfter(err error) string {
	if hint := fault.HintOf(err); hint != "" {
		return " " + hint
	}
	return ""
}

func (x *exchange) failPage(a answer, hint string) error {
	f := view.Failure{Title: a.title, Text: a.text, Hint: hint, RequestID: x.id, Back: "/", BackLabel: "Go to the home page"}
	f.Kind = view.Warn
	if a.status >= http.StatusInternalServerError {
		f.Kind = view.Bad
	}
	if a.status == http.StatusUnauthorized {
		f.Back, f.BackLabel = "/login", "Log in"
	}
	if x.caller.IsZero() {
		return x.show(a.status, view.LoneFailure(x.lone(a.title), f))
	}
	return x.show(a.status, view.FailurePage(x.shell("", a.title), f))
}
