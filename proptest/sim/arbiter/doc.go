// Package arbiter is the simulated store of the lease of downing.LeaseMajority.
//
// A [Store] has one lock with a record, which ends with its [Holder] and goes on through a pause. Until
// the [World] heals it takes the lock away from its holder, which is told first, or is out of reach of
// all for a while.
package arbiter
