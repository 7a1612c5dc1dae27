package exchange

import (
	"fmt"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/push"
	"github.com/coterie-go/coterie/replicator/repair"
	"github.com/coterie-go/coterie/replicator/replica"
	"github.com/coterie-go/coterie/replicator/wire"
)

// Intake applies the groups of others, in the order in which they build on each other.
type Intake struct {
	r       *replica.Replica
	acks    *Pusher
	puller  *repair.Puller
	waiting push.WaitList // groups that came too early
}

// NewIntake makes an intake in which nothing waits. It owes acks by way of acks.
func NewIntake(r *replica.Replica, acks *Pusher, puller *repair.Puller) Intake {
	return Intake{r: r, acks: acks, puller: puller}
}

// OnTime asks for what the waiting groups lack, when it is time to.
func (n *Intake) OnTime() {
	if n.waiting.Due(n.r.Now) {
		n.askGap()
	}
}

// Deadline is when to ask for what the waiting groups lack; zero: never.
func (n *Intake) Deadline() time.Time { return n.waiting.AskAt() }

// Waits returns how many groups wait for what they build on.
func (n *Intake) Waits() int { return n.waiting.Len() }

// Bytes returns what the waiting groups hold.
func (n *Intake) Bytes() int { return n.waiting.Bytes() }

// Check returns a broken invariant.
func (n *Intake) Check() error {
	if n.waiting.Len() > push.WaitingMax {
		return fmt.Errorf("%d groups wait", n.waiting.Len())
	}
	return nil
}

// OnPush applies groups, and owes the sender an ack.
func (n *Intake) OnPush(p *replica.Peer, msg *wire.Push) {
	applied := false
	for _, g := range msg.Groups {
		applied = n.apply(p, g) || applied
	}
	if applied {
		n.Release()
	}
	n.acks.owe(p)
	if msg.Asks > 0 {
		l := p.Link(n.r.ID)
		l.Asked, l.AskedFor = max(l.Asked, msg.Asks), max(l.AskedFor, l.Echo)
	}
	if msg.Fill && msg.More && applied {
		n.r.TellClock(p, false)
	}
}

// apply applies one group of others, whole or not at all (R9), and reports whether it did.
func (n *Intake) apply(p *replica.Peer, g crdt.Group) bool {
	for i := range g {
		if n.r.CheckKey(g[i].Key) != nil {
			n.r.Malformed(p)
			return false
		}
	}
	outcome, err := n.r.Items.Apply(g, &n.r.Changes)
	if err != nil {
		n.r.Malformed(p)
		return false
	}
	n.seen(p, g)
	switch outcome {
	case crdt.Applied:
		n.r.Counters.Applied++
		n.r.Absorb()
		return true
	case crdt.Duplicate:
		n.r.Counters.Duplicates++
	case crdt.Waiting:
		n.wait(p, g)
	}
	return false
}

// seen notes what a sound group tells of its sender: the sender has this group. If the sender also
// made the group, the group is no longer on its way.
func (n *Intake) seen(p *replica.Peer, g crdt.Group) {
	first, last := g.First(), g.Last()
	if first.Origin == n.r.Cfg.Self {
		return
	}
	l := p.Link(n.r.ID)
	l.Content.AddRange(first.Origin, first.Seq, last.Seq)
	if first.Origin == p.ID {
		l.Echo = max(l.Echo, last.Seq)
	}
}

// wait keeps a group for later, and sees that the gap is asked for unless it fills by itself soon.
func (n *Intake) wait(p *replica.Peer, g crdt.Group) {
	needs := n.r.Changes.Missing[0]
	n.r.Changes.Reset()
	switch n.waiting.Add(g, p.ID, needs, n.r.Cfg.PushWindow, n.r.Now.Add(n.r.Cfg.GapDelay)) {
	case push.WaitsNow:
		n.r.Counters.Waited++
	case push.WaitsNot:
		n.r.Counters.WaitingDropped++
	}
}

// Release applies the waiting groups that have got what they waited for.
func (n *Intake) Release() {
	n.waiting.Release(func(d crdt.Dot) bool { return n.r.Content().Has(d) }, n.retry)
}

// retry applies a group that has waited, and returns what it lacks now.
func (n *Intake) retry(g crdt.Group) (needs crdt.Dot, waits bool) {
	outcome, err := n.r.Items.Apply(g, &n.r.Changes)
	if err == nil && outcome == crdt.Waiting {
		needs = n.r.Changes.Missing[0]
		n.r.Changes.Reset()
		return needs, true
	}
	if err == nil && outcome == crdt.Applied {
		n.r.Counters.Applied++
		n.r.Absorb()
		if p := n.r.Peer(g[0].Dot.Origin); p != nil {
			n.acks.owe(p)
		}
	}
	return needs, false
}

// askGap asks a sender of a waiting group for what is missing. It does so by sending the own clock
// to that sender.
func (n *Intake) askGap() {
	waits := n.waiting.Len()
	if waits == 0 {
		return
	}
	n.waiting.AskAgainAt(n.r.Now.Add(n.r.Cfg.RetryInterval))
	if n.puller.Running() {
		return // the repair brings it
	}
	if p := n.r.Peer(n.waiting.From(n.r.Rng.IntN(waits))); p != nil {
		n.r.TellClock(p, false)
		return
	}
	for _, p := range n.r.Favoured(n.r.Peers, false) {
		if p.Voter {
			n.r.TellClock(p, false)
			return
		}
	}
}

// ForgetRemoved drops groups of removed members that wait for others. If they were applied later,
// no other member would have been told of them.
func (n *Intake) ForgetRemoved() { n.waiting.Forget(n.r.Removed) }

// Leave drops what waits, when this replica is no member any more.
func (n *Intake) Leave() { n.waiting = push.WaitList{} }
