// Package paxos decides the view after a view: single-decree Paxos (L. Lamport, Paxos Made Simple,
// 2001), one instance for each installed view.
//
// An Acceptor promises and accepts for one voter. A Proposer drives the ballots of one node: it
// prepares, waits until nothing stands against its proposal, and has it accepted. Both belong to
// one view and begin anew with the next one. Which voters are a quorum, the caller says by a
// function.
//
// The package keeps the rules of ballots only. When an acceptor must wait for a lease or for a
// disk, what a node wants to propose, and how messages travel, the membership decides. It has the
// rules G and V of package membership.
package paxos
