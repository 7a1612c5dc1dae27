// Package queue orders the events of a simulated world by virtual time. Ties break by the order of
// scheduling, so that a run has one order only.
package queue
