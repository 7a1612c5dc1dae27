// Command quickstart shows Coterie at work on one machine, with real processes, sockets and disks.
//
// It starts itself three times, as three nodes on loopback with a directory each. They host 300
// counters in 30 shards; the ids of the counters are remembered, and each count is a replicated,
// durable GCounter that is written with WriteMajority before an increment is answered. All nodes
// increment all the time, while
//
//	a fourth node joins, and shards move to it,
//	the oldest node, which has the coordinator, is killed with SIGKILL,
//	all processes stop, and all start again.
//
// It ends with one line of figures, each of them counted, and exits with 1 when an entity, or an
// acknowledged increment, was lost, or when an entity ran twice at one time:
//
//	demo: entities=300 restarted=300 lost=0 doubled=0 failover_ms=… rebalance_ms=… restart_ms=…
//
// With -plot FILE it draws what happened: how many increments were answered each second, and where
// the counters ran. The plot of the README is one of these.
//
// How it knows that none ran twice: every entity holds an exclusive lock on a file of its own for
// as long as it runs. The kernel gives such a lock to one process only, and takes it back when the
// process dies.
package main
