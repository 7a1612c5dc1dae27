package sim

import "github.com/coterie-go/coterie/proptest/sim/network"

var (
	_ network.World      = netWorld{}
	_ network.Endpoint   = (*Process)(nil)
	_ network.Extensions = (*wires)(nil)
)

// netWorld is the world, as the network sees it.
type netWorld struct{ w *World }

// Now implements network.World.
func (n netWorld) Now() int64 { return n.w.now }

// At implements network.World.
func (n netWorld) At(t int64, owner network.Endpoint, run func()) {
	p, _ := owner.(*Process)
	n.w.at(t, p, run)
}

// Find implements network.World.
func (n netWorld) Find(uid uint64) network.Endpoint {
	if p := n.w.procs[uid]; p != nil {
		return p
	}
	return nil
}

// Listener implements network.World.
func (n netWorld) Listener(addr string) network.Endpoint {
	for _, s := range n.w.slots {
		if s.addr == addr && s.proc != nil {
			return s.proc
		}
	}
	return nil
}

// Perished implements network.World.
func (n netWorld) Perished(frame []byte, how string) { n.w.lostFrame(frame, how) }

// UID implements network.Endpoint.
func (p *Process) UID() uint64 { return p.uid }

// Slot implements network.Endpoint.
func (p *Process) Slot() int { return p.slot.index }

// Alive implements network.Endpoint.
func (p *Process) Alive() bool { return p.alive }

// Extensions implements network.Endpoint.
func (p *Process) Extensions() network.Extensions { return p.node.wires }
