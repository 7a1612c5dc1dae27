// Package transport carries frames between the nodes of a cluster: one TCP port per node, a few
// persistent connections per pair of nodes, many subsystems over them.
//
// # Nouns
//
//   - A node is named by its NodeID, the uid of one process incarnation, and found at an
//     address (host:port). A process that restarts at its old address is another node.
//   - A Channel names a subsystem: the replicator of a role, the membership, one entity type. Every
//     frame carries its channel, and a Handler takes the frames of one channel.
//   - A Lane is a class of traffic with connections of its own: Control (heartbeats, views, acks),
//     Data (entity messages, in stripes) and Bulk (snapshots).
//   - A link is one direction of one (peer, lane, stripe): a queue and, while it is up, a session
//     on a connection that this side has dialled. A gate is a link as its receiver sees it.
//   - A [Mesh] is a node's transport. It runs over a Network, which is TCP unless Config says
//     otherwise. Package memory has one for tests.
//
// # Guarantees
//
//   - Order: the frames of one (sender, receiver, lane, stripe) reach their handlers in the order
//     in which they were appended, across reconnects too. No frame is delivered twice.
//   - Nothing is lost between the living, in the Data lane. What a peer may not have got when it is
//     removed is counted, and given to the LossHandler of its channel.
//   - A frame sent to a NodeID is delivered to that process or to none.
//   - Send, SendAddr, SendPacket and Append never wait for the network or for a handler. Past the
//     bound of a queue the caller gets ErrQueueFull. AppendWait waits for room.
//   - A flood in one lane never delays another.
//   - A peer that sends garbage is disconnected and counted. Memory and connections are bounded.
//   - Under TLS a peer is what its certificate says.
//
// # Not guaranteed
//
// It does not tell when a frame has arrived: a nil error says "queued"; Flush waits for all of them
// together. In the Control and Bulk lanes frames may be lost when a connection breaks. It does not
// detect failures: a link that is up may lead to a stopped process. It does not authenticate unless
// Config.TLS is set. There is no order between lanes, stripes, SendAddr and Send.
//
// The file design.md has each guarantee in full, and the life of a link.
package transport
