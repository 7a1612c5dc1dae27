package transport

import (
	"context"
	"fmt"
)

// failed counts a frame that a link did not take.
func (m *Mesh) failed(err error, full Drop) error {
	switch err {
	case ErrQueueFull:
		m.n.drop(full, 1)
	case ErrNoPeer:
		m.n.drop(DropNoPeer, 1)
	}
	return err
}

// Send queues one frame for a peer.
func (m *Mesh) Send(to NodeID, lane Lane, stripe uint32, ch Channel, payload []byte) error {
	l, err := m.out.link(to, lane, stripe)
	if err != nil {
		return err
	}
	if err := l.q.send(ch, payload, l.q.max); err != nil {
		return m.failed(err, l.q.full)
	}
	return nil
}

// Append queues one frame that is built in place and checked under the lane's lock.
func (m *Mesh) Append(
	to NodeID, lane Lane, stripe uint32, ch Channel, fill func(dst []byte) []byte, check func() error,
) error {
	l, err := m.out.link(to, lane, stripe)
	if err != nil {
		return err
	}
	if _, err := l.q.append(ch, fill, check, false); err != nil {
		return m.failed(err, l.q.full)
	}
	return nil
}

// AppendWait is Append that waits for room.
func (m *Mesh) AppendWait(
	ctx context.Context,
	to NodeID, lane Lane, stripe uint32, ch Channel, fill func(dst []byte) []byte, check func() error,
) error {
	l, err := m.out.link(to, lane, stripe)
	if err != nil {
		return err
	}
	for {
		room, err := l.q.append(ch, fill, check, true)
		if err != nil {
			return m.failed(err, l.q.full)
		}
		if room == nil {
			return nil
		}
		select {
		case <-room:
		case <-ctx.Done():
			m.n.drop(l.q.full, 1)
			return fmt.Errorf("%w: %w", ErrQueueFull, ctx.Err())
		}
	}
}

// SendAddr queues one frame for the process that listens at addr.
func (m *Mesh) SendAddr(addr string, ch Channel, payload []byte) error {
	return m.sendAddr(addr, ch, payload, addrQueueMax, DropQueueFullAddr)
}

// SendPacket queues one frame that may be lost at will.
func (m *Mesh) SendPacket(to NodeID, addr string, ch Channel, payload []byte) error {
	if p, ok := m.out.peer(to); ok {
		return m.failed(p.control.q.send(ch, payload, m.local.cfg.PacketQueueMax), DropPacket)
	}
	return m.sendAddr(addr, ch, payload, min(addrQueueMax, m.local.cfg.PacketQueueMax), DropPacket)
}

func (m *Mesh) sendAddr(addr string, ch Channel, payload []byte, bound int, full Drop) error {
	if addr == m.Addr() {
		return ErrSelf
	}
	for {
		l, err := m.out.addrLink(addr)
		if err == nil {
			err = l.q.send(ch, payload, bound)
		}
		if err == ErrNoPeer {
			continue // the link retired between the two calls; the next one is another
		}
		return m.failed(err, full)
	}
}
