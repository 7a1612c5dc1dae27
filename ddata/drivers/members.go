package drivers

import (
	"time"

	"github.com/coterie-go/coterie/ddata/membership"
	"github.com/coterie-go/coterie/ddata/membership/arbitration"
	"github.com/coterie-go/coterie/ddata/membership/message"
	"github.com/coterie-go/coterie/ddata/membership/nodelease"
	"github.com/coterie-go/coterie/ddata/membership/view"
)

// MembersHost is the world around a Members. Its methods are called by Step. They must not call
// Step again: what they have for the machine comes later, as an input.
type MembersHost interface {
	// Publish gets the lease after each step, before anything that the step wants is carried out.
	Publish(nodelease.Lease)
	// Write has a record written, and answers later with membership.Persisted. The bytes are its
	// own. There is no second one before the answer.
	Write(record []byte)
	// Covers reports whether a grant that is computed at that time may be sent: the next node on
	// the directory will know of it.
	Covers(now time.Time) bool
	// Unmarked gets a grant that was not sent because Covers is false.
	Unmarked(message.Envelope)
	// Connect makes the members of a view peers, beside those of the views before.
	Connect(*view.View)
	// Send sends a message, encoded in payload, which is not changed later. It may be lost.
	Send(e message.Envelope, payload []byte)
	// Disconnect ends the links to nodes that no installed view lists.
	Disconnect()
	// Install tells the layers above of a view. Views come in the order of their epochs.
	Install(*view.View)
	// Arbitrate does what the machine wants of the arbiter's lease, one after the other.
	Arbitrate(arbitration.Op)
	// Prolonged returns until when the arbiter's lease is held, and whether that has changed since
	// it was asked last.
	Prolonged() (in membership.ArbiterProlonged, changed bool)
	// Event tells what has happened.
	Event(membership.Event)
	// Done ends the node.
	Done(error)
}

// suspendSlack is how far wall time may run ahead of monotonic time between two steps before it
// counts as a suspend.
const suspendSlack = time.Second

// Members drives the membership machine of one node.
type Members struct {
	m     *membership.Machine
	host  MembersHost
	trace func(membership.Input, *membership.Effects)

	last time.Time // of the last step
	told struct {  // the view that was sent last, as it is sent
		view    *view.View
		payload []byte
	}
}

// NewMembers returns a driver whose first step comes not before now.
func NewMembers(m *membership.Machine, host MembersHost, now time.Time) *Members {
	return &Members{m: m, host: host, last: now}
}

// Trace has fn called with each input that the machine has taken, and its effects, before they are
// carried out. fn may take effects away.
func (d *Members) Trace(fn func(membership.Input, *membership.Effects)) { d.trace = fn }

// Machine is the machine, for looking at it between two steps.
func (d *Members) Machine() *membership.Machine { return d.m }

// Last is the time of the last step.
func (d *Members) Last() time.Time { return d.last }

// Step has the machine take an input, and carries out what it wants. Before it the machine hears of
// a suspend, if wall time ran ahead of monotonic time, and of a lease that was prolonged.
func (d *Members) Step(now time.Time, in membership.Input) {
	wall := now.Round(0).Sub(d.last.Round(0))
	suspended := wall-now.Sub(d.last) > suspendSlack
	d.last = now
	if suspended {
		d.take(membership.Suspended{})
	}
	if in, changed := d.host.Prolonged(); changed {
		d.take(in)
	}
	d.take(in)
}

func (d *Members) take(in membership.Input) {
	fx := d.m.Step(d.last, in)
	d.host.Publish(d.m.Lease())
	if d.trace != nil {
		d.trace(in, fx)
	}
	d.carry(fx)
}

func (d *Members) carry(fx *membership.Effects) {
	if fx.Persist != nil {
		d.host.Write(fx.Persist)
	}
	for _, v := range fx.Install {
		d.host.Connect(v) // before sending
	}
	for _, e := range fx.Send {
		d.send(e)
	}
	if len(fx.Install) > 0 {
		d.host.Disconnect() // after it: members that go are told so over the links that they have
	}
	for _, v := range fx.Install {
		d.host.Install(v)
	}
	for _, op := range fx.Arbiter {
		d.host.Arbitrate(op)
	}
	for _, e := range fx.Events {
		d.host.Event(e)
	}
	if fx.Done != nil {
		d.host.Done(fx.Done)
	}
}

func (d *Members) send(e message.Envelope) {
	if g, ok := e.Msg.(message.Grant); ok && g.Granted && !d.host.Covers(d.last) {
		d.host.Unmarked(e)
		return
	}
	d.host.Send(e, d.encode(e.Msg))
}

// encode encodes a message; a view that goes to all, which grows with their number, once.
func (d *Members) encode(msg message.Message) []byte {
	c, ok := msg.(message.Commit)
	if !ok {
		return message.Append(nil, msg)
	}
	if d.told.view != c.View {
		d.told.view, d.told.payload = c.View, message.Append(nil, msg)
	}
	return d.told.payload
}
