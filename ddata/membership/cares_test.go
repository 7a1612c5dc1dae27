package membership

import (
	"slices"
	"testing"

	"github.com/coterie-go/coterie/ddata/membership/bootstrap"
	"github.com/coterie-go/coterie/ddata/membership/message"
	"github.com/coterie-go/coterie/ddata/membership/view"
)

// This file has what random worlds hardly notice: each care in one step of one machine.

// hear steps a machine with one message and returns the effects, which stay here.
func (n *node) hear(from *node, msg message.Message) *Effects {
	return n.m.Step(n.local(), Receive{From: from.uid, FromAddr: from.addr, Msg: msg})
}

// sends returns what goes to a node.
func sends[M message.Message](fx *Effects, to *node) (msgs []M) {
	for _, e := range fx.Send {
		if msg, ok := e.Msg.(M); ok && e.To == to.uid {
			msgs = append(msgs, msg)
		}
	}
	return msgs
}

// TestFirstHeartbeatOfAnEpochIsAnswered is V6: a member that has come to this epoch only now could
// not answer the heartbeat that went out when it was installed.
func TestFirstHeartbeatOfAnEpochIsAnswered(t *testing.T) {
	w := newWorld(t, 1, LAN())
	ns := w.found(3)
	n, o := ns[0], ns[1]
	n.m.member.reports.Arrive(o.uid, 0)
	n.m.member.leasing.holder.Install(n.m.now) // as after the install
	if got := sends[message.Heartbeat](n.hear(o, o.m.member.heartbeat()), o); len(got) != 1 {
		t.Errorf("%d heartbeats answer the first one", len(got))
	}
	if got := sends[message.Heartbeat](n.hear(o, o.m.member.heartbeat()), o); len(got) != 0 {
		t.Errorf("%d heartbeats answer the second one", len(got))
	}
	later := o.m.member.heartbeat()
	later.Epoch++
	n.m.member.strays.fetches = pause{}
	if got := sends[message.Fetch](n.hear(o, later), o); len(got) != 1 {
		t.Errorf("a view that others have is asked for %d times", len(got))
	}
}

// TestLateProbeOfARemovedMember: it was sent before its sender knew that it was listed, and must
// not let it in a second time.
func TestLateProbeOfARemovedMember(t *testing.T) {
	w := newWorld(t, 1, LAN())
	ns := w.found(3)
	n, gone := ns[0], ns[1]
	n.step(Down{gone.uid})
	if !w.until(w.base.SelfDownAfter, func() bool { return !n.m.View().Has(gone.uid) }) {
		t.Fatal("not removed:", n.m)
	}
	got := sends[bootstrap.Refuse](n.hear(gone, bootstrap.Probe{
		Settings: n.m.common.Settings, Self: gone.m.cfg.self(),
	}), gone)
	if n.m.member.gate.joiners.Has(gone.uid) || len(got) != 1 || got[0].Reason != bootstrap.ReasonGone {
		t.Errorf("it is answered with %v, joins %t", got, n.m.member.gate.joiners.Has(gone.uid))
	}
}

// TestWhoShallGoIsGrantedNothing: a node that has heard an operator's word grants nothing to the
// member that must go. It does so before any proposal comes, so that the promises run out.
func TestWhoShallGoIsGrantedNothing(t *testing.T) {
	w := newWorld(t, 1, LAN())
	ns := w.found(3)
	i := slices.IndexFunc(ns, func(n *node) bool { return !n.m.member.ballots.leads() })
	n, goes := ns[i], ns[(i+1)%3]
	granted := func() bool {
		got := sends[message.Grant](n.hear(goes, goes.m.member.heartbeat()), goes)
		return len(got) == 1 && got[0].Granted
	}
	if !granted() {
		t.Fatal("nothing is granted before")
	}
	n.m.Step(n.local(), Down{goes.uid})
	if n.m.member.ballots.voter.Frozen() || n.m.member.ballots.granter.HoldsBack(goes.uid, n.m.now) {
		t.Fatal("something else holds the grant back:", n.m)
	}
	if granted() {
		t.Error("it is granted a lease")
	}
}

// TestForeignChildIsAFork: the next view's parent must be this one.
func TestForeignChildIsAFork(t *testing.T) {
	w := newWorld(t, 1, LAN())
	ns := w.found(3)
	n, o := ns[0], ns[1]
	own := n.m.View()
	v := own.Next(view.Hash{1})
	v.Members = slices.Clone(own.Members)
	fx := n.hear(o, message.Commit{View: v})
	forked := slices.ContainsFunc(fx.Events, func(e Event) bool { _, is := e.(Forked); return is })
	if n.m.View() != own || len(fx.Install) > 0 || !forked || n.m.Stats().Forks != 1 {
		t.Errorf("it is taken: %v, events %v", n.m, fx.Events)
	}
}

// A member that has missed a view cannot know which nodes it listed. If it is the one that lets
// joiners in, it sends away a node that has asked for longer than it has seen all views. It takes a
// node that has not.
func TestWhoMayHaveBeenInIsNotLetInAgain(t *testing.T) {
	w := newWorld(t, 61, LAN())
	ns := w.found(3)
	n := ns[slices.IndexFunc(ns, func(n *node) bool { return n.m.member.ballots.leads() })]
	other := ns[0]
	if other == n {
		other = ns[1]
	}
	one := n.m.View()
	joiner := w.start("j", func(c *Config) { c.Seeds = nil })
	two := one.Next(one.Hash())
	two.Members = append(slices.Clone(one.Members), joiner.m.cfg.self())
	two.Sort()
	three := two.Next(two.Hash())
	three.Members = one.Members
	n.step(Receive{From: other.uid, Msg: message.Commit{View: three}})
	if n.m.View() != three {
		t.Fatalf("%v has not installed %v", n.m, three)
	}
	probe := bootstrap.Probe{
		Settings: n.m.common.Settings, Self: joiner.m.cfg.self(),
		Heard: three.Epoch, First: one.Epoch,
	}
	got := sends[bootstrap.Refuse](n.hear(joiner, probe), joiner)
	if n.m.member.gate.joiners.Has(joiner.uid) || len(got) != 1 || got[0].Reason != bootstrap.ReasonGone {
		t.Errorf("a node that may have been a member: %v, joins %t", got, n.m.member.gate.joiners.Has(joiner.uid))
	}
	probe.First = three.Epoch
	if here := sends[bootstrap.JoinReply](n.hear(joiner, probe), joiner); len(here) != 1 {
		t.Errorf("a node that came later: %v", here)
	}
	if !n.m.member.gate.joiners.Has(joiner.uid) {
		t.Error("a node that came later is not remembered")
	}
}
