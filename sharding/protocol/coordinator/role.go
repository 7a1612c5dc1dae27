package coordinator

import (
	"slices"

	"github.com/coterie-go/coterie/ddata/membership"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// A type runs under one role. Nodes of another role never register with this coordinator, and it
// does not ask them what they host, so two coordinators of two roles would not meet. Therefore a
// coordinator asks, when its reign begins, all members without its role under which role they run
// the type. A member with both roles that runs the type under the other one says so when it is
// inquired. A coordinator that finds the type in service under another role stands down: the other
// was first. A reign that begins later asks in its turn, so each pair of coordinators meets. It
// does not act before the answers, or before the time in which they usually come. When both act
// nevertheless, the younger one stands down.

// roles is what a reign has learned about other roles.
type roles struct {
	unasked []protocol.UID // that have not answered
	every   uint32         // ticks until they are asked again; doubles
	next    uint32         // the tick in which they are
}

// other is a coordinator of another role before which this one stands down.
type other struct {
	uid  protocol.UID // 0: none
	role string
}

// compareRoles asks the members that lack the role.
func (c *Coordinator) compareRoles() {
	c.roles = roles{every: 1}
	for _, m := range c.view.Members {
		if !m.HasRole(c.cfg.Role) {
			c.roles.unasked = append(c.roles.unasked, m.UID)
		}
	}
	c.askRoles()
}

// askRoles repeats the question, with doubling pauses: a member without package sharding never
// answers.
func (c *Coordinator) askRoles() {
	r := &c.roles
	if len(r.unasked) == 0 || c.ticks < r.next {
		return
	}
	r.next, r.every = c.ticks+r.every, min(2*r.every, roleTicksMax)
	for _, u := range r.unasked {
		if c.view.Has(u) {
			c.out.send(u, protocol.Compare{})
		}
	}
}

// awaitsRoles reports whether answers may come soon that forbid to act. A member that does not
// answer holds the reign up for about one RetryInterval.
func (c *Coordinator) awaitsRoles() bool {
	gone := func(u protocol.UID) bool { return !c.view.Has(u) }
	c.roles.unasked = slices.DeleteFunc(c.roles.unasked, gone)
	return len(c.roles.unasked) > 0 && c.takeover.tries < reportTries
}

// roleTicksMax is the longest pause between two questions, in ticks of a quarter of RetryInterval.
const roleTicksMax = 1 << 10

// tookRole reports whether a message is about roles, or refused because of them.
func (c *Coordinator) tookRole(from protocol.UID, m protocol.Message) bool {
	switch m := m.(type) {
	case protocol.Compared:
		if c.mode >= reading {
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
	c.roles.unasked = protocol.Without(c.roles.unasked, from)
	if !m.Runs || m.Role == c.cfg.Role {
		c.maybeActivate()
		return
	}
	theirs, ok := c.view.Member(m.Coordinator)
	coordinates := ok && m.Coordinator != c.cfg.Self && (m.Joined || from == m.Coordinator)
	if older := theirs.UpNumber < c.me.UpNumber; coordinates && (older || m.Joined && c.mode != active) {
		c.standDown(other{uid: m.Coordinator, role: m.Role})
		return
	}
	c.sayOtherRole(from, m.Role)
	c.takeover.awaiting = protocol.Without(c.takeover.awaiting, from) // it hosts nothing for this coordinator
	if c.peers[from] == nil {
		c.absent[from] = true
	}
	if coordinates && c.mode == active { // it did not hear of this one in time
		c.out.send(m.Coordinator, protocol.Compared{Runs: true, Role: c.cfg.Role, Joined: true, Coordinator: c.cfg.Self})
	}
	c.maybeActivate()
}

func (c *Coordinator) sayOtherRole(peer protocol.UID, role string) {
	own, theirs := c.cfg.Compatibility(), c.cfg.Compatibility()
	theirs.Role = role
	c.notify(protocol.Event{Kind: protocol.TypeMismatch, Peer: peer, Text: own.Differences(theirs, "there")})
}

// standDown ends the reign as long as the coordinator of another role is a member. Its word that it
// does not run the type any more would not do: regions that it has coordinated host on without it.
// The view that drops it begins a new reign, which asks all members again, those regions too. So a
// type that was started under the wrong role needs a restart of the nodes that run it so, and no
// more than that.
func (c *Coordinator) standDown(o other) {
	peers := c.peersByUID()
	c.becomeIdle()
	c.outranked = o
	c.sayOtherRole(o.uid, o.role)
	for _, p := range peers {
		c.refuseRole(p.uid)
	}
}

// refuseRole tells a region under which role the type runs.
func (c *Coordinator) refuseRole(u protocol.UID) {
	a := c.cfg.Compatibility()
	a.Role = c.outranked.role
	c.out.send(u, protocol.Refused{Compatibility: a})
}

// mayAct reports whether no coordinator of another role is known that this one stands down before.
func (c *Coordinator) mayAct(v *membership.View) bool {
	if !v.Has(c.outranked.uid) {
		c.outranked = other{}
	}
	return c.outranked.uid == 0
}
