package coordinator

import (
	"slices"

	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/ddata/runloop/timer"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// A type runs under one role. Nodes of another role never register with this coordinator, and it
// does not ask them what they host, so two coordinators of two roles would not meet. Therefore a
// coordinator asks, when its term begins, all members without its role under which role they run
// the type. A member with both roles that runs the type under the other one says so when it is
// inquired. A coordinator that finds the type in service under another role stands down: the other
// was first. A term that begins later asks in its turn, so each pair of coordinators meets. It
// does not act before the answers, or before the time in which they usually come. When both act
// nevertheless, the younger one stands down.

// roles is what a term has learned about other roles.
type roles struct {
	*env
	unasked []protocol.UID // that have not answered
	asked   int            // how often they were asked
	next    uint32         // the tick in which they are
}

// other is a coordinator of another role before which this one stands down.
type other struct {
	uid  protocol.UID // 0: none
	role string
}

// begin asks the members that lack the role.
func (ro *roles) begin(out *outbox) {
	ro.asked = 0
	for _, m := range ro.view.Members {
		if !m.HasRole(ro.cfg.Role) {
			ro.unasked = append(ro.unasked, m.UID)
		}
	}
	ro.ask(out)
}

// ask repeats the question, with doubling pauses: a member without package sharding never
// answers.
func (ro *roles) ask(out *outbox) {
	if len(ro.unasked) == 0 || ro.ticks < ro.next {
		return
	}
	ro.next = ro.ticks + timer.Backoff[uint32](1, roleTicksMax, ro.asked)
	ro.asked++
	for _, u := range ro.unasked {
		if ro.view.Has(u) {
			out.send(u, protocol.Compare{})
		}
	}
}

// awaits reports whether answers may come soon that forbid to act. A member that does not
// answer holds the term up for about one RetryInterval.
func (ro *roles) awaits(tries int) bool {
	gone := func(u protocol.UID) bool { return !ro.view.Has(u) }
	ro.unasked = slices.DeleteFunc(ro.unasked, gone)
	return len(ro.unasked) > 0 && tries < reportTries
}

// answered notes the answer of a member.
func (ro *roles) answered(from protocol.UID) { ro.unasked = protocol.Without(ro.unasked, from) }

// roleTicksMax is the longest pause between two questions, in ticks of a quarter of RetryInterval.
const roleTicksMax = 1 << 10

// tookRole reports whether a message is about roles, or refused because of them.
func (c *Coordinator) tookRole(from protocol.UID, m protocol.Message) bool {
	switch m := m.(type) {
	case protocol.Compared:
		if c.term.mode >= reading {
			c.onCompared(from, m)
		}
		return true
	case protocol.Register:
		if c.outranked.uid != 0 {
			c.refuseRole(from)
			return true
		}
	}
	return false
}

// onCompared takes the answer of a member that lacks the role, or runs the type under another one.
func (c *Coordinator) onCompared(from protocol.UID, m protocol.Compared) {
	c.term.roles.answered(from)
	if !m.Runs || m.Role == c.cfg.Role {
		c.term.maybeActivate()
		return
	}
	theirs, ok := c.view.Member(m.Coordinator)
	coordinates := ok && m.Coordinator != c.cfg.Self && (m.Joined || from == m.Coordinator)
	if older := theirs.UpNumber < c.me.UpNumber; coordinates && (older || m.Joined && c.term.mode != active) {
		c.standDown(other{uid: m.Coordinator, role: m.Role})
		return
	}
	c.sayOtherRole(from, m.Role)
	c.term.disown(from)
	if coordinates && c.term.mode == active { // it did not hear of this one in time
		c.term.homes.out.send(m.Coordinator, protocol.Compared{
			Runs: true, Role: c.cfg.Role, Joined: true, Coordinator: c.cfg.Self,
		})
	}
	c.term.maybeActivate()
}

func (c *Coordinator) sayOtherRole(peer protocol.UID, role string) {
	own, theirs := c.cfg.Compatibility(), c.cfg.Compatibility()
	theirs.Role = role
	c.notify(protocol.Event{Kind: protocol.TypeMismatch, Peer: peer, Text: own.Differences(theirs, "there")})
}

// standDown ends the term as long as the coordinator of another role is a member. Its word that it
// does not run the type any more would not do: regions that it has coordinated host on without it.
// The view that drops it begins a new term, which asks all members again, those regions too. So a
// type that was started under the wrong role needs a restart of the nodes that run it so, and no
// more than that.
func (c *Coordinator) standDown(o other) {
	peers := c.term.homes.regions.byUID()
	c.becomeIdle()
	c.outranked = o
	c.sayOtherRole(o.uid, o.role)
	for _, p := range peers {
		c.refuseRole(p.uid)
	}
}

// refuseRole tells a region under which role the type runs.
func (c *Coordinator) refuseRole(u protocol.UID) {
	a := c.cfg.Compatibility().ReadBy(c.view)
	a.Role = c.outranked.role
	c.term.homes.out.send(u, protocol.Refused{Compatibility: a})
}

// mayAct reports whether no coordinator of another role is known that this one stands down before.
func (c *Coordinator) mayAct(v *view.View) bool {
	if !v.Has(c.outranked.uid) {
		c.outranked = other{}
	}
	return c.outranked.uid == 0
}
