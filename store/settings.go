package store

import (
	"context"

	"larder/fault"
	"larder/store/index"
	"larder/store/journal"
)

// BucketSettings is what may be chosen for a bucket. The zero value is what a
// new bucket has.
type BucketSettings struct {
	// UnverifiedReads sends blobs without holding them against their checksums
	// first. It saves a read of the page cache and a CRC32C for every byte; what
	// is lost is that a damaged disk is noticed before its bytes reach a client.
	// Bodies inside records are verified always, since that costs nothing.
	UnverifiedReads bool
}

// Names and values of settings in records. They are stored and never change;
// one that has its default is left out.
const (
	settingVerifyReads = "verify-reads"
	settingOff         = "off"
)

func (b BucketSettings) pairs() []journal.Pair {
	if !b.UnverifiedReads {
		return nil
	}
	return []journal.Pair{{Name: settingVerifyReads, Value: settingOff}}
}

// settingsFrom reads what pairs made. Names that it does not know were written
// by a later Larder and change nothing here.
func settingsFrom(pairs []journal.Pair) (b BucketSettings) {
	for _, p := range pairs {
		if p.Name == settingVerifyReads {
			b.UnverifiedReads = p.Value == settingOff
		}
	}
	return b
}

// SetBucketSettings replaces a bucket's settings; they are durable on return and
// count for every read that begins later. fault.NoSuchBucket.
func (s *Store) SetBucketSettings(_ context.Context, name string, settings BucketSettings) error {
	return s.committer.submit(&change{
		reads: []string{bucketName(name)}, writes: []string{bucketName(name)},
		prepare: func() (*journal.Record, error) {
			b, err := s.bucket(name)
			if err != nil || b.Settings == settings {
				return nil, err
			}
			return &journal.Record{
				Kind: journal.BucketSet, Bucket: b.ID, BucketName: name, Settings: settings.pairs(), Time: s.stamp(),
			}, nil
		},
	})
}

// bucketSet keeps the settings with the bucket's row, in the form of a record's
// meta part.
func (a *applier) bucketSet(r *journal.Record) error {
	b, found, err := a.tx.Bucket(r.Bucket)
	if err != nil || !found {
		return err
	}
	kept := journal.Record{Settings: r.Settings}
	b.Meta = kept.AppendMeta(nil)
	settings := settingsFrom(r.Settings)
	a.buckets = append(a.buckets, bucketDelta{id: r.Bucket, settings: &settings})
	return a.tx.PutBucket(b)
}

// bucketSettings reads the settings out of a bucket's row.
func bucketSettings(b index.Bucket) (BucketSettings, error) {
	r, err := journal.DecodeMeta(b.Meta)
	if err != nil {
		return BucketSettings{}, fault.New("store.Bucket", fault.Corrupt, b.Name, err)
	}
	return settingsFrom(r.Settings), nil
}
