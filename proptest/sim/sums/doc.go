// Package sums hashes what replicas hold, for checkers: independently of the hashes that they make themselves.
package sums
