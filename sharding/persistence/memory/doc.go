// Package memory keeps the state of entities in memory: for tests, and for the simulator. A [Store]
// implements every port of package persistence. It lives as long as the value does, not as long as
// a node: regions of several nodes may share one.
//
// # Faults
//
// [Store.Before] and [Store.After] have a function called at the beginning and at the end of every
// call. It may wait, fail the call, or lose its answer after the effect. [Store.Damage] spoils an event.
//
// # Not guaranteed
//
// Nothing outlives the process. The store starts no goroutine and reads no clock.
package memory
