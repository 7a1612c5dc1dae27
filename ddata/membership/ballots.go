package membership

import (
	"math/rand/v2"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/arbitration"
	"github.com/coterie-go/coterie/ddata/membership/downing"
	"github.com/coterie-go/coterie/ddata/membership/joiners"
	"github.com/coterie-go/coterie/ddata/membership/message"
	"github.com/coterie-go/coterie/ddata/membership/nextview"
	"github.com/coterie-go/coterie/ddata/membership/parting"
	"github.com/coterie-go/coterie/ddata/membership/report"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/ddata/membership/voting"
	"github.com/coterie-go/coterie/proptest/defect"
)

// ballots is this node's part in deciding the next view: its own vote, and the arbiter's while it
// carries that. A view that a call returns is decided, and has to be announced and installed.
type ballots struct {
	*step
	cfg     *Config
	in      *cluster
	joiners *joiners.Table
	parting *parting.Parting
	pulse   *pulse
	voter   *voting.Voter
	granter *voting.Granter
	arbiter *arbitration.Carrier

	asking func() []joiners.Joiner // joiners that ask now
	hears  func(view.UID) bool     // reachable
}

func newBallots(st *step, cfg *Config, rng *rand.Rand, disk *storing, g *gate, p *pulse) *ballots {
	b := &ballots{
		step: st, cfg: cfg, in: disk.in, joiners: g.joiners, parting: disk.parting, pulse: p, granter: disk.granter,
	}
	b.arbiter = arbitration.New(arbitration.Config{
		Self: cfg.UID, Strategy: cfg.Strategy, Beat: cfg.HeartbeatInterval, Promise: cfg.promise(),
		SelfDownAfter: cfg.SelfDownAfter, Defects: cfg.planted,
	})
	b.voter = voting.New(cfg.voting(), rng, disk, b.arbiter, b.granter)
	b.asking, b.hears = func() []joiners.Joiner { return b.joiners.Asking(b.now) }, b.reachable
	return b
}

// voting is what the configuration says of the next view and of voting.
func (c *Config) voting() voting.Config {
	return voting.Config{
		Config: nextview.Config{
			Self: c.UID, Strategy: c.Strategy, Enough: c.enough, Beat: c.HeartbeatInterval,
			StableAfter: c.StableAfter, CrashAfter: c.CrashStableAfter, Promise: c.promise(),
			RetireAfter: c.RetireAfter, Defects: c.planted,
		},
		LeaseDuration: c.LeaseDuration,
	}
}

// scene is what this node knows of the next view at this moment.
func (b *ballots) scene() *voting.Scene {
	return &voting.Scene{
		Scene: nextview.Scene{
			Now: b.now, View: b.in.view, Settled: b.in.settlement.Settled(), Closing: b.in.self.Has(report.Closing),
			Joiners: b.asking,
			Reports: b.in.reports, Verdicts: &b.in.downs, Reach: b.in.reach, Reachable: b.hears,
		},
		Consents: b.in.mayGo(), Parts: b.parting.Begun(),
	}
}

// reachable reports whether this node hears a member, or one that speaks for the arbiter.
func (b *ballots) reachable(u view.UID) bool {
	if u == downing.Arbiter {
		return b.arbiter.Hears(b.arbiterScene())
	}
	return b.in.hears(u)
}

// leads reports whether it is the turn of this node to propose.
func (b *ballots) leads() bool { return b.voter.Leads(b.scene()) }

// frozen reports whether this node has accepted a proposal (G2).
func (b *ballots) frozen() bool { return b.voter.Frozen() }

// frozenAt returns since when it is frozen; zero = it is not.
func (b *ballots) frozenAt() time.Time { return b.voter.FrozenAt() }

// mayGrant reports whether a member may be granted a lease now: G2 freezes all grants, V2 those to
// members that a refused proposal would drop. A node whose disk says that nothing it granted is in
// use grants none.
func (b *ballots) mayGrant(u view.UID) bool {
	frozen := b.frozen() && !b.cfg.Planted(defect.NoFreeze)
	return !frozen && b.parting.Closed() == 0 && !b.granter.HoldsBack(u, b.now) && !b.in.downs.On(u)
}

// install drops what belonged to the epoch before.
func (b *ballots) install() {
	b.voter.Install()
	b.granter.Install(b.now, b.in.view)
	b.arbiter.Install()
}

// advance starts, drives and gives up ballots, and tries for the arbiter's lease.
func (b *ballots) advance() *view.View {
	b.arbiter.Advance(b.arbiterScene())
	b.takeArbiter()
	b.voter.Advance(b.scene())
	return b.take()
}

// on takes a message of a ballot in the current epoch. It must come from one of its voters.
func (b *ballots) on(r Receive) *view.View {
	if !b.in.view.IsVoter(r.From) || !b.in.view.IsVoter(b.cfg.UID) {
		b.stats.DroppedBad++
		return nil
	}
	s := b.scene()
	switch msg := r.Msg.(type) {
	case message.Prepare:
		b.voter.OnPrepare(s, r.From, msg)
	case message.Prepared:
		b.voter.OnPrepared(s, r.From, msg)
	case message.Accept:
		b.voter.OnAccept(s, r.From, msg)
	case message.Accepted:
		b.voter.OnAccepted(s, r.From, msg)
	case message.Rejected:
		b.voter.OnRejected(s, msg)
	}
	return b.take()
}

// stored goes on with a proposal that waited for the disk.
func (b *ballots) stored() *view.View {
	b.voter.Stored(b.scene())
	return b.take()
}

// take carries out what a call of the voter wants done.
func (b *ballots) take() *view.View {
	out := b.voter.Output()
	b.stats.count(out.Counts)
	b.fx.Send = append(b.fx.Send, out.Send...)
	if out.ForgetLate {
		b.joiners.ForgetLate(b.now)
	}
	b.goOn(out.Wake, out.Due)
	b.takeArbiter()
	return out.Decided
}

// arbiterScene is what this node knows at this moment.
func (b *ballots) arbiterScene() arbitration.Scene {
	return arbitration.Scene{
		Now: b.now, View: b.in.view, Reports: b.in.reports, Verdicts: &b.in.downs, Reach: b.in.reach,
		Reachable: b.hears,
	}
}

// speaks reports whether this node may speak for the arbiter now.
func (b *ballots) speaks() bool { return b.arbiter.Speaks(b.now, b.in.view) }

// takeArbiter carries out what a call of the arbiter's carrier wants done.
func (b *ballots) takeArbiter() {
	out := b.arbiter.Output()
	b.fx.Arbiter = append(b.fx.Arbiter, out.Ops...)
	if out.Given != "" {
		b.fx.event(ArbiterGiven{out.Given})
	}
	if out.Failing != "" {
		b.fx.event(ArbiterFailing{out.Failing})
	}
	if out.Tell {
		b.pulse.tell()
	}
	b.goOn(out.Wake, out.Due)
}

// acquired makes this node the arbiter's mouth, and returns the record under the lease. It reports
// false if the record cannot be read. The caller installs what the arbiter has decided, and then
// calls bind.
func (b *ballots) acquired(in ArbiterAcquired) (arbitration.Record, bool) {
	return b.arbiter.Acquired(b.arbiterScene(), in.Record, in.Until)
}

// bind binds this node to what the arbiter has promised, unless others have seen more than it has.
func (b *ballots) bind(r arbitration.Record) {
	if !b.arbiter.Bound(r, b.in.view.Epoch) {
		return
	}
	if r.Epoch == b.in.view.Epoch {
		b.voter.Bind(r.Promised)
	}
	b.fx.event(ArbiterTaken{b.in.view.Epoch})
}

// denied notes that this node does not hold the arbiter's lease.
func (b *ballots) denied(in ArbiterDenied) {
	b.arbiter.Denied(b.now, in.Err)
	b.takeArbiter()
}

// saved says what the arbiter has done, now that it is certain. known is a view that it accepted,
// which therefore is decided. won is one that this node's ballot decided by the arbiter's promise.
func (b *ballots) saved(in ArbiterSaved) (known, won *view.View) {
	known, p := b.arbiter.Saved(b.arbiterScene(), in.Err)
	b.takeArbiter()
	if p != nil {
		b.voter.ArbiterPromised(b.scene(), *p)
		won = b.take()
	}
	return known, won
}

// lost notes that another node may have the arbiter's lease, and reports whether this node held it.
func (b *ballots) lost(why string) bool {
	if !b.arbiter.Lost(b.now) {
		return false
	}
	b.fx.event(ArbiterGiven{why})
	return true
}
