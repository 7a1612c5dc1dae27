// Package file keeps leases in a directory, for processes on one host.
//
// A lease is a lock of the kernel (flock) on a file, so that the end of a process releases what it
// held at once, however it ends. A process that is stopped, and not dead, goes on holding: the
// others wait for it. The record under a lease is a file beside it, written anew, synced and
// renamed.
//
//	id            which store this is; made first, never changed
//	NAME.lock     locked by the holder, names it; stays
//	NAME.state    the record
//
// NAME keeps a to z, 0 to 9, hyphens, and dots after the first byte. All else is written as %xx. So
// names stay apart on a file system that does not tell upper from lower case.
//
// The store serves one host. All processes must see one directory on one local file system;
// containers that share a volume of one host do. Open refuses network file systems where it can
// tell (Linux): their locks are those of another host, or none. Nodes on several hosts need another
// locks.Store, such as that of locks/etcd.
//
// The directory has the mode 0700 and its files 0600, and all processes must run as the user that
// owns them. Open refuses a directory that another user owns or may write, because a user that can
// open a lock file can keep it locked.
//
// Nothing may remove files while a process uses them: the holder notices within a second, and in
// that second there may be two. A holder gives its files a new time every hour, so that cleaners of
// temporary folders leave them alone. While no process runs, such a cleaner may delete records:
// keep the directory out of its reach, for example under /var/lib.
//
// Each lease that is held costs an open file, and a look at it once a second. With leases for
// shards a node holds as many as it hosts shards, and all of them when it is the last one left: the
// limit on open files (ulimit -n, LimitNOFILE of systemd) must be above sharding.EntityType.Shards,
// summed over the types, and what the node needs beside. A Go process raises its soft limit to the
// hard one by itself. Past it acquisitions fail with an error that says so, and what is held stays
// held. Some thousand leases are a good measure; for many more another store is the better choice.
//
// It runs on unix systems with flock.
package file
