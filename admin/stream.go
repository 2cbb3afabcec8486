package admin

import (
	"encoding/json"
	"net/http"
	"sync"

	"larder/auth"
	"larder/fault"
	"larder/scrubber"
)

// stream answers a long request line by line: {"progress":…} as often as there
// is something to say, then one {"done":…} or {"error":…}. An error before the
// first line is answered like that of any other route. A client that goes away
// ends the work.
type stream struct {
	w     http.ResponseWriter
	mu    sync.Mutex
	begun bool
}

// serveStream wraps a route that answers with a stream.
func (a api) serveStream(w http.ResponseWriter, r *http.Request, c auth.Caller, rt route) {
	s := &stream{w: w}
	out, err := rt.stream(a, w, r, c, func(v any) { s.line("progress", v) })
	switch {
	case err == nil:
		s.line("done", out)
	case !s.started():
		a.refuse(w, r, err)
	default:
		a.logOwn(r, err)
		_, detail := errorFor(err)
		s.line("error", detail)
	}
}

func (s *stream) started() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.begun
}

func (s *stream) line(kind string, v any) {
	text, err := json.Marshal(map[string]any{kind: v})
	if err != nil {
		return // values of ours always encode
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.begun {
		h := s.w.Header()
		h.Set("Content-Type", "application/x-ndjson")
		h.Set("Cache-Control", "no-store")
		h.Set("X-Content-Type-Options", "nosniff")
		s.w.WriteHeader(http.StatusOK)
		s.begun = true
	}
	_, _ = s.w.Write(append(text, '\n')) // an error here means that nobody listens; ctx tells
	_ = http.NewResponseController(s.w).Flush()
}

func (a api) scrubStatus(_ http.ResponseWriter, r *http.Request, c auth.Caller) (any, error) {
	st, err := a.service.ScrubStatus(r.Context(), c)
	return StatusOnWire(st), err
}

func (a api) scrubFindings(_ http.ResponseWriter, r *http.Request, c auth.Caller) (any, error) {
	findings, err := a.service.ScrubFindings(r.Context(), c)
	return map[string]any{"findings": FindingsOnWire(findings)}, err
}

// scrubCommand carries out what the last element of the path says.
func (a api) scrubCommand(_ http.ResponseWriter, r *http.Request, c auth.Caller) (any, error) {
	switch r.PathValue("command") {
	case "start":
		return nil, a.service.StartScrub(r.Context(), c)
	case "pause":
		return nil, a.service.PauseScrub(r.Context(), c)
	case "resume":
		return nil, a.service.ResumeScrub(r.Context(), c)
	}
	if err := a.service.guard.Check(r.Context(), c, auth.ManageScrub, auth.Resource{}); err != nil {
		return nil, err
	}
	return nil, fault.New("admin.scrub", fault.InvalidArgument, "", nil).WithHint("There are start, pause and resume.")
}

func (a api) verify(_ http.ResponseWriter, r *http.Request, c auth.Caller, say func(any)) (any, error) {
	report, err := a.service.Verify(r.Context(), c, func(st scrubber.Status) { say(StatusOnWire(st)) })
	return ReportOnWire(report), err
}

func (a api) backup(w http.ResponseWriter, r *http.Request, c auth.Caller, say func(any)) (any, error) {
	var in BackupRequest
	if err := readJSON(w, r, &in); err != nil {
		return nil, err
	}
	return a.service.Backup(r.Context(), c, in, func(p BackupProgress) { say(p) })
}

func (a api) export(w http.ResponseWriter, r *http.Request, c auth.Caller, say func(any)) (any, error) {
	var in ExportRequest
	if err := readJSON(w, r, &in); err != nil {
		return nil, err
	}
	return a.service.Export(r.Context(), c, in, func(p ExportProgress) { say(p) })
}

func (a api) snapshots(_ http.ResponseWriter, r *http.Request, c auth.Caller) (any, error) {
	list, err := a.service.Snapshots(r.Context(), c)
	return map[string]any{"snapshots": append([]Snapshot{}, list...)}, err
}
