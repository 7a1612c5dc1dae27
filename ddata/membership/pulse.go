package membership

import (
	"time"

	"github.com/coterie-go/coterie/ddata/membership/message"
	"github.com/coterie-go/coterie/ddata/membership/view"
)

// pulse sends this node's heartbeats.
type pulse struct {
	*step
	in       *cluster
	interval time.Duration
	at       time.Time // when heartbeats are due
}

// soon has heartbeats sent by the next advance.
func (p *pulse) soon() { p.at = p.now }

// tell sends heartbeats at once: what this node says of itself has changed.
func (p *pulse) tell() { p.at, p.wake = p.now, true }

// goesTo reports whether heartbeats go to the member. They ask for grants, so all voters get them.
// If all full members vote, learners get them too, and each member sees for itself which others are
// there. Else the voters learn it from the members that beat to them. A member without a vote gets
// a heartbeat only if it seems to be gone, to tell it of an operator's word, or to hear from it
// whether it closes.
func (p *pulse) goesTo(o view.Member) bool {
	if o.UID == p.in.uid {
		return false
	}
	v := p.in.view
	return !v.Capped || v.Votes(o) || p.in.reach.Doubts(o.UID) || p.in.downs.On(o.UID) || p.in.asksIfCloses(o)
}

// near are the members to some of which heartbeats go: mostly the voters, however many others there are.
func (p *pulse) near() []view.Member {
	v := p.in.view
	if v.Capped && !p.in.reach.DoubtsAny() && p.in.downs.Empty() && !p.in.self.AskedToClose() {
		return v.Voters
	}
	return v.Members
}

// advance sends heartbeats when they are due. A node that has lost its votes asks at the addresses
// of silent members, too: a new incarnation there may know what has become of the cluster.
func (p *pulse) advance(heartbeat func() message.Heartbeat, lost bool) {
	if p.now.Before(p.at) {
		p.dueAt(p.at)
		return
	}
	p.at = p.now.Add(p.interval)
	var hb message.Message = heartbeat() // one for all
	for _, o := range p.near() {
		if !p.goesTo(o) {
			continue
		}
		p.fx.send(o.UID, o.Addr, hb)
		if lost && !p.in.hears(o.UID) {
			p.fx.send(0, o.Addr, message.Fetch{Cluster: p.in.view.Cluster})
		}
	}
	p.dueAt(p.at)
}

// send sends a heartbeat to others, also to those that get none otherwise.
func (p *pulse) send(to []view.Member, hb message.Message) {
	for _, o := range to {
		if o.UID != p.in.uid {
			p.fx.send(o.UID, o.Addr, hb)
		}
	}
}
