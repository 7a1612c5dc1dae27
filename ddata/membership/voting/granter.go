package voting

import (
	"time"

	"github.com/coterie-go/coterie/ddata/membership/nodelease"
	"github.com/coterie-go/coterie/ddata/membership/report"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/proptest/defect"
)

// Granter is what a node has promised to the other members: for how long it accepts no view without
// them. Promises outlive an epoch; what is held back belongs to one.
//
// Invariant: it has promises to other members of the installed view only, and none beyond L(1+ε).
type Granter struct {
	cfg      Config
	promises nodelease.Promises
}

// NewGranter returns a Granter that has promised nothing.
func NewGranter(cfg Config) *Granter { return &Granter{cfg: cfg} }

// Install takes a view that was just installed. It promises L to every other member (G3): a view
// that a later decision of these members replaces must not come before the leases that were granted
// in earlier epochs have run out.
func (g *Granter) Install(now time.Time, in *view.Installed) {
	g.promises.Follow(in.View)
	if g.cfg.Defects.Planted(defect.NoInstallPromise) {
		return
	}
	for o := range view.Others(in.Members, g.cfg.Self) {
		g.Grant(o.UID, now)
	}
}

// Grant promises a member that no view without it is accepted here before its lease has run out
// (G1).
func (g *Granter) Grant(u view.UID, now time.Time) { g.promises.Make(u, now.Add(g.cfg.Promise)) }

// Until is when the promise to a member runs out; zero = there is none.
func (g *Granter) Until(u view.UID) time.Time { return g.promises.Until(u) }

// IsFree reports whether no node runs under a lease that a promise of this node covers.
func (g *Granter) IsFree(now time.Time, in *view.Installed, reports *report.Table) bool {
	for o := range view.Others(in.Members, g.cfg.Self) {
		if g.cfg.Defects.Planted(defect.GoesUntold) ||
			!reports.Stopped(o.UID) && in.MayHoldLease(o.UID) && now.Before(g.Until(o.UID)) {
			return false
		}
	}
	return true
}

// HoldsBack reports whether a member is granted nothing, because a refused proposal would drop it
// (V2).
func (g *Granter) HoldsBack(u view.UID, now time.Time) bool {
	return g.promises.HoldsBack(u, now) && !g.cfg.Defects.Planted(defect.NoV2)
}

// wait is how long promises to any of the members still run, and at least as long as the arbiter's.
func (g *Granter) wait(s *Scene, drops []view.UID, arbiter time.Duration) (wait time.Duration) {
	if g.cfg.Defects.Planted(defect.NoPromise) {
		return 0
	}
	for _, u := range drops {
		if g.cfg.Defects.Planted(defect.EndIsExpiry) && !s.Reach.RefusedSince(u).IsZero() {
			continue
		}
		if s.Reports.Has(u) && s.View.MayHoldLease(u) {
			wait = max(wait, g.promises.Until(u).Sub(s.Now), arbiter)
		}
	}
	return wait
}

// holdBack is V2. Without it an acceptor that still hears the member keeps granting, and its
// promise never runs out. The others, which have accepted, would never leave their freeze.
func (g *Granter) holdBack(s *Scene, drops []view.UID) {
	for _, u := range drops {
		if s.Reports.Has(u) && s.View.MayHoldLease(u) {
			g.promises.HoldBack(u, s.Now.Add(2*g.cfg.LeaseDuration))
		}
	}
}

// Check verifies the invariant. Tests call it after every step.
func (g *Granter) Check(v *view.View, now time.Time) error {
	return g.promises.Check(v, now.Add(g.cfg.Promise))
}
