// Package sums hashes what replicas hold, independently of the hashes that they make themselves. Its [Sightings] hold
// replicas with equal clocks to what is equal then.
package sums
