package sim

import (
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata/host"
	"github.com/coterie-go/coterie/ddata/scheduler"
	"github.com/coterie-go/coterie/proptest/sim/delivered"
	"github.com/coterie-go/coterie/proptest/sim/journals"
	"github.com/coterie-go/coterie/proptest/sim/ledgers"
	"github.com/coterie-go/coterie/proptest/sim/options"
	"github.com/coterie-go/coterie/proptest/sim/persisted"
	"github.com/coterie-go/coterie/proptest/sim/reminded"
	"github.com/coterie-go/coterie/proptest/sim/stall"
	"github.com/coterie-go/coterie/proptest/sim/workload"
)

// persistedWorld is the world, as the entities that keep their state see it.
type persistedWorld struct{ leaseWorld }

// kept is what a world keeps in stores outside of the cluster, and whose it is.
type kept struct {
	persisted *persisted.Entities // that keep their state
	reminded  *reminded.Entities  // that set reminders
	ledgers   *ledgers.Ledgers    // of homes and remembered ids
	users     workload.Workload   // of a script, or of producers
}

func newKept(w *World) kept {
	x := persistedWorld{leaseWorld{netWorld{w}}}
	l := ledgers.New(&w.opt, w.planted.Ledger, x, w.rs, &w.trace)
	d := persisted.Planted{Machines: w.planted.Machines, Store: w.planted.Journal, Dormant: w.planted.Dormant}
	return kept{
		persisted.New(&w.opt, d, x, l, w.rs, &w.trace), reminded.New(&w.opt, d.Store, x, w.rs, &w.trace), l,
		delivered.Users(&w.opt, x, w.rs, &w.trace),
	}
}

// start starts the entity types of a process.
func (k kept) start(p *Process) {
	p.rt.Enter(func() {
		k.persisted.Start(persistedOn(p))
		k.reminded.Start(persistedOn(p))
		k.users.Start(persistedOn(p))
	})
}

// heal ends the harm to the stores.
func (k kept) heal() {
	k.persisted.Heal()
	k.reminded.Heal()
	k.ledgers.Heal()
	k.users.Heal()
}

// After implements journals.World.
func (x persistedWorld) After(d time.Duration, owner journals.Holder, run func()) {
	p, _ := owner.(persistedProcess)
	x.w.after(d, p.Process, run)
}

// Processes implements workload.World.
func (x persistedWorld) Processes() []workload.Process {
	all := make([]workload.Process, len(x.w.live))
	for i, p := range x.w.live {
		all[i] = persistedOn(p)
	}
	return all
}

// Violate implements workload.World.
func (x persistedWorld) Violate(check, format string, args ...any) {
	x.w.violate(check, format, args...)
}

// persistedProcess is a process, as those entities see it: a workload.Process.
type persistedProcess struct {
	*Process
	scheduler.Clock
}

func persistedOn(p *Process) persistedProcess             { return persistedProcess{p, p.rt} }
func (p persistedProcess) Await(a, b <-chan struct{}) int { return p.rt.Await(a, b, nil) }
func (p persistedProcess) Freeze(d time.Duration)         { p.pause(d) }
func (p persistedProcess) Resume()                        { p.resume() }
func (p persistedProcess) Go(run func())                  { p.rt.Go(run) }
func (p persistedProcess) Sleep(d time.Duration)          { p.rt.Sleep(d) }
func (p persistedProcess) Replica(key string) (crdt.Reader, *crdt.Clock) {
	m := p.replica(options.Backend).m
	s := m.Snapshot(m.SpaceOf(key))
	return s.View(key), s.Clock()
}
func (p persistedProcess) Host() host.Host { return p.node.host() }
func (p persistedProcess) Usable() bool    { return p.usable() && !p.slot.leaving }
func (p persistedProcess) Resumed() int64  { return p.resumed }

// persistedChecker waits for the entities that keep their state, and for reminders. What they do is judged
// as it happens.
type persistedChecker struct{}

func (persistedChecker) name() string          { return "persisted" }
func (persistedChecker) settled(w *World) bool { return awaited(w, stall.ForState) == nil }
func (persistedChecker) finish(w *World) {
	w.persisted.Finish()
	w.reminded.Finish()
	w.users.Finish()
}

// tidied counts what a process has tidied up, and how many updates it held back, when it ends.
func tidied(w *World, p *Process) {
	for _, r := range p.reps {
		s := r.m.Stats()
		w.counts.Swept += s.Swept
		w.counts.Expired += s.Expired
		w.counts.Folded += s.Folded
		w.counts.Held += s.Held
	}
}
