// Package tree is the sorted map in which package crdt keeps the items of a key by their paths, and the keys
// of a store: a [Tree].
//
// A Tree is copied on write. [Tree.Fork] costs nothing, and both trees share what neither has changed since. So a
// snapshot is a fork, and [Diff] finds in what two forks differ at the cost of that. A Tree and its forks belong to
// one writer; a fork that is not written to may be read by any goroutine.
//
// A tree of many entries that are there at once is made of a [Loose], whatever their order: they are sorted, and no
// node is searched or changed.
//
// Entries stand at strings, their places, of which a [Placer] tells. The package knows nothing of what they are. It
// guarantees what a sorted map does, and no order of entries at one place: there is one at each.
package tree
