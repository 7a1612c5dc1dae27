package sharding

import (
	"context"
	"sync"
	"time"

	"github.com/coterie-go/coterie/sharding/codec"

	"github.com/coterie-go/coterie/ddata/host"
	"github.com/coterie-go/coterie/ddata/transport"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// outbox makes the frames that leave this region, and answers questions, of this node and of others.
type outbox struct {
	self    uint64
	net     host.Channels
	channel transport.Channel
	reg     *codec.Registry
	asks    *asks
	drops   *drops
	panics  *panics
	clock   func() time.Duration // of the region
	errors  []error              // that travel as themselves

	outs     sync.Pool // *outgoing
	overflow replyQueueOverflow
	duties   duties
}

// start readies what was empty so far. askTimeout is how long a duty is waited for.
func (b *outbox) start(askTimeout time.Duration) {
	b.outs.New = func() any { return newOutgoing(b) }
	b.duties.slowAfter = askTimeout
	b.overflow.peers = map[uint64]*replyQueue{}
	b.overflow.ctx, b.overflow.cancel = context.WithCancel(context.Background())
}

// frame returns the state of one Append, to be released.
func (b *outbox) frame() *outgoing { return b.outs.Get().(*outgoing) }

// send puts the frame in o.body on its way, behind the replies to that node. It never waits.
func (b *outbox) send(to uint64, o *outgoing) error {
	return b.net.Append(transport.NodeID(to), transport.Data, b.replyStripe(), b.channel, o.fillBody, nil)
}

// post sends bytes to a box of another node.
func (b *outbox) post(to uint64, box string, body []byte) error {
	o := b.frame()
	defer o.release()
	o.body = codec.AppendPost(o.body[:0], box, body)
	err := b.send(to, o)
	if err != nil {
		b.drops.drop(DropPostUnsent, -1, "", nil)
	}
	return err
}

// sendControl sends a frame of a machine in a lane. It never waits.
func (b *outbox) sendControl(to protocol.UID, lane transport.Lane, stripe uint32, frame []byte) error {
	fill := func(dst []byte) []byte { return append(dst, frame...) }
	return b.net.Append(transport.NodeID(to), lane, stripe, b.channel, fill, nil)
}

// discard drops a message and, if it was a question, answers it with the reason.
func (b *outbox) discard(reason DropReason, shard uint32, id string, env envelope) {
	b.drops.drop(reason, int(shard), id, env.msg)
	b.replyError(env, statusOf(reason), reason.String())
}

func (b *outbox) discardRaw(reason DropReason, m *codec.Message) {
	b.discard(reason, m.Shard, string(m.ID), envelope{call: m.Call, origin: m.Origin})
}

// sendFarewell tells a node that all questions which it has sent here were answered or passed on.
// It goes behind the answers.
func (b *outbox) sendFarewell(to uint64) {
	o := b.frame()
	defer o.release()
	quiet := host.Question{Lane: transport.Data} // a node that has not started the type has nothing to say
	o.body = codec.AppendFarewell(quiet.Append(o.body[:0]))
	_ = b.sendReply(to, o) // counted; the node takes what it has asked for lost
}
