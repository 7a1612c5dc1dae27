package network

// flight is a packet that is under way. Its memory is used again for another one when it has landed, except in
// a process that ends meanwhile.
type flight struct {
	Packet
	n        *Network
	from, to Endpoint
	link     *link // nil: it is on the control lane
	gen      uint64
	arrives  func() // arrive
}

// board makes a flight of a packet.
func (n *Network) board(from, to Endpoint, pk *Packet) *flight {
	var f *flight
	if last := len(n.landed) - 1; last >= 0 {
		f, n.landed = n.landed[last], n.landed[:last]
	} else {
		f = &flight{n: n}
		f.arrives = f.arrive
	}
	room := f.Payload
	f.Packet, f.from, f.to, f.link = *pk, from, to, nil
	if pk.To != ToShard {
		f.Payload = append(room[:0], pk.Payload...)
	}
	return f
}

// land ends a flight.
func (f *flight) land() {
	if f.To == ToShard {
		f.Payload = nil // others may have it
	}
	f.n.landed = append(f.n.landed, f)
}

// lost ends a flight that does not arrive.
func (f *flight) lost(how string) {
	f.n.lost(f.from, f.to, &f.Packet, how)
	f.land()
}

// arrive delivers a packet, or loses it at a cut; one of a FIFO lane waits there while the connection stalls.
func (f *flight) arrive() {
	n, l := f.n, f.link
	switch {
	case l == nil && !n.open(f.from.Slot(), f.to.Slot()):
		f.lost("at a cut")
	case l != nil && f.gen != l.gen:
		f.lost("for its connection broke")
	case l != nil && len(l.held) > 0:
		l.held = append(l.held, f)
	case l != nil && !n.Connected(f.from.Slot(), f.to.Slot()):
		l.held = append(l.held, f)
		l.since = n.w.Now()
		n.poll(l)
	default:
		n.deliver(f.to, &f.Packet)
		f.land()
	}
}
