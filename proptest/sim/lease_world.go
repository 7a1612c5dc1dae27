package sim

import (
	"context"
	"time"

	"github.com/coterie-go/coterie/ddata/locks"
	"github.com/coterie-go/coterie/proptest/sim/leases"
)

var (
	_ leases.World  = leaseWorld{}
	_ leases.Holder = (*Process)(nil)
)

// leaseWorld is the world, as the store of leases sees it.
type leaseWorld struct{ netWorld }

// After implements leases.World.
func (l leaseWorld) After(d time.Duration, owner leases.Holder, run func()) {
	p, _ := owner.(*Process)
	l.w.after(d, p, run)
}

// Healed implements leases.World.
func (l leaseWorld) Healed() bool   { return l.w.healed }
func (l leaseWorld) String() string { return l.w.String() }

// locks is the store of leases, as the process uses it.
func (p *Process) locks() locks.Store { return p.w.leases.Of(p, p.w.planted.Ignores) }

// Behind implements leases.Holder.
func (p *Process) Behind() bool { return p.behind }

// Enter implements leases.Holder.
func (p *Process) Enter(run func()) { p.rt.Enter(run) }

// Wait implements leases.Holder.
func (p *Process) Wait(ctx context.Context, d time.Duration) error {
	over := make(chan struct{})
	t := p.rt.AfterFunc(d, func() { close(over) })
	defer t.Stop()
	if p.rt.Await(over, ctx.Done(), nil) == 1 {
		return ctx.Err()
	}
	return nil
}
