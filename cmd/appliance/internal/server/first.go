package server

import (
	"context"

	"larder/auth"
)

// firstKeyName is what the console shows for the key from the settings.
const firstKeyName = "from the settings"

// firstIdentities makes the administrator and the access key that the settings
// name, for machines without a person. Both are made once: where there is one
// already with other secrets, the log says so and nothing changes, since a
// setting that was forgotten must not undo a change made in the console.
func (s *Server) firstIdentities(ctx context.Context) error {
	if s.cfg.AdminPassword != "" {
		made, err := s.auth.SetAdminPassword(ctx, s.cfg.AdminPassword)
		if err != nil {
			return err
		}
		if made {
			s.log.Info("made the administrator from the setting admin-password", "user", "admin")
		}
	}
	if s.cfg.AccessKey == "" {
		return nil
	}
	all := []auth.Grant{{Bucket: "*", Rights: auth.Full}}
	made, differs, err := s.auth.ImportKey(ctx, s.cfg.AccessKey, s.cfg.SecretKey, firstKeyName, all)
	switch {
	case err != nil:
		return err
	case made:
		s.log.Info("made the access key from the settings access-key and secret-key", "key", s.cfg.AccessKey)
	case differs:
		s.log.Warn("the settings access-key and secret-key differ from what is stored; nothing was changed. Use the console or `larder key`",
			"key", s.cfg.AccessKey)
	}
	return nil
}
