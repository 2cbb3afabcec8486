package server

import (
	"encoding/json"
	"fmt"
	"net/http"

	"larder/scrubber"
	"larder/store"
)

// health answers the two questions of a supervisor, without a login: /healthz
// "does the process answer" and /readyz "does it take reads and writes". All
// other requests go to next.
func (s *Server) health(next http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = w.Write([]byte("ok\n"))
	})
	mux.HandleFunc("GET /readyz", s.ready)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/healthz" || r.URL.Path == "/readyz" {
			w.Header().Set("Cache-Control", "no-store")
			mux.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// ready answers 200 when the store works, else 503 with the reasons. A full disk
// is a warning: it is by deletions, which go on, that there is room again.
func (s *Server) ready(w http.ResponseWriter, _ *http.Request) {
	stats := s.store.Stats()
	reasons := reasonsAgainst(stats)
	if s.stopping.Load() {
		reasons = append(reasons, "Larder is stopping.")
	}
	status := http.StatusOK
	if len(reasons) > 0 {
		status = http.StatusServiceUnavailable
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(readiness{len(reasons) == 0, append([]string{}, reasons...), append([]string{}, warnings(stats, s.scrubber.Status())...)})
}

// readiness is the answer of /readyz. Warnings do not make a server unready.
type readiness struct {
	Ready    bool     `json:"ready"`
	Reasons  []string `json:"reasons"`
	Warnings []string `json:"warnings"`
}

// warnings are what somebody should look at soon.
func warnings(stats store.Stats, st scrubber.Status) (out []string) {
	if stats.Full != "" {
		out = append(out, stats.Full)
	}
	if st.Open > 0 || st.Overflowed > 0 {
		out = append(out, fmt.Sprintf("Stored data is damaged in %d places; `larder scrub findings` names them.", int64(st.Open)+st.Overflowed))
	}
	if st.Behind {
		out = append(out, "The verification of all stored data does not keep to its period (the settings scrub-period and scrub-rate).")
	}
	return out
}

func reasonsAgainst(st store.Stats) []string {
	if st.ReadOnly != "" {
		return []string{st.ReadOnly}
	}
	return nil
}
