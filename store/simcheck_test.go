package store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing/synctest"

	"larder/store"
	"larder/store/index"
	"larder/store/journal"
	"larder/store/vfs"
)

// simState is one disk after a power cut, and what may be on it.
type simState struct {
	simDisk
	allowed []string // models, as strings
}

// check starts a store on a state and demands of it all that was promised: it
// starts, holds one of the allowed contents with every byte right, and counts
// its references right; it takes one more put; and after another cut, without
// its index, it comes back as it was, row by row.
func (st *simState) check(put *simOp) error {
	s, err := st.start()
	if err != nil {
		return fmt.Errorf("the store does not start: %w", err)
	}
	defer s.Close()
	seen, err := simContent(s)
	if err != nil {
		return err
	}
	if !slices.Contains(st.allowed, seen) {
		return fmt.Errorf("the store holds\n%s\nallowed is\n%s", seen, strings.Join(st.allowed, "\nor\n"))
	}
	if err := st.audit(s); err != nil {
		return err
	}
	return st.again(s, seen, put)
}

// again makes one more put, cuts the power, and takes the index away.
func (st *simState) again(s *store.Store, seen string, put *simOp) error {
	if err := put.do(&simRun{s: s}); err != nil && !strings.Contains(seen, simBucket+"/") {
		return st.rebuilt(seen)
	} else if err != nil {
		return fmt.Errorf("one more put: %w", err)
	}
	synctest.Wait()
	after, err := simContent(s)
	if err != nil {
		return fmt.Errorf("after one more put: %w", err)
	}
	model, _ := put.effect(&simModel{buckets: map[string]bool{simBucket: true}, objects: map[simName]simObject{}})
	want := slices.Sorted(slices.Values(append(strings.Split(seen, "\n"), objectsOf(model))))
	if after != strings.Join(want, "\n") {
		return fmt.Errorf("after one more put the store holds\n%s", after)
	}
	return st.rebuilt(after)
}

func objectsOf(m *simModel) string {
	lines := strings.Split(m.String(), "\n")
	return lines[len(lines)-1]
}

// rebuilt starts another store on what a cut leaves at least, without an index,
// and compares its rows with those of the first.
func (st *simState) rebuilt(want string) error {
	old := st.index.now()
	next := simDisk{st.files.Image().Crash(func(int) bool { return false }, nil), newSimIndex(), st.segment}
	s, err := next.start()
	if err != nil {
		return fmt.Errorf("the store does not start again: %w", err)
	}
	defer s.Close()
	seen, err := simContent(s)
	if err == nil && seen != want {
		err = fmt.Errorf("the store holds\n%s\nit held\n%s", seen, want)
	}
	if err == nil {
		err = sameTables(old, next.index.now())
	}
	if err != nil {
		return fmt.Errorf("made again without its index: %w", err)
	}
	return nil
}

// sameTables compares two indexes row by row. Since when a key has records is left
// out: a compaction may have dropped the first ones, which only a new index sees.
func sameTables(a, b *simTables) error {
	err := errors.Join(sameRows(sinceless(a.rows), sinceless(b.rows)), sameRows(a.bodies, b.bodies), sameRows(a.buckets, b.buckets),
		sameRows(a.uploads, b.uploads), sameRows(a.parts, b.parts))
	if err == nil && a.applied != b.applied {
		err = fmt.Errorf("applied up to %+v, and up to %+v", a.applied, b.applied)
	}
	return err
}

func sinceless(rows map[simKey]index.Row) map[simKey]index.Row {
	out := map[simKey]index.Row{}
	for k, row := range rows {
		if r, err := journal.DecodeMeta(row.Meta); err == nil {
			r.Since = 0
			row.Meta = r.AppendMeta(nil)
		}
		out[k] = row
	}
	return out
}

func sameRows[K comparable, V any](a, b map[K]V) (err error) {
	for k, v := range a {
		if w, ok := b[k]; !ok || !reflect.DeepEqual(v, w) {
			err = fmt.Errorf("rows differ: %+v\nis now (%v) %+v", v, ok, w)
		}
	}
	for k, w := range b {
		if _, ok := a[k]; !ok {
			err = fmt.Errorf("there is another row: %+v", w)
		}
	}
	return err
}

// simContent reads all that a store holds, as a model writes it.
func simContent(s *store.Store) (string, error) {
	ctx := context.Background()
	buckets, err := s.Buckets(ctx)
	if err != nil {
		return "", err
	}
	var lines []string
	for _, b := range buckets {
		lines = append(lines, b.Name+"/")
		more, err := bucketContent(s, b)
		if err != nil {
			return "", err
		}
		lines = append(lines, more...)
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n"), nil
}

func bucketContent(s *store.Store, b store.Bucket) (lines []string, err error) {
	ctx := context.Background()
	page, err := s.List(ctx, store.ListRequest{Bucket: b.Name, Max: store.MaxPage})
	if err != nil {
		return nil, err
	}
	var size int64
	for _, info := range page.Objects {
		line, err := objectContent(s, info)
		if err != nil {
			return nil, fmt.Errorf("listed and not readable: %s/%s: %w", b.Name, info.Key, err)
		}
		lines, size = append(lines, line), size+info.Size
	}
	if b.Objects != int64(len(page.Objects)) || b.Bytes != size {
		return nil, fmt.Errorf("bucket %s counts %d objects, %d bytes; it lists %d, %d", b.Name, b.Objects, b.Bytes, len(page.Objects), size)
	}
	uploads, err := s.ListUploads(ctx, store.UploadsRequest{Bucket: b.Name, Max: store.MaxPage})
	if err != nil {
		return nil, err
	}
	if b.Uploads != int64(len(uploads.Uploads)) {
		return nil, fmt.Errorf("bucket %s counts %d uploads, it lists %d", b.Name, b.Uploads, len(uploads.Uploads))
	}
	for _, u := range uploads.Uploads {
		parts, err := s.ListParts(ctx, b.Name, u.Key, u.ID, 0, store.MaxPage)
		if err != nil {
			return nil, err
		}
		line := uploadLine(u.Owner, simName{b.Name, u.Key})
		for _, p := range parts.Parts {
			line += partLine(p.Number, p.ETag)
		}
		lines = append(lines, line)
	}
	return lines, nil
}

func objectContent(s *store.Store, info store.Info) (string, error) {
	o, err := s.Get(context.Background(), info.Bucket, info.Key)
	if err != nil {
		return "", err
	}
	defer o.Close()
	var buf bytes.Buffer
	if _, err := o.CopyRange(context.Background(), plain{&buf}, 0, o.Info().Size); err != nil {
		return "", err
	}
	if int64(buf.Len()) != info.Size || !strings.Contains(info.ETag, "-") && info.ETag != etag(buf.Bytes()) {
		return "", errors.New("the bytes do not fit the listing")
	}
	n := simName{info.Bucket, info.Key}
	return fmt.Sprintf("%s/%s %d %08x %s", n.bucket, n.key, buf.Len(), crc32.ChecksumIEEE(buf.Bytes()), o.Info().User["m"]), nil
}

// audit counts references anew, reads every body, and looks for blobs that no
// body names.
func (st *simState) audit(s *store.Store) error {
	t := st.index.now()
	if err := s.VerifyIndex(context.Background()); err != nil {
		return err
	}
	if end := s.SyncedTo(); t.applied.Sequence != end {
		return fmt.Errorf("the index is at record %d, the journal at %d", t.applied.Sequence, end)
	}
	counted := map[uint64]int64{}
	for _, r := range t.rows {
		if err := countBodies(counted, r.Sequence, r.Size, r.Meta); err != nil {
			return err
		}
	}
	for _, p := range t.parts {
		if _, ok := t.uploads[p.Upload]; !ok {
			return fmt.Errorf("a part of no upload: %+v", p)
		}
		if err := countBodies(counted, p.Sequence, p.Size, p.Meta); err != nil {
			return err
		}
	}
	named := map[string]bool{}
	if err := auditWitnesses(t); err != nil {
		return err
	}
	for sequence, b := range t.bodies {
		if b.Bare() {
			continue
		}
		if b.Refs != counted[sequence] || b.Refs == 0 {
			return fmt.Errorf("body %d has %d references, counted are %d", sequence, b.Refs, counted[sequence])
		}
		if err := s.VerifyBody(b); err != nil {
			return fmt.Errorf("body %d: %w", sequence, err)
		}
		delete(counted, sequence)
		named[b.Blob] = true
	}
	if len(counted) > 0 {
		return fmt.Errorf("bodies that are not there are named: %v", slices.Collect(maps.Keys(counted)))
	}
	for id := range simBlobs(st.files) {
		if !named[id] && !s.KeepsOrphans() && s.Sweepable(id) {
			return fmt.Errorf("the blob %s is left over", id)
		}
	}
	return nil
}

// auditWitnesses holds what says of records that they stand against those that
// do: all versions, and the parts that brought no bytes.
func auditWitnesses(t *simTables) error {
	stand := map[uint64]bool{}
	for _, r := range t.rows {
		stand[r.Sequence] = true
	}
	for _, p := range t.parts {
		if b := t.bodies[p.Sequence]; b.Length == 0 {
			stand[p.Sequence] = true
		}
	}
	for sequence, b := range t.bodies {
		if b.Current != stand[sequence] {
			return fmt.Errorf("body %d says %v of whether its version stands", sequence, b.Current)
		}
		delete(stand, sequence)
	}
	if len(stand) > 0 {
		return fmt.Errorf("nothing says of these that they stand: %v", slices.Collect(maps.Keys(stand)))
	}
	return nil
}

// countBodies adds a version's references.
func countBodies(counted map[uint64]int64, sequence uint64, size int64, meta []byte) error {
	r, err := journal.DecodeMeta(meta)
	if err != nil {
		return err
	}
	if r.Extents == nil && size > 0 {
		r.Extents = []journal.Extent{{Body: sequence, Length: size}}
	}
	for _, e := range r.Extents {
		counted[e.Body]++
		size -= e.Length
	}
	if size != 0 {
		return fmt.Errorf("version %d: its extents have %d bytes less than it", sequence, size)
	}
	return nil
}

// simBlobs lists the blob files.
func simBlobs(files *vfs.Mem) map[string]bool {
	out := map[string]bool{}
	var walk func(string)
	walk = func(dir string) {
		entries, _ := files.List(dir)
		for _, e := range entries {
			if e.IsDir {
				walk(dir + "/" + e.Name)
			} else if len(e.Name) == 32 {
				out[e.Name] = true
			}
		}
	}
	walk("blobs")
	return out
}
