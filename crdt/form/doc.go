// Package form says in which form the elements of a Go type are written, so that they sort and are found again by
// their bytes alone. What is written is crdt's.
package form
