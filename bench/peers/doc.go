// Command peers measures Coterie beside other libraries, and beside what the machine can do, in one run:
//
//	go -C bench/peers run .                       lists the groups of works
//	go -C bench/peers run . all                   measures all of them, in about half an hour
//	go -C bench/peers run . -peers pekko ddata    measures some
//	make peers                                    measures all, and keeps the rows for make report
//
// The peers are protoactor-go, and Apache Pekko 1.7.0 with its defaults (pekko) and with shorter timers (pekko-tuned).
// GoAkt, ergo and hollywood are refused by the module proxy that this was made with; rows say so. Pekko's program is
// in the folder pekko; Maven brings what it needs. Without java or mvn its rows say that it was not tried.
//
// It is a module of its own, so that what the peers need is in no other one. It needs a system with process groups.
//
// # Nouns
//
// A work is one thing that is measured. A group is works that one run measures: of Coterie's benches (go run ./bench,
// which has the only harness of Coterie), of the raw limits, and of each peer's processes, one after the other.
// A row is a line for a work and a peer: what Coterie does, what the peer does, the raw limit, and the ratios.
// ratio_peer is how many times as well as the peer Coterie does, ratio_limit what part of the limit it reaches, and
// peer_ratio_limit what part of it the peer reaches. Of rates and of costs alike, more is better for the first named.
// What a peer has not got, what failed, and what was not tried stands in words="…" at the end of the row.
//
//	work             the same for all                                       raw limit
//	ddata-…          3 nodes in one process on loopback, nothing on disk    multiplexed ping-pong over one connection
//	orset-…          one set, without a cluster; merges of 1 element        insertions into a map
//	tell, ask        2 processes, 64 entities, 100 bytes a note             framed TCP one way; ping-pong
//	remember-…       3 nodes in one process, each with a directory          ids in one file, synchronized by the hundred
//	failover-…       3 processes with entities, a 4th asks 100 of one       a connection that is seen to break
//	…-defaults       the same; of Coterie until nodes with Preset LAN       the same
//	                 go on without the one that was killed
//	memory-of-…      one node, after collecting garbage                     an entry of a map
//	sigstop-…        3 processes, 100 entities, one process stands still    none: rows say why
//
// # What the answers mean
//
// A write at majority is answered in Coterie and in Pekko when two of three nodes have it in memory. A read at
// majority asks two of three in both. A remembered start is answered by nothing: the row counts entities that run.
// In both libraries the id is on the disks of a majority before that. A tell is answered by nothing in any of them:
// the row counts what entities got. Under a failover each entity is asked every 10 ms. The peers give an ask up after
// a second; Coterie's asks have their default time.
//
// # Not fair to the peers
//
//   - Coterie has Preset Local: timers of tenths of a second. Pekko's defaults are made for networks: it waits 20 s
//     before it takes a node out. The rows of pekko-tuned have timers of the same size as Coterie's; compare with
//     those, or see failover-defaults. protoactor-go asks for the health of members every 2 s, its default.
//   - Java needs more memory, and more time until its code is compiled. Each case of a peer runs unmeasured before it
//     is measured (-warm, 10 s), and so do the callers of a failover. A start of entities is measured once, as one
//     meets it, and so is a restart: both are of programs that have compiled little. A restart is one of nodes in a
//     process that goes on, which spares the start of Java.
//   - The set of ddata-add grows with each add, also in the time before it is measured, which Coterie does not have.
//   - Each of Pekko's nodes has threads of its own, and three share this machine. On few cores they take turns.
//   - protoactor-go has no tell by id: the row tells addresses that were looked up before, which spares it the look-up.
//     That is to its advantage. Its asks encode with Protocol Buffers, and its connections are gRPC.
//   - Senders of the peers have at most 32,768 notes under way, because nothing in them holds a sender back. Pekko's
//     queue of a connection, 3,072 by default, was made as large as that.
//   - The machine's other programs meet one measurement and not another. Run it more than once.
//
// # Not fair to Coterie
//
//   - Coterie encodes messages as CBOR, by reflection, as users do. Pekko's are written to bytes by hand, which is
//     faster than what its users have.
//   - Coterie's entities have leases, and effects that a fence refuses after a pause. The peers have no such thing, and
//     spend nothing on it. The row of sigstop shows what that is worth: effects_after_sigcont are effects of entities
//     that lived elsewhere at that time.
//   - Coterie buffers messages for entities that move or whose home is not known, in order. So does Pekko;
//     protoactor-go fails the call, or loses the message.
//   - Coterie's benches are not warmed up beyond what they do themselves.
//   - The types bench of Coterie measures its memory of a key as that of a store by itself, and the peer's is measured
//     with a replicator. The log of changes, which goes once others have them, is not counted.
//   - The raw limits do less than any library can: they have no membership, no placement and no replicas.
package main
