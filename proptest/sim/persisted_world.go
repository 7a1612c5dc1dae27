package sim

import (
	"context"
	"time"

	"github.com/coterie-go/coterie/ddata/host"
	"github.com/coterie-go/coterie/ddata/scheduler"
	"github.com/coterie-go/coterie/proptest/sim/journals"
	"github.com/coterie-go/coterie/proptest/sim/persisted"
)

var (
	_ persisted.World   = persistedWorld{}
	_ persisted.Process = persistedProcess{}
	_ checker           = persistedChecker{}
)

// persistedWorld is the world, as the entities that keep their state see it.
type persistedWorld struct{ leaseWorld }

func newPersisted(w *World) *persisted.Entities {
	return persisted.New(&w.opt, persisted.Planted{
		Machines: w.planted.Machines, Store: w.planted.Journal, Dormant: w.planted.Dormant,
	},
		persistedWorld{leaseWorld{netWorld{w}}}, w.ledgers, w.rs, &w.trace)
}

// After implements journals.World.
func (x persistedWorld) After(d time.Duration, owner journals.Holder, run func()) {
	p, _ := owner.(persistedProcess)
	x.w.after(d, p.Process, run)
}

// Processes implements persisted.World.
func (x persistedWorld) Processes() []persisted.Process {
	all := make([]persisted.Process, len(x.w.live))
	for i, p := range x.w.live {
		all[i] = persistedProcess{p}
	}
	return all
}

// Violate implements persisted.World.
func (x persistedWorld) Violate(check, format string, args ...any) {
	x.w.violate(check, format, args...)
}

// persistedProcess is a process, as those entities see it.
type persistedProcess struct{ *Process }

// Await implements journals.Holder.
func (p persistedProcess) Await(a, b <-chan struct{}) int { return p.rt.Await(a, b, nil) }

// Freeze implements journals.Holder.
func (p persistedProcess) Freeze(d time.Duration) { p.pause(d) }

// Resume implements journals.Holder.
func (p persistedProcess) Resume() { p.resume() }

// Now implements scheduler.Clock.
func (p persistedProcess) Now() time.Time { return p.rt.Now() }

// AfterFunc implements scheduler.Clock.
func (p persistedProcess) AfterFunc(d time.Duration, fn func()) scheduler.Timer {
	return p.rt.AfterFunc(d, fn)
}

// WithTimeout implements scheduler.Clock.
func (p persistedProcess) WithTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return p.rt.WithTimeout(ctx, d)
}

// Host implements persisted.Process.
func (p persistedProcess) Host() host.Host { return p.node.host() }

// Usable implements persisted.Process.
func (p persistedProcess) Usable() bool { return p.usable() && !p.slot.leaving }

// Resumed implements persisted.Process.
func (p persistedProcess) Resumed() int64 { return p.resumed }

// persistedChecker waits for the entities that keep their state. What they do is judged as it happens.
type persistedChecker struct{}

func (persistedChecker) name() string { return "persisted" }

func (persistedChecker) after(*World) {}

func (persistedChecker) finish(w *World) { w.persisted.Finish() }

func (persistedChecker) settled(w *World) bool { return w.persisted.Missing() == "" }

// tidied counts what a process has tidied up when it ends.
func tidied(w *World, p *Process) {
	for _, r := range p.reps {
		s := r.m.Stats()
		w.counts.Swept += s.Swept
		w.counts.Expired += s.Expired
		w.counts.Folded += s.Folded
	}
}
