package membership

import (
	"github.com/coterie-go/coterie/ddata/membership/nextview"
	"github.com/coterie-go/coterie/ddata/membership/report"
)

// nextConfig is what the configuration says of the next view.
func (c *Config) nextConfig() nextview.Config {
	return nextview.Config{
		Self: c.UID, Strategy: c.Strategy, Enough: c.enough, Beat: c.HeartbeatInterval, StableAfter: c.StableAfter, Promise: c.promise(),
		MoveUnasked: c.Defects.MoveUnasked, LeaveUnsettled: c.Defects.LeaveUnsettled, UpUnasked: c.Defects.UpUnasked,
	}
}

// scene is what this node knows of the next view at this moment.
func (m *Machine) scene() nextview.Scene {
	return nextview.Scene{
		Now: m.now, View: m.view, Settled: m.settled(), Closing: m.self.Has(report.Closing), Idle: m.proposer.Idle(),
		Joiners: m.joiners.Asking(m.now), Reports: m.reports, Verdicts: &m.downs, Reach: m.reach, Reachable: m.Reachable,
	}
}

// plan composes the next view.
func (m *Machine) plan() nextview.Plan {
	p := nextview.Compose(m.cfg.nextConfig(), m.scene())
	if p.Admits {
		m.joiners.ForgetLate(m.now)
	}
	if !p.Due.IsZero() {
		m.dueAt(p.Due)
	}
	return p
}
