package server

import (
	"context"

	"larder/admin"
	"larder/auth"
	"larder/cmd/appliance/internal/backup"
	"larder/cmd/appliance/internal/export"
	"larder/cmd/appliance/internal/snapshot"
	"larder/gate"
)

// files carries out for package admin what reaches beyond the data folder.
type files struct {
	server *Server
	gate   *gate.Gate
}

var _ admin.Files = files{}

// Backup brings the backup in a folder up to date.
func (f files) Backup(ctx context.Context, req admin.BackupRequest, progress func(admin.BackupProgress)) (admin.BackupReport, error) {
	s := f.server
	return backup.Run(ctx, backup.Config{
		Data: s.cfg.Data, Files: s.files, Store: s.store, Auth: s.auth, Version: s.version, Log: s.log,
	}, req, progress)
}

// Export writes objects as plain files.
func (f files) Export(ctx context.Context, c auth.Caller, req admin.ExportRequest, progress func(admin.ExportProgress)) (admin.ExportReport, error) {
	return export.Run(ctx, export.Config{Gate: f.gate, Log: f.server.log}, c, req, progress)
}

// Snapshots lists the snapshots of system.db.
func (f files) Snapshots(context.Context) ([]admin.Snapshot, error) {
	return snapshot.List(f.server.files)
}
