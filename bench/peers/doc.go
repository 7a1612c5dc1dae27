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
// The file design.md says when each library answers, and what is fair to none of them: read it before
// you quote a row.
package main
