// Package lockstest holds implementations of the lease port to its laws, and has a store that panics
// for tests of what calls that port.
package lockstest
