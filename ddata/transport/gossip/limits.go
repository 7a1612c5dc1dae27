package gossip

import "time"

// Limits and times that are not configurable.
const (
	packetMax      = 8 << 10 // bytes memberlist puts in a packet; its compound packets must stay below 60 KiB
	packetsWaiting = 1024    // packets read from the transport that memberlist has not taken yet
	pingsMax       = 1024    // pings of this node that are answered at its end; more are not under way at a time
	joinsAtATime   = 3       // addresses that one round of the rejoin loop tries
	resolveTimeout = 5 * time.Second
	joinRetryMin   = 250 * time.Millisecond // first pause while no other node is listed

	// A node passes news on so many times, times the digits of the number of nodes. memberlist's
	// own 4, in a cluster of less than ten, may all go to nodes that know, to the dead, and to the
	// one that the news is about. A node that gets no copy waits for a full sync, up to a minute
	// with LAN.
	retransmitMult = 8
)

// What is taken from other nodes. memberlist itself believes a length of up to 20 MiB, and a count
// of a million nodes, before it has seen a byte of them.
// It keeps a dead node until it has probed every living one, and does not report when it forgets it.
const (
	packetTaken  = 2 * packetMax      // bytes of a packet
	listedMax    = 4096               // nodes listed, and new ones in newcomersIn: as many as a view has members
	newcomersIn  = 10 * time.Minute   // the time in which new nodes are counted
	syncNodesMax = 4 * listedMax      // nodes in a full sync, the dead included
	syncMax      = 512 * syncNodesMax // bytes of one
	heldMax      = 4 * syncMax        // bytes of all that are being read
	scalarMax    = 1 << 10            // bytes of a name, an address or a meta
	pairsMax     = 15                 // fields of a message: what the shortest form of a map has room for
	streamsMax   = 64                 // streams that others opened; for one more, the oldest of them goes
)
