package network

import (
	"slices"
	"time"

	"github.com/coterie-go/coterie/proptest/sim/random"
)

// control is the connection of the control lane from a process to a peer, as far as its end is a sign:
// what its packets go through is in datagram. It is made, and made again when it has ended, until the
// peer is none any more.
type control struct {
	from, to Endpoint
	course   uint64 // attempts of an earlier course bring nothing
	lies     int    // how many attempts are refused although the peer can be reached
}

// Controls are the control connections of a network.
type Controls struct {
	n       *Network
	all     []*control // in the order in which they were made
	refuses bool       // what is cut refuses connections
}

// Dial makes the control connection from a process to another one, unless there is one.
func (x *Controls) Dial(from, to Endpoint) {
	if slices.ContainsFunc(x.all, func(c *control) bool { return c.from == from && c.to == to }) {
		return
	}
	c := &control{from: from, to: to}
	x.all = append(x.all, c)
	x.attempt(c, x.n.delayBy(x.n.rng))
}

// Hangup ends the control connection from a process to one that is no peer any more.
func (x *Controls) Hangup(from Endpoint, to uint64) {
	x.all = slices.DeleteFunc(x.all, func(c *control) bool {
		if c.from != from || c.to.UID() != to {
			return false
		}
		c.course++
		return true
	})
}

// breaks ends the control connections for which ends reports true. Each is dialled again.
func (x *Controls) breaks(ends func(*control) bool, lies int) {
	for _, c := range x.all {
		if ends(c) {
			c.lies = lies
			x.attempt(c, random.Between(x.n.rng, int64(10*time.Millisecond), int64(100*time.Millisecond)))
		}
	}
}

// attempt dials after a while, and tells how that has ended. A machine that is cut off does not answer,
// unless the cut refuses connections; one whose process has ended refuses them.
func (x *Controls) attempt(c *control, after int64) {
	c.course++
	course := c.course
	x.n.w.At(x.n.w.Now()+after, c.from, func() {
		if course != c.course || !c.from.Alive() {
			return
		}
		open := x.n.Connected(c.from.Slot(), c.to.Slot())
		switch {
		case open && c.to.Alive() && c.lies == 0:
			c.from.Extensions().Dialled(c.to.UID(), false)
			return
		case open || x.refuses:
			c.lies = max(0, c.lies-1)
			c.from.Extensions().Dialled(c.to.UID(), true)
		}
		if course == c.course {
			x.attempt(c, random.Between(x.n.rng, int64(50*time.Millisecond), int64(2*time.Second)))
		}
	})
}

// cut takes a change of what is cut. It draws whether a cut that begins refuses connections, as a
// firewall can, and ends those that cross it if it does.
func (x *Controls) cut(begins bool) {
	if x.refuses = begins && random.Chance(x.n.rng, 0.4); x.refuses {
		x.breaks(func(c *control) bool { return !x.n.Connected(c.from.Slot(), c.to.Slot()) }, 0)
	}
}

// end is what the end of a process means for the control connections: it has none any more, and
// those to it end where that can be seen.
func (x *Controls) end(p Endpoint) {
	x.all = slices.DeleteFunc(x.all, func(c *control) bool { return c.from == p })
	x.breaks(func(c *control) bool { return c.to == p }, 0)
}

// heal has no attempt refused while the peer can be reached.
func (x *Controls) heal() {
	for _, c := range x.all {
		c.lies = 0
	}
}
