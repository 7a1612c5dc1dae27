// Package gossip runs memberlist over a transport.Transport, so that discovery and failure hints
// share the one port, the links, mutual TLS and the fault injection of everything else.
//
// # Nouns
//
// A Hint says that a process incarnation (address and uid) appeared or vanished, as far as
// memberlist believes. It may shorten a suspicion or name a candidate, and nothing more: no
// decision about membership or ownership may follow from it. memberlist cannot tell a node that
// left from one that failed; a node that is cut off learns late, with many nodes minutes late, that
// it lost the others.
//
// The name of a node in memberlist is host:port/uid-in-hex. So a process that restarts at its old
// address is a new node, and the old one is found dead by its own name. The node's meta says the
// same, and the cluster's name. An alive message whose parts contradict each other, or name another
// cluster, is turned away. Memberlist's label keeps other packets and streams of strangers out.
//
// # How it uses the transport
//
// memberlist's packets are frames of a channel of their own in the Control lane: over the link of
// the peer when the transport has that peer, else over the address. They are dropped and counted
// when more than a packet queue waits there, and never block. Its streams are streams of the
// transport. Compression, TCP pings (the path would be the same) and memberlist's own DNS are off.
//
// Two halves of a memberlist that lost each other never find each other again, and a node whose
// seeds were down at its start stays alone. So a loop joins again, with jitter, seeds and wanted
// nodes that are not listed.
//
// # Guarantees
//
// memberlist makes room for what a message claims to hold. So packets and streams are read here
// first (screen.go), and only what nodes of ours send is given to it, complete and within bounds:
// no compression, no encryption, no messages of users, a sync of no more nodes than a cluster may
// have had lately. Streams of others are bounded, in number and in bytes, as are the nodes that are
// listed. What is turned away is counted with the reason (Stats.Refused).
//
// Hints come from one goroutine, in the order of memberlist's events. A slow receiver delays no
// other one and sees the latest of each node. Shutdown ends every goroutine of this package and of
// memberlist, the probe that is under way included (pings.go).
package gossip
