package server

import (
	"fmt"
	"strings"

	"larder/cmd/appliance/internal/listen"
)

// announce tells the person at the terminal, or the log where it is read by a
// machine, how to reach the server. code is the one-time set-up code, "" when
// there is an administrator already.
func (s *Server) announce(code string) {
	scheme := "http"
	if s.cfg.RequireTLS {
		scheme = "https"
	}
	console, api := listen.URLs(scheme, s.console.Addr()), listen.URLs(scheme, s.s3.Addr())
	if s.cfg.LogFormat == "json" {
		args := []any{"version", s.version, "data", s.cfg.Data, "console", console, "s3", api, "certificate_sha256", s.certificate.Fingerprint}
		if s.native != nil {
			args = append(args, "native", s.native.Addr().String())
		}
		if code != "" {
			args = append(args, "setup_code", code)
		}
		s.log.Info("Larder is ready", args...)
		return
	}
	var own []string
	if s.native != nil {
		own = listen.Hosts(s.native.Addr())
	}
	_, _ = fmt.Fprint(s.out, banner(s.version, s.cfg.Data, console, api, own, s.certificate.Fingerprint, code))
}

func banner(version, data string, console, api, own []string, fingerprint, code string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Larder %s serves %s\n\n", version, data)
	for i, urls := range [][]string{console, api, own} {
		label := [3]string{"Console", "S3 API", "Native"}[i]
		for _, url := range urls {
			fmt.Fprintf(&b, "  %-9s %s\n", label, url)
			label = ""
		}
	}
	fmt.Fprintf(&b, "  %-9s the same addresses with https://, certificate SHA-256\n            %s\n\n", "TLS", fingerprint)
	if code != "" {
		fmt.Fprintf(&b, "  First start: open the console and enter this one-time code.\n\n      Set-up code: %s\n\n", code)
	}
	return b.String()
}
