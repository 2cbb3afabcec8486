package native

import "time"

// Hasten makes the server as impatient as a test needs.
func (s *Server) Hasten(login, idle, piece time.Duration) { s.pace = pace{login, idle, piece} }

// InFlight counts the open connections, and the requests on them.
func (s *Server) InFlight() (conns, requests int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		c.mu.Lock()
		requests += c.active
		c.mu.Unlock()
	}
	return len(s.conns), requests
}
