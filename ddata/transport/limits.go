package transport

import (
	"fmt"
	"time"
)

// Defaults of Config, and the bounds that are not configurable.
const (
	// DefaultFrameMax bounds the payload of a frame.
	DefaultFrameMax = 1 << 20
	// DefaultMessageMax bounds the payload of a message in the Data lane.
	DefaultMessageMax = 16 << 20
	// DefaultControlQueueMax bounds a Control queue, in bytes.
	DefaultControlQueueMax = 16 << 20
	// DefaultDataQueueMax bounds the queue of one Data stripe, in bytes.
	DefaultDataQueueMax = 1 << 20
	// DefaultDataKeepMax bounds what one Data stripe has written without a receipt, in bytes; the
	// buffers it stands in may have twice as many.
	DefaultDataKeepMax = 4 << 20
	// DefaultBulkQueueMax bounds a Bulk queue, in bytes.
	DefaultBulkQueueMax = 4 << 20
	// DefaultPacketQueueMax bounds what may wait where SendPacket adds, in bytes.
	DefaultPacketQueueMax = 256 << 10

	// BatchMax bounds the frames that a BatchHandler gets at once.
	BatchMax = 256

	// DefaultConnsMax bounds the accepted connections and streams of a node.
	DefaultConnsMax = 16 << 10

	frameMaxLeast   = 16        // lowest FrameMax; package frame has the highest
	messageMaxLimit = 1 << 30   // highest MessageMax
	partMax         = 128 << 10 // bytes in a part of a message above FrameMax: a reader's buffer does not grow for it
	writeMax        = 1 << 20   // bytes that one WriteTimeout is for
	stripesLimit    = 256       // highest DataStripes, and highest stripe of a hello
	helloMax        = 2 << 10   // bytes of a hello's body
	nameMax         = 255       // bytes of a cluster name (memberlist's label has this limit)
	textMax         = 512       // bytes of a refusal's text
	addrLinksMax    = 1024      // links that SendAddr may keep at a time
	addrQueueMax    = 256 << 10 // bytes queued on one of them
	handshakesMax   = 512       // accepted connections whose hello has not come yet; for one more, one of them goes
	gatesMax        = 4096      // counts kept of nodes that are no peers, or not yet
	freeChunksMax   = 64        // chunks for what is kept that a link keeps for use
)

const (
	defaultDialTimeout  = 2 * time.Second
	defaultHelloTimeout = 5 * time.Second
	defaultWriteTimeout = 5 * time.Second
	defaultDrainTimeout = time.Second
	defaultKeepAlive    = 5 * time.Second
	defaultBackoffMin   = 20 * time.Millisecond
	defaultBackoffMax   = 2 * time.Second
	defaultAddrIdle     = 30 * time.Second
	writeBufferIdle     = time.Second
	defaultLinger       = time.Second
)

// When senders write by themselves. A write, and the run of a goroutine for it, costs microseconds:
// in that time a crowd of senders appends more, and one that waits for an answer does not come again.
const (
	directBytes = 16 << 10              // more is left to the goroutine of the link
	loneAfter   = 3 * time.Microsecond  // so long after a write of one frame a sender is alone
	crowdAfter  = 20 * time.Microsecond // and so long after one of several
)

// Refusals in the log: each address and reason again after a while, and so many remembered.
const (
	refusalSaidAgain = time.Minute
	refusalsSaidMax  = 256
)

// bounds are what a queue holds at most.
type bounds struct {
	lane    Lane
	max     int       // what waits, in bytes
	most    int       // a payload, in bytes
	keepMax int       // of the Data lane: what was written and has no receipt, in bytes
	full    Drop      // what a refused frame counts as
	n       *counters // of the node
}

// boundsOf returns the bounds of a lane of a link to a peer, or of a link to an address.
func boundsOf(cfg *Config, n *counters, toPeer bool, lane Lane) bounds {
	b := bounds{lane: lane, most: cfg.FrameMax, n: n}
	switch {
	case !toPeer:
		b.max, b.full = addrQueueMax, DropQueueFullAddr
	case lane == Control:
		b.max, b.full = cfg.ControlQueueMax, DropQueueFullControl
	case lane == Data:
		b.max, b.full, b.most = cfg.DataQueueMax, DropQueueFullData, cfg.MessageMax
		b.keepMax = cfg.DataKeepMax
	default:
		b.max, b.full = cfg.BulkQueueMax, DropQueueFullBulk
	}
	return b
}

// tooLarge counts a payload above its bound, and says what to do.
func (b *bounds) tooLarge(n int) error {
	b.n.drop(DropTooLarge, 1)
	if b.lane == Data {
		return fmt.Errorf("%w: %d bytes, the limit is %d (Config.MessageMax); "+
			"keep what is so large elsewhere, and send where it is", ErrFrameTooLarge, n, b.most)
	}
	return fmt.Errorf("%w: %d bytes, the limit of the lane %v is %d (Config.FrameMax); send it in chunks",
		ErrFrameTooLarge, n, b.lane, b.most)
}
