// Package lmdb keeps the rows of a node in an LMDB file. It is the implementation of package
// durable for a real disk: what was answered nil is there after a kill and after a cut of power.
//
//	env, err := lmdb.Open("/var/lib/shop", lmdb.Options{})
//	table, err := env.Table("backend")
//	table.Commit(rows, func(err error) { … }) // returns at once; err comes when the disk has it
//	err = env.Close()
//
// # Nouns
//
// An [Env] is the directory of one node, held by one process. It has an id, a note of a few bytes
// that its owner keeps there, and a store once there are rows. Its tables are named databases of
// one LMDB environment. The writer is the only goroutine that writes rows. It takes what waits,
// commits it in one transaction with one fsync, and answers each batch in order. While the disk is
// busy the next group gathers.
//
// [OpenExisting], Env.Contents, [Compact] and [Remove] are for looking after the directory of a
// node that is not running. The command coterie data stands on them.
//
// # Guarantees
//
//   - The laws of durable.Table hold. A kill at any moment loses no acknowledged batch, tears none,
//     and leaves them in order.
//   - One process has a directory. It is locked before anything is touched, and the lock falls with
//     its holder. A second opening gets durable.ErrInUse and the pid.
//   - Nothing starts from empty by mistake: files that are missing, foreign or cut short are errors
//     that name the file. A file whose structure is damaged is durable.ErrCorrupt.
//   - A full disk fails the commits that need room with durable.ErrFull, and nothing else. Commits
//     succeed again when there is room.
//   - The map grows by itself. Compaction is a copy and a rename: a cut leaves the old file or the
//     new one.
//
// # Not guaranteed
//
//   - LMDB has no checksums: a flipped bit within a key or a value is not noticed here. What is
//     stored carries a digest of its own.
//   - A disk that fails to read a page while the store is open ends the process with a bus error.
//   - Network file systems, Windows, and builds without cgo are not served.
//   - The file does not shrink while it is open. When much of it is free, Open writes it anew
//     (Options.CompactFree).
//
// The file design.md has the bounds, the sharp edges of LMDB and what is done about them, and
// figures. layout.go draws what lies in the directory.
package lmdb
