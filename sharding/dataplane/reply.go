package dataplane

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/coterie-go/coterie/crdt/cbor"
	"github.com/coterie-go/coterie/ddata/runloop"
	"github.com/coterie-go/coterie/ddata/scheduler"
	"github.com/coterie-go/coterie/ddata/transport"
	"github.com/coterie-go/coterie/proptest/defect"
	"github.com/coterie-go/coterie/sharding/codec"
	"github.com/coterie-go/coterie/sharding/dataplane/asks"
	"github.com/coterie-go/coterie/sharding/dataplane/mailbox"
	"github.com/coterie-go/coterie/sharding/failure"
)

// Reply answers a question with a value.
func (b *Outbox) Reply(call, origin uint64, v any, request *codec.Type) error {
	if b.defects.Planted(defect.ReplyTwice) {
		_ = b.reply(call, origin, v, request)
	}
	return b.reply(call, origin, v, request)
}

func (b *Outbox) reply(call, origin uint64, v any, request *codec.Type) error {
	if origin == b.self {
		err := b.checkReply(v, request)
		b.answered(b.asks.Answer(call, v, err))
		return err
	}
	o := b.frame()
	defer o.release()
	var err error
	o.body, err = b.appendReply(codec.AppendReplyHead(o.body[:0], call, codec.StatusOK), v, request)
	if err != nil {
		b.panics.NoteCodec(err)
		status := codec.StatusEncoding
		if errors.Is(err, failure.ErrUnregisteredMessage) {
			status = codec.StatusUnregistered
		}
		o.body = codec.AppendErrorReply(o.body[:0], call, status,
			strings.TrimPrefix(err.Error(), failure.OfStatus(status, "").Error()+": "))
	}
	if sendErr := b.sendReply(origin, o); errors.Is(sendErr, transport.ErrFrameTooLarge) {
		text := fmt.Sprintf("the reply has %d bytes", len(o.body))
		o.body = codec.AppendErrorReply(o.body[:0], call, codec.StatusTooLarge, text)
		return errors.Join(failure.OfStatus(codec.StatusTooLarge, text), b.sendReply(origin, o))
	}
	return err
}

// checkReply reports whether a reply could travel: where the request names an interface, its type
// must be registered, also for one on this node, as the entity may be elsewhere the next time.
func (b *Outbox) checkReply(v any, request *codec.Type) (err error) {
	if request.RepliesOpen() {
		_, err = b.reg.Of(v)
	}
	return err
}

// appendReply encodes a reply: as it is, or with its type when the request names an interface as
// its reply.
func (b *Outbox) appendReply(dst []byte, v any, request *codec.Type) ([]byte, error) {
	if !request.RepliesOpen() {
		if request == nil { // the answer is this package's own
			return codec.AppendValue(nil, dst, v)
		}
		return codec.AppendValue(b.reg.Encoding, dst, v)
	}
	mt, err := b.reg.Of(v)
	if err != nil {
		return dst, err
	}
	dst = cbor.AppendUint(cbor.AppendArray(dst, 2), mt.ID)
	return mt.Append(dst, v)
}

// ReplyError answers a question with an error; it does nothing for what was told.
func (b *Outbox) ReplyError(env mailbox.Envelope, status codec.ReplyStatus, text string) {
	if env.Call == 0 || env.Internal() {
		return
	}
	if env.Origin == b.self {
		b.answered(b.asks.Answer(env.Call, nil, failure.OfStatus(status, text)))
		return
	}
	const textMax = 1024
	if len(text) > textMax {
		text = text[:textMax]
	}
	o := b.frame()
	defer o.release()
	o.body = codec.AppendErrorReply(o.body[:0], env.Call, status, text)
	_ = b.sendReply(env.Origin, o) // counted
}

func (b *Outbox) answered(inTime bool) {
	if !inTime {
		b.drops.Drop(failure.DropLateReply, failure.NoShard, "", nil)
	}
}

// sendReply puts the frame in o.body on its way. Replies do not take part in back-pressure: when
// the lane is full they wait in a queue of their own, so that no worker does.
func (b *Outbox) sendReply(to uint64, o *outgoing) error {
	if b.Overflow.count.Load() > 0 && b.Overflow.has(to) {
		return b.queueReply(to, o.body)
	}
	err := b.send(to, o)
	switch {
	case err == nil, errors.Is(err, transport.ErrFrameTooLarge):
		return err
	case errors.Is(err, transport.ErrQueueFull):
		return b.queueReply(to, o.body)
	}
	b.drops.Drop(failure.DropReplyUnsent, failure.NoShard, "", nil)
	return err
}

// replyStripe puts all replies of a type on one connection: replies have no order to keep, and the
// more of them go out in one write, the better.
func (b *Outbox) replyStripe() uint32 { return uint32(b.Channel) }

func (b *Outbox) queueReply(to uint64, frame []byte) error {
	late := lateFrame{stripe: b.replyStripe(), bytes: append([]byte(nil), frame...)}
	if !b.Overflow.put(to, late, b.drainReplies) {
		b.drops.Drop(failure.DropReplyUnsent, failure.NoShard, "", nil)
		return failure.ErrBufferFull
	}
	return nil
}

// drainReplies sends what waits for one peer and ends when nothing is left.
func (b *Outbox) drainReplies(to uint64, q *replyQueue) {
	for {
		f, ok := b.Overflow.next(to, q)
		if !ok {
			return
		}
		fill := func(dst []byte) []byte { return append(dst, f.bytes...) }
		if err := b.Net.AppendWait(b.Overflow.ctx, transport.NodeID(to), transport.Data, f.stripe, b.Channel,
			fill, nil); err != nil {
			b.drops.Drop(failure.DropReplyUnsent, failure.NoShard, "", nil)
		}
	}
}

// replyQueueOverflow holds the replies that found their lane full, per peer. It is bounded by bytes
// per peer.
type replyQueueOverflow struct {
	ctx    context.Context // ends with the region
	Cancel context.CancelFunc
	Ended  *scheduler.Group

	count atomic.Int32 // len(peers)
	Mu    sync.Mutex
	Peers map[uint64]*replyQueue
	moved runloop.Progress // replies have left their queues
}

type replyQueue struct {
	Frames []lateFrame
	bytes  int
}

type lateFrame struct {
	stripe uint32
	bytes  []byte
}

// overflowMax bounds the replies that wait for one peer, in bytes.
const overflowMax = 64 << 20

func (o *replyQueueOverflow) has(to uint64) bool {
	o.Mu.Lock()
	defer o.Mu.Unlock()
	return o.Peers[to] != nil
}

// put queues a frame, and has the first one of a peer begin to drain its queue. It reports false if
// there is no room, or the region has stopped.
func (o *replyQueueOverflow) put(to uint64, f lateFrame, drain func(to uint64, q *replyQueue)) bool {
	o.Mu.Lock()
	defer o.Mu.Unlock()
	if o.ctx.Err() != nil || len(f.bytes) > overflowMax { // nothing would drain a queue that it alone opens
		return false
	}
	q := o.Peers[to]
	if q == nil {
		q = new(replyQueue)
		o.Peers[to] = q
		o.count.Add(1)
		o.Ended.Go(func() { drain(to, q) })
	}
	if q.bytes+len(f.bytes) > overflowMax {
		return false
	}
	q.Frames, q.bytes = append(q.Frames, f), q.bytes+len(f.bytes)
	return true
}

func (o *replyQueueOverflow) next(to uint64, q *replyQueue) (lateFrame, bool) {
	o.Mu.Lock()
	defer o.Mu.Unlock()
	o.moved.Made()
	if len(q.Frames) == 0 {
		delete(o.Peers, to)
		o.count.Add(-1)
		return lateFrame{}, false
	}
	f := q.Frames[0]
	q.Frames[0] = lateFrame{}
	q.Frames, q.bytes = q.Frames[1:], q.bytes-len(f.bytes)
	return f, true
}

// Fail answers a question with a handler's error. An asker on this node gets no more of it than one
// elsewhere would.
func (b *Outbox) Fail(env mailbox.Envelope, cause error) {
	known := b.known.Of(cause)
	switch {
	case known == nil:
		b.ReplyError(env, codec.StatusHandler, cause.Error())
	case env.Call != 0 && env.Origin == b.self && !env.Internal():
		b.answered(b.asks.Answer(env.Call, nil, failure.OfHandler(known, cause)))
	default:
		b.ReplyError(env, codec.StatusKnown, failure.Text(known, cause))
	}
}

// Owe notes that a handler has taken a question and will answer it. It returns false if there is no
// room for one more.
func (b *Outbox) Owe(q asks.Duty) bool {
	forgotten, ok := b.Duties.Take(q)
	if forgotten != (asks.Duty{}) {
		b.drops.Drop(failure.DropUnanswered, failure.NoShard, "", nil)
		b.ReplyError(mailbox.Envelope{Call: forgotten.Call, Origin: forgotten.Origin}, codec.StatusFull,
			fmt.Sprintf("a handler has taken the question by Context.Responder and not answered it, and %d came "+
				"after it", asks.DutiesMax-1))
	}
	return ok
}
