// Package transport carries frames between the nodes of a cluster: one TCP port per node, a few
// persistent connections per pair of nodes, many subsystems over them.
//
// # Nouns
//
// A node is named by its NodeID, the uid of one process incarnation, and found at an address
// (host:port). A process that restarts at its old address is another node.
//
// A Channel names a subsystem (the replicator of a role, the membership, one entity type). Every
// frame carries the channel that it is for, and a Handler takes the frames of one channel.
//
// A Lane is a class of traffic with connections of its own: Control (heartbeats, views, acks,
// memberlist's packets), Data (entity messages, in stripes) and Bulk (snapshots). A flood in one
// lane never delays another.
//
// A link is one direction of one (peer, lane, stripe): a queue and, while it is up, a session on a
// connection that this side has dialled. Each connection that a link makes has a Generation above
// the one before. So a pair of nodes that talk both ways has two connections per lane and stripe.
//
// A gate is a link as its receiver sees it: it lets the connections of the link in, one after the
// other.
//
// A Mesh is a node's transport. It has two directions that know little of each other: outbound is
// its links, inbound the listener, the gates and the readers. It runs over a Network,
// which is TCP unless Config says otherwise; package memory has one for tests, so that both run the
// same code above the bytes.
//
// # Guarantees
//
//   - Order. The frames of one (sender, receiver, lane, stripe) reach their handlers in the order
//     in which they were appended, across reconnects too: a receiver reads a successor connection
//     only when the reader of its predecessor has ended.
//   - At most once. A frame is never delivered twice.
//   - Nothing lost between the living, in the Data lane. What was written is kept until the
//     receiver has acknowledged it, and goes out again, in order, over the next connection
//     (package receipt). What a peer may not have got when it is removed is counted and given to the
//     LossHandler of its channel, with the word whether it was ever sent. A connection of this lane
//     that ends because one of the two nodes ends it is ended by both: the receiver
//     says what it has taken, and what is above was never received. So of a node that leaves or
//     closes while it can be reached nothing is unknown. In the Control and Bulk lanes, whose
//     protocols repeat themselves, the frames handed to the kernel may be lost when a connection
//     breaks: one contiguous run, at a change of generation, which a LinkEvent reports.
//   - Incarnation. A frame sent to a NodeID is delivered to that process or to none. The hello of a
//     connection names both ends, and the receiver refuses one that is meant for an earlier
//     incarnation, for another cluster, or without a format level in common (package format). Both
//     sides count and report the reason.
//   - No blocking. Send, SendAddr, SendPacket and Append never wait for the network or for a
//     handler. Queues are bounded: past the bound the caller gets ErrQueueFull and decides.
//     AppendWait waits for room instead.
//   - Check and append are one step. Append runs check under the lock that orders the frames of the
//     lane. After a later Append has returned, no earlier check can still put its frame behind that
//     one.
//   - Size. In the Data lane a message may have Config.MessageMax bytes: above FrameMax it travels
//     in parts, one behind the other, and is handed over whole, in its place in the order
//     (package frame). It delays what is behind it in its stripe, and nothing else. In the other lanes
//     FrameMax is the limit: their frames may be lost, and their users cut what is large
//     themselves. Beyond the limit the sender gets ErrFrameTooLarge.
//   - Bounded hostility. A peer that sends garbage, or a length that it does not fill, is
//     disconnected and counted. Its frames cost no more memory than twice the bytes that it sent; a
//     channel's handlers and acceptors of streams answer for what they make of the bytes. Of
//     messages in parts a receiver holds MessageMax bytes for each peer; a connection beyond that
//     waits unread. Connections are bounded (Config.ConnsMax). When too many connections have said
//     no hello, the oldest of the host with the most is closed. So a crowd of silent ones keeps no
//     node of another host out, however slow its line is. Nothing but a hello is read before
//     cluster, version, incarnation and, under TLS, certificates were found to fit.
//   - Identity, under TLS. Both ends of a connection have certificates that the other accepts. A
//     certificate must be good for the address at which its node says that it listens. To speak for
//     a peer it must be good for the address of that peer. Connections in the name of a node that
//     becomes a peer later end then if theirs is not. So where each host has a certificate of its
//     own, its holder speaks for the nodes of that host only. A certificate that is good for
//     several hosts speaks for each of them, and so does any where a configuration looks at no
//     names. Streams are looked at when they begin.
//   - Addresses. A host name is resolved with each attempt to connect, so a peer may move. Attempts
//     go on, with jittered pauses from BackoffMin to BackoffMax, until RemovePeer.
//
// # What it does not do
//
// It does not tell when a frame has arrived: a nil error says "queued"; Flush waits for all of them
// together. It does not detect failures: a link that is up may lead to a stopped process;
// heartbeats above decide. It does not authenticate unless Config.TLS is set. There is no order
// between lanes, stripes, SendAddr and Send.
//
// # Life of a link
//
//	       first frame or AddPeer
//	idle ───────────────────────► dialling ◄───────────────┐
//	                               │    ▲                  │
//	             hello is welcomed │    │ backoff ran out  │
//	                               ▼    │                  │
//	  closed ◄── RemovePeer ────── up ──┴─► down (backoff) ┘
//	                              connection lost, refused or unreachable
//
// While a link is dialling or down its queue fills up to the bound of its lane. A link that was
// closed writes what it holds for at most Linger. One whose peer departs is down, and tries again
// as any other: what it holds waits for RemovePeer.
package transport
