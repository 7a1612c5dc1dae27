// Package leasetest holds implementations of the lease port to its laws.
package leasetest
