package membership

import (
	"fmt"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/downing"
	"github.com/coterie-go/coterie/ddata/membership/message"
	"github.com/coterie-go/coterie/ddata/membership/nodelease"
	"github.com/coterie-go/coterie/ddata/membership/report"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/proptest/defect"
)

// leasing counts the grants of the others, and tells what becomes of this node's lease.
type leasing struct {
	*step
	cfg    *Config
	in     *cluster
	votes  *ballots // a frozen acceptor bounds the own vote (V1)
	holder *nodelease.Holder
	quorum func(has func(view.UID) bool) bool // of the voters of the installed view
}

func newLeasing(st *step, cfg *Config, in *cluster, votes *ballots) *leasing {
	l := &leasing{step: st, cfg: cfg, in: in, votes: votes, holder: nodelease.NewHolder(nodelease.Config{
		Self: cfg.UID, Arbiter: downing.Arbiter, Duration: cfg.LeaseDuration, Beat: cfg.HeartbeatInterval,
		Defects: cfg.planted,
	})}
	l.quorum = func(has func(view.UID) bool) bool { return cfg.Strategy.Quorum(in.view.Voters, has) }
	return l
}

// scene is what the holder of the lease has to know of this moment.
func (l *leasing) scene() nodelease.Scene {
	me, listed := l.in.view.Member(l.cfg.UID)
	stopped := l.in.self.Has(report.Stopped) && !l.cfg.Planted(defect.StoppedHolds)
	s := nodelease.Scene{
		Now: l.now, Epoch: l.in.view.Epoch, Voters: l.in.view.Voters, Quorum: l.quorum,
		May:    listed && me.Status != view.Joining && !stopped,
		Speaks: l.votes.speaks() && !l.votes.frozen(),
	}
	if !l.cfg.Planted(defect.NoV1) {
		s.Frozen = l.votes.frozenAt()
	}
	return s
}

// onGrant takes an answer to a heartbeat.
func (l *leasing) onGrant(r Receive, g message.Grant) {
	sent := l.start.Add(time.Duration(g.Mono))
	if !l.in.reports.Has(r.From) || g.Mono < 0 || sent.After(l.now) {
		l.stats.DroppedBad++
		return
	}
	l.in.reports.HearClosing(r.From, g.Closes)
	if !g.Granted {
		return
	}
	l.stats.GrantsReceived++
	s := l.scene()
	if !l.holder.Take(s, r.From, sent, g.Wall, g.Arbiter) {
		return
	}
	if at := l.holder.RenewAt(s); !at.IsZero() {
		l.dueAt(at)
		return
	}
	l.renew()
}

// renew counts the grants, and tells what that means for this node.
func (l *leasing) renew() {
	c := l.holder.Renew(l.scene())
	if c.Lost {
		l.stats.LeasesLost++
		l.fx.event(LeaseLost{l.in.view.Epoch, lossCause(c, l.in.self.Has(report.Stopped))})
	}
	if c.Regained {
		l.fx.event(LeaseRegained{l.in.view.Epoch})
	}
}

// loseArbiter drops what this node has granted itself in the arbiter's name.
func (l *leasing) loseArbiter() {
	l.holder.LoseArbiter()
	l.renew()
}

// lossCause says why the lease is lost at this moment.
func lossCause(c nodelease.Change, stopped bool) LeaseLoss {
	switch {
	case stopped:
		return LeaseStopped
	case c.Suspended:
		return LeaseSuspended
	}
	return LeaseExpired
}

// advance notices that the lease has run out, and ends the node when it stays away.
func (l *leasing) advance() {
	l.renew()
	h := l.holder
	if lease := h.Lease(); !lease.Forever() && h.Held() {
		l.dueAt(lease.Until())
	}
	if h.Votes().Forever() {
		return
	}
	limit := h.LastAt().Add(l.cfg.SelfDownAfter)
	l.dueAt(limit)
	if l.now.Before(limit) {
		return
	}
	if l.in.mayGo() {
		l.end(l.in.goneAs())
		return
	}
	l.end(&DownedError{
		Cause: fmt.Sprintf("no lease for %v: too few of the members of view %v answered",
			l.cfg.SelfDownAfter, l.in.view.Epoch),
	})
}
