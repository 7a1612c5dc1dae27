package dataplane

import (
	"context"
	"sync"
	"time"

	"github.com/coterie-go/coterie/ddata/host"
	"github.com/coterie-go/coterie/ddata/scheduler"
	"github.com/coterie-go/coterie/ddata/transport"
	"github.com/coterie-go/coterie/proptest/defect"
	"github.com/coterie-go/coterie/sharding/codec"
	"github.com/coterie-go/coterie/sharding/dataplane/asks"
	"github.com/coterie-go/coterie/sharding/dataplane/mailbox"
	"github.com/coterie-go/coterie/sharding/failure"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// Outbox makes the frames that leave this region, and answers questions, of this node and of others.
type Outbox struct {
	self    uint64
	Net     host.Channels
	Channel transport.Channel
	reg     *codec.Registry
	asks    *asks.Table
	drops   *failure.Drops
	panics  *failure.Panics
	clock   func() time.Duration // of the region
	known   failure.Known        // errors of handlers
	// all members read headers; nil: they do not
	readHeaders func() bool
	defects     defect.Set // planted by a test

	outs      sync.Pool // *outgoing
	scheduler scheduler.Scheduler
	Overflow  replyQueueOverflow
	Duties    *asks.Duties
}

// start readies what was empty so far. askTimeout is how long a duty is waited for.
func (b *Outbox) start(askTimeout time.Duration, s scheduler.Scheduler) {
	b.outs.New = func() any { return newOutgoing(b) }
	b.Duties = asks.NewDuties(askTimeout, b.clock)
	b.scheduler, b.Overflow.Ended = s, scheduler.NewGroup(s)
	b.Overflow.Peers = map[uint64]*replyQueue{}
	b.Overflow.ctx, b.Overflow.Cancel = context.WithCancel(context.Background())
}

// frame returns the state of one Append, to be released.
func (b *Outbox) frame() *outgoing { return b.outs.Get().(*outgoing) }

// send puts the frame in o.body on its way, behind the replies to that node. It never waits.
func (b *Outbox) send(to uint64, o *outgoing) error {
	return b.Net.Append(transport.NodeID(to), transport.Data, b.replyStripe(), b.Channel, o.fillBody, nil)
}

// Post sends bytes to a box of another node.
func (b *Outbox) Post(to uint64, box string, body []byte) error {
	o := b.frame()
	defer o.release()
	o.body = codec.AppendPost(o.body[:0], box, body)
	err := b.send(to, o)
	if err != nil {
		b.drops.Drop(failure.DropPostUnsent, failure.NoShard, "", nil)
	}
	return err
}

// SendControl sends a frame of a machine in a lane. It never waits.
func (b *Outbox) SendControl(to protocol.UID, lane transport.Lane, stripe uint32, frame []byte) error {
	fill := func(dst []byte) []byte { return append(dst, frame...) }
	return b.Net.Append(transport.NodeID(to), lane, stripe, b.Channel, fill, nil)
}

// Discard drops a message and, if it was a question, answers it with the reason.
func (b *Outbox) Discard(reason failure.DropReason, shard uint32, id string, env mailbox.Envelope) {
	b.drops.Drop(reason, protocol.ShardID(shard), id, env.Message())
	b.ReplyError(env, failure.StatusOf(reason), reason.String())
}

func (b *Outbox) discardRaw(reason failure.DropReason, m *codec.Message) {
	b.Discard(reason, m.Shard, string(m.ID), mailbox.Envelope{Call: m.Call, Origin: m.Origin})
}

// SendFarewell tells a node that all questions which it has sent here were answered or passed on.
// It goes behind the answers.
func (b *Outbox) SendFarewell(to uint64) {
	o := b.frame()
	defer o.release()
	quiet := host.Question{Lane: transport.Data} // a node that has not started the type has nothing to say
	o.body = codec.AppendFarewell(quiet.Append(o.body[:0]))
	_ = b.sendReply(to, o) // counted; the node takes what it has asked for lost
}
