package membership

import (
	"time"

	"github.com/coterie-go/coterie/ddata/membership/message"
	"github.com/coterie-go/coterie/ddata/membership/retiring"
	"github.com/coterie-go/coterie/ddata/membership/view"
)

// ages is this node's part in retirements: what it has to say of the one that is under way, and what its
// disk is good for.
type ages struct {
	*step
	in   *cluster
	disk *storing
	beat time.Duration // between heartbeats
	word retiring.Word
	slow pause // between events that a retirement waits
}

// begin notes that a view begins a retirement.
func (a *ages) begin() { a.slow.begin(a.now, slowMove) }

// explain says for which members a retirement waits, if it lasts. The node that leads says so.
func (a *ages) explain(leads func() bool) {
	v := a.in.view
	if !v.Ages.Runs() || !leads() {
		return
	}
	if !a.slow.over(a.now, slowMoveEach) {
		a.dueAt(a.slow.until)
		return
	}
	if missing := named(retiring.Missing(v.View, a.in.reports.Agreed)); missing != "" {
		a.fx.event(RetirementWaiting{v.View, missing})
	}
}

// caughtUp: what the replicators have of incarnations that are over is from members now. That is on disk
// before the node says that it has caught up: a founding anew would not take it for one that is up.
func (a *ages) caughtUp() { a.disk.cleanIn = a.disk.clean(a.in.view.Ages.Over()) }

// agree takes what the replicators say. It is on disk before the node says it.
func (a *ages) agree(e view.Epoch) {
	if e == a.in.view.Epoch && a.in.view.Ages.Runs() {
		a.word.Give(e, a.disk.clean(a.in.view.Ages.Ending.Below))
		a.wake = true
	}
}

// hear takes what another member says.
func (a *ages) hear(r Receive, msg message.Agreed, current func(Receive, view.ClusterID, view.Epoch) bool) {
	switch {
	case !current(r, msg.Cluster, msg.Epoch):
	case !a.in.reports.Has(r.From):
		a.stats.DroppedBad++
	default:
		a.wakeIf(a.in.reports.HearAgreed(r.From, msg.Epoch))
	}
}

// advance tells the voters that this node has agreed, again each interval until a view follows.
func (a *ages) advance() {
	v := a.in.view
	if !a.word.Stands(v.View, a.disk.store.IsStored) {
		return
	}
	a.wakeIf(a.in.self.Agree(v.Epoch))
	say, next := a.word.Say(a.now, a.beat)
	a.dueAt(next)
	if !say {
		return
	}
	for _, o := range v.Voters {
		if o.UID != a.in.uid {
			a.fx.send(o.UID, o.Addr, message.Agreed{Cluster: v.Cluster, Epoch: v.Epoch})
		}
	}
}
