// Package file keeps leases in a directory, for processes on one host.
//
// A lease is a lock of the kernel (flock) on a file, so that the end of a process releases what it held at once, however it ends. A process that is
// stopped, and not dead, goes on holding: the others wait for it. The record under a lease is a file beside it, written anew, synced and renamed.
//
//	id            which store this is; made first, never changed
//	NAME.lock     locked by the holder, names it; stays for ever
//	NAME.state    the record
//
// In NAME all but a to z, 0 to 9, hyphens and dots is written as %xx, so that names stay apart on a file system that does not tell upper from lower case.
//
// All processes must see one directory on one local file system; containers that share a volume of one host do. Network file systems are refused where
// they can be told (Linux): their locks are those of another host, or none. Nobody may remove files while a process uses them: the
// holder notices within a second, and in that second there may be two.
//
// It runs on unix systems with flock.
package file
