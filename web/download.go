package web

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"unicode"

	"larder/fault"
	"larder/store"
)

// download streams an object as an attachment. Whatever the bytes are, a
// browser saves them: type, sandbox and nosniff keep it from showing them with
// the console's rights.
func (c *Console) download(x *exchange) error {
	at := x.place()
	obj, err := c.cfg.Gate.Get(x.ctx(), x.caller, at.bucket, at.key)
	if err != nil {
		return err
	}
	defer obj.Close()
	info := obj.Info()
	off, n, status, err := rangeOf(x.r, info)
	if err != nil {
		x.w.Header().Set("Content-Range", "bytes */"+strconv.FormatInt(info.Size, 10))
		return err
	}
	h := x.w.Header()
	h.Set("Content-Type", "application/octet-stream")
	h.Set("Content-Disposition", attachment(at.base()))
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	h.Set("Content-Length", strconv.FormatInt(n, 10))
	h.Set("Accept-Ranges", "bytes")
	h.Set("ETag", `"`+info.ETag+`"`)
	h.Set("Last-Modified", info.Modified.UTC().Format(http.TimeFormat))
	if status == http.StatusPartialContent {
		h.Set("Content-Range", "bytes "+strconv.FormatInt(off, 10)+"-"+strconv.FormatInt(off+n-1, 10)+"/"+strconv.FormatInt(info.Size, 10))
	}
	x.w.WriteHeader(status)
	if x.r.Method == http.MethodHead || n == 0 {
		return nil
	}
	_, err = obj.CopyRange(x.ctx(), bare(x.w), off, n)
	return err
}

// bare is the writer below all wrappers, which can hand a file to the socket
// without copying it. Headers are written through the wrappers before.
func bare(w http.ResponseWriter) http.ResponseWriter {
	for {
		u, ok := w.(interface{ Unwrap() http.ResponseWriter })
		if !ok {
			return w
		}
		w = u.Unwrap()
	}
}

// rangeOf reads a Range header with one range, as browsers send it to go on
// with a download. Any other kind gets the whole object (RFC 9110, 14.2).
func rangeOf(r *http.Request, info store.Info) (off, n int64, status int, err error) {
	whole := func() (int64, int64, int, error) { return 0, info.Size, http.StatusOK, nil }
	spec, ok := strings.CutPrefix(r.Header.Get("Range"), "bytes=")
	if cond := r.Header.Get("If-Range"); !ok || cond != "" && cond != `"`+info.ETag+`"` {
		return whole()
	}
	from, to, ok := strings.Cut(strings.TrimSpace(spec), "-")
	first, errFirst := strconv.ParseInt(from, 10, 64)
	last, errLast := info.Size-1, error(nil)
	if to != "" {
		last, errLast = strconv.ParseInt(to, 10, 64)
	}
	if !ok || errFirst != nil || errLast != nil || last < first && to != "" {
		return whole()
	}
	if first >= info.Size {
		return 0, 0, 0, fault.New("web.download", fault.InvalidRange, info.Key, nil)
	}
	last = min(last, info.Size-1)
	return first, last - first + 1, http.StatusPartialContent, nil
}

// attachment is a Content-Disposition with the name in both forms of RFC 6266.
// Characters that could mislead are left out.
func attachment(name string) string {
	var plain strings.Builder
	name = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '/' || r == '\\' {
			return '_'
		}
		return r
	}, name)
	for _, r := range name {
		if r < ' ' || r > '~' || r == '"' || r == '%' {
			r = '_'
		}
		plain.WriteRune(r)
	}
	return `attachment; filename="` + plain.String() + `"; filename*=UTF-8''` + strings.ReplaceAll(url.QueryEscape(name), "+", "%20")
}
