package config

import (
	"time"

	"github.com/spf13/pflag"
)

// ServeFlags adds a flag for every setting but the secrets. The help texts are
// the reference of the settings.
func ServeFlags(f *pflag.FlagSet) {
	FolderFlags(f)
	d := defaults()
	text := func(name, usage string) { f.String(name, d[name].(string), usage) }
	text("s3", "address of the S3 API")
	text("console", "address of the console and the admin API")
	text("native", "address of the native protocol (empty: off)")
	f.StringSlice("s3-domains", nil, "base domains for virtual-host style, as bucket.DOMAIN")
	text("s3-url", "URL of the S3 API that the console shows (default: made from the request)")
	text("region", "region that clients sign for")
	f.Bool("require-tls", false, "refuse plain HTTP on every port")
	f.Bool("refuse-unsigned", false, "refuse S3 bodies over plain HTTP that neither a signature nor a digest vouches for")
	f.StringSlice("console-hosts", nil, "host names the console answers to, besides addresses (default: any)")
	number := func(name, usage string) { f.Int64(name, d[name].(int64), usage) }
	span := func(name, usage string) { f.Duration(name, d[name].(time.Duration), usage) }
	span("scrub-period", "time in which every stored byte is verified once")
	number("scrub-rate", "bytes a second that this verification may read")
	number("compact-rate", "bytes a second that may be moved to give the space of deleted objects back")
	span("upload-expiry", "age at which unfinished multipart uploads are removed, 0 = never")
	span("snapshot-period", "time between two snapshots of the users and keys, into backups/")
	f.Int("snapshot-days", d["snapshot-days"].(int), "days of which the newest snapshot is kept")
	f.Int("snapshot-weeks", d["snapshot-weeks"].(int), "weeks of which the newest snapshot is kept")
	number("segment-size", "bytes of one file of the journal")
	_ = f.MarkHidden("segment-size") // for tests; nobody else should have to think about it
	f.Int("max-connections", d["max-connections"].(int), "connections open at once on each port")
	f.Duration("shutdown-timeout", d["shutdown-timeout"].(time.Duration), "how long running requests may take to finish at a stop")
	text("log-format", "text or json")
	text("log-level", "debug, info, warn or error")
	text("admin-password-file", "file with the first administrator's password")
	text("access-key", "id of a first key with full rights, with --secret-key-file")
	text("secret-key-file", "file with the secret of --access-key")
}

// ClientFlags adds what the commands need that speak to a running server.
func ClientFlags(f *pflag.FlagSet) {
	f.String("data", DefaultData, "data folder")
	f.String("config", "", "settings file, TOML")
}

// FolderFlags adds what the commands need that may open the data folder
// themselves.
func FolderFlags(f *pflag.FlagSet) {
	ClientFlags(f)
	f.String("blob-dir", "", "folder for large bodies, on another disk if wanted (default: the data folder)")
}
