package store

import (
	"context"
	"net/netip"
	"sort"
	"strings"
	"sync"
	"time"

	"larder/fault"
	"larder/store/index"
	"larder/store/journal"
)

// bucketTable holds every bucket and its counters in memory. The committer
// writes it after each batch; anybody reads it.
type bucketTable struct {
	mu     sync.RWMutex
	byName map[string]*Bucket
	byID   map[uint64]*Bucket
}

// bucketDelta is what one record does to a bucket.
type bucketDelta struct {
	id                      uint64
	created                 *index.Bucket
	removed                 bool
	settings                *BucketSettings
	objects, bytes, uploads int64
}

func newBucketTable() *bucketTable {
	return &bucketTable{byName: make(map[string]*Bucket), byID: make(map[uint64]*Bucket)}
}

func (t *bucketTable) apply(deltas []bucketDelta) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, d := range deltas {
		if d.created != nil {
			t.add(*d.created, BucketSettings{})
			continue
		}
		b := t.byID[d.id]
		if b == nil {
			continue
		}
		if d.removed {
			delete(t.byID, b.ID)
			delete(t.byName, b.Name)
			continue
		}
		if d.settings != nil {
			b.Settings = *d.settings
		}
		b.Objects += d.objects
		b.Bytes += d.bytes
		b.Uploads += d.uploads
	}
}

// add needs mu, or a table that nobody else has yet.
func (t *bucketTable) add(x index.Bucket, settings BucketSettings) {
	b := &Bucket{
		ID: x.ID, Name: x.Name, Created: time.Unix(0, x.Created),
		Objects: x.Objects, Bytes: x.Bytes, Uploads: x.Uploads, Settings: settings,
	}
	t.byName[b.Name], t.byID[b.ID] = b, b
}

func (t *bucketTable) get(name string) (Bucket, error) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if b, ok := t.byName[name]; ok {
		return *b, nil
	}
	return Bucket{}, fault.New("store", fault.NoSuchBucket, name, nil)
}

// has tells whether the bucket with this id is there.
func (t *bucketTable) has(id uint64) bool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.byID[id] != nil
}

// all gives every bucket, by name.
func (t *bucketTable) all() []Bucket {
	t.mu.RLock()
	defer t.mu.RUnlock()
	out := make([]Bucket, 0, len(t.byName))
	for _, b := range t.byName {
		out = append(out, *b)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out
}

func (s *Store) loadBuckets() error {
	all, err := s.index.Buckets()
	if err != nil {
		return err
	}
	for _, b := range all {
		settings, err := bucketSettings(b)
		if err != nil {
			return err
		}
		s.buckets.add(b, settings)
	}
	return nil
}

// bucket finds a bucket, as long as the store is open. Every operation begins
// with it.
func (s *Store) bucket(name string) (Bucket, error) {
	if s.closed.Load() {
		return Bucket{}, shuttingDown()
	}
	return s.buckets.get(name)
}

// Buckets gives every bucket, by name.
func (s *Store) Buckets(context.Context) ([]Bucket, error) {
	if s.closed.Load() {
		return nil, shuttingDown()
	}
	return s.buckets.all(), nil
}

// Bucket describes one bucket, or fails with fault.NoSuchBucket.
func (s *Store) Bucket(_ context.Context, name string) (Bucket, error) { return s.bucket(name) }

// CreateBucket makes a bucket; it is durable on return. fault.BucketExists
// when the name is taken, fault.InvalidBucketName when it breaks S3's rules.
func (s *Store) CreateBucket(_ context.Context, name string) (Bucket, error) {
	const op = "store.CreateBucket"
	if reason := BucketNameProblem(name); reason != "" {
		return Bucket{}, fault.New(op, fault.InvalidBucketName, name, nil).WithHint(reason)
	}
	ch := &change{
		reads: []string{bucketName(name)}, writes: []string{bucketName(name)},
		prepare: func() (*journal.Record, error) {
			if _, err := s.bucket(name); err == nil {
				return nil, fault.New(op, fault.BucketExists, name, nil)
			}
			return &journal.Record{Kind: journal.BucketCreate, BucketName: name, Time: s.stamp()}, nil
		},
	}
	if err := s.committer.submit(ch); err != nil {
		return Bucket{}, err
	}
	return Bucket{ID: ch.rec.Sequence, Name: name, Created: time.Unix(0, ch.rec.Time)}, nil
}

// DeleteBucket removes a bucket that holds no object and no upload; it is
// durable on return. An object that is stored at the same time either comes
// first and keeps the bucket, or finds it gone.
func (s *Store) DeleteBucket(_ context.Context, name string) error {
	const op = "store.DeleteBucket"
	return s.committer.submit(&change{
		reads: []string{bucketName(name), bucketContent(name)}, writes: []string{bucketName(name)},
		prepare: func() (*journal.Record, error) {
			b, err := s.bucket(name)
			if err != nil {
				return nil, err
			}
			if b.Objects > 0 {
				return nil, fault.New(op, fault.BucketNotEmpty, name, nil)
			}
			if b.Uploads > 0 {
				return nil, fault.New(op, fault.BucketNotEmpty, name, nil).
					WithHint("The bucket has multipart uploads in progress. Complete or abort them first.")
			}
			return &journal.Record{Kind: journal.BucketDelete, Bucket: b.ID, BucketName: name, Prev: b.ID, Time: s.stamp()}, nil
		},
	})
}

func (s *Store) stamp() int64 { return s.cfg.Now().UnixNano() }

// BucketNameProblem says which of S3's rules a bucket name breaks, or "".
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/bucketnamingrules.html
func BucketNameProblem(name string) string {
	if len(name) < 3 || len(name) > 63 {
		return "A bucket name has 3 to 63 characters."
	}
	for _, c := range []byte(name) {
		if !isLowerOrDigit(c) && c != '-' && c != '.' {
			return "A bucket name has only lower-case letters, digits, hyphens and dots."
		}
	}
	if !isLowerOrDigit(name[0]) || !isLowerOrDigit(name[len(name)-1]) {
		return "A bucket name begins and ends with a letter or a digit."
	}
	if strings.Contains(name, "..") {
		return "A bucket name has no two dots side by side."
	}
	if _, err := netip.ParseAddr(name); err == nil {
		return "A bucket name is not an IP address."
	}
	return ""
}

func isLowerOrDigit(c byte) bool { return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' }
