package s3

import (
	"net/http"
	"strings"
	"time"

	"larder/store"
)

// readConditions reads the condition headers of a read. prefix is "" or that
// of the headers about a copy's source.
func (c *call) readConditions(prefix string) store.ReadCondition {
	return store.ReadCondition{
		IfMatch:         parseETags(c.header(prefix + "If-Match")),
		IfNoneMatch:     parseETags(c.header(prefix + "If-None-Match")),
		ModifiedSince:   parseDate(c.header(prefix + "If-Modified-Since")),
		UnmodifiedSince: parseDate(c.header(prefix + "If-Unmodified-Since")),
	}
}

// parseETags reads a list of ETags, with or without quotes. A weak one counts
// as its strong twin, since Larder has strong ones only.
func parseETags(header string) []string {
	var out []string
	for piece := range strings.SplitSeq(header, ",") {
		if etag := bareETag(piece); etag != "" {
			out = append(out, etag)
		}
	}
	return out
}

func bareETag(s string) string {
	s = strings.TrimPrefix(strings.TrimSpace(s), "W/")
	return strings.TrimSuffix(strings.TrimPrefix(s, `"`), `"`)
}

// parseDate reads an HTTP date; one that cannot be read counts as absent, as
// RFC 9110 section 13.1.3 says.
func parseDate(header string) time.Time {
	t, err := http.ParseTime(header)
	if err != nil {
		return time.Time{}
	}
	return t
}

// writeCondition reads the condition headers of a write.
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/conditional-requests.html
func (c *call) writeCondition() (store.Condition, error) {
	var cond store.Condition
	switch none := strings.TrimSpace(c.header("If-None-Match")); none {
	case "":
	case "*":
		cond.IfNoneMatch = true
	default:
		return cond, refuse(notImplemented, "If-None-Match of a write takes * only.")
	}
	var err error
	cond.IfMatch, err = c.ifMatch()
	return cond, err
}

// ifMatch reads the single ETag that a write or a deletion may demand.
func (c *call) ifMatch() (string, error) {
	header := c.header("If-Match")
	if header == "" {
		return "", nil
	}
	etags := parseETags(header)
	if len(etags) != 1 {
		return "", refuse(notImplemented, "If-Match of a write takes one ETag or *.")
	}
	return etags[0], nil
}

// checkUnsupported refuses the headers of features that Larder lacks: taking
// them in silence would promise what is not kept.
func (c *call) checkUnsupported() error {
	for _, name := range c.amzNames() {
		for _, prefix := range []string{"x-amz-object-lock-", "x-amz-server-side-encryption",
			"x-amz-copy-source-server-side-encryption", "x-amz-website-redirect-location", "x-amz-write-offset-bytes"} {
			if strings.HasPrefix(name, prefix) {
				return refuse(notImplemented, "The header "+prefix+"… asks for a feature that is not implemented yet.")
			}
		}
	}
	return c.checkACL()
}
