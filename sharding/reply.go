package sharding

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/coterie-go/coterie/sharding/codec"

	"github.com/coterie-go/coterie/crdt/cbor"
	"github.com/coterie-go/coterie/ddata/runloop"
	"github.com/coterie-go/coterie/ddata/transport"
)

// statusErrors are what the asker gets.
var statusErrors = [codec.StatusEnd]error{
	nil, ErrHandler, ErrNoReply, ErrBufferFull, ErrStopped, ErrUnregisteredMessage, ErrInvalidID, ErrEncoding, ErrNodeGone, ErrReplyType,
	ErrMessageTooLarge, ErrMoving, ErrNoLease, ErrHandler, ErrUnsent,
}

func statusOf(reason DropReason) codec.Status {
	switch reason {
	case DropMailboxFull, DropMailboxBytes, DropRegionFull, DropNodeFull, DropBufferFull, DropQueueFull, DropInbox:
		return codec.StatusFull
	case DropStopped, DropForced, DropEnded:
		return codec.StatusStopped
	case DropLeaseLost:
		return codec.StatusNoLease
	case DropUndecodable, DropCodecPanic:
		return codec.StatusEncoding
	case DropTooLarge:
		return codec.StatusTooLarge
	case DropUnregistered:
		return codec.StatusUnregistered
	case DropInvalidID:
		return codec.StatusInvalidID
	case DropUnsent:
		return codec.StatusUnsent
	default:
		return codec.StatusLost
	}
}

// statusError is what the asker gets of a status and its text.
func statusError(s codec.Status, text string) error {
	if s >= codec.StatusEnd {
		return fmt.Errorf("%w: unknown reply status %d: %s", ErrEncoding, s, text)
	}
	if text == "" {
		return statusErrors[s]
	}
	return fmt.Errorf("%w: %s", statusErrors[s], text)
}

// reply answers a question with a value.
func (b *outbox) reply(call, origin uint64, v any, request *codec.Type) error {
	if origin == b.self {
		err := b.checkReply(v, request)
		b.answered(b.asks.answer(call, v, err))
		return err
	}
	o := b.frame()
	defer o.release()
	var err error
	o.body, err = b.appendReply(codec.AppendReplyHead(o.body[:0], call, codec.StatusOK), v, request)
	if err != nil {
		b.panics.noteCodec(err)
		status := codec.StatusEncoding
		if errors.Is(err, ErrUnregisteredMessage) {
			status = codec.StatusUnregistered
		}
		o.body = codec.AppendErrorReply(o.body[:0], call, status, strings.TrimPrefix(err.Error(), statusErrors[status].Error()+": "))
	}
	if sendErr := b.sendReply(origin, o); errors.Is(sendErr, transport.ErrFrameTooLarge) {
		text := fmt.Sprintf("the reply has %d bytes", len(o.body))
		o.body = codec.AppendErrorReply(o.body[:0], call, codec.StatusTooLarge, text)
		return errors.Join(statusError(codec.StatusTooLarge, text), b.sendReply(origin, o))
	}
	return err
}

// checkReply reports whether a reply could travel: where the request names an interface, its type
// must be registered, also for one on this node, as the entity may be elsewhere the next time.
func (b *outbox) checkReply(v any, request *codec.Type) (err error) {
	if request.RepliesOpen() {
		_, err = b.reg.Of(v)
	}
	return err
}

// appendReply encodes a reply: as it is, or with its type when the request names an interface as
// its reply.
func (b *outbox) appendReply(dst []byte, v any, request *codec.Type) ([]byte, error) {
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

// replyError answers a question with an error; it does nothing for what was told.
func (b *outbox) replyError(env envelope, status codec.Status, text string) {
	if env.call == 0 || env.internal() {
		return
	}
	if env.origin == b.self {
		b.answered(b.asks.answer(env.call, nil, statusError(status, text)))
		return
	}
	const textMax = 1024
	if len(text) > textMax {
		text = text[:textMax]
	}
	o := b.frame()
	defer o.release()
	o.body = codec.AppendErrorReply(o.body[:0], env.call, status, text)
	_ = b.sendReply(env.origin, o) // counted
}

func (b *outbox) answered(inTime bool) {
	if !inTime {
		b.drops.drop(DropLateReply, -1, "", nil)
	}
}

// sendReply puts the frame in o.body on its way. Replies do not take part in back-pressure: when
// the lane is full they wait in a queue of their own, so that no worker does.
func (b *outbox) sendReply(to uint64, o *outgoing) error {
	if b.overflow.count.Load() > 0 && b.overflow.has(to) {
		return b.queueReply(to, o.body)
	}
	err := b.send(to, o)
	switch {
	case err == nil, errors.Is(err, transport.ErrFrameTooLarge):
		return err
	case errors.Is(err, transport.ErrQueueFull):
		return b.queueReply(to, o.body)
	}
	b.drops.drop(DropReplyUnsent, -1, "", nil)
	return err
}

// replyStripe puts all replies of a type on one connection: replies have no order to keep, and the
// more of them go out in one write, the better.
func (b *outbox) replyStripe() uint32 { return uint32(b.channel) }

func (b *outbox) queueReply(to uint64, frame []byte) error {
	q, first := b.overflow.put(to, lateFrame{stripe: b.replyStripe(), bytes: append([]byte(nil), frame...)})
	if q == nil {
		b.drops.drop(DropReplyUnsent, -1, "", nil)
		return ErrBufferFull
	}
	if first {
		go b.drainReplies(to, q)
	}
	return nil
}

// drainReplies sends what waits for one peer and ends when nothing is left.
func (b *outbox) drainReplies(to uint64, q *replyQueue) {
	defer b.overflow.ended.Done()
	for {
		f, ok := b.overflow.next(to, q)
		if !ok {
			return
		}
		fill := func(dst []byte) []byte { return append(dst, f.bytes...) }
		if err := b.net.AppendWait(b.overflow.ctx, transport.NodeID(to), transport.Data, f.stripe, b.channel, fill, nil); err != nil {
			b.drops.drop(DropReplyUnsent, -1, "", nil)
		}
	}
}

// replyQueueOverflow holds the replies that found their lane full, per peer. It is bounded by bytes
// per peer.
type replyQueueOverflow struct {
	ctx    context.Context // ends with the region
	cancel context.CancelFunc
	ended  sync.WaitGroup

	count atomic.Int32 // len(peers)
	mu    sync.Mutex
	peers map[uint64]*replyQueue
	moved runloop.Progress // replies have left their queues
}

type replyQueue struct {
	frames []lateFrame
	bytes  int
}

type lateFrame struct {
	stripe uint32
	bytes  []byte
}

// overflowMax bounds the replies that wait for one peer, in bytes.
const overflowMax = 64 << 20

func (o *replyQueueOverflow) has(to uint64) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.peers[to] != nil
}

// put queues a frame; first: the caller has to start draining. nil: no room, or the region has
// stopped.
func (o *replyQueueOverflow) put(to uint64, f lateFrame) (q *replyQueue, first bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ctx.Err() != nil || len(f.bytes) > overflowMax { // nothing would drain a queue that it alone opens
		return nil, false
	}
	q = o.peers[to]
	if q == nil {
		q, first = new(replyQueue), true
		o.peers[to] = q
		o.count.Add(1)
		o.ended.Add(1)
	}
	if q.bytes+len(f.bytes) > overflowMax {
		return nil, false
	}
	q.frames, q.bytes = append(q.frames, f), q.bytes+len(f.bytes)
	return q, first
}

func (o *replyQueueOverflow) next(to uint64, q *replyQueue) (lateFrame, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.moved.Made()
	if len(q.frames) == 0 {
		delete(o.peers, to)
		o.count.Add(-1)
		return lateFrame{}, false
	}
	f := q.frames[0]
	q.frames[0] = lateFrame{}
	q.frames, q.bytes = q.frames[1:], q.bytes-len(f.bytes)
	return f, true
}
