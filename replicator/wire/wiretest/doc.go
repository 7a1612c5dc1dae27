// Package wiretest has messages between replicas, for the tests of what encodes or takes them.
package wiretest
