package membership

import (
	"time"

	"github.com/coterie-go/coterie/ddata/membership/message"
	"github.com/coterie-go/coterie/ddata/membership/parting"
	"github.com/coterie-go/coterie/ddata/membership/report"
	"github.com/coterie-go/coterie/ddata/membership/view"
)

// ending is the part of this node's life in which it has stopped: it ends when those that need to
// know have heard of it.
type ending struct {
	*step
	in      *cluster
	debts   parting.Debts // nodes that have to hear from this one what was decided
	parting *parting.Parting
}

// onLearned notes what another node knows.
func (e *ending) onLearned(r Receive, l message.Learned) {
	if l.Cluster != e.in.view.Cluster {
		e.stats.DroppedStale++
		return
	}
	e.wakeIf(e.debts.Learn(r.From, l.Epoch))
	e.wakeIf(e.in.reports.Learn(r.From, l.Epoch, l.Stopped))
}

// answerCommit tells the sender of a decided view that this node knows it. It does so when no
// heartbeat will: one of the two is not in the view.
func (e *ending) answerCommit(r Receive, v *view.View) {
	if v.Cluster != e.in.view.Cluster || v.Has(e.in.uid) && v.Has(r.From) {
		return
	}
	known := e.in.view.Epoch
	if without := e.parting.Without(); without != nil {
		known = max(known, without.Epoch)
	}
	e.fx.send(r.From, e.in.addr(r), message.Learned{Cluster: v.Cluster, Epoch: known})
}

// answerParting tells a node that parts that its word has come. Nothing is owed to it any more.
func (e *ending) answerParting(r Receive, hb message.Heartbeat) {
	if hb.Flags&report.Parting != 0 && hb.Cluster == e.in.view.Cluster {
		e.wakeIf(e.debts.Drop(r.From))
		e.fx.send(r.From, e.in.addr(r), message.Learned{Cluster: hb.Cluster, Epoch: e.in.view.Epoch, Stopped: true})
	}
}

// takeWord takes over what a member knows that parts in the installed view: all members have stopped
// whose word it waits for, which are the voters, and all full members if it votes itself. This node
// may not hear it from them. One that has missed the view which lists this node says to the members of
// its own view alone that it has stopped, and is gone before it learns of this node.
func (e *ending) takeWord(of view.UID) {
	if e.parting.Begun() {
		return
	}
	v := e.in.view
	all := v.IsVoter(of)
	for _, o := range v.Members {
		if o.UID != e.in.uid && o.Full() && (all || v.Votes(o)) {
			e.wakeIf(e.in.reports.HearForGood(o.UID, report.Stopped))
		}
	}
}

// advance tells what this node knows to the nodes that have not said that they know it. It reports
// whether all have.
func (e *ending) advance(heartbeat func() message.Heartbeat) bool {
	round := e.parting.Advance(parting.Scene{
		Now: e.now, View: e.in.view, Debts: &e.debts, Reports: e.in.reports, Reach: e.in.reach,
	})
	for _, w := range round.Words {
		if w.View != nil {
			e.fx.send(w.To, w.Addr, message.Commit{View: w.View})
		}
		if w.Beat {
			e.fx.send(w.To, w.Addr, heartbeat())
		}
	}
	e.goOn(false, round.Due)
	return !round.Waits
}

// allStopped reports whether no member is left that could decide the removal of this node.
func (e *ending) allStopped() bool {
	all := true
	for _, o := range e.in.view.Members {
		if o.UID == e.in.uid || e.in.reports.Stopped(o.UID) || !e.in.reach.Watches(o.UID) {
			continue
		}
		if !o.Full() && !e.in.hears(o.UID) {
			continue // it was let in and is gone: nothing can be handed over to it
		}
		all = false
		if e.in.hears(o.UID) {
			e.parting.Accompany(e.now)
		}
	}
	return all
}

// aloneSince returns since when no node is there that could decide the removal of this one.
func (e *ending) aloneSince() time.Time { return e.parting.Company() }
