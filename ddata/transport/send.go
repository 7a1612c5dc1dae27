package transport

import (
	"context"
	"fmt"
)

// link finds the link of a peer.
func (m *Mesh) link(to NodeID, lane Lane, stripe uint32) (*link, error) {
	p, ok := (*m.peers.Load())[to]
	if !ok {
		return nil, m.noPeer(to)
	}
	return p.link(lane, stripe)
}

func (m *Mesh) noPeer(to NodeID) error {
	if m.closed.Load() {
		return ErrClosed
	}
	if to == m.cfg.Self {
		return ErrSelf
	}
	m.n.drop(DropNoPeer, 1)
	return ErrNoPeer
}

func (l *link) tooLarge(n int) error {
	l.m.n.drop(DropTooLarge, 1)
	if l.lane == Data {
		return fmt.Errorf("%w: %d bytes, the limit is %d (Config.MessageMax); keep what is so large elsewhere, and send where it is", ErrFrameTooLarge,
			n, l.most)
	}
	return fmt.Errorf("%w: %d bytes, the limit of the lane %v is %d (Config.FrameMax); send it in chunks", ErrFrameTooLarge, n, l.lane, l.most)
}

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
	l, err := m.link(to, lane, stripe)
	if err != nil {
		return err
	}
	if err := l.send(ch, payload, l.max); err != nil {
		return m.failed(err, l.full)
	}
	return nil
}

// Append queues one frame that is built in place and checked under the lane's lock.
func (m *Mesh) Append(to NodeID, lane Lane, stripe uint32, ch Channel, fill func(dst []byte) []byte, check func() error) error {
	l, err := m.link(to, lane, stripe)
	if err != nil {
		return err
	}
	if _, err := l.append(ch, fill, check, false); err != nil {
		return m.failed(err, l.full)
	}
	return nil
}

// AppendWait is Append that waits for room.
func (m *Mesh) AppendWait(ctx context.Context, to NodeID, lane Lane, stripe uint32, ch Channel,
	fill func(dst []byte) []byte, check func() error) error {
	l, err := m.link(to, lane, stripe)
	if err != nil {
		return err
	}
	for {
		room, err := l.append(ch, fill, check, true)
		if err != nil {
			return m.failed(err, l.full)
		}
		if room == nil {
			return nil
		}
		select {
		case <-room:
		case <-ctx.Done():
			m.n.drop(l.full, 1)
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
	if p, ok := (*m.peers.Load())[to]; ok {
		return m.failed(p.control.send(ch, payload, m.cfg.PacketQueueMax), DropPacket)
	}
	return m.sendAddr(addr, ch, payload, min(addrQueueMax, m.cfg.PacketQueueMax), DropPacket)
}

func (m *Mesh) sendAddr(addr string, ch Channel, payload []byte, bound int, full Drop) error {
	for {
		l, err := m.addrLink(addr)
		if err == nil {
			err = l.send(ch, payload, bound)
		}
		if err == ErrNoPeer {
			continue // the link retired between the two calls; the next one is another
		}
		return m.failed(err, full)
	}
}

// addrLink finds or makes the link to the process that listens at addr.
func (m *Mesh) addrLink(addr string) (*link, error) {
	if addr == m.addr {
		return nil, ErrSelf
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if l, ok := m.addrLinks[addr]; ok {
		return l, nil
	}
	if m.closed.Load() {
		return nil, ErrClosed
	}
	if err := checkAddr(addr, false); err != nil {
		return nil, err
	}
	if len(m.addrLinks) >= addrLinksMax {
		return nil, ErrQueueFull
	}
	l := m.newLink(0, addr, Control, 0)
	m.addrLinks[addr] = l
	return l, nil
}
