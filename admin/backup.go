package admin

import (
	"context"
	"time"

	"larder/auth"
)

// Files carries out what reaches beyond the data folder: the server gives it to
// the Service.
type Files interface {
	// Backup brings the backup in a folder up to date.
	Backup(ctx context.Context, req BackupRequest, progress func(BackupProgress)) (BackupReport, error)
	// Export writes objects as plain files, with the rights of the caller.
	Export(ctx context.Context, c auth.Caller, req ExportRequest, progress func(ExportProgress)) (ExportReport, error)
	// Snapshots lists the snapshots of system.db, the newest first.
	Snapshots(ctx context.Context) ([]Snapshot, error)
}

// BackupRequest asks for a backup.
type BackupRequest struct {
	Dir  string `json:"dir"`            // a folder of the server's machine, which must exist
	Link bool   `json:"link,omitempty"` // share files with the data folder where the file system can
	Rate int64  `json:"rate,omitempty"` // bytes a second that are copied at most; 0 = as fast as it goes
}

// BackupProgress says how far a backup has come.
type BackupProgress struct {
	Stage string `json:"stage"` // blobs, segments, users and keys, clean-up
	Files int64  `json:"files"` // looked at
	Bytes int64  `json:"bytes"` // copied
}

// BackupReport says what a backup holds and what it took to get there.
type BackupReport struct {
	Dir         string    `json:"dir"`
	Started     time.Time `json:"started"`
	Finished    time.Time `json:"finished"`
	Sequence    uint64    `json:"sequence"` // of the last change that it holds
	Files       int64     `json:"files"`
	Bytes       int64     `json:"bytes"`
	Copied      int64     `json:"copied_files"` // the others were there already
	CopiedBytes int64     `json:"copied_bytes"`
	Linked      int64     `json:"linked_files"`
	Removed     int64     `json:"removed_files"` // no longer needed
}

// ExportRequest asks for objects as plain files.
type ExportRequest struct {
	Bucket string `json:"bucket"`
	Prefix string `json:"prefix,omitempty"`
	Dir    string `json:"dir"` // an empty folder of the server's machine
}

// ExportProgress says how far an export has come, and names what is not as one
// would expect.
type ExportProgress struct {
	Files   int64  `json:"files"`
	Bytes   int64  `json:"bytes"`
	Key     string `json:"key,omitempty"`     // of Path or Failure
	Path    string `json:"path,omitempty"`    // the file's name, where it is not the key
	Failure string `json:"failure,omitempty"` // why there is no file for the key
}

// ExportReport says what was written.
type ExportReport struct {
	Files   int64 `json:"files"`
	Bytes   int64 `json:"bytes"`
	Renamed int64 `json:"renamed"` // files whose names are not their keys
	Failed  int64 `json:"failed"`  // objects without a file
}

// Snapshot is a copy of system.db in the folder backups/.
type Snapshot struct {
	Name string    `json:"name"`
	Time time.Time `json:"time"`
	Size int64     `json:"size"`
}

// Backup copies everything into a folder of the server's machine while the
// server runs. Needs auth.MakeBackup, which only the local caller has: nobody
// may choose such a folder from afar.
func (s *Service) Backup(ctx context.Context, c auth.Caller, req BackupRequest, progress func(BackupProgress)) (BackupReport, error) {
	if err := s.guard.Check(ctx, c, auth.MakeBackup, auth.Resource{}); err != nil {
		return BackupReport{}, err
	}
	if s.files == nil {
		return BackupReport{}, notHere("admin.Backup")
	}
	if err := s.auth.Record(ctx, auth.Event{By: c, Action: "Backup", Target: req.Dir}); err != nil {
		return BackupReport{}, err
	}
	ctx, cancel := s.untilStop(ctx)
	defer cancel()
	return s.files.Backup(ctx, req, progress)
}

// Export writes the objects of a bucket into a folder of the server's machine.
// Needs auth.ExportFiles, which only the local caller has.
func (s *Service) Export(ctx context.Context, c auth.Caller, req ExportRequest, progress func(ExportProgress)) (ExportReport, error) {
	if err := s.guard.Check(ctx, c, auth.ExportFiles, auth.Resource{Bucket: req.Bucket, Key: req.Prefix}); err != nil {
		return ExportReport{}, err
	}
	if s.files == nil {
		return ExportReport{}, notHere("admin.Export")
	}
	if err := s.auth.Record(ctx, auth.Event{By: c, Action: "Export", Target: req.Bucket, Detail: req.Dir}); err != nil {
		return ExportReport{}, err
	}
	ctx, cancel := s.untilStop(ctx)
	defer cancel()
	return s.files.Export(ctx, c, req, progress)
}

// Snapshots lists the snapshots of users and keys, the newest first. Needs
// auth.ReadKeys.
func (s *Service) Snapshots(ctx context.Context, c auth.Caller) ([]Snapshot, error) {
	if err := s.guard.Check(ctx, c, auth.ReadKeys, auth.Resource{}); err != nil {
		return nil, err
	}
	if s.files == nil {
		return nil, notHere("admin.Snapshots")
	}
	return s.files.Snapshots(ctx)
}
