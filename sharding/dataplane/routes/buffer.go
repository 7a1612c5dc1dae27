package routes

import (
	"errors"
	"slices"

	"github.com/coterie-go/coterie/proptest/defect"
	"github.com/coterie-go/coterie/sharding/codec"
	"github.com/coterie-go/coterie/sharding/dataplane/entities"
	"github.com/coterie-go/coterie/sharding/dataplane/mailbox"
	"github.com/coterie-go/coterie/sharding/failure"
)

// Hold puts a message into the shard's buffer. It returns ErrChanged when the shard has a route
// again, or, for a message of another node, when the lane has opened: what comes after it would
// overtake it.
func (t *Table) Hold(number uint32, p BufferedMessage) error {
	slot := &t.Slots[number]
	rt := slot.Load()
	if rt == nil {
		slot.CompareAndSwap(nil, &Route{Buffer: new(Buffer)})
		return ErrChanged
	}
	b := rt.Buffer
	if b == nil {
		return ErrChanged
	}
	b.Mu.Lock()
	if b.open || p.Raw != nil && t.Lanes[number].Load() != p.lane {
		b.Mu.Unlock()
		return ErrChanged
	}
	if p.From != nil && p.From.IsSealed() {
		b.Mu.Unlock()
		return failure.ErrMoving
	}
	if !t.Limit.take(p.Size) {
		b.Mu.Unlock()
		return failure.ErrBufferFull
	}
	p.waits(t.set.Spans, number)
	b.Messages = append(b.Messages, p)
	first := b.lenLocked() == 1
	b.Mu.Unlock()
	if first {
		t.control.Wanted(number)
	}
	return nil
}

// TakeBack lets a message that never left for a node, which is gone, wait for the next home of its
// shard, before what was told later. false: there is no place for it any more.
func (t *Table) TakeBack(node uint64, m *codec.Message) bool {
	if int(m.Shard) >= len(t.Slots) {
		return false
	}
	slot := &t.Slots[m.Shard]
	for !t.set.PassesOnNothing() {
		rt := slot.Load()
		if rt != nil && rt.Remote == node {
			t.Divert(m.Shard, rt)
			continue
		}
		if rt == nil || rt.Buffer == nil {
			return false
		}
		p, b := CopyOf(m, nil), rt.Buffer
		b.Mu.Lock()
		if b.open {
			b.Mu.Unlock()
			continue
		}
		if b.after != node || !t.Limit.take(p.Size) {
			b.Mu.Unlock()
			return false
		}
		p.waits(t.set.Spans, m.Shard)
		if t.set.Defects.Planted(defect.ReturnedLast) {
			b.Messages = append(b.Messages, p)
		} else {
			b.Returned = append(b.Returned, p)
		}
		first := b.lenLocked() == 1
		b.Mu.Unlock()
		if m.Origin == t.set.Self {
			t.set.Asks.Sent(m.Call, 0) // no node, again: the end of the node is not the end of the question
		}
		if first {
			t.control.Wanted(m.Shard)
		}
		return true
	}
	return false
}

// SetRoute publishes a route that does not buffer: at once if nothing waits, else when what waits
// has been sent. A local route opens through a buffer always: only under its lock can the lanes
// open together with it.
func (t *Table) SetRoute(number uint32, rt *Route) (flushed bool) {
	slot := &t.Slots[number]
	if rt.Local != nil {
		t.Buffering(number)
	}
	for {
		old := slot.Load()
		if old == nil || old.Buffer == nil {
			if slot.CompareAndSwap(old, rt) {
				return true
			}
			continue
		}
		if old.Buffer.Retarget(rt) {
			return t.Flush(number)
		}
	}
}

// Flush sends what waits along the buffer's target, in order, and opens the route when nothing is
// left. Senders wait meanwhile, and what the lanes bring waits behind, so no message overtakes
// another. false: there was no room, the rest has to be flushed later.
func (t *Table) Flush(number uint32) bool {
	slot := &t.Slots[number]
	old := slot.Load()
	if old == nil || old.Buffer == nil {
		return true
	}
	b := old.Buffer
	b.Mu.Lock()
	defer b.Mu.Unlock()
	if b.open || b.Target == nil {
		return true
	}
	if t.set.Defects.Planted(defect.FlushBackwards) {
		slices.Reverse(b.Messages)
	}
	var full map[string]bool // mailboxes: a handler that hangs must not hold up the other entities of its shard
	stuck := false           // the lane is full, or the target does not work now
	t.sendBufferedLocked(b, func(p *BufferedMessage) (sent bool) {
		if stuck || full[p.ID] {
			return false
		}
		switch err := t.Dispatch(number, b.Target, p); {
		case err == nil:
		case errors.Is(err, failure.ErrBufferFull) && b.Target.Local != nil:
			if full == nil {
				full = map[string]bool{}
			}
			full[p.ID] = true
			return false
		case errors.Is(err, failure.ErrBufferFull), err == ErrChanged:
			stuck = true
			return false
		default:
			t.discardBuffered(failure.DropOf(err), number, p)
		}
		return true
	})
	if b.lenLocked() > 0 {
		return false
	}
	b.open = true
	t.Lanes[number].Store(b.Target.Local)
	slot.CompareAndSwap(old, b.Target)
	return true
}

// OpenLanes lets a shard whose route is not open take what other nodes have sent: first what waits
// of it, then what comes. A full mailbox drops, as it does for what comes.
func (t *Table) OpenLanes(number uint32, s *entities.Shard) {
	if t.set.Defects.Planted(defect.LanesClosed) {
		t.Lanes[number].Store(nil)
		return
	}
	b := t.Buffering(number)
	b.Mu.Lock()
	defer b.Mu.Unlock()
	refused := false
	t.sendBufferedLocked(b, func(p *BufferedMessage) (sent bool) {
		if p.Raw == nil || refused {
			return false
		}
		switch err := t.dispatchLocal(number, s, p); {
		case err == nil:
		case err == ErrChanged:
			refused = true
			return false
		default:
			t.discardBuffered(failure.DropOf(err), number, p)
		}
		return true
	})
	if !refused {
		t.Lanes[number].Store(s)
	}
}

// sendBufferedLocked offers what waits to send, in order, and keeps what that does not take.
func (t *Table) sendBufferedLocked(b *Buffer, send func(*BufferedMessage) (sent bool)) {
	if sent, size := b.keepLocked(func(p *BufferedMessage) bool {
		kept := !send(p)
		if !kept {
			p.waited(nil)
		}
		return kept
	}); sent > 0 {
		if b.Target == nil || b.Target.Remote != b.after {
			b.after = 0
		}
		t.Limit.release(sent, size)
	}
}

// Dispatch sends one buffered message along a route, without waiting.
func (t *Table) Dispatch(number uint32, rt *Route, p *BufferedMessage) error {
	if rt.Local != nil {
		return t.dispatchLocal(number, rt.Local, p)
	}
	if p.Raw != nil {
		return t.set.Carrier.Forward(number, rt.Remote, p.Raw, nil)
	}
	return t.set.Carrier.Carry(number, &t.Slots[number], rt, p.ID, p.Env)
}

func (t *Table) dispatchLocal(number uint32, s *entities.Shard, p *BufferedMessage) error {
	env, size := p.Env, uint32(0)
	if p.Raw != nil {
		var err error
		if env, err = t.set.Carrier.Decode(p.Raw); err != nil {
			return err
		}
		size = BytesOf(p.Raw)
	}
	switch v, _ := s.Deliver(p.ID, env, size); v {
	case mailbox.Accepted:
		return nil
	case mailbox.Full, mailbox.Heavy, mailbox.HeavyRegion, mailbox.HeavyNode:
		reason, _ := v.Drop()
		return failure.NoRoom{Reason: reason}
	default:
		return ErrChanged
	}
}

// DropBuffer drops what waits for the shard.
func (t *Table) DropBuffer(number uint32, reason failure.DropReason) {
	rt := t.Slots[number].Load()
	if rt == nil || rt.Buffer == nil {
		return
	}
	b := rt.Buffer
	b.Mu.Lock()
	waiting := b.takeLocked()
	b.Mu.Unlock()
	t.dropBuffered(number, reason, waiting)
}

// dropBuffered drops messages that waited. Their room is free before their senders hear of it.
func (t *Table) dropBuffered(number uint32, reason failure.DropReason, waiting []BufferedMessage) {
	size := 0
	for i := range waiting {
		size += waiting[i].Size
	}
	t.Limit.release(len(waiting), size)
	for i := range waiting {
		t.discardBuffered(reason, number, &waiting[i])
	}
}

// Close ends every route: a sender that comes later finds a buffer that takes nothing, and
// sees that the region is closed.
func (t *Table) Close() {
	for i := range t.Slots {
		shut := &Buffer{open: true}
		if old := t.Slots[i].Swap(&Route{Buffer: shut}); old != nil && old.Buffer != nil {
			t.dropBuffered(uint32(i), failure.DropStopped, old.Buffer.close())
		}
	}
}

func (t *Table) discardBuffered(reason failure.DropReason, number uint32, p *BufferedMessage) {
	if p.wait != nil {
		p.waited(failure.OfStatus(failure.StatusOf(reason), ""))
		p.wait = nil
	}
	env := p.Env
	if p.Raw != nil {
		env = mailbox.Envelope{Call: p.Raw.Call, Origin: p.Raw.Origin}
	}
	t.set.Carrier.Discard(reason, number, p.ID, env)
}

// PutBack puts messages that a mailbox held when its shard was closed before everything that waits
// for the shard's next home.
func (t *Table) PutBack(number uint32, front []BufferedMessage) {
	if len(front) == 0 {
		return
	}
	for i := range front {
		front[i].waits(t.set.Spans, number)
	}
	b := t.Buffering(number)
	b.Mu.Lock()
	if t.set.Defects.Planted(defect.PutBackLast) {
		b.Messages = append(b.Messages, front...)
	} else {
		b.Messages = append(front, b.Messages...)
	}
	size := 0
	for i := range front {
		size += front[i].Size
	}
	t.Limit.force(len(front), size)
	b.Mu.Unlock()
	t.control.Wanted(number)
}

// FailBuffered ends the questions of a sealed shard's handlers that wait for a home: the handlers
// have to return before the shard can move, and what they wait for may wait for that.
func (t *Table) FailBuffered(s *entities.Shard) {
	for i := range t.Slots {
		rt := t.Slots[i].Load()
		if rt == nil || rt.Buffer == nil {
			continue
		}
		b := rt.Buffer
		b.Mu.Lock()
		if gone, size := b.keepLocked(func(p *BufferedMessage) bool {
			kept := p.From != s || !t.set.Asks.Answer(p.Env.Call, nil, failure.ErrMoving)
			if !kept {
				p.waited(failure.ErrMoving)
			}
			return kept
		}); gone > 0 {
			t.Limit.release(gone, size)
		}
		b.Mu.Unlock()
	}
}
