package membership

import (
	"fmt"
	"maps"
	"time"
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
		m.send(r.From, p.Self.Addr, Commit{View: m.view.View})
		return
	}
	if !m.parting.since.IsZero() {
		m.stats.DroppedStale++ // the cluster ends: a node that hears of it would wait for nothing
		return
	}
	if text := m.goneFor(p); text != "" {
		m.stats.JoinsRefused++
		m.refuse(p, ReasonGone, text)
		return
	}
	if reason, text := m.refusal(p); reason != 0 {
		m.stats.JoinsRefused++
		m.refuse(p, reason, text)
		if m.mayTell(refusalKey{p.Self.Addr, text}) {
			m.event(RefusedNode{UID: r.From, Addr: p.Self.Addr, Reason: reason, Text: text})
		}
		return
	}
	m.rememberJoiner(p)
	m.send(r.From, p.Self.Addr, JoinReply{
		Cluster: m.view.Cluster, Epoch: m.view.Epoch, Contacts: m.contacts(), Closing: m.view.Closing, Moving: !m.view.TakesPatterns(p.Durable, m.view.View),
	})
}

// refuse answers a probe.
func (m *Machine) refuse(p Probe, reason Reason, text string) {
	m.send(p.Self.UID, p.Self.Addr, Refuse{To: p.Self.UID, Cluster: m.view.Cluster, At: p.At, Reason: reason, Text: text})
}

// goneFor says why a joiner has to come under another uid: it was removed, or may have been. A uid
// that was removed does not return, for others have settled what it left.
func (m *Machine) goneFor(p Probe) string {
	if _, ok := m.gone[p.Self.UID]; ok {
		return "it was a member and was removed before it knew"
	}
	if lead, ok := m.lead(); !ok || lead != m.cfg.UID || !m.mayHaveBeenIn(p) {
		return ""
	}
	return fmt.Sprintf("it has asked since %v, and may have been let in and removed before %v, from which on this member knows all views", p.First, m.since)
}

// mayHaveBeenIn reports whether a joiner has asked for longer than this node has seen all views:
// one that it missed may have listed the joiner, and the next one not, without any of the three
// knowing.
func (m *Machine) mayHaveBeenIn(p Probe) bool { return p.Heard > 0 && p.First < m.since }

// refusalKey names a refusal of which there was an event.
type refusalKey struct {
	addr string
	text string // whose causes are told apart: one setting may be right by now, and the next one wrong
}

// sayAgain is after how long a refusal of the same address, for the same reason, is told again.
const sayAgain = time.Minute

// mayTell reports whether a refusal is told: once a minute for each address and cause. So a node
// that asks every second, or a hostile one that asks all the time, does not fill the log. Nodes
// that make addresses or causes up are told of up to saidMax times a minute.
func (m *Machine) mayTell(t refusalKey) bool {
	if _, known := m.refusalsTold[t]; !known && len(m.refusalsTold) >= saidMax {
		maps.DeleteFunc(m.refusalsTold, func(_ refusalKey, at time.Time) bool { return m.now.Sub(at) >= sayAgain })
	}
	at, known := m.refusalsTold[t]
	if known && m.now.Sub(at) < sayAgain || !known && len(m.refusalsTold) >= saidMax {
		return false
	}
	m.refusalsTold[t] = m.now
	return true
}

// refusal says why a node cannot be taken; 0 = it can.
func (m *Machine) refusal(p Probe) (Reason, string) {
	reason, text := m.common.Mismatch(p)
	if reason != 0 {
		return reason, text
	}
	if o, ok := m.living(p.Self); ok {
		if o.Addr == p.Self.Addr {
			return ReasonRole, fmt.Sprintf("address %s is that of %v, which is running", p.Self.Addr, o.UID)
		}
		return ReasonCopy, fmt.Sprintf("its disk %v is that of %v@%s, which is running", o.Disk, o.UID, o.Addr)
	}
	if text := m.view.NoRoom(p.Self); text != "" {
		return ReasonRoom, "a view has to be stored and sent, and with this node it has " + text
	}
	if text := m.view.RefusesPatterns(p.Durable); text != "" {
		return ReasonRoom, text
	}
	for _, k := range p.Knows {
		if k.Cluster != m.view.Cluster && !k.Founding && !p.AnyDisks {
			return ReasonDisk, fmt.Sprintf("its disk belongs to cluster %v, this is %v", k.Cluster, m.view.Cluster)
		}
	}
	return 0, ""
}

// living finds the member at a joiner's address, or with its disk, that runs beside it: this node,
// or one that has been heard for much longer than an earlier incarnation could have been.
func (m *Machine) living(n Member) (Member, bool) {
	if self := m.cfg.self(); n.Replaces(self) {
		return self, true
	}
	j, asked := m.joiners[n.UID]
	if !asked || m.now.Sub(j.since) < 2*m.cfg.UnreachableAfter {
		return Member{}, false
	}
	for _, o := range m.view.Members {
		if n.Replaces(o) && m.Reachable(o.UID) {
			return o, true
		}
	}
	return Member{}, false
}

func (m *Machine) rememberJoiner(p Probe) {
	if m.mayHaveBeenIn(p) {
		return // the lead knows more, or sends it away
	}
	n := p.Self
	for _, u := range sortedKeys(m.joiners) {
		if u != n.UID && m.joiners[u].member.Addr == n.Addr {
			delete(m.joiners, u) // an earlier incarnation
		}
	}
	before, known := m.joiners[n.UID]
	if !known && len(m.joiners) >= joinersMax && !m.forgetUnheard() {
		m.stats.DroppedFull++
		return
	}
	j := joiner{member: n, durable: p.Durable, heard: max(before.heard, p.Heard), since: before.since, until: m.now.Add(m.joinerTTL())}
	if !known {
		j.since = m.now
	}
	if !known || j.heard != before.heard {
		m.wake = true
	}
	m.joiners[n.UID] = j
}

// forgetUnheard makes room for a joiner: it drops the first joiner that does not know the view that
// it was told of. Where there is no TLS, a stranger may make up addresses. It cannot keep a real
// joiner out for longer than that one needs to be answered.
func (m *Machine) forgetUnheard() bool {
	var first UID
	for _, u := range sortedKeys(m.joiners) {
		if j := m.joiners[u]; j.heard < m.view.Epoch && (first == 0 || j.since.Before(m.joiners[first].since)) {
			first = u
		}
	}
	if first == 0 {
		return false
	}
	m.stats.DroppedFull++
	delete(m.joiners, first)
	return true
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
	if lead, ok := m.lead(); !ok || lead != m.cfg.UID {
		return
	}
	here := JoinReply{Cluster: m.view.Cluster, Epoch: m.view.Epoch, Contacts: m.contacts(), Closing: m.view.Closing}
	for _, u := range sortedKeys(m.joiners) {
		if j := m.joiners[u]; j.heard > 0 && j.heard < m.view.Epoch && m.now.Before(j.until) {
			m.send(u, j.member.Addr, here)
		}
	}
}

// joinerTTL is longer than a few lost probes, and short enough that a joiner that died is not taken
// in.
func (m *Machine) joinerTTL() time.Duration {
	return max(m.cfg.UnreachableAfter, 4*m.cfg.HeartbeatInterval)
}

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
