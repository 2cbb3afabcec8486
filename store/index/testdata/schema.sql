CREATE INDEX bodies_blob ON bodies (blob) WHERE blob IS NOT NULL;
CREATE INDEX bodies_unreferenced ON bodies (sequence) WHERE refs = 0 AND current = 0;
CREATE UNIQUE INDEX uploads_id ON uploads (id);
CREATE TABLE bodies (
	sequence    INTEGER PRIMARY KEY,
	segment     INTEGER NOT NULL,
	offset      INTEGER NOT NULL,
	length      INTEGER NOT NULL,
	body_offset INTEGER NOT NULL,
	body_length INTEGER NOT NULL,
	refs        INTEGER NOT NULL,
	blob        TEXT, -- NULL: the body stands in its record
	sum         INTEGER NOT NULL
, current INTEGER NOT NULL DEFAULT 0) STRICT;
CREATE TABLE buckets (
	id      INTEGER PRIMARY KEY,
	name    TEXT    NOT NULL UNIQUE,
	created INTEGER NOT NULL, -- Unix nanoseconds, as all times
	objects INTEGER NOT NULL,
	bytes   INTEGER NOT NULL,
	uploads INTEGER NOT NULL,
	meta    BLOB    NOT NULL,
	sum     INTEGER NOT NULL
) STRICT;
CREATE TABLE objects (
	bucket   INTEGER NOT NULL,
	key      BLOB    NOT NULL,
	sequence INTEGER NOT NULL,
	size     INTEGER NOT NULL,
	modified INTEGER NOT NULL,
	etag     TEXT    NOT NULL,
	sum      INTEGER NOT NULL,
	meta     BLOB    NOT NULL, -- last, for it may run over to other pages
	PRIMARY KEY (bucket, key)
) STRICT, WITHOUT ROWID;
CREATE TABLE parts (
	upload   TEXT    NOT NULL,
	number   INTEGER NOT NULL,
	sequence INTEGER NOT NULL,
	size     INTEGER NOT NULL,
	modified INTEGER NOT NULL,
	etag     TEXT    NOT NULL,
	sum      INTEGER NOT NULL,
	meta     BLOB    NOT NULL,
	PRIMARY KEY (upload, number)
) STRICT, WITHOUT ROWID;
CREATE TABLE segments (
	number INTEGER PRIMARY KEY,
	sum    INTEGER NOT NULL
) STRICT;
CREATE TABLE state (
	id       INTEGER PRIMARY KEY CHECK (id = 1),
	format   INTEGER NOT NULL, -- the number of the last migration
	store    BLOB    NOT NULL, -- store id, 16 bytes
	sequence INTEGER NOT NULL, -- the position applied
	segment  INTEGER NOT NULL,
	offset   INTEGER NOT NULL,
	sum      INTEGER NOT NULL
) STRICT;
CREATE TABLE uploads (
	bucket   INTEGER NOT NULL,
	key      BLOB    NOT NULL,
	id       TEXT    NOT NULL,
	created  INTEGER NOT NULL,
	sequence INTEGER NOT NULL,
	sum      INTEGER NOT NULL,
	meta     BLOB    NOT NULL,
	PRIMARY KEY (bucket, key, id)
) STRICT, WITHOUT ROWID;
