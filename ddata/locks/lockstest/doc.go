// Package lockstest holds implementations of the lease port to its laws.
package lockstest
