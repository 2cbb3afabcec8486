package server

import (
	"log/slog"
	"net"

	"larder/cmd/appliance/internal/config"
	"larder/store/vfs"
)

// ForURL is a Server of which only s3URL works.
func ForURL(setting string, s3 net.Listener) *Server {
	return &Server{cfg: config.Config{S3URL: setting}, s3: s3}
}

var (
	S3URL          = (*Server).s3URL
	Banner         = banner
	PrepareFolder  = func(dir string, log *slog.Logger) error { return prepareFolder(dir, log) }
	CloseToOthers  = func(dir string, log *slog.Logger) error { return closeToOthers(dir, log) }
	UnmountedAbove = unmountedAbove
	SecretKey      = func(files vfs.FS) ([]byte, error) { return secretKey(files) }
	NewNetErrors   = func(h slog.Handler) slog.Handler { return netErrors{h} }
	ReasonsAgainst = reasonsAgainst
	NoPort         = noPort
)

// Early returns what a store calls while it opens, and the end of that.
func Early(cfg config.Config) (progress func(done, total int64), end func()) {
	e := &early{server: &Server{cfg: cfg}}
	return e.progress, e.end
}
