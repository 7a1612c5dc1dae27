package membership

import (
	"github.com/coterie-go/coterie/ddata/membership/arbitration"
	"github.com/coterie-go/coterie/ddata/membership/view"
)

// arbiterScene is what this node knows at this moment.
func (b *ballots) arbiterScene() arbitration.Scene {
	return arbitration.Scene{
		Now: b.now, View: b.in.view, Reports: b.in.reports, Verdicts: &b.in.downs, Reach: b.in.reach,
		Reachable: b.reachable,
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
