package index

// statement numbers the prepared statements of a connection.
type statement int

// The statements that every connection prepares.
const (
	beginRead statement = iota
	endRead
	selectRow
	selectCurrent
	scanRows
	selectBody
	selectBlob
	selectBucket
	scanBuckets
	selectUpload
	scanUploads
	scanUploadsOfKey
	selectPart
	scanParts
	scanBodies
	scanSegments
	readStatements // their number
)

// The statements that only the writer prepares.
const (
	beginWrite statement = iota + readStatements
	commit
	rollback
	putState
	putBucket
	deleteBucket
	putRow
	deleteRow
	putBody
	deleteBody
	deleteWitness
	putUpload
	deleteUpload
	putPart
	deleteParts
	scanUnreferenced
	putSegment
	deleteSegment
	allStatements // their number
)

// queries returns the text of every statement.
//
// The bucket of a scan is written ?1+0 on purpose: since 3.54 SQLite plans an
// ORDER BY query with "column = ?" anew whenever the value changes to or from
// 0 or 1, and so would each listing of bucket 1 after one of another bucket.
func queries() [allStatements]string {
	return [allStatements]string{
		beginRead: `BEGIN`,
		endRead:   `COMMIT`,
		selectRow: `SELECT sequence, size, modified, etag, sum, meta
			FROM objects WHERE bucket = ?1 AND key = ?2`,
		selectCurrent: `SELECT o.sequence, size, modified, etag, o.sum, meta,
				segment, offset, length, body_offset, body_length, refs, blob, b.sum, current
			FROM objects o LEFT JOIN bodies b ON b.sequence = o.sequence WHERE bucket = ?1 AND key = ?2`,
		scanRows: `SELECT key, sequence, size, modified, etag, sum, meta
			FROM objects WHERE bucket = ?1+0 AND key >= ?2 ORDER BY key LIMIT ?3`,
		selectBody: `SELECT segment, offset, length, body_offset, body_length, refs, blob, sum, current
			FROM bodies WHERE sequence = ?1`,
		selectBlob: `SELECT 1 FROM bodies WHERE blob = ?1 LIMIT 1`,
		selectBucket: `SELECT id, name, created, objects, bytes, uploads, meta, sum
			FROM buckets WHERE id = ?1`,
		scanBuckets: `SELECT id, name, created, objects, bytes, uploads, meta, sum
			FROM buckets WHERE name > ?1 ORDER BY name LIMIT ?2`,
		selectUpload: `SELECT bucket, key, id, created, sequence, sum, meta
			FROM uploads WHERE id = ?1`,
		scanUploads: `SELECT bucket, key, id, created, sequence, sum, meta
			FROM uploads WHERE bucket = ?1+0 AND key >= ?2 ORDER BY key, id LIMIT ?3`,
		scanUploadsOfKey: `SELECT bucket, key, id, created, sequence, sum, meta
			FROM uploads WHERE bucket = ?1+0 AND key = ?2 AND id > ?4 ORDER BY id LIMIT ?3`,
		selectPart: `SELECT number, sequence, size, modified, etag, sum, meta
			FROM parts WHERE upload = ?1 AND number = ?2`,
		scanParts: `SELECT number, p.sequence, size, modified, etag, p.sum, meta, b.sequence IS NOT NULL
			FROM parts p LEFT JOIN bodies b ON b.sequence = p.sequence
			WHERE upload = ?1 AND number > ?2 ORDER BY number LIMIT ?3`,
		scanBodies: `SELECT segment, offset, length, body_offset, body_length, refs, blob, sum, current, sequence
			FROM bodies WHERE sequence > ?1 ORDER BY sequence LIMIT ?2`,
		scanSegments: `SELECT number, sum FROM segments WHERE number > 0 ORDER BY number`,

		beginWrite: `BEGIN IMMEDIATE`,
		commit:     `COMMIT`,
		rollback:   `ROLLBACK`,
		putState: `REPLACE INTO state (id, format, store, sequence, segment, offset, sum)
			VALUES (1, ?1, ?2, ?3, ?4, ?5, ?6)`,
		putBucket: `INSERT INTO buckets (id, name, created, objects, bytes, uploads, meta, sum)
			VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
			ON CONFLICT (id) DO UPDATE SET name = excluded.name, created = excluded.created,
				objects = excluded.objects, bytes = excluded.bytes, uploads = excluded.uploads,
				meta = excluded.meta, sum = excluded.sum`,
		deleteBucket: `DELETE FROM buckets WHERE id = ?1`,
		putRow: `REPLACE INTO objects (bucket, key, sequence, size, modified, etag, sum, meta)
			VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)`,
		deleteRow: `DELETE FROM objects WHERE bucket = ?1 AND key = ?2`,
		putBody: `REPLACE INTO bodies (sequence, segment, offset, length, body_offset, body_length, refs, blob, sum, current)
			VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)`,
		deleteBody:    `DELETE FROM bodies WHERE sequence = ?1`,
		deleteWitness: `DELETE FROM bodies WHERE sequence = ?1 AND refs = 0 AND current = 1`,
		putUpload: `REPLACE INTO uploads (bucket, key, id, created, sequence, sum, meta)
			VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)`,
		deleteUpload: `DELETE FROM uploads WHERE id = ?1`,
		putPart: `REPLACE INTO parts (upload, number, sequence, size, modified, etag, sum, meta)
			VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)`,
		deleteParts:      `DELETE FROM parts WHERE upload = ?1`,
		scanUnreferenced: `SELECT sequence FROM bodies WHERE refs = 0 AND current = 0 AND sequence > 0 ORDER BY sequence LIMIT ?1`,
		putSegment:       `REPLACE INTO segments (number, sum) VALUES (?1, ?2)`,
		deleteSegment:    `DELETE FROM segments WHERE number = ?1`,
	}
}
