package remote

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strconv"
	"time"

	"github.com/dustin/go-humanize"

	"larder/client"
)

// ListOptions says how a list looks.
type ListOptions struct {
	Recursive bool // all keys, in place of folders
	JSON      bool // one object for each line
	Human     bool // sizes with units
}

// bucketLine and entryLine are a line of a list, for programs.
type bucketLine struct {
	Bucket  string    `json:"bucket"`
	Created time.Time `json:"created"`
	Objects int64     `json:"objects"`
	Bytes   int64     `json:"bytes"`
}

type entryLine struct {
	Key      string     `json:"key,omitempty"`
	Prefix   string     `json:"prefix,omitempty"`
	Size     *int64     `json:"size,omitempty"`
	Modified *time.Time `json:"modified,omitempty"`
	ETag     string     `json:"etag,omitempty"`
}

// List prints the buckets, or the keys of one.
func (r *Remote) List(ctx context.Context, text string, opt ListOptions) error {
	if text == "" {
		text = scheme
	}
	l, err := Parse(text)
	switch {
	case err != nil:
		return err
	case !l.Remote:
		return usage("%s is not on the server: write larder:BUCKET/PREFIX", text)
	case l.Bucket == "":
		return r.listBuckets(ctx, opt)
	}
	return r.listKeys(ctx, l, opt)
}

func (r *Remote) listBuckets(ctx context.Context, opt ListOptions) error {
	buckets, err := r.client.Buckets(ctx)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(r.cfg.Out)
	lines := json.NewEncoder(out)
	for _, b := range buckets {
		if opt.JSON {
			err = lines.Encode(bucketLine{b.Name, b.Created.UTC(), b.Objects, b.Bytes})
		} else {
			_, err = fmt.Fprintf(out, "%s %12d %s  %s\n", b.Created.Local().Format(time.DateTime), b.Objects, opt.size(b.Bytes), b.Name)
		}
		if err != nil {
			return err
		}
	}
	return out.Flush()
}

func (r *Remote) listKeys(ctx context.Context, l Location, opt ListOptions) error {
	out := bufio.NewWriter(r.cfg.Out)
	lines := json.NewEncoder(out)
	lines.SetEscapeHTML(false)
	what := client.ListOptions{Prefix: l.Key, Delimiter: "/"}
	if opt.Recursive {
		what.Delimiter = ""
	}
	for e, err := range r.client.List(ctx, l.Bucket, what) {
		if err == nil && opt.JSON {
			err = lines.Encode(lineOf(e))
		} else if err == nil {
			_, err = out.WriteString(opt.line(e))
		}
		if err != nil {
			_ = out.Flush() // what is known is shown, and the first error told
			return err
		}
	}
	return out.Flush()
}

func lineOf(e client.Entry) entryLine {
	if e.Prefix != "" {
		return entryLine{Prefix: e.Prefix}
	}
	at := e.Modified.UTC()
	return entryLine{Key: e.Key, Size: &e.Size, Modified: &at, ETag: e.ETag}
}

// line is an entry for a person.
func (opt ListOptions) line(e client.Entry) string {
	if e.Prefix != "" {
		return fmt.Sprintf("%19s %14s  %s\n", "", "-", shown(e.Prefix))
	}
	return fmt.Sprintf("%s %s  %s\n", e.Modified.Local().Format(time.DateTime), opt.size(e.Size), shown(e.Key))
}

func (opt ListOptions) size(n int64) string {
	text := strconv.FormatInt(n, 10)
	if opt.Human {
		text = humanize.IBytes(uint64(n))
	}
	return fmt.Sprintf("%14s", text)
}

// keys goes over the objects under a prefix, through a restart of the server. An
// error is the last that it gives.
func (r *Remote) keys(ctx context.Context, bucket, prefix string) iter.Seq2[client.Object, error] {
	return func(yield func(client.Object, error) bool) {
		opt := client.ListOptions{Prefix: prefix}
		for {
			var page client.Page
			err := r.persist(ctx, func() (err error) {
				page, err = r.client.ListPage(ctx, bucket, opt)
				return err
			})
			if err != nil {
				yield(client.Object{}, err)
				return
			}
			for _, o := range page.Objects {
				if !yield(o, nil) {
					return
				}
			}
			if opt.After = page.Next; page.Next == "" {
				return
			}
		}
	}
}

// MakeBucket makes a bucket.
func (r *Remote) MakeBucket(ctx context.Context, text string) error {
	l, err := Parse(text)
	if err != nil {
		return err
	}
	if !l.Remote || l.Bucket == "" || l.Key != "" {
		return usage("%s names no bucket: write larder:BUCKET", text)
	}
	_, err = r.client.CreateBucket(ctx, l.Bucket)
	return err
}
