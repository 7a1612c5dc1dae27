// Package membership decides which nodes are in the cluster, which one is oldest and which may run.
// It is a pure machine: no goroutine, clock, lock or socket. A driver steps it with inputs and
// carries out its effects. The package makes no promise of compatibility; users see what it decides
// through package ddata.
//
// # Nouns
//
// A Member is one incarnation of a node, named by a UID that is never used again. A View
// lists the members of one Epoch. Views form a chain: the voters of each view decide the next one.
// Voters are the members that are Up or Leaving, or with VotersMax so many of the oldest. A Joining
// member is a learner: it replicates, does not vote and runs nothing. The oldest member of a role
// is the one that became Up first. A Lease is the permission to run anything at all.
//
//	Probe ─► founding: all BootstrapExpect nodes lock themselves to one view ─┐
//	     └─► joining: a member proposes a view with the joiner as a learner   │
//	                                                                          ▼
//	 Heartbeat ─► Grant: the lease       view e ──Prepare, Accept, Commit──► view e+1 …
//
// # Three ideas
//
//   - Each view is one decision of Paxos among the voters of the view before. Only such a decision
//     adds or removes a member. Silence alone removes none.
//   - A node holds its lease while a quorum of its view has granted it lately. Voters accept a view
//     without a member only when their promises to that member have run out. So its successor may
//     start at once.
//   - A node that hears of a cluster joins it or nothing. Otherwise exactly BootstrapExpect nodes
//     that all hear each other found one. All of them lock themselves to one view. What they lock
//     to and accept is on disk before they say so.
//
// # Guarantees
//
// There is one view per epoch. At any instant at most one node is the oldest of its installed view,
// holds its lease and has not stopped. When a view without a member is installed anywhere, that
// member's lease has run out on its own clock, or it had said that it stopped. No uid returns.
// After a network has healed, and while a quorum of the last view is alive, all reachable nodes
// come to one view. Those that it lacks end with ErrDowned.
//
// The only assumption on time is that the rates of two clocks differ by less than Epsilon.
//
// # Not guaranteed
//
// The machine cannot stop a handler that runs; the lease says when its effects are refused. It does
// not survive the loss of a quorum at once: the rest gives up its leases, and ends. What a frozen
// hypervisor hides from both clocks, it cannot see. A disk must keep the record that it has said it
// has.
//
// # Reading on
//
// The file design.md beside this one has the rules G, V and AR by their numbers, which comments
// name. It also has the end of a process and of a cluster, founding, disks, durable keys, formats,
// incarnations that are over, and the bounds of a cluster. The packages below each have one part:
// view, voting, paxos, nodelease, bootstrap, downing, retiring, joiners, record, parting,
// arbitration, singleton.
//
// Sources: L. Lamport, Paxos Made Simple, 2001; C. Gray and D. Cheriton, Leases, SOSP 1989. The
// vocabulary is Akka's.
package membership
