// Package stall says how long a world that is well again may wait, and judges that.
//
// # Nouns
//
//   - A Kind is one kind of waiting: for a view, a lease, an operation, equal replicas, homes of shards,
//     messages.
//   - The Limits are the longest waits that the settings of a world allow. Each is a sum of time-outs,
//     leases and intervals; the functions that add them up say of what.
//   - A Judge is asked to look from time to time. A wait begins with the last fault, or the last time
//     that an operator acted. The wait for a view begins with the last message of the load that a
//     leaving node has handled, if that was later.
//   - Waits are the longest waits of a run, beside their limits.
//
// # Guarantees
//
// A wait that is longer than its limit is found at the first look after it. Every part of a sum is a
// setting of the world, or one of the exported times by which the simulator's own clients and
// supervisors act. So a world with longer time-outs may wait longer, and one with shorter ones may not.
//
// # Not judged
//
//   - Tidying and balance have no limits of their own. The world gives them a fixed time, and never less
//     than Judge.Until says.
package stall
