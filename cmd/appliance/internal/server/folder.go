package server

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"

	"larder/cmd/appliance/internal/config"
	"larder/cmd/appliance/internal/privatefile"
	"larder/fault"
	"larder/store/vfs"
)

const (
	secretKeyFile  = "secret.key"
	secretKeyBytes = 32
	identityFile   = "system.db"
	socketFile     = "larder.sock"
)

// prepareFolder makes sure that the data folder is there and is this user's, and
// changes nothing. Only the default folder is made when it is missing: where
// somebody named one, its disk may not be mounted, and an empty new store in its
// place would look like the loss of everything.
func prepareFolder(dir string, log *slog.Logger) error {
	const op = "server.Open"
	info, err := os.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) && filepath.Clean(dir) == filepath.Clean(config.DefaultData) {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fault.New(op, fault.Internal, dir, err).WithHint("The data folder cannot be made here: " + err.Error())
		}
		return nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		return fault.New(op, fault.ForeignStore, dir, nil).WithHint("The data folder is not there. " +
			"If it is on a disk of its own, mount that disk; for a new store, run: mkdir -m 700 " + dir)
	}
	if err != nil {
		return fault.New(op, fault.Internal, dir, err).WithHint("The data folder cannot be read: " + err.Error())
	}
	if !info.IsDir() {
		return fault.New(op, fault.InvalidArgument, dir, nil).WithHint("The data folder is a file. Name a folder.")
	}
	if err := refuseForeignOwner(dir, info, log); err != nil {
		return err
	}
	return refuseUnmounted(dir)
}

// refuseForeignOwner says whose the folder is when it is another user's. Root
// may go on, and is told what comes of it.
func refuseForeignOwner(dir string, info fs.FileInfo, log *slog.Logger) error {
	owner, ok := ownerOf(dir, info)
	if me := os.Geteuid(); !ok || owner == me {
		return nil
	} else if me == 0 {
		log.Warn("the store belongs to another user than root, which runs Larder now; files that are made now will not be open to that user",
			"folder", dir, "owner", owner, "help", fmt.Sprintf("chown -R %d %s", owner, dir))
		return nil
	}
	const all = 7 // to read, write and enter, access(2)
	if syscall.Access(dir, all) == nil {
		return nil // a group's folder, or a file system without owners
	}
	return fault.New("server.Open", fault.Denied, dir, nil).WithHint(fmt.Sprintf(
		"The data folder belongs to user %d, and Larder runs as user %d. Start Larder as that user, or give the folder to this one: chown -R %d %s",
		owner, os.Geteuid(), os.Geteuid(), dir))
}

// ownerOf is the user that the store belongs to, or the folder where there is no
// store yet and its owner is the one to tell of.
func ownerOf(dir string, folder fs.FileInfo) (uid int, ok bool) {
	if version, err := os.Stat(filepath.Join(dir, "VERSION")); err == nil {
		folder = version
	} else if os.Geteuid() == 0 {
		return 0, false
	}
	st, ok := folder.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int(st.Uid), true
}

// closeToOthers takes the rights of group and others off the data folder, once
// it is open: a start that is refused changes nothing.
func closeToOthers(dir string, log *slog.Logger) error {
	info, err := os.Stat(dir)
	if err != nil {
		return fault.New("server.Open", fault.Internal, dir, err).WithHint("The data folder cannot be read: " + err.Error())
	}
	mode := info.Mode()
	if mode.Perm()&0o077 == 0 {
		return nil
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return fault.New("server.Open", fault.Denied, dir, fmt.Errorf("mode %04o: %w", mode.Perm(), err)).
			WithHint(fmt.Sprintf("Other users can enter the data folder. Give it to the user that runs Larder: chown %d %s && chmod 700 %s",
				os.Getuid(), dir, dir))
	}
	log.Info("the data folder was open to other users; its mode is now 0700", "folder", dir, "was", fmt.Sprintf("%04o", mode.Perm()))
	return nil
}

// secretKey reads the key that seals S3 secrets, and makes it at the first
// start. Without it the keys in an existing system.db cannot be used, so a new
// one is not made in its place.
func secretKey(files vfs.FS) ([]byte, error) {
	const op = "server.secretKey"
	key, err := privatefile.Read(files, secretKeyFile)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := files.Stat(identityFile); err == nil {
			return nil, fault.New(op, fault.ForeignStore, secretKeyFile, nil).WithHint(
				"secret.key is missing, and without it no access key in system.db works. Restore it from a backup of the data folder.")
		}
		key = make([]byte, secretKeyBytes)
		if _, err := rand.Read(key); err != nil {
			return nil, fault.New(op, fault.Internal, "", err)
		}
		return key, privatefile.Create(files, secretKeyFile, key)
	}
	if err != nil {
		return nil, err
	}
	if len(key) != secretKeyBytes {
		return nil, fault.New(op, fault.Corrupt, secretKeyFile, fmt.Errorf("%d bytes", len(key))).
			WithHint("secret.key is damaged. Restore it from a backup of the data folder.")
	}
	return key, nil
}
