package auth

// All statements on system.db. Values are bound, never spliced.
const (
	selectSetting = `SELECT value FROM settings WHERE name = ?1`
	insertSetting = `INSERT INTO settings (name, value) VALUES (?1, ?2)`

	selectKeys = `SELECT serial, id, name, sealed, hash, grants, disabled, created, expires, last_used, last_addr FROM keys`
	insertKey  = `INSERT INTO keys (id, name, sealed, hash, grants, disabled, created, expires) VALUES (?1, ?2, ?3, ?4, ?5, 0, ?6, ?7)`
	disableKey = `UPDATE keys SET disabled = ?2 WHERE serial = ?1`
	deleteKey  = `DELETE FROM keys WHERE serial = ?1`
	touchKey   = `UPDATE keys SET last_used = ?2, last_addr = ?3 WHERE serial = ?1`
	updateKey  = `UPDATE keys SET disabled = ?2, grants = ?3, expires = ?4 WHERE serial = ?1`

	selectUsers = `SELECT serial, name, role, hash, created FROM users`
	insertUser  = `INSERT INTO users (name, role, hash, created) VALUES (?1, ?2, ?3, ?4)`
	updateHash  = `UPDATE users SET hash = ?2 WHERE serial = ?1`
	updateUser  = `UPDATE users SET role = ?2, hash = ?3 WHERE serial = ?1`
	deleteUser  = `DELETE FROM users WHERE serial = ?1`

	selectSessions = `SELECT s.serial, s.token, s.user, u.name, s.created, s.seen, s.expires, s.addr, s.agent
		FROM sessions s JOIN users u ON u.serial = s.user`
	insertSession      = `INSERT INTO sessions (token, user, created, seen, expires, addr, agent) VALUES (?1, ?2, ?3, ?3, ?4, ?5, ?6)`
	touchSession       = `UPDATE sessions SET seen = ?2 WHERE serial = ?1`
	deleteSession      = `DELETE FROM sessions WHERE serial = ?1`
	deleteUserSessions = `DELETE FROM sessions WHERE user = ?1`
	deleteAllSessions  = `DELETE FROM sessions`

	copyDatabase = `VACUUM INTO ?1`

	insertAudit = `INSERT INTO audit (sequence, time, kind, actor, addr, action, target, outcome, detail, count, mac)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)`
	selectAudit = `SELECT sequence, time, kind, actor, addr, action, target, outcome, detail, count, mac
		FROM audit WHERE sequence > ?1 ORDER BY sequence LIMIT ?2`
	selectAuditMAC = `SELECT mac FROM audit WHERE sequence = ?1`
	pruneAudit     = `DELETE FROM audit WHERE sequence <= ?1`
	selectHead     = `SELECT before, before_mac, last, last_mac, mac FROM audit_head WHERE one = 1`
	replaceHead    = `INSERT OR REPLACE INTO audit_head (one, before, before_mac, last, last_mac, mac) VALUES (1, ?1, ?2, ?3, ?4, ?5)`
)
