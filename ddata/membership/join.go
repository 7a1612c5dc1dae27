package membership

import (
	"github.com/coterie-go/coterie/ddata/membership/bootstrap"
	"github.com/coterie-go/coterie/ddata/membership/joiners"
	"github.com/coterie-go/coterie/ddata/membership/message"
	"github.com/coterie-go/coterie/ddata/membership/view"
)

// onProbe: a member takes it as a request to join, a seeking node as a candidate.
func (m *Machine) onProbe(r Receive, p bootstrap.Probe) {
	if p.Self.UID != r.From {
		m.stats.DroppedBad++
		return
	}
	if m.view == nil {
		m.seeker.OnProbe(m.now, p)
		m.takeSeeker()
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
		m.fx.send(p.Self.UID, p.Self.Addr, bootstrap.Refuse{
			To: p.Self.UID, Cluster: m.view.Cluster, At: p.At, Reason: reason, Text: text,
		})
		if reason != bootstrap.ReasonGone && m.joiners.MayTell(m.now, p.Self.Addr, text) {
			m.fx.event(RefusedNode{UID: r.From, Addr: p.Self.Addr, Reason: reason, Text: text})
		}
		return
	}
	news, full := m.joiners.Remember(m.now, m.view.Epoch, p)
	m.wake = m.wake || news
	if full {
		m.stats.DroppedFull++
	}
	m.fx.send(r.From, p.Self.Addr, bootstrap.JoinReply{
		Cluster: m.view.Cluster, Epoch: m.view.Epoch, Contacts: contacts(m.view.Voters, m.Reachable),
		Closing: m.view.Closing, Moving: !m.view.TakesPatterns(p.Durable, m.view.View),
	})
}

// refusal says why a node cannot be taken; 0 = it can.
func (m *Machine) refusal(p bootstrap.Probe) (bootstrap.Reason, string) {
	return m.joiners.Refusal(joiners.Scene{
		Now: m.now, View: m.view.View, Self: m.cfg.self(), Common: &m.common, Leads: m.leads(), Reachable: m.Reachable,
	}, p)
}

// tellJoiners tells the waiting joiners of the view that was just installed: they are let in when
// they say that they have heard of it. The node that will propose does so; the others are asked
// again soon enough.
func (m *Machine) tellJoiners() {
	if !m.leads() {
		return
	}
	here := bootstrap.JoinReply{
		Cluster: m.view.Cluster, Epoch: m.view.Epoch, Contacts: contacts(m.view.Voters, m.Reachable),
		Closing: m.view.Closing,
	}
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
func contacts(voters []view.Member, reachable func(view.UID) bool) (cs []bootstrap.Contact) {
	for _, v := range voters {
		if len(cs) < contactsTold && reachable(v.UID) {
			cs = append(cs, bootstrap.Contact{UID: v.UID, Addr: v.Addr})
		}
	}
	return cs
}
