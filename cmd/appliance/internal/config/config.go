// Package config reads Larder's settings: flags before environment variables
// before a TOML file before defaults. Every setting has one name in all three
// places: `shutdown-timeout` is `--shutdown-timeout`, LARDER_SHUTDOWN_TIMEOUT
// and a line of the file. A setting that does not exist is refused by name, so
// that a typing error never passes for a default.
//
// Secrets are never flags, since other users can read a process's arguments.
// They come from the environment, from the file, or from a file of their own
// that the setting with -file (or _FILE) behind its name points to.
package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"larder/auth"
)

// DefaultData is the data folder when nobody names one. It is the only one
// that is made when it is missing: a missing folder that somebody named may be
// a disk that is not mounted.
const DefaultData = "./data"

// DefaultNative is the address of the native protocol when nobody names one. When
// it is taken, Larder starts without.
const DefaultNative = ":9002"

// Config holds every setting. The tags are the settings' names.
type Config struct {
	Data    string `koanf:"data"`    // the data folder
	S3      string `koanf:"s3"`      // address of the S3 API
	Console string `koanf:"console"` // address of console and admin API
	Native  string `koanf:"native"`  // of the native protocol; "": it is off

	S3Domains  []string `koanf:"s3-domains"` // base domains of virtual-host style
	S3URL      string   `koanf:"s3-url"`     // what the console tells clients; "" = from the request
	Region     string   `koanf:"region"`
	RequireTLS bool     `koanf:"require-tls"` // refuse plain HTTP on every port

	// RefuseUnsigned refuses S3 bodies over plain HTTP that nothing vouches for.
	RefuseUnsigned bool `koanf:"refuse-unsigned"`

	// ConsoleHosts, when not empty, are the only host names that the console
	// answers to, besides addresses and localhost.
	ConsoleHosts []string `koanf:"console-hosts"`

	BlobDir         string        `koanf:"blob-dir"`         // large bodies on another disk; "" = the data folder
	SegmentSize     int64         `koanf:"segment-size"`     // bytes of one file of the journal
	CompactRate     int64         `koanf:"compact-rate"`     // bytes a second that making room may read and write
	UploadExpiry    time.Duration `koanf:"upload-expiry"`    // age at which unfinished multipart uploads are given up; 0 = never
	ScrubPeriod     time.Duration `koanf:"scrub-period"`     // in which every stored byte is verified once
	ScrubRate       int64         `koanf:"scrub-rate"`       // bytes a second that scrubbing may read
	SnapshotPeriod  time.Duration `koanf:"snapshot-period"`  // between two snapshots of system.db
	SnapshotDays    int           `koanf:"snapshot-days"`    // days, weeks: of each of the last ones
	SnapshotWeeks   int           `koanf:"snapshot-weeks"`   // the newest snapshot is kept
	MaxConnections  int           `koanf:"max-connections"`  // open at once, for each port
	ShutdownTimeout time.Duration `koanf:"shutdown-timeout"` // how long running requests may take to finish
	LogFormat       string        `koanf:"log-format"`       // text or json
	LogLevel        string        `koanf:"log-level"`        // debug, info, warn or error

	AdminPassword auth.Secret `koanf:"admin-password"` // first administrator's, used when there is none
	AccessKey     string      `koanf:"access-key"`     // a first key with full rights: both of these
	SecretKey     auth.Secret `koanf:"secret-key"`     // or neither
}

// secrets are the settings that have no flag but a twin with -file.
func secrets() []string { return []string{"admin-password", "secret-key"} }

// defaults gives each setting its value when nobody sets it. Its keys are the
// list of all settings.
func defaults() map[string]any {
	return map[string]any{
		"data": DefaultData, "s3": ":9000", "console": ":9001", "native": DefaultNative,
		"s3-domains": []string{}, "s3-url": "", "region": "us-east-1", "require-tls": false, "console-hosts": []string{}, "refuse-unsigned": false,
		"segment-size": int64(64 << 20), "compact-rate": int64(50_000_000), "upload-expiry": 7 * 24 * time.Hour,
		"scrub-period": 30 * 24 * time.Hour, "scrub-rate": int64(50_000_000),
		"snapshot-period": 24 * time.Hour, "snapshot-days": 7, "snapshot-weeks": 4,
		"blob-dir": "", "max-connections": 4096, "shutdown-timeout": 30 * time.Second,
		"log-format": "text", "log-level": "info",
		"admin-password": "", "access-key": "", "secret-key": "",
		"admin-password-file": "", "secret-key-file": "",
	}
}

// What the settings may be at most and at least.
const (
	minSegmentSize    = 4 << 10
	maxSegmentSize    = 4 << 30
	minRate           = 100_000 // bytes a second
	minScrubPeriod    = time.Hour
	minSnapshotPeriod = 10 * time.Minute
)

// Socket is the path of the unix socket over which `larder key` and the like
// reach the running server.
func (c Config) Socket() string { return filepath.Join(c.Data, "larder.sock") }

// check refuses values that no part of Larder could use, by the setting's name.
func (c Config) check() error {
	var errs []error
	refuse := func(bad bool, format string, args ...any) {
		if bad {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	refuse(c.Data == "", "data: name a folder")
	refuse(c.S3 == "", "s3: name an address such as :9000")
	refuse(c.Console == "", "console: name an address such as :9001")
	refuse(c.Region == "", "region: name one, us-east-1 for instance")
	refuse(c.MaxConnections < 1, "max-connections: %d is too few, use 1 or more", c.MaxConnections)
	refuse(c.SegmentSize < minSegmentSize || c.SegmentSize > maxSegmentSize,
		"segment-size: %d is not between %d and %d bytes", c.SegmentSize, minSegmentSize, maxSegmentSize)
	refuse(c.CompactRate >= 0 && c.CompactRate < minRate,
		"compact-rate: %d is too slow, use %d bytes a second or more, or -1 for never", c.CompactRate, minRate)
	refuse(c.UploadExpiry < 0 || c.UploadExpiry > 0 && c.UploadExpiry < time.Hour,
		"upload-expiry: %s is too short, use 1h or more, or 0 for never", c.UploadExpiry)
	refuse(c.ScrubPeriod < minScrubPeriod, "scrub-period: %s is too short, use 1h or more", c.ScrubPeriod)
	refuse(c.ScrubRate < minRate, "scrub-rate: %d is too slow, use %d bytes a second or more", c.ScrubRate, minRate)
	refuse(c.SnapshotPeriod < minSnapshotPeriod, "snapshot-period: %s is too short, use 10m or more", c.SnapshotPeriod)
	refuse(c.SnapshotDays < 1, "snapshot-days: keep at least 1")
	refuse(c.SnapshotWeeks < 0, "snapshot-weeks: %d is negative", c.SnapshotWeeks)
	refuse(c.ShutdownTimeout < 0, "shutdown-timeout: %s is negative", c.ShutdownTimeout)
	refuse(!oneOf(c.LogFormat, "text", "json"), "log-format: %q is neither text nor json", c.LogFormat)
	refuse(!oneOf(c.LogLevel, "debug", "info", "warn", "error"),
		"log-level: %q is none of debug, info, warn, error", c.LogLevel)
	refuse(c.S3URL != "" && !strings.HasPrefix(c.S3URL, "http://") && !strings.HasPrefix(c.S3URL, "https://"),
		"s3-url: %q must begin with http:// or https://", c.S3URL)
	refuse((c.AccessKey == "") != (c.SecretKey == ""),
		"access-key and secret-key: set both (LARDER_ACCESS_KEY and LARDER_SECRET_KEY) or neither")
	return errors.Join(errs...)
}

func oneOf(s string, allowed ...string) bool {
	for _, a := range allowed {
		if s == a {
			return true
		}
	}
	return false
}
