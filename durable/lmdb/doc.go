// Package lmdb keeps the rows of a node in an LMDB file. It is the implementation of package
// durable for a real disk: what was answered nil is there after a kill and after a cut of power.
//
// # Nouns
//
// An [Env] is the directory of one node, held by one process. It has an id, a note of a few bytes
// that its owner keeps there, and a store once there are rows: its tables are named databases of
// one LMDB environment. The writer is the only goroutine that writes rows: it takes what waits,
// commits it in one transaction with one fsync, and answers each batch in order. The writer never
// waits on purpose: while the disk is busy the next group gathers. layout.go draws what lies in the
// directory.
//
//	env, err := lmdb.Open("/var/lib/shop", lmdb.Options{})
//	table, err := env.Table("backend")
//	table.Commit(rows, func(err error) { … }) // returns at once; err comes when the disk has it
//	err = env.Close()
//
// [OpenExisting], Env.Contents, [Compact] and [Remove] are for looking after the directory of a
// node that is not running; the command coterie data stands on them.
//
// # Guarantees
//
//   - The laws of durable.Table, checked by storetest, which runs random histories against a model
//     too.
//   - A kill at any moment loses no acknowledged batch, tears none, and leaves them in order. The
//     test kills a real process that 64 goroutines commit in, fifty times, and finds exactly the
//     batches up to some number at or above the last acknowledged one.
//   - One process. The directory is locked before anything is touched, and the lock falls with its
//     holder. A second opening, in this process or another, gets durable.ErrInUse and the pid.
//     Child processes inherit no descriptor.
//   - The first batch with rows makes the store, and nothing else does. It comes into being by one
//     rename, and is noted before its first batch: a store that was lost is missed.
//   - Nothing starts from empty by mistake. A directory with other files in it, a format of another
//     version, files that are missing, of another program, of another directory, or cut short are
//     errors that name the file; [Exists] says true when it can not look.
//   - A full disk fails the commits that need room with durable.ErrFull and nothing else. What was
//     acknowledged stays readable, the store can be opened, notes can be set, and commits succeed
//     again when there is room. A quota and a limit of file sizes count as a full disk.
//   - Open reads the structure of the whole file before LMDB does: each page, node and free page. A
//     file that is damaged there is durable.ErrCorrupt; LMDB itself would end the process, at once
//     or with a later commit.
//   - Compaction is a copy and a rename: a cut at any moment leaves the old file or the new one.
//   - The map grows by itself, with the batch that needed it committed once and no caller told.
//   - Mark notes until when the holder may be at work, without a sync, and Idle tells the next
//     holder how long ago that was. A kill takes no mark back. Where Idle cannot be certain it is
//     0: after a reboot, on another machine, or when the mark is missing, damaged, copied, or older
//     than the note.
//   - Messages say which file, what was found, and what to do.
//
// # No guarantees
//
//   - A flipped bit within a key or a value is not noticed here: LMDB has no checksums. What is
//     stored carries a digest of its own, which its owner checks after the load. A flipped bit in
//     the structure of the file is noticed by Open.
//   - A disk that fails to read a page while the store is open ends the process with a bus error:
//     LMDB reads through a map, and Go cannot catch a fault within C code.
//   - Network file systems: LMDB maps its files. Use a local disk.
//   - The file does not shrink while it is open; a load that lasts through many commits makes it
//     grow. When much of it is free Open writes it anew: Options.CompactFree and CompactMin say
//     when.
//   - Half of the file with the note that is damaged later on, not by a cut, is taken for one that
//     was never finished: the note before it counts.
//   - Windows, and builds without cgo.
//
// # Bounds
//
// A key has at most 511 bytes. Waiting batches are bounded in bytes (Options.QueueMax); past that a
// batch is refused in its turn, and never waited for. Small batches share a transaction up to 4,096
// rows or 16 MiB; a larger batch goes alone and whole. It may change up to 120,000 pages of the
// file as estimated from above, which is about a million rows of a hundred bytes in a table of
// another million; beyond, it fails with durable.ErrTooLarge. Such a batch holds its pages in
// memory until it is committed and takes seconds, for which all other tables wait.
//
// The process shows a terabyte of virtual memory. It is address space and neither memory nor disk;
// Options.MapSize says more.
//
// # Why so careful
//
// The version of LMDB within lmdb-go v1.8.0 is 0.9.19. It is sound in what is used here and has
// sharp edges elsewhere; the comment on handle lists what must not be used. Three that are easy to
// step on were found by the tests of this package:
//
//   - The head of a file counts pages that were handed out and given back within one transaction,
//     which are never written. A sound file may so be shorter than its head says; to call it
//     damaged would be fatal, and not to look would be too, because LMDB opens a cut file and dies
//     at the first read behind its end. whole.go finds whether a page that is in use is missing.
//   - LMDB's lock file is a sparse file written through a map: on a full disk the first reader that
//     needs a fresh block of it kills the process. It is filled before LMDB sees it.
//   - A short write on a disk that fills up is reported as an input/output error. The handle asks
//     the system for room to learn what it was.
//
// # Measured
//
// On a shared machine with 2 cores and a virtual disk whose fdatasync takes 0.1 ms, values of 100
// bytes under scattered keys, each caller waiting for each answer (BenchmarkCallers; a disk of 1 ms
// and more widens the gap in proportion):
//
//	callers                      1        16       256
//	this package            4.0 k/s    21–25 k/s   61–77 k/s
//	LMDB, a txn each        4.1 k/s     4.3 k/s     4.3 k/s
//
// Batches of 4,096 scattered rows: 110 k rows/s. Opening and loading: 0.3 µs a row.
package lmdb
