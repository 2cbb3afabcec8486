package remote

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"time"

	"larder/client"
	"larder/fault"
)

const (
	manyParts  = 64 << 20 // files from this size on are sent in parts
	leastPart  = 16 << 20 // size of a part, if that is not too many
	streamPart = 32 << 20 // size of a part of a body whose length is not known
	mostParts  = 10_000
	partsAhead = 4 // parts of one object that are sent at a time
)

// upload stores a local file under a key, with its time of modification. A file
// that changes meanwhile is a failure: what was stored may be a mixture.
func (r *Remote) upload(ctx context.Context, path string, to Location) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close() // it was only read
	before, err := f.Stat()
	if err != nil {
		return err
	}
	if !before.Mode().IsRegular() {
		return &os.PathError{Op: "read", Path: path, Err: errors.New("it is no regular file")}
	}
	unchanged := func() error { return sameFile(f, before) }
	meta := client.Meta{User: map[string]string{mtimeKey: formatTime(before.ModTime())}}
	if before.Size() >= manyParts {
		return r.inParts(ctx, to, meta, func(u *partedUpload) error {
			if err := u.file(f, before.Size()); err != nil {
				return err
			}
			return unchanged()
		})
	}
	whole := io.NewSectionReader(f, 0, before.Size())
	if err := r.put(ctx, to, whole, before.Size(), meta); err != nil {
		return err
	}
	return unchanged()
}

// sameFile tells that a file is not what it was.
func sameFile(f *os.File, before os.FileInfo) error {
	after, err := f.Stat()
	if err == nil && (after.Size() != before.Size() || !after.ModTime().Equal(before.ModTime())) {
		err = &os.PathError{Op: "read", Path: f.Name(), Err: errors.New("it was changed meanwhile: copy it again")}
	}
	return err
}

// put stores a body in one piece.
func (r *Remote) put(ctx context.Context, to Location, body io.ReadSeeker, size int64, meta client.Meta) error {
	return r.persist(ctx, func() error {
		if _, err := body.Seek(0, io.SeekStart); err != nil {
			return err
		}
		_, err := r.client.Put(ctx, to.Bucket, to.Key, r.body(body, size), &client.PutOptions{
			Size: size, Meta: meta, SkipMD5: r.cfg.SkipMD5, SkipSHA256: r.cfg.SkipSHA256,
		})
		return err
	})
}

// body counts what is sent. An empty body is nil: its size cannot be given.
func (r *Remote) body(from io.ReadSeeker, size int64) io.Reader {
	if size == 0 {
		return nil
	}
	return counted{from, r.progress}
}

// uploadStream stores what a stream gives, in parts if it is long.
func (r *Remote) uploadStream(ctx context.Context, from io.Reader, to Location) error {
	first, err := readPart(from)
	if err != nil {
		return err
	}
	meta := client.Meta{User: map[string]string{mtimeKey: formatTime(time.Now())}}
	if len(first) < streamPart {
		return r.put(ctx, to, bytes.NewReader(first), int64(len(first)), meta)
	}
	return r.inParts(ctx, to, meta, func(u *partedUpload) error { return u.stream(first, from) })
}

// readPart reads a part, a shorter one at the end.
func readPart(from io.Reader) ([]byte, error) {
	part := bytes.NewBuffer(nil)
	_, err := io.CopyN(part, from, streamPart)
	if err == io.EOF {
		err = nil
	}
	return part.Bytes(), err
}

// partedUpload is an upload whose parts are sent side by side.
type partedUpload struct {
	r    *Remote
	ctx  context.Context
	stop context.CancelCauseFunc
	to   Location
	id   string
	crew *crew

	mu    sync.Mutex // guards parts
	parts []client.CompletePart
}

// abortPatience is how long an interrupted program takes to clean up.
const abortPatience = 5 * time.Second

// inParts begins an upload, has its parts sent, and makes the object of them.
// An upload that fails is removed with all its parts.
func (r *Remote) inParts(ctx context.Context, to Location, meta client.Meta, send func(*partedUpload) error) error {
	u := &partedUpload{r: r, to: to, crew: newCrew(partsAhead)}
	err := r.persist(ctx, func() (err error) {
		u.id, err = r.client.CreateUpload(ctx, to.Bucket, to.Key, &client.UploadOptions{Meta: meta})
		return err
	})
	if err != nil {
		return err
	}
	u.ctx, u.stop = context.WithCancelCause(ctx)
	defer u.stop(nil)
	if err = send(u); err != nil {
		u.stop(err)
	}
	u.crew.wg.Wait()
	if cause := context.Cause(u.ctx); cause != nil {
		err = cause
	}
	if err == nil {
		err = u.complete()
	}
	if err != nil {
		clean, done := context.WithTimeout(context.WithoutCancel(ctx), abortPatience)
		defer done()
		_ = r.client.AbortUpload(clean, to.Bucket, to.Key, u.id) // else the server removes it in time
	}
	return err
}

func (u *partedUpload) complete() error {
	return u.r.persist(u.ctx, func() error {
		_, err := u.r.client.CompleteUpload(u.ctx, u.to.Bucket, u.to.Key, u.id, u.parts, nil)
		return err
	})
}

// file sends a file's parts.
func (u *partedUpload) file(f *os.File, size int64) error {
	step := partSize(size)
	u.parts = make([]client.CompletePart, (size+step-1)/step)
	for i := range u.parts {
		at := int64(i) * step
		length := min(step, size-at)
		if !u.part(i+1, io.NewSectionReader(f, at, length), length) {
			break
		}
	}
	u.crew.wg.Wait()
	return context.Cause(u.ctx)
}

// partSize is as small as it may be.
func partSize(size int64) int64 {
	const unit = 1 << 20
	return max(leastPart, (size/mostParts/unit+1)*unit)
}

// stream sends parts as they come. The first one is there already.
func (u *partedUpload) stream(part []byte, from io.Reader) error {
	for n := 1; len(part) > 0; n++ {
		if n > mostParts {
			return fault.New("remote.stream", fault.EntityTooLarge, u.to.Key, nil).
				WithHint("A stream may have 312 GiB at most. Write it to a file first.")
		}
		u.mu.Lock()
		u.parts = append(u.parts, client.CompletePart{})
		u.mu.Unlock()
		if !u.part(n, bytes.NewReader(part), int64(len(part))) {
			return context.Cause(u.ctx)
		}
		var err error
		if part, err = readPart(from); err != nil {
			return err
		}
	}
	return nil
}

// part has a part sent as soon as there is room for it. It is false when the
// upload has failed meanwhile.
func (u *partedUpload) part(number int, body io.ReadSeeker, size int64) bool {
	return u.crew.do(u.ctx, func() {
		err := u.r.persist(u.ctx, func() error { return u.send(number, body, size) })
		if err != nil {
			u.stop(err)
		}
	})
}

func (u *partedUpload) send(number int, body io.ReadSeeker, size int64) error {
	if _, err := body.Seek(0, io.SeekStart); err != nil {
		return err
	}
	part, err := u.r.client.PutPart(u.ctx, u.to.Bucket, u.to.Key, u.id, number, u.r.body(body, size), &client.PartOptions{
		Size: size, SkipMD5: u.r.cfg.SkipMD5, SkipSHA256: u.r.cfg.SkipSHA256,
	})
	u.keep(number, part.ETag)
	return err
}

func (u *partedUpload) keep(number int, etag string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.parts[number-1] = client.CompletePart{Number: number, ETag: etag}
}
