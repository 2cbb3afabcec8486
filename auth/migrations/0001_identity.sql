-- Settings of the identity store itself: small values by name.
CREATE TABLE settings (
	name  TEXT PRIMARY KEY,
	value BLOB NOT NULL
) STRICT, WITHOUT ROWID;

-- Access keys. sealed is the secret under secret.key, hash its bcrypt hash.
-- Times are Unix nanoseconds; 0 means never. Serials are not used again, so a
-- key made anew with an old id is another one.
CREATE TABLE keys (
	serial    INTEGER PRIMARY KEY AUTOINCREMENT,
	id        TEXT NOT NULL UNIQUE,
	name      TEXT NOT NULL,
	sealed    BLOB NOT NULL,
	hash      BLOB NOT NULL,
	grants    TEXT NOT NULL,
	disabled  INTEGER NOT NULL CHECK (disabled IN (0, 1)),
	created   INTEGER NOT NULL,
	expires   INTEGER NOT NULL,
	last_used INTEGER NOT NULL DEFAULT 0,
	last_addr TEXT NOT NULL DEFAULT ''
) STRICT;

CREATE TABLE users (
	serial  INTEGER PRIMARY KEY AUTOINCREMENT,
	name    TEXT NOT NULL UNIQUE,
	role    TEXT NOT NULL CHECK (role IN ('admin', 'operator', 'viewer')),
	hash    BLOB NOT NULL,
	created INTEGER NOT NULL
) STRICT;

-- Login sessions. token is the SHA-256 of what the browser holds.
CREATE TABLE sessions (
	serial  INTEGER PRIMARY KEY AUTOINCREMENT,
	token   BLOB NOT NULL UNIQUE CHECK (length(token) = 32),
	user    INTEGER NOT NULL REFERENCES users (serial) ON DELETE CASCADE,
	created INTEGER NOT NULL,
	seen    INTEGER NOT NULL,
	expires INTEGER NOT NULL,
	addr    TEXT NOT NULL,
	agent   TEXT NOT NULL
) STRICT;

CREATE INDEX sessions_user ON sessions (user);

-- The audit log. mac chains each entry to the one before it; audit_head is the
-- authenticated statement of where the log begins and ends.
CREATE TABLE audit (
	sequence INTEGER PRIMARY KEY,
	time     INTEGER NOT NULL,
	kind     TEXT NOT NULL,
	actor    TEXT NOT NULL,
	addr     TEXT NOT NULL,
	action   TEXT NOT NULL,
	target   TEXT NOT NULL,
	outcome  TEXT NOT NULL,
	detail   TEXT NOT NULL,
	count    INTEGER NOT NULL,
	mac      BLOB NOT NULL CHECK (length(mac) = 32)
) STRICT;

CREATE TABLE audit_head (
	one        INTEGER PRIMARY KEY CHECK (one = 1),
	before     INTEGER NOT NULL, -- sequence of the last entry that was pruned, 0 = none
	before_mac BLOB NOT NULL,
	last       INTEGER NOT NULL,
	last_mac   BLOB NOT NULL,
	mac        BLOB NOT NULL
) STRICT;
