// Package sim runs whole clusters of the real machines in virtual time, each from one seed.
//
// A world is made of slots: machines with an address and a disk. On each runs at most one process,
// with the membership, replicators and sharding that ship. The package plays what is outside: the
// network, the disks, the store of leases and the users. It owns the only clock and the only queue
// of events. So a seed has one story, told again whenever it is run.
//
//	go test ./proptest/sim -run 'TestSeeds$'    the seeds of the usual tests
//	make sim SEEDS=2000                         more of them
//	make soak MINUTES=10                        all plans on all cores, to the first violation
//
// # Ideas
//
//   - Swarm: each seed draws its options (package options). Some kinds of harm are off in most
//     seeds, others frequent, so that rare combinations come up often. A plan says from which
//     swarm.
//   - Harm, then healing: in the safety phase processes crash, stand still and are cut off, disks
//     and stores fail, clocks jump, operators restart and down nodes. Then the world is healed, and
//     must get well in bounded virtual time.
//   - Checkers stand outside. They see what clients were told and what instants look like, and do
//     not use the logic that they check. The machines' own Check runs after each of their steps.
//   - Planted defects prove that the checkers are awake (package planted): errors that the machines
//     can be told to have, each of which must be caught.
//
// # What is checked
//
// At no instant do two processes act where one may. There is one chain of views. No acknowledged
// write is lost, reads keep their levels, and what belongs to a node ends with it. No entity runs
// twice, hand-offs lose nothing, and senders keep their order. Limits hold, stored state has one
// history, deliveries arrive. After the last fault each wait ends in bounded time, and the healed
// world agrees, reads, writes and answers.
//
// # Not seen
//
// A simulation cannot see races between goroutines, which the drivers' own tests look for, nor the
// real sockets and disks. Nor does it see what no seed that was run happened to do. A node without
// any role is not played, nor is one lane of a link that is slower than the others.
//
// The file design.md lists every kind of harm, every plan and every checker. Package simtest has
// this simulator for users' entity types.
package sim
