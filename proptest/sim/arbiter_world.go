package sim

import (
	"github.com/coterie-go/coterie/ddata/membership"
	"github.com/coterie-go/coterie/ddata/membership/arbitration"
	"github.com/coterie-go/coterie/ddata/membership/downing"
	"github.com/coterie-go/coterie/proptest/sim/arbiter"
)

var (
	_ arbiter.World  = arbiterWorld{}
	_ arbiter.Holder = arbiterHolder{}
)

// arbiterWorld is the world, as the store of the arbiter's lease sees it.
type arbiterWorld struct{ leaseWorld }

func newArbiter(w *World) *arbiter.Store {
	s := arbiter.New(w.opt.DiskMin, w.opt.DiskMax, arbiterWorld{leaseWorld{netWorld{w}}},
		w.rs.Stream("court", 0), &w.trace)
	if _, ok := w.opt.Strategy.(downing.LeaseMajority); ok {
		s.GiveTrouble()
	}
	return s
}

// At implements arbiter.World.
func (a arbiterWorld) At(t int64, owner arbiter.Holder, run func()) {
	h, _ := owner.(arbiterHolder)
	a.w.at(t, h.Process, run)
}

// arbiterHolder is a process, as that store sees it.
type arbiterHolder struct{ *Process }

// Arbitrated implements arbiter.Holder.
func (h arbiterHolder) Arbitrated(in membership.Input) { h.mem.step(in) }

// Arbitrate implements drivers.MembersHost.
func (d *memberHost) Arbitrate(op arbitration.Op) { d.p.w.arbiter.Arbitrate(arbiterHolder{d.p}, op) }

// Prolonged implements drivers.MembersHost. The simulated lease lasts until it is lost.
func (d *memberHost) Prolonged() (membership.ArbiterProlonged, bool) {
	return membership.ArbiterProlonged{}, false
}
