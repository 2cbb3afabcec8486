-- Format 3 of the index.
--
-- current is 1 in the row of a version that stands under its key: a row of
-- objects counts only together with it, which lies on another page. A version
-- or part that brought no bytes has a row of its own for that, without a place.
-- The program sets it for what is there, since SQL makes no checksums; rows in
-- which it is 0 keep the checksum that they had.

ALTER TABLE bodies ADD COLUMN current INTEGER NOT NULL DEFAULT 0;

DROP INDEX bodies_unreferenced;

CREATE INDEX bodies_unreferenced ON bodies (sequence) WHERE refs = 0 AND current = 0;
