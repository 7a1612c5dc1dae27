package transport

import (
	"strconv"
	"strings"
	"sync/atomic"
)

// Drop says why a frame, or a connection, was given up. Every loss is counted under one of them.
type Drop uint8

const (
	// DropQueueFullControl counts frames refused because a Control queue was full, which calls for
	// attention.
	DropQueueFullControl Drop = iota
	// DropQueueFullData counts frames refused because a Data queue was full.
	DropQueueFullData
	// DropQueueFullBulk counts frames refused because a Bulk queue was full.
	DropQueueFullBulk
	// DropQueueFullAddr counts frames of SendAddr refused because the address's queue was full.
	DropQueueFullAddr
	// DropPacket counts frames that SendPacket dropped.
	DropPacket
	// DropTooLarge counts payloads above the limit of their lane.
	DropTooLarge
	// DropNoPeer counts frames for a node that is no peer.
	DropNoPeer
	// DropConnLost counts frames that were handed to a connection that broke and could not be sent
	// again: in the Control and Bulk lanes, and in the Data lane when the peer was removed before
	// it acknowledged them. Some of them may have arrived.
	DropConnLost
	// DropRemoved counts frames still queued when their peer was removed or the transport closed.
	DropRemoved
	// DropUnreachable counts frames of SendAddr that found no node at the address.
	DropUnreachable
	// DropRefused counts frames queued for an incarnation that is gone.
	DropRefused
	// DropNoHandler counts received frames of a channel without a handler, or for what has not been
	// started here or has ended.
	DropNoHandler
	// DropProtocol counts connections ended because the other side broke the protocol.
	DropProtocol
	// DropHandshake counts accepted connections that ended, or fell silent, before a hello was
	// read.
	DropHandshake
	// DropRefusedIn counts connections that this node refused.
	DropRefusedIn
	// DropRefusedOut counts own connections that another node refused.
	DropRefusedOut
	// DropOverload counts connections closed because too many were in their handshake, or there at
	// all (Config.ConnsMax).
	DropOverload
	// DropDrain counts connections cut off because their successor waited and they did not end.
	DropDrain
	// DropInbox counts messages of others that were given up behind the transport, because too many
	// of the same sender waited there.
	DropInbox
	// Drops is the number of reasons.
	Drops
)

var dropNames = [Drops]string{
	"queue-full-control", "queue-full-data", "queue-full-bulk", "queue-full-addr", "packet", "too-large", "no-peer",
	"conn-lost", "removed", "unreachable", "refused-incarnation", "no-handler", "protocol", "handshake",
	"refused-in", "refused-out", "overload", "drain", "inbox",
}

// String names the reason.
func (d Drop) String() string {
	if d < Drops {
		return dropNames[d]
	}
	return "drop" + strconv.Itoa(int(d))
}

// Stats is a snapshot of a transport's counters, all since its start.
type Stats struct {
	// FramesOut, BytesOut and Writes count what was handed to connections, with frame headers.
	// FramesOut/Writes is the batching.
	FramesOut, BytesOut, Writes uint64
	// FramesIn, BytesIn and Reads count what came from connections, with frame headers.
	FramesIn, BytesIn, Reads uint64
	// Resent counts frames of the Data lane that were sent again because a connection broke before
	// they had arrived.
	Resent uint64
	// Dials and DialErrors count attempts to connect and those that failed.
	Dials, DialErrors uint64
	// Accepted counts accepted connections.
	Accepted uint64
	// LinksUp and Readers are the present numbers of outgoing and incoming connections; Streams
	// that of both kinds of streams.
	LinksUp, Readers, Streams int64
	// Dropped counts by reason.
	Dropped [Drops]uint64
}

// String prints the counters; of the drops those that are not zero.
func (s Stats) String() string {
	var b strings.Builder
	put := func(name string, v uint64) {
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(name + "=" + strconv.FormatUint(v, 10))
	}
	put("frames-out", s.FramesOut)
	put("bytes-out", s.BytesOut)
	put("writes", s.Writes)
	put("resent", s.Resent)
	put("frames-in", s.FramesIn)
	put("bytes-in", s.BytesIn)
	put("reads", s.Reads)
	put("dials", s.Dials)
	put("dial-errors", s.DialErrors)
	put("accepted", s.Accepted)
	put("links-up", uint64(s.LinksUp))
	put("readers", uint64(s.Readers))
	put("streams", uint64(s.Streams))
	for d, n := range s.Dropped {
		if n > 0 {
			put("dropped-"+Drop(d).String(), n)
		}
	}
	return b.String()
}

// counters are the live form of Stats. Hot paths add once per batch.
type counters struct {
	framesOut, bytesOut, writes atomic.Uint64
	resent                      atomic.Uint64
	framesIn, bytesIn, reads    atomic.Uint64
	dials, dialErrors, accepted atomic.Uint64
	linksUp, readers, streams   atomic.Int64
	dropped                     [Drops]atomic.Uint64
}

func (c *counters) drop(d Drop, n int) {
	if n > 0 {
		c.dropped[d].Add(uint64(n))
	}
}

// wrote adds a write of so many frames.
func (c *counters) wrote(frames, bytes int) {
	c.framesOut.Add(uint64(frames))
	c.bytesOut.Add(uint64(bytes))
	c.writes.Add(1)
}

// read adds what one read brought.
func (c *counters) read(frames, bytes int) {
	c.reads.Add(1)
	c.framesIn.Add(uint64(frames))
	c.bytesIn.Add(uint64(bytes))
}

func (c *counters) snapshot() Stats {
	s := Stats{
		FramesOut: c.framesOut.Load(), BytesOut: c.bytesOut.Load(), Writes: c.writes.Load(), Resent: c.resent.Load(),
		FramesIn: c.framesIn.Load(), BytesIn: c.bytesIn.Load(), Reads: c.reads.Load(),
		Dials: c.dials.Load(), DialErrors: c.dialErrors.Load(), Accepted: c.accepted.Load(),
		LinksUp: c.linksUp.Load(), Readers: c.readers.Load(), Streams: c.streams.Load(),
	}
	for d := range s.Dropped {
		s.Dropped[d] = c.dropped[d].Load()
	}
	return s
}
