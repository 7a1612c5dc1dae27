package sharding

import (
	"errors"

	"github.com/coterie-go/coterie/sharding/codec"

	"github.com/coterie-go/coterie/ddata/transport"
)

// hold puts a message into the shard's buffer. It returns errRouteChanged when the shard has a
// route again, or for one of another node when the lane has opened: what comes after it would
// overtake it.
func (t *routes) hold(number uint32, p bufferedMessage) error {
	slot := &t.slots[number]
	rt := slot.Load()
	if rt == nil {
		slot.CompareAndSwap(nil, &route{buffer: new(buffer)})
		return errRouteChanged
	}
	b := rt.buffer
	if b == nil {
		return errRouteChanged
	}
	b.mu.Lock()
	if b.open || p.raw != nil && t.lanes[number].Load() != p.lane {
		b.mu.Unlock()
		return errRouteChanged
	}
	if p.from != nil && p.from.isSealed() {
		b.mu.Unlock()
		return ErrMoving
	}
	if !t.limit.take(p.size) {
		b.mu.Unlock()
		return ErrBufferFull
	}
	b.messages = append(b.messages, p)
	first := b.lenLocked() == 1
	b.mu.Unlock()
	if first {
		t.ctl.wanted(number)
	}
	return nil
}

// takeBack lets a message that never left for a node, which is gone, wait for the next home of its
// shard, before what was told later. false: there is no place for it any more.
func (t *routes) takeBack(node uint64, m *codec.Message) bool {
	if int(m.Shard) >= len(t.slots) {
		return false
	}
	slot := &t.slots[m.Shard]
	for !isDone(t.ended) {
		rt := slot.Load()
		if rt != nil && rt.remote == node {
			t.divert(m.Shard, rt)
			continue
		}
		if rt == nil || rt.buffer == nil {
			return false
		}
		p, b := bufferedCopy(m), rt.buffer
		b.mu.Lock()
		if b.open {
			b.mu.Unlock()
			continue
		}
		if b.after != node || !t.limit.take(p.size) {
			b.mu.Unlock()
			return false
		}
		b.returned = append(b.returned, p)
		first := b.lenLocked() == 1
		b.mu.Unlock()
		if m.Origin == t.self {
			t.asks.asked(m.Call, 0) // no node, again: the end of the node is not the end of the question
		}
		if first {
			t.ctl.wanted(m.Shard)
		}
		return true
	}
	return false
}

// setRoute publishes a route that does not buffer: at once if nothing waits, else when what waits
// has been sent. A local route opens through a buffer always: only under its lock can the lanes
// open together with it.
func (t *routes) setRoute(number uint32, rt *route) (flushed bool) {
	slot := &t.slots[number]
	if rt.local != nil {
		t.buffering(number)
	}
	for {
		old := slot.Load()
		if old == nil || old.buffer == nil {
			if slot.CompareAndSwap(old, rt) {
				return true
			}
			continue
		}
		if old.buffer.retarget(rt) {
			return t.flush(number)
		}
	}
}

// flush sends what waits along the buffer's target, in order, and opens the route when nothing is
// left. Senders wait meanwhile, and what the lanes bring waits behind, so no message overtakes
// another. false: there was no room, the rest has to be flushed later.
func (t *routes) flush(number uint32) bool {
	slot := &t.slots[number]
	old := slot.Load()
	if old == nil || old.buffer == nil {
		return true
	}
	b := old.buffer
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.open || b.target == nil {
		return true
	}
	var full map[string]bool // mailboxes: a handler that hangs must not hold up the other entities of its shard
	stuck := false           // the lane is full, or the target does not work now
	t.sendBufferedLocked(b, func(p *bufferedMessage) (sent bool) {
		if stuck || full[p.id] {
			return false
		}
		switch err := t.dispatch(number, b.target, p); {
		case err == nil:
		case errors.Is(err, ErrBufferFull) && b.target.local != nil:
			if full == nil {
				full = map[string]bool{}
			}
			full[p.id] = true
			return false
		case errors.Is(err, ErrBufferFull), err == errRouteChanged:
			stuck = true
			return false
		default:
			t.discardBuffered(dropOf(err), number, p)
		}
		return true
	})
	if b.lenLocked() > 0 {
		return false
	}
	b.open = true
	t.lanes[number].Store(b.target.local)
	slot.CompareAndSwap(old, b.target)
	return true
}

// openLanes lets a shard whose route is not open take what other nodes have sent: first what waits
// of it, then what comes. A full mailbox drops, as it does for what comes.
func (t *routes) openLanes(number uint32, s *shard) {
	b := t.buffering(number)
	b.mu.Lock()
	defer b.mu.Unlock()
	refused := false
	t.sendBufferedLocked(b, func(p *bufferedMessage) (sent bool) {
		if p.raw == nil || refused {
			return false
		}
		switch err := t.dispatchLocal(number, s, p); {
		case err == nil:
		case err == errRouteChanged:
			refused = true
			return false
		default:
			t.discardBuffered(dropOf(err), number, p)
		}
		return true
	})
	if !refused {
		t.lanes[number].Store(s)
	}
}

// sendBufferedLocked offers what waits to send, in order, and keeps what that does not take.
func (t *routes) sendBufferedLocked(b *buffer, send func(*bufferedMessage) (sent bool)) {
	if sent, size := b.keepLocked(func(p *bufferedMessage) bool { return !send(p) }); sent > 0 {
		if b.target == nil || b.target.remote != b.after {
			b.after = 0
		}
		t.limit.release(sent, size)
	}
}

// dispatch sends one buffered message along a route, without waiting.
func (t *routes) dispatch(number uint32, rt *route, p *bufferedMessage) error {
	if rt.local != nil {
		return t.dispatchLocal(number, rt.local, p)
	}
	if p.raw != nil {
		return t.forward(number, rt, p.raw, nil)
	}
	o := t.out.frame()
	defer o.release()
	if err := o.encode(number, &t.slots[number], rt, p.id, p.env); err != nil {
		return err
	}
	return flushError(t.out.net.Append(transport.NodeID(rt.remote), transport.Data, number, t.out.channel, o.fill, o.goes))
}

func (t *routes) dispatchLocal(number uint32, s *shard, p *bufferedMessage) error {
	env, size := p.env, uint32(0)
	if p.raw != nil {
		var err error
		if env, err = t.decoder.decode(p.raw); err != nil {
			return err
		}
		size = bytesOf(p.raw)
	}
	switch v, _ := s.deliver(p.id, env, size); v {
	case accepted:
		return nil
	case full, heavy, heavyRegion, heavyNode:
		return &noRoom{v}
	default:
		return errRouteChanged
	}
}

// forward passes an encoded message on.
func (t *routes) forward(number uint32, rt *route, m *codec.Message, check func() error) error {
	goes := func() error {
		if check != nil {
			if err := check(); err != nil {
				return err
			}
		}
		if m.Kind == codec.Ask && m.Origin == t.self {
			t.asks.asked(m.Call, rt.remote)
		}
		return nil
	}
	fill := func(dst []byte) []byte { return append(codec.AppendMessageHead(dst, m, string(m.ID)), m.Body...) }
	return flushError(t.out.net.Append(transport.NodeID(rt.remote), transport.Data, number, t.out.channel, fill, goes))
}

func flushError(err error) error {
	switch {
	case err == nil || err == errRouteChanged:
		return err
	case errors.Is(err, transport.ErrQueueFull):
		return ErrBufferFull
	case errors.Is(err, transport.ErrFrameTooLarge):
		return ErrMessageTooLarge
	}
	return errRouteChanged
}

// dropBuffer drops what waits for the shard.
func (t *routes) dropBuffer(number uint32, reason DropReason) {
	rt := t.slots[number].Load()
	if rt == nil || rt.buffer == nil {
		return
	}
	b := rt.buffer
	b.mu.Lock()
	parked := b.takeLocked()
	b.mu.Unlock()
	t.dropBuffered(number, reason, parked)
}

// dropBuffered drops messages that waited. Their room is free before their senders hear of it.
func (t *routes) dropBuffered(number uint32, reason DropReason, parked []bufferedMessage) {
	size := 0
	for i := range parked {
		size += parked[i].size
	}
	t.limit.release(len(parked), size)
	for i := range parked {
		t.discardBuffered(reason, number, &parked[i])
	}
}

// closeRoutes ends every route: a sender that comes later finds a buffer that takes nothing, and
// sees that the region is closed.
func (t *routes) close() {
	for i := range t.slots {
		shut := &buffer{open: true}
		if old := t.slots[i].Swap(&route{buffer: shut}); old != nil && old.buffer != nil {
			t.dropBuffered(uint32(i), DropStopped, old.buffer.close())
		}
	}
}

func (t *routes) discardBuffered(reason DropReason, number uint32, p *bufferedMessage) {
	env := p.env
	if p.raw != nil {
		env = envelope{call: p.raw.Call, origin: p.raw.Origin}
	}
	t.out.discard(reason, number, p.id, env)
}

// putBack puts messages that a mailbox held when its shard was closed before everything that waits
// for the shard's next home.
func (t *routes) putBack(number uint32, front []bufferedMessage) {
	if len(front) == 0 {
		return
	}
	b := t.buffering(number)
	b.mu.Lock()
	b.messages = append(front, b.messages...)
	size := 0
	for i := range front {
		size += front[i].size
	}
	t.limit.force(len(front), size)
	b.mu.Unlock()
	t.ctl.wanted(number)
}

// failBuffered ends the questions of a sealed shard's handlers that wait for a home: the handlers
// have to return before the shard can move, and what they wait for may wait for that.
func (t *routes) failBuffered(s *shard) {
	for i := range t.slots {
		rt := t.slots[i].Load()
		if rt == nil || rt.buffer == nil {
			continue
		}
		b := rt.buffer
		b.mu.Lock()
		if gone, size := b.keepLocked(func(p *bufferedMessage) bool { return p.from != s || !t.asks.answer(p.env.call, nil, ErrMoving) }); gone > 0 {
			t.limit.release(gone, size)
		}
		b.mu.Unlock()
	}
}
