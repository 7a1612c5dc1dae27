// Package storage brings what a replica holds to its disk. It knows no disk: a [Writer] says which
// [Batch] comes next, and is told what became of it.
//
// One batch is out at a time. What happens meanwhile gathers in the next. A batch that failed stays
// the prefix of the next one and is tried again (rule R3 of package replicator). Batches are spaced
// out by Limits.WriteBehind: that delays acks and never gives one early.
//
// A batch is one transaction. One that is larger than a transaction should be goes in parts, and
// each part says which rows count ([Counts]). So a crash between two parts leaves the state before
// the batch or the one after it. What a crash has left is a [PartialBatch], and the Writer goes on
// there.
//
// The Writer knows the clock that is committed: acks are given from it, and from no other.
package storage
