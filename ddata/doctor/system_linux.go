package doctor

import (
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// fileSystemKinds are those on which a directory should not be, by the magic number of statfs(2).
var fileSystemKinds = map[uint32]string{
	unix.TMPFS_MAGIC: tmpfs, unix.NFS_SUPER_MAGIC: "NFS", unix.SMB_SUPER_MAGIC: "SMB", unix.CIFS_SUPER_MAGIC: "SMB",
	unix.SMB2_SUPER_MAGIC: "SMB", unix.V9FS_MAGIC: "9P", unix.CEPH_SUPER_MAGIC: "Ceph",
}

// fileSystem returns the kind of a file system if it is one of fileSystemKinds, and how many bytes are free there.
func fileSystem(path string) (kind string, free uint64) {
	var st unix.Statfs_t
	if unix.Statfs(path, &st) != nil {
		return "", 0
	}
	return fileSystemKinds[uint32(st.Type)], st.Bavail * uint64(st.Bsize)
}

// inUse reports whether a process has locked one of the files of a directory.
func inUse(dir string) bool {
	names, _ := filepath.Glob(filepath.Join(dir, "*")) // the pattern is a good one
	for _, name := range names {
		f, err := os.Open(name)
		if err != nil {
			continue
		}
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB)
		f.Close()
		if err == syscall.EWOULDBLOCK {
			return true
		}
	}
	return false
}

// addressSpace returns the limit of the address space: 0 if there is none.
func addressSpace() uint64 {
	var r unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_AS, &r) != nil || r.Cur == unix.RLIM_INFINITY {
		return 0
	}
	return r.Cur
}

// clockUnsynchronized reports whether the kernel says so of its clock.
func clockUnsynchronized() bool {
	const unsynchronized = 0x40 // STA_UNSYNC of adjtimex(2)
	var t unix.Timex
	_, err := unix.Adjtimex(&t)
	return err == nil && t.Status&unsynchronized != 0
}
