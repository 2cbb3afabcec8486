package s3

import (
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"larder/store"
)

const (
	metaPrefix = "X-Amz-Meta-" // in the form of http.Header's keys
	// defaultType is what AWS answers for an object that was put without a type.
	defaultType = "binary/octet-stream"
)

// readMeta reads what a request says about the object that it will make. It
// refuses with S3's own codes what the store would refuse: see store.Meta.Check.
func (c *call) readMeta() (store.Meta, error) {
	m := store.Meta{Headers: c.readHeaders()}
	for _, v := range []string{m.ContentType, m.CacheControl, m.ContentDisposition, m.ContentEncoding,
		m.ContentLanguage, m.Expires} {
		if !printable(v) {
			return m, refuse(invalidArgument, "A header value must not hold control characters.")
		}
	}
	var err error
	if m.User, err = c.readUserMeta(); err != nil {
		return m, err
	}
	m.Tags, err = parseTags(c.header("X-Amz-Tagging"))
	return m, err
}

func (c *call) readHeaders() store.Headers {
	h := c.r.Header
	encoding, _ := stripChunked(strings.Join(h["Content-Encoding"], ","))
	return store.Headers{
		ContentType:        h.Get("Content-Type"),
		CacheControl:       strings.Join(h["Cache-Control"], ", "),
		ContentDisposition: h.Get("Content-Disposition"),
		ContentEncoding:    encoding,
		ContentLanguage:    h.Get("Content-Language"),
		Expires:            h.Get("Expires"),
	}
}

// stripChunked removes aws-chunked, which is about the transfer, from a
// Content-Encoding and tells whether it was there.
func stripChunked(encoding string) (rest string, chunked bool) {
	if !strings.Contains(strings.ToLower(encoding), "aws-chunked") {
		return encoding, false
	}
	var keep []string
	for piece := range strings.SplitSeq(encoding, ",") {
		piece = strings.TrimSpace(piece)
		switch {
		case strings.EqualFold(piece, "aws-chunked"):
			chunked = true
		case piece != "":
			keep = append(keep, piece)
		}
	}
	return strings.Join(keep, ","), chunked
}

// readUserMeta reads the x-amz-meta-* headers. Values may come as UTF-8 or, as
// AWS returns them, in the encoded words of RFC 2047.
func (c *call) readUserMeta() (map[string]string, error) {
	var user map[string]string
	size := 0
	for name, values := range c.metaHeaders() {
		name = strings.ToLower(name)
		value, err := decodeMeta(strings.Join(values, ","))
		if err != nil {
			return nil, err
		}
		if !store.IsToken(name) { // net/http sees to that, but the parameters of a link may hold anything
			return nil, refuse(invalidArgument, "A metadata name must be the name of a header.")
		}
		if strings.HasPrefix(name, store.ReservedMeta) {
			return nil, refuse(invalidArgument, "Metadata names that begin with "+store.ReservedMeta+" are reserved.")
		}
		if user == nil {
			user = make(map[string]string)
		}
		user[name] = value
		size += len(name) + len(value)
	}
	if size > store.MaxUserMetaBytes {
		return nil, refuse(metadataTooLarge, "")
	}
	return user, nil
}

// metaHeaders gives the metadata headers without their prefix, and those of a
// presigned link's parameters.
func (c *call) metaHeaders() map[string][]string {
	found := make(map[string][]string)
	for name, values := range c.r.Header {
		if rest, ok := strings.CutPrefix(name, metaPrefix); ok && rest != "" {
			found[strings.ToLower(rest)] = values
		}
	}
	if c.signed == nil || !c.signed.Presigned {
		return found
	}
	for _, p := range c.query {
		rest, ok := strings.CutPrefix(strings.ToLower(p.Name), strings.ToLower(metaPrefix))
		if ok && rest != "" && found[rest] == nil {
			found[rest] = []string{p.Value}
		}
	}
	return found
}

func decodeMeta(value string) (string, error) {
	if strings.Contains(value, "=?") {
		if text, err := new(mime.WordDecoder).DecodeHeader(value); err == nil {
			value = text
		}
	}
	if !store.PrintableText(value) {
		return "", refuse(invalidArgument, "Metadata values must be UTF-8 without control characters.")
	}
	return value, nil
}

// printable tells that a value holds no control characters but tabs.
func printable(v string) bool { return store.Printable(v) }

// parseTags reads "name=value&name=value". Empty is no tags.
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/object-tagging.html
func parseTags(header string) (map[string]string, error) {
	if header == "" {
		return nil, nil
	}
	values, err := url.ParseQuery(header)
	if err != nil || len(values) > store.MaxTags {
		return nil, refuse(invalidArgument, "The header x-amz-tagging must hold at most 10 tags, encoded as a query.")
	}
	tags := make(map[string]string, len(values))
	for name, v := range values {
		if len(v) != 1 || !store.ValidTag(name, v[0]) {
			return nil, refuse(invalidTag, "")
		}
		tags[name] = v[0]
	}
	return tags, nil
}

// setObjectHeaders sets the headers that describe an object, but for its
// length and its checksum.
func (c *call) setObjectHeaders(info store.Info) {
	h := c.w.Header()
	h.Set("Accept-Ranges", "bytes")
	setETag(h, info.ETag)
	h.Set("Last-Modified", httpTime(info.Modified))
	contentType := info.ContentType
	if contentType == "" {
		contentType = defaultType
	}
	h.Set("Content-Type", contentType)
	setUnlessEmpty(h, "Cache-Control", info.CacheControl)
	setUnlessEmpty(h, "Content-Disposition", info.ContentDisposition)
	setUnlessEmpty(h, "Content-Encoding", info.ContentEncoding)
	setUnlessEmpty(h, "Content-Language", info.ContentLanguage)
	setUnlessEmpty(h, "Expires", info.Expires)
	for name, value := range info.User {
		h.Set(metaPrefix+name, mime.BEncoding.Encode("utf-8", value))
	}
	if n := len(info.Tags); n > 0 {
		h.Set("X-Amz-Tagging-Count", itoa(int64(n)))
	}
}

// setETag writes the name as AWS does, since a few clients compare it byte for
// byte; net/http would make it "Etag".
func setETag(h http.Header, etag string) { h["ETag"] = []string{`"` + etag + `"`} }

func setUnlessEmpty(h http.Header, name, value string) {
	if value != "" {
		h.Set(name, value)
	}
}

// setChecksum adds the object's checksum when the request asks for it.
func (c *call) setChecksum(info store.Info) {
	if !strings.EqualFold(c.header("X-Amz-Checksum-Mode"), "ENABLED") {
		return
	}
	c.addChecksum(info.Checksum, len(info.PartSizes))
}

func (c *call) addChecksum(sum store.Checksum, parts int) {
	if len(sum.Value) == 0 {
		return
	}
	h := c.w.Header()
	h.Set(checksumHeader(sum.Algorithm), encodeChecksum(sum, parts))
	h.Set("X-Amz-Checksum-Type", typeName(sum.Type))
}

func httpTime(t time.Time) string { return t.UTC().Format(http.TimeFormat) }
