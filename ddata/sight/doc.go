// Package sight is what can be seen of a running node: events as they happen, counts and durations for a system of metrics, and health.
//
// # Nouns
//
//   - An Event is a value that says what happened. It prints itself, and is a line of a log.
//   - A Listener is a struct of optional callbacks, one per kind of event. ddata.Config.Sight is one; Log makes one of a slog.Logger, and the log of
//     every node is written by that, a line per event.
//
// Layers above the node have events of their own, which they hand to ddata.Node.Emit: they reach the log and Listener.Any.
//
// # Events
//
// Their levels in the log are in brackets; debug, unless something is said. None decides anything: what others do because of a change uses
// ddata.Node.Watch.
//
//	ViewInstalled      [info] the members have decided on a view
//	MemberJoined       [info] a view lists a new member, which learns the data
//	MemberUp           [info] a member became Up
//	MemberLeaving      [info] a member is going and hands over
//	MemberRemoved      [info] a member is in the view no more
//	MemberUnreachable  [warn] this node hears nothing of a member
//	MemberReachable    [info] it hears the member again
//	OldestChanged      [info] singletons of a role of this node have another place
//	LeaseGained        [info] this node may run entities and singletons
//	LeaseLost          [warn; info when it stopped] it may not: expired, suspended, stopped
//	Waiting            [info] why founding or joining does not go on
//	NodeRefused        [info] this member refused a node that wanted to join
//	Downed             [warn] the others went on without this node, or it gave up
//	ArbiterTaken       [info] this node has got the lease of LeaseMajority
//	ArbiterGiven       [warn] it has it no more
//	ArbiterFailing     [warn] that lease cannot be used; meanwhile nobody can be removed who does not agree
//	Forked             [error] a view contradicts the own chain; it must never happen
//	LinkUp             a connection to a member, in one lane and stripe, is made
//	LinkDown           it ended
//	ConnectionRefused  [warn when an operator can mend it, once a minute each] a connection was refused, here or there
//	ConnectionFault    [warn when the other side broke the protocol, or none can be accepted] a connection ended or cannot be made
//	FramesDropped      [warn for a full Control queue and too large frames] what was given up in the last second, by reason
//	MessageUnsent      a message found no room or nobody
//	MessageMalformed   bytes of another node are no message
//	CaughtUp           [info] this node has the data of a role
//	MajorityLost       [error] a majority of an older view is gone for good, and what only it held
//	RepairBegan        [info] this node fetches what it lacks from a member, beyond that one's log
//	RepairEnded        [info] done, broken or yielded, with the items and the time
//	WritersHeld        [warn] writers wait for a member that is far behind; once a minute
//	KeyLarge           [warn] a key has grown large, and again with each tenth
//	Diverged           [error] two replicas held different values of one write; mended
//	PeerMalformed      [warn] messages of a member make no sense; once a minute
//	StoreFailed        [error] durable data could not be stored
//	StoreGrown         the store's map was enlarged
//	StoreCompacted     [info; warn when it failed] the store's file was written anew
//	StaleKeys          [warn] the store holds keys that nobody can reach any more
//	StaleRole          [warn] the directory holds data of a role that the node does not have
//	ShutdownPhase      [info; warn when tasks failed or did not end] a phase of the coordinated shutdown has ended
//	NodeEnded          [info; warn when downed] the node is no member any more
package sight
