package membership

import (
	"github.com/coterie-go/coterie/ddata/membership/bootstrap"
	"github.com/coterie-go/coterie/ddata/membership/joiners"
	"github.com/coterie-go/coterie/ddata/membership/message"
	"github.com/coterie-go/coterie/ddata/membership/view"
)

// goneAfter bounds how late a probe of a removed member may turn up, in units of SelfDownAfter.
const goneAfter = 2

// contactsTold is how many voters a joiner is told to ask.
const contactsTold = 5

// gate answers the nodes that ask to be let in.
type gate struct {
	*step
	in      *cluster
	common  *bootstrap.Common // what all nodes must have alike
	joiners *joiners.Table
}

func newGate(st *step, cfg *Config, in *cluster, common *bootstrap.Common) *gate {
	return &gate{step: st, in: in, common: common, joiners: joiners.NewTable(joiners.Config{
		TTL: cfg.joinerTTL(), Settled: 2 * cfg.UnreachableAfter, GoneFor: goneAfter * cfg.SelfDownAfter,
	})}
}

// onProbe takes a request to join. leads says that this node proposes the next view, and parts that
// the cluster ends.
func (g *gate) onProbe(r Receive, p bootstrap.Probe, leads func() bool, parts bool) {
	v := g.in.view
	switch {
	case p.Self.UID != r.From:
		g.stats.DroppedBad++
		return
	case v.Has(r.From):
		g.fx.send(r.From, p.Self.Addr, message.Commit{View: v.View})
		return
	case parts:
		g.stats.DroppedStale++ // a node that hears of the cluster would wait for nothing
		return
	}
	if reason, text := g.refusal(p, leads()); reason != 0 {
		g.refuse(p, reason, text)
		return
	}
	news, full := g.joiners.Remember(g.now, v.Epoch, p)
	g.wakeIf(news)
	if full {
		g.stats.DroppedFull++
	}
	reply := g.reply()
	reply.Moving = !v.TakesPatterns(p.Durable, v.View)
	g.fx.send(r.From, p.Self.Addr, reply)
}

// refusal says why a node cannot be taken; 0 = it can.
func (g *gate) refusal(p bootstrap.Probe, leads bool) (bootstrap.Reason, string) {
	return g.joiners.Refusal(joiners.Scene{
		Now: g.now, View: g.in.view.View, Self: g.in.asked, Common: g.common, Leads: leads, Reachable: g.in.hears,
	}, p)
}

func (g *gate) refuse(p bootstrap.Probe, reason bootstrap.Reason, text string) {
	g.stats.JoinsRefused++
	f := bootstrap.Refuse{To: p.Self.UID, Cluster: g.in.view.Cluster, At: p.At, Reason: reason, Text: text}
	if reason == bootstrap.ReasonGone {
		f.Least = g.in.view.Ages.Least()
	}
	g.fx.send(p.Self.UID, p.Self.Addr, f)
	if reason != bootstrap.ReasonGone && g.joiners.MayTell(g.now, p.Self.Addr, text) {
		g.fx.event(RefusedNode{UID: p.Self.UID, Addr: p.Self.Addr, Reason: reason, Text: text})
	}
}

// reply says that there is a cluster.
func (g *gate) reply() bootstrap.JoinReply {
	v := g.in.view
	return bootstrap.JoinReply{
		Cluster: v.Cluster, Epoch: v.Epoch, Contacts: contacts(v.Voters, g.in.hears), Closing: v.Closing,
	}
}

// tellWaiting tells the waiting joiners of the view that was just installed: they are let in when
// they say that they have heard of it. The node that will propose does so; the others are asked
// again soon enough.
func (g *gate) tellWaiting() {
	reply := g.reply()
	for _, j := range g.joiners.Asking(g.now) {
		if j.Heard > 0 && j.Heard < g.in.view.Epoch {
			g.fx.send(j.Member.UID, j.Member.Addr, reply)
		}
	}
}

// close tells the nodes that wait that the cluster has ended. They start again, and found another.
func (g *gate) close() {
	for _, j := range g.joiners.Remembered() {
		g.fx.send(j.Member.UID, j.Member.Addr, bootstrap.Refuse{
			To: j.Member.UID, Cluster: g.in.view.Cluster, Reason: bootstrap.ReasonGone,
			Text: "the cluster has been stopped",
		})
	}
}

// onLock tells a node that has locked itself what has become of that founding. If the cluster has
// gone on without it, because it was founded anew or has dropped it, it has to start again as
// another.
func (g *gate) onLock(r Receive, l bootstrap.Locked) {
	v := g.in.view
	switch {
	case v.Has(r.From):
		g.fx.send(r.From, v.Addr(r.From), message.Commit{View: v.View})
	case l.View.Cluster == v.Cluster && l.View.Epoch <= v.Epoch:
		g.fx.send(r.From, r.FromAddr, bootstrap.Refuse{
			To: r.From, Cluster: v.Cluster, Reason: bootstrap.ReasonGone,
			Text: "the cluster was founded and goes on without it",
		})
	default:
		g.stats.DroppedOtherCluster++
	}
}

// contacts are the oldest voters that this node hears, itself included: the proposer is among them.
func contacts(voters []view.Member, hears func(view.UID) bool) (cs []bootstrap.Contact) {
	for _, v := range voters {
		if len(cs) < contactsTold && hears(v.UID) {
			cs = append(cs, bootstrap.Contact{UID: v.UID, Addr: v.Addr})
		}
	}
	return cs
}
