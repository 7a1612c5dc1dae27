// Package door is what a locks.Lock does in this process, whatever system the lease is in: calls take turns,
// Release and Close take back an Acquire that waits or is under way, and a hold ends with its time, and its owner
// is told. Packages etcd and kubernetes stand on it.
//
// # Nouns
//
//   - A [Door] is one owner's lock of one name. The call that talks to the system has the turn.
//   - A [System] is what another system does for a door: it acquires, renews and undoes.
//   - A hold is one time of being the holder. An attempt is one call of Acquire, until it is the hold, fails, or
//     is given up.
//   - What a hold, or an attempt, may have left in the system is its rest. It is settled before the next attempt,
//     and by Release.
//
// # Guarantees
//
//   - One call at a time has the turn. The calls of a System that may talk to it come from that call, but
//     for Keep.
//   - An attempt that was given up is never the hold, and its rest is kept until it is settled.
//   - The owner is told once of each hold that is lost, and never of one that is released.
//
// # Not guaranteed
//
// How long a hold lasts is the System's affair; a Door asks it.
package door
