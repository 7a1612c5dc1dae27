// Package leases is a simulated store of leases outside of the cluster.
//
// A [Store] keeps the laws of ddata/locks.Lock: a holder is past its Until, or dead, before there is
// another holder. With a time to live a [Holder] has a session that ends when it is not renewed,
// because the process stands still or does not reach the store. The process counts its time from
// before each renewal, by its own clock; the store counts from after it, and a little longer.
// Without a time to live, holds last as long as their process.
//
// Until the [World] heals the store is slow, loses answers, is down, keeps some slots out, and gives
// leases to somebody outside, if need be by taking them from their holders.
package leases
