// Package index finds the items of a store by the dots that name them: an [Index].
//
// An Index is copied on write, as package tree is: a snapshot is a copy of its rows, and [Diff] finds in what two
// states differ at the cost of that. It belongs to one writer; any goroutine may read a snapshot.
package index
