-- Format 2 of the index.
--
-- segments holds the numbers of all segments of the journal that the index
-- relies on. Compaction brings a new one in and takes the old ones out, so a
-- start can tell an output that the index does not rely on yet from one that
-- it does. Segments from before were numbered without gaps up to the position
-- applied; the program puts them in, since SQL makes no checksums.

CREATE TABLE segments (
	number INTEGER PRIMARY KEY,
	sum    INTEGER NOT NULL
) STRICT;

-- Only a replay of compacted segments leaves bodies without references, and
-- drops them at its end.
CREATE INDEX bodies_unreferenced ON bodies (sequence) WHERE refs = 0;
