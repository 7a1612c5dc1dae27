package thousand

import (
	"math/rand/v2"
	"reflect"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata/drivers"
	"github.com/coterie-go/coterie/ddata/membership"
	"github.com/coterie-go/coterie/ddata/membership/arbitration"
	"github.com/coterie-go/coterie/ddata/membership/message"
	"github.com/coterie-go/coterie/ddata/membership/nodelease"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/replicator"
)

// founders found the cluster; all others join it.
const founders = 3

// memberHost is the host of the driver of a node's membership machine.
type memberHost struct {
	n     *node
	d     *drivers.Members
	m     *membership.Machine
	view  *view.View // installed last
	timer timer
}

var _ drivers.MembersHost = (*memberHost)(nil)

func newMemberHost(n *node) (*memberHost, error) {
	w := n.w
	c := membership.LAN()
	c.UID, c.Addr, c.Name, c.Roles = view.UID(n.uid), n.slot.addr, "bench", []string{role}
	for _, s := range w.slots[:min(founders, len(w.slots))] {
		c.Seeds = append(c.Seeds, s.addr)
	}
	if n.slot.index < founders {
		c.BootstrapExpect = min(founders, len(w.slots))
	}
	m, err := membership.New(c, rand.New(rand.NewPCG(n.rng.Uint64(), 1)), nil)
	if err != nil {
		return nil, err
	}
	h := &memberHost{n: n, m: m}
	h.d = drivers.NewMembers(m, h, w.clock())
	return h, nil
}

// step lets the machine take one input.
func (h *memberHost) step(in membership.Input) {
	w := h.n.w
	w.meter.step(h.n, membershipPart, in, func() { h.d.Step(w.clock(), in) })
	h.timer.arm(h.n, h.m.Deadline(), func() { h.step(membership.Tick{}) })
}

// Publish implements drivers.MembersHost. The lease is read where it is needed.
func (h *memberHost) Publish(nodelease.Lease) {}

// Write implements drivers.MembersHost. A node without a directory has its record in memory.
func (h *memberHost) Write([]byte) { h.n.soon(func() { h.step(membership.Persisted{}) }) }

// Covers implements drivers.MembersHost.
func (h *memberHost) Covers(time.Time) bool { return true }

// Unmarked implements drivers.MembersHost.
func (h *memberHost) Unmarked(message.Envelope) {}

// Connect implements drivers.MembersHost.
func (h *memberHost) Connect(v *view.View) { h.n.wires.connect(v) }

// Disconnect implements drivers.MembersHost.
func (h *memberHost) Disconnect() {}

// Arbitrate implements drivers.MembersHost. There is no arbiter.
func (h *memberHost) Arbitrate(arbitration.Op) {}

// Prolonged implements drivers.MembersHost.
func (h *memberHost) Prolonged() (in membership.ArbiterProlonged, changed bool) { return in, false }

// Send implements drivers.MembersHost.
func (h *memberHost) Send(e message.Envelope, payload []byte) {
	h.n.w.meter.within(nil, playing, func() { h.send(e, payload) })
}

func (h *memberHost) send(e message.Envelope, payload []byte) {
	w, to := h.n.w, uint64(e.To)
	if to == 0 {
		s := w.byAddr[e.Addr]
		if s == nil || s.node == nil {
			return
		}
		to = s.node.uid
	}
	w.carry(h.n, to, reflect.TypeOf(e.Msg).String(), len(payload), func(n *node) {
		n.mem.receive(h.n, payload)
	})
}

func (h *memberHost) receive(from *node, payload []byte) {
	var m message.Message
	var err error
	h.n.w.meter.within(h.n, membershipPart, func() { m, err = message.Decode(payload) })
	if err != nil {
		h.n.w.fail("a message of the membership does not decode: %v", err)
		return
	}
	h.step(membership.Receive{From: view.UID(from.uid), FromAddr: from.slot.addr, Msg: m})
}

// Install implements drivers.MembersHost.
func (h *memberHost) Install(v *view.View) {
	h.n.w.after(0, h.n, func() {
		h.view = v
		h.n.install(v)
	})
}

// Event implements drivers.MembersHost.
func (h *memberHost) Event(ev membership.Event) {
	n := h.n
	switch ev := ev.(type) {
	case membership.MemberUnreachable:
		n.reachable(ev.Member.UID, false)
	case membership.MemberReachable:
		n.reachable(ev.Member.UID, true)
	case membership.LeaseLost:
		n.w.after(0, n, func() { n.enter(func() { n.watchers.TellLease(false) }) })
	case membership.LeaseRegained:
		n.w.after(0, n, func() { n.enter(func() { n.watchers.TellLease(true) }) })
	}
}

// reachable tells all of whether a member is heard.
func (n *node) reachable(uid view.UID, is bool) {
	for _, r := range n.data {
		n.soon(func() { r.step(replicator.Reachable{Origin: crdt.Origin(uid), Is: is}) })
	}
	n.w.after(0, n, func() { n.enter(func() { n.watchers.TellReachable(uid, is) }) })
}

// Done implements drivers.MembersHost.
func (h *memberHost) Done(why error) { h.n.w.after(0, h.n, func() { h.n.done(why) }) }

// holds reports whether the node may run things now.
func (h *memberHost) holds() bool {
	return h.n.alive && h.n.reason == nil && h.m.Lease().Holds(h.n.w.clock())
}
