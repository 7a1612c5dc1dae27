package membership

import (
	"github.com/coterie-go/coterie/ddata/membership/joiners"
	"github.com/coterie-go/coterie/ddata/membership/message"
)

// onProbe: a member takes it as a request to join, a seeking node as a candidate.
func (m *Machine) onProbe(r Receive, p Probe) {
	if p.Self.UID != r.From {
		m.stats.DroppedBad++
		return
	}
	if m.view == nil {
		m.seeker.OnProbe(m.now, p)
		m.takeOutput()
		return
	}
	if m.view.Has(r.From) {
		m.fx.send(r.From, p.Self.Addr, message.Commit{View: m.view.View})
		return
	}
	if m.parting.Begun() {
		m.stats.DroppedStale++ // the cluster ends: a node that hears of it would wait for nothing
		return
	}
	if reason, text := m.refusal(p); reason != 0 {
		m.stats.JoinsRefused++
		m.fx.send(p.Self.UID, p.Self.Addr, Refuse{To: p.Self.UID, Cluster: m.view.Cluster, At: p.At, Reason: reason, Text: text})
		if reason != ReasonGone && m.joiners.MayTell(m.now, p.Self.Addr, text) {
			m.fx.event(RefusedNode{UID: r.From, Addr: p.Self.Addr, Reason: reason, Text: text})
		}
		return
	}
	news, full := m.joiners.Remember(m.now, m.view.Epoch, p)
	m.wake = m.wake || news
	if full {
		m.stats.DroppedFull++
	}
	m.fx.send(r.From, p.Self.Addr, JoinReply{
		Cluster: m.view.Cluster, Epoch: m.view.Epoch, Contacts: m.contacts(), Closing: m.view.Closing, Moving: !m.view.TakesPatterns(p.Durable, m.view.View),
	})
}

// refusal says why a node cannot be taken; 0 = it can.
func (m *Machine) refusal(p Probe) (Reason, string) {
	return m.joiners.Refusal(joiners.Scene{
		Now: m.now, View: m.view.View, Self: m.cfg.self(), Common: &m.common, Leads: m.leads(), Reachable: m.Reachable,
	}, p)
}

// takeJoiners takes for joiners the nodes that a founder has heard and has not founded with.
func (m *Machine) takeJoiners(candidates []Probe) {
	if !m.view.Founded {
		return
	}
	for _, p := range candidates {
		p.Heard = 0 // which was of another cluster, or is old
		if !m.view.Has(p.Self.UID) {
			m.onProbe(Receive{From: p.Self.UID, FromAddr: p.Self.Addr}, p)
		}
	}
}

// tellJoiners tells the waiting joiners of the view that was just installed: they are let in when
// they say that they have heard of it. The node that will propose does so; the others are asked
// again soon enough.
func (m *Machine) tellJoiners() {
	if !m.leads() {
		return
	}
	here := JoinReply{Cluster: m.view.Cluster, Epoch: m.view.Epoch, Contacts: m.contacts(), Closing: m.view.Closing}
	for _, j := range m.joiners.Asking(m.now) {
		if j.Heard > 0 && j.Heard < m.view.Epoch {
			m.fx.send(j.Member.UID, j.Member.Addr, here)
		}
	}
}

// goneAfter bounds how late a probe of a removed member may turn up, in units of SelfDownAfter.
const goneAfter = 2

// contactsTold is how many voters a joiner is told to ask.
const contactsTold = 5

// contacts are the oldest voters that this node hears, itself included: the proposer is among them.
func (m *Machine) contacts() (cs []Contact) {
	for _, v := range m.view.Voters {
		if len(cs) < contactsTold && m.Reachable(v.UID) {
			cs = append(cs, Contact{UID: v.UID, Addr: v.Addr})
		}
	}
	return cs
}
