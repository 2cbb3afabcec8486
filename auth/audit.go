package auth

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strings"
	"time"
	"unicode"

	"zombiezen.com/go/sqlite"

	"larder/fault"
)

// Limits of the audit log.
const (
	maxAudit = 100_000 // entries kept; the oldest go
	maxField = 256     // bytes of a text in an entry
)

// Outcomes in the audit log.
const (
	outcomeOK     = "ok"
	outcomeDenied = "denied" // a known caller may not do this
	outcomeFailed = "failed" // credentials that did not verify
)

// actionBroken is written when the head of the log does not verify. Nothing
// before such an entry can be trusted to be complete.
const actionBroken = "AuditBroken"

// Event is a change of the control plane that somebody made.
type Event struct {
	By     Caller
	Action string // "CreateBucket"
	Target string // the name of what was changed; never a secret
	Detail string
}

// Entry is one line of the audit log.
type Entry struct {
	Sequence int64
	Time     time.Time
	Kind     string // of the actor: key, user, local, server or nobody
	Actor    string
	Addr     string
	Action   string
	Target   string
	Outcome  string // ok, denied or failed
	Detail   string
	Count    int64 // how many equal ones this entry stands for
	mac      []byte
}

// Record writes a change into the audit log that auth did not make itself. On
// return without an error the entry is on stable storage.
func (a *Auth) Record(_ context.Context, ev Event) error {
	return a.db.change("auth.Record", func(conn *sqlite.Conn) error {
		return a.audit.append(conn, ev.entry(a.now()))
	})
}

// entry makes a line of the event. A change without a caller was made by the
// server itself: from its configuration, or at the set-up.
func (ev Event) entry(now time.Time) Entry {
	e := Entry{
		Time: now, Kind: ev.By.kind.String(), Actor: ev.By.id, Action: ev.Action,
		Target: ev.Target, Outcome: outcomeOK, Detail: ev.Detail, Count: 1,
	}
	if ev.By.IsZero() {
		e.Kind, e.Actor = "server", "larder"
	}
	if ev.By.addr.IsValid() {
		e.Addr = ev.By.addr.String()
	}
	return e
}

// auditLog chains entries: the MAC of each covers the one before it, under a key
// that is not in system.db, and the head says under a MAC where the log begins
// and ends. Changing, dropping or reordering entries, or cutting the log at
// either end, therefore shows.
type auditLog struct {
	key   []byte
	limit int64
}

// head is the statement of where the log begins and ends.
type head struct {
	before    int64 // the last entry that was pruned
	beforeMAC []byte
	last      int64
	lastMAC   []byte
	mac       []byte
}

func (l *auditLog) append(conn *sqlite.Conn, entries ...Entry) error {
	h, err := l.head(conn)
	if err != nil {
		return err
	}
	if !hmac.Equal(h.mac, l.headMAC(h)) {
		entries = append([]Entry{brokenEntry(entries[0].Time, h)}, entries...)
	}
	for _, e := range entries {
		e.Sequence = h.last + 1
		e.clean()
		e.mac = l.entryMAC(h.lastMAC, e)
		if err := exec(conn, insertAudit, e.Sequence, nano(e.Time), e.Kind, e.Actor, e.Addr,
			e.Action, e.Target, e.Outcome, e.Detail, e.Count, e.mac); err != nil {
			return err
		}
		h.last, h.lastMAC = e.Sequence, e.mac
	}
	if err := l.prune(conn, &h); err != nil {
		return err
	}
	return exec(conn, replaceHead, h.before, h.beforeMAC, h.last, h.lastMAC, l.headMAC(h))
}

func brokenEntry(now time.Time, h head) Entry {
	return Entry{
		Time: now, Kind: "server", Actor: "larder", Action: actionBroken, Outcome: outcomeFailed,
		Detail: fmt.Sprintf("the head of the log, at entry %d, does not verify", h.last), Count: 1,
	}
}

// prune drops the oldest entries when there are too many.
func (l *auditLog) prune(conn *sqlite.Conn, h *head) error {
	if h.last-h.before <= l.limit {
		return nil
	}
	upTo := h.last - l.limit + l.limit/100 // a few more, so as not to prune every time
	mac, err := one(conn, selectAuditMAC, upTo)
	if err != nil {
		return err
	}
	h.before, h.beforeMAC = upTo, mac
	return exec(conn, pruneAudit, upTo)
}

// start writes the head of an empty log.
func (l *auditLog) start(conn *sqlite.Conn) error {
	zero := make([]byte, sha256.Size)
	h := head{beforeMAC: zero, lastMAC: zero}
	return exec(conn, replaceHead, h.before, h.beforeMAC, h.last, h.lastMAC, l.headMAC(h))
}

// head reads the head. One that is missing comes back as zeros and does not
// verify.
func (l *auditLog) head(conn *sqlite.Conn) (head, error) {
	h := head{beforeMAC: make([]byte, sha256.Size), lastMAC: make([]byte, sha256.Size)}
	err := rows(conn, selectHead, func(r *sqlite.Stmt) error {
		h = head{r.ColumnInt64(0), blob(r, 1), r.ColumnInt64(2), blob(r, 3), blob(r, 4)}
		return nil
	})
	return h, err
}

func (l *auditLog) headMAC(h head) []byte {
	m := hmac.New(sha256.New, l.key)
	m.Write([]byte("larder audit head v1\x00"))
	var b []byte
	b = binary.BigEndian.AppendUint64(b, uint64(h.before))
	b = appendField(b, string(h.beforeMAC))
	b = binary.BigEndian.AppendUint64(b, uint64(h.last))
	b = appendField(b, string(h.lastMAC))
	m.Write(b)
	return m.Sum(nil)
}

// entryMAC covers the MAC of the entry before and every field with its length.
func (l *auditLog) entryMAC(previous []byte, e Entry) []byte {
	m := hmac.New(sha256.New, l.key)
	m.Write([]byte("larder audit entry v1\x00"))
	b := appendField(nil, string(previous))
	for _, n := range []int64{e.Sequence, nano(e.Time), e.Count} {
		b = binary.BigEndian.AppendUint64(b, uint64(n))
	}
	for _, s := range []string{e.Kind, e.Actor, e.Addr, e.Action, e.Target, e.Outcome, e.Detail} {
		b = appendField(b, s)
	}
	m.Write(b)
	return m.Sum(nil)
}

func appendField(b []byte, s string) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(len(s)))
	return append(b, s...)
}

// clean cuts the texts and takes control characters out of them, so that no
// line of the log can pass for two.
func (e *Entry) clean() {
	for _, s := range []*string{&e.Kind, &e.Actor, &e.Addr, &e.Action, &e.Target, &e.Outcome, &e.Detail} {
		*s = cleanText(*s, maxField)
	}
}

func cleanText(s string, limit int) string {
	if len(s) > limit {
		s = s[:limit]
	}
	s = strings.ToValidUTF8(s, "\uFFFD")
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029' {
			return '\uFFFD'
		}
		return r
	}, s)
}

// one reads a single column of bytes; nil when there is no row.
func one(conn *sqlite.Conn, query string, args ...any) (out []byte, err error) {
	err = rows(conn, query, func(r *sqlite.Stmt) error { out = blob(r, 0); return nil }, args...)
	return out, err
}

// AuditReport says what VerifyAudit found whole.
type AuditReport struct {
	First, Last int64  // sequences of the oldest and the newest entry; 0, 0 when there is none
	Head        []byte // MAC of the newest entry: kept elsewhere, it shows a log put back to an older state
}

// VerifyAudit checks the chain from end to end. fault.Corrupt names the first
// entry that is wrong, missing or out of order. Changes wait meanwhile, for less
// than a second at the largest size of the log.
func (a *Auth) VerifyAudit(_ context.Context) (AuditReport, error) {
	var report AuditReport
	err := a.db.read("auth.VerifyAudit", func(conn *sqlite.Conn) (err error) {
		report, err = a.audit.verify(conn)
		return err
	})
	return report, err
}

func (l *auditLog) verify(conn *sqlite.Conn) (AuditReport, error) {
	h, err := l.head(conn)
	if err != nil {
		return AuditReport{}, err
	}
	if !hmac.Equal(h.mac, l.headMAC(h)) {
		return AuditReport{}, auditCorrupt(h.last, "the head of the log does not verify")
	}
	at, previous := h.before, h.beforeMAC
	err = rows(conn, selectAudit, func(r *sqlite.Stmt) error {
		e := entryFromRow(r)
		if err := l.verifyEntry(e, at, previous); err != nil {
			return err
		}
		at, previous = e.Sequence, e.mac
		return nil
	}, h.before, -1)
	if err == nil && (at != h.last || !hmac.Equal(previous, h.lastMAC)) {
		err = auditCorrupt(at+1, "the log ends before its head says")
	}
	if err != nil || h.last == h.before {
		return AuditReport{}, err
	}
	return AuditReport{First: h.before + 1, Last: h.last, Head: h.lastMAC}, nil
}

func (l *auditLog) verifyEntry(e Entry, previous int64, mac []byte) error {
	switch {
	case e.Sequence != previous+1:
		return auditCorrupt(previous+1, "the entry is missing")
	case !hmac.Equal(e.mac, l.entryMAC(mac, e)):
		return auditCorrupt(e.Sequence, "the entry was changed")
	case e.Action == actionBroken:
		return auditCorrupt(e.Sequence, e.Detail)
	}
	return nil
}

func auditCorrupt(sequence int64, why string) error {
	return fault.New("auth.VerifyAudit", fault.Corrupt, fmt.Sprintf("audit entry %d", sequence), nil).WithHint(why)
}

func entryFromRow(r *sqlite.Stmt) Entry {
	return Entry{
		Sequence: r.ColumnInt64(0), Time: fromNano(r.ColumnInt64(1)), Kind: r.ColumnText(2),
		Actor: r.ColumnText(3), Addr: r.ColumnText(4), Action: r.ColumnText(5), Target: r.ColumnText(6),
		Outcome: r.ColumnText(7), Detail: r.ColumnText(8), Count: r.ColumnInt64(9), mac: blob(r, 10),
	}
}

// Audit gives up to limit entries after the given sequence, oldest first.
func (a *Auth) Audit(_ context.Context, after int64, limit int) ([]Entry, error) {
	var out []Entry
	err := a.db.read("auth.Audit", func(conn *sqlite.Conn) error {
		return rows(conn, selectAudit, func(r *sqlite.Stmt) error {
			out = append(out, entryFromRow(r))
			return nil
		}, after, min(max(limit, 0), 1000))
	})
	return out, err
}
