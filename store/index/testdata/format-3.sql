PRAGMA application_id = 1282565234;
PRAGMA user_version = 3;
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
CREATE INDEX bodies_blob ON bodies (blob) WHERE blob IS NOT NULL;
CREATE INDEX bodies_unreferenced ON bodies (sequence) WHERE refs = 0 AND current = 0;
CREATE UNIQUE INDEX uploads_id ON uploads (id);
INSERT INTO bodies VALUES (5,2,64,512,200,10,1,NULL,3150569252,1);
INSERT INTO bodies VALUES (6,2,576,256,0,0,2,'00112233445566778899aabbccddeeff',196517530,0);
INSERT INTO buckets VALUES (1,'first',7,1,10,1,X'62',230585787);
INSERT INTO objects VALUES (1,X'6B00FF',5,10,-3,'etag',1019815571,X'6D657461');
INSERT INTO parts VALUES ('u1',3,6,11,9,'p',3921075357,X'706D');
INSERT INTO segments VALUES (1,242009517);
INSERT INTO segments VALUES (2,3576185540);
INSERT INTO state VALUES (1,3,X'0102030405060708090A0B0C0D0E0F10',6,2,832,2394258292);
INSERT INTO uploads VALUES (1,X'626967','u1',8,4,667451716,X'75');
