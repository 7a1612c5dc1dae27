// Package pkitest makes certificates for tests: an authority, and files for the nodes that it
// certifies.
package pkitest
