package store

import (
	"context"
	"slices"
	"time"
	"unicode/utf8"

	"larder/fault"
)

// check decides a write's condition against what stands under the key (nil:
// nothing). If-Match on nothing is "no such key", as on AWS:
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/conditional-writes.html
func (c Condition) check(bucket, key string, e *entry) error {
	const op = "store.Condition"
	if c.IfNoneMatch && e != nil {
		return fault.New(op, fault.Precondition, bucket+"/"+key, nil).
			WithHint("If-None-Match: * was given, and an object stands under this key.")
	}
	if c.IfMatch == "" {
		return nil
	}
	if e == nil {
		return fault.New(op, fault.NoSuchKey, bucket+"/"+key, nil)
	}
	if c.IfMatch != "*" && c.IfMatch != e.row.ETag {
		return fault.New(op, fault.Precondition, bucket+"/"+key, nil).
			WithHint("If-Match was given, and the object under this key has another ETag.")
	}
	return nil
}

func (c Condition) empty() bool { return c == Condition{} }

// CheckCondition decides cond as of now, without writing anything.
func (s *Store) CheckCondition(_ context.Context, bucket, key string, cond Condition) error {
	b, err := s.bucket(bucket)
	if err != nil {
		return err
	}
	if err := s.writable(); err != nil {
		return err
	}
	if cond.empty() {
		return nil
	}
	e, err := s.lookup(b.ID, key)
	if err != nil {
		return err
	}
	return cond.check(bucket, key, e)
}

// Check decides the conditions of a read, in the order of RFC 9110 section
// 13.2.2: nil, fault.Precondition or fault.NotModified. Times count in whole
// seconds, as HTTP dates do.
func (c ReadCondition) Check(etag string, modified time.Time) error {
	const op = "store.ReadCondition"
	modified = modified.Truncate(time.Second)
	switch {
	case len(c.IfMatch) > 0:
		if !matches(c.IfMatch, etag) {
			return fault.New(op, fault.Precondition, "", nil)
		}
	case !c.UnmodifiedSince.IsZero() && modified.After(c.UnmodifiedSince):
		return fault.New(op, fault.Precondition, "", nil)
	}
	switch {
	case len(c.IfNoneMatch) > 0:
		if matches(c.IfNoneMatch, etag) {
			return fault.New(op, fault.NotModified, "", nil)
		}
	case !c.ModifiedSince.IsZero() && !modified.After(c.ModifiedSince):
		return fault.New(op, fault.NotModified, "", nil)
	}
	return nil
}

func matches(etags []string, etag string) bool {
	return slices.Contains(etags, "*") || slices.Contains(etags, etag)
}

// checkKey enforces the limits of object keys: 1 to 1,024 bytes of UTF-8. NUL
// is refused, since XML cannot carry it.
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/object-keys.html
func checkKey(key string) error {
	const op = "store.Key"
	if len(key) > MaxKeyBytes {
		return fault.New(op, fault.KeyTooLong, key[:64]+"…", nil).WithHint("A key has at most 1,024 bytes.")
	}
	if key == "" {
		return fault.New(op, fault.InvalidKey, "", nil).WithHint("A key has at least one character.")
	}
	if !utf8.ValidString(key) {
		return fault.New(op, fault.InvalidKey, "", nil).WithHint("A key is UTF-8 text.")
	}
	if slices.Contains([]byte(key), 0) {
		return fault.New(op, fault.InvalidKey, "", nil).WithHint("A key holds no NUL byte.")
	}
	return nil
}
