package file

import (
	"fmt"
	"os"
	"syscall"
)

// checkDir refuses a directory that another user can change. A user that may open a lock file can
// lock it and so keep every node from the lease. A user that may write the directory can replace
// the files.
func checkDir(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return unusable(path, "", err)
	}
	if mode := info.Mode().Perm(); mode&0o022 != 0 {
		return unusable(path, fmt.Sprintf("its mode is %04o, so other users may write it (chmod 0700 makes it safe)",
			mode), nil)
	}
	return checkOwner(path, info)
}

func checkOwner(path string, info os.FileInfo) error {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return unusable(path, "the system does not tell which user owns it", nil)
	}
	if int64(st.Uid) != int64(os.Geteuid()) {
		return unusable(path, fmt.Sprintf("it belongs to user %d, and this process runs as user %d",
			st.Uid, os.Geteuid()), nil)
	}
	return nil
}

// seal gives an open lock file the mode that keeps other users from locking it. It refuses a file
// of another user.
func seal(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return unusable(f.Name(), "", err)
	}
	if err := checkOwner(f.Name(), info); err != nil {
		return err
	}
	if err := f.Chmod(fileMode); err != nil {
		return unusable(f.Name(), "", err)
	}
	return nil
}
