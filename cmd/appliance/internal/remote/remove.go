package remote

import (
	"bufio"
	"context"
	"fmt"
	"strings"

	"larder/client"
	"larder/fault"
)

// batch is how many keys one request removes.
const batch = 1000

// RemoveOptions says what may be removed.
type RemoveOptions struct {
	Recursive bool // all below each location
	Yes       bool // without a question
	Ask       bool // there is somebody at In to ask
}

// Remove removes objects, or with Recursive all below folders. As in S3 it is
// no failure that an object is not there.
func (r *Remote) Remove(ctx context.Context, texts []string, opt RemoveOptions) error {
	locations := make([]Location, len(texts))
	for i, text := range texts {
		l, err := Parse(text)
		switch {
		case err != nil:
			return err
		case !l.Remote || l.Bucket == "":
			return usage("%s names no object: write larder:BUCKET/KEY", text)
		case l.Key == "" && !opt.Recursive:
			return usage("%s names no object: write larder:BUCKET/KEY, or give --recursive", text)
		}
		locations[i] = l
	}
	if opt.Recursive {
		if err := r.confirm(locations, opt); err != nil {
			return err
		}
	}
	d := deletion{r: r, ctx: ctx}
	for _, l := range locations {
		err := d.location(l, opt.Recursive)
		if err != nil {
			return err
		}
	}
	if err := d.flush(); err != nil {
		return err
	}
	return r.outcome(ctx, "objects")
}

// confirm makes sure that a person wants all of it gone.
func (r *Remote) confirm(locations []Location, opt RemoveOptions) error {
	if opt.Yes {
		return nil
	}
	if !opt.Ask {
		return usage("--recursive removes all below a prefix: add --yes")
	}
	answers := bufio.NewReader(r.cfg.In)
	for _, l := range locations {
		r.progress.say(fmt.Sprintf("Remove all below %s%s/%s? [y/N] ", scheme, l.Bucket, shown(l.folder())))
		line, _ := answers.ReadString('\n') // no answer is a no
		if answer := strings.ToLower(strings.TrimSpace(line)); answer != "y" && answer != "yes" {
			return fmt.Errorf("nothing was removed")
		}
	}
	return nil
}

// deletion collects keys of one bucket at a time and removes them in batches.
type deletion struct {
	r      *Remote
	ctx    context.Context
	bucket string
	keys   []client.DeleteEntry
	gone   int
}

func (d *deletion) location(l Location, recursive bool) error {
	if !recursive {
		return d.add(l.Bucket, l.Key)
	}
	for e, err := range d.r.keys(d.ctx, l.Bucket, l.folder()) {
		if err != nil {
			return err
		}
		if err := d.add(l.Bucket, e.Key); err != nil {
			return err
		}
	}
	return nil
}

func (d *deletion) add(bucket, key string) error {
	if bucket != d.bucket || len(d.keys) == batch {
		if err := d.flush(); err != nil {
			return err
		}
	}
	d.bucket = bucket
	d.keys = append(d.keys, client.DeleteEntry{Key: key})
	return nil
}

// flush removes what has been collected. Keys that cannot be removed are named.
func (d *deletion) flush() error {
	if len(d.keys) == 0 {
		return nil
	}
	var results []client.Result
	err := d.r.persist(d.ctx, func() (err error) {
		results, err = d.r.client.DeleteMany(d.ctx, d.bucket, d.keys)
		return err
	})
	if err != nil {
		return err
	}
	for i, res := range results {
		if res.Code == fault.OK {
			d.gone++
			continue
		}
		name := Location{Remote: true, Bucket: d.bucket, Key: d.keys[i].Key}
		d.r.fail(name.String(), fault.New("remote.Remove", res.Code, d.keys[i].Key, nil).WithHint(res.Hint))
	}
	d.keys = d.keys[:0]
	return nil
}
