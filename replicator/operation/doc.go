// Package operation has what waits in a Replicator: operations, their time-outs, and how they end.
//
// An [Op] is an update or a read that waits for acks, for a disk, or for clocks. [Inflight] has all
// of them, whatever each waits for, in the order of their time-outs. It says whether an operation
// may begin, and answers it once.
//
// The errors of this package are those of operations. A [TimeoutError] says how far an operation
// came, and a [StoreError] which disks have refused a write. A write that ends with one of them is
// not rolled back.
package operation
