package kubernetes

import (
	"context"
	"fmt"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"

	"github.com/coterie-go/coterie/ddata/locks"
	"github.com/coterie-go/coterie/ddata/locks/kubernetes/apiclient"
)

// door is one owner's lock of one name.
type door struct {
	s            *Store
	name, object string
	owner        string
	turn         chan struct{} // taken by the call that talks to the API server
	open         context.Context
	end          context.CancelFunc // of open
	keeping      sync.WaitGroup     // renewals of holds
	seen         sighting           // of the call with the turn

	mu       sync.Mutex
	hold     *hold    // nil = not held
	trying   *attempt // nil = none that may become the hold
	rest     remains
	releases int // calls of Release
	closed   bool
}

// sighting is when a lease was seen for the first time as it is.
type sighting struct {
	version string
	since   time.Time
}

// remains is what a former hold, or a failed attempt at one, may have left in Kubernetes. The zero value is
// nothing.
type remains struct {
	identity string // of the hold
	base     string // the resourceVersion that an attempt has updated; "" if there is no attempt
	creates  bool   // an attempt creates the object
	saves    bool   // a save may be under way
}

var (
	_ locks.Lock   = (*door)(nil)
	_ locks.Holder = (*door)(nil)
)

// enter waits for the turn of a call. It returns the call's context, and what ends the call.
func (d *door) enter(ctx context.Context) (context.Context, func(), error) {
	if d.isClosed() {
		return nil, nil, d.refuse(locks.ErrClosed)
	}
	return d.await(ctx, d.open)
}

// await is enter for a door that may be closed. The context that it returns ends with the other one, too.
func (d *door) await(ctx, other context.Context) (context.Context, func(), error) {
	if ctx.Err() != nil {
		return nil, nil, d.refuse(ctx.Err())
	}
	ctx, cancel := context.WithTimeout(ctx, d.s.timeout)
	forget := context.AfterFunc(other, cancel)
	leave := func() { forget(); cancel() }
	select {
	case d.turn <- struct{}{}:
		return ctx, func() { leave(); <-d.turn }, nil
	case <-ctx.Done():
		leave()
		if d.isClosed() && other == d.open {
			return nil, nil, d.refuse(locks.ErrClosed)
		}
		return nil, nil, d.refuse(ctx.Err())
	}
}

func (d *door) refuse(err error) error { return fmt.Errorf("lease %s: %w", d.s.path(d.object), err) }

func (d *door) isClosed() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.closed
}

// countReleases adds calls of Release to their number, and returns it.
func (d *door) countReleases(more int) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.releases += more
	return d.releases
}

// Release implements locks.Lock. It ends the calls that are under way, and those of Acquire that wait. After
// an error the lease may last to its end in Kubernetes.
func (d *door) Release(ctx context.Context) error {
	d.countReleases(1)
	d.drop()
	ctx, done, err := d.await(ctx, context.Background())
	if err != nil {
		return err
	}
	defer done()
	d.drop() // another call may have acquired
	return d.settle(ctx)
}

// drop ends the hold on this side, and gives up the attempt that is under way.
func (d *door) drop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.dropLocked()
}

func (d *door) dropLocked() {
	if h := d.hold; h != nil {
		h.cancel()
		d.hold, d.rest = nil, remains{identity: h.identity, saves: h.saving}
	}
	if a := d.trying; a != nil {
		a.end()
		d.trying = nil
	}
}

// leave notes what is left in Kubernetes.
func (d *door) leave(r remains) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.rest = r
}

// settle sees to it that what is left in Kubernetes has no effect any more. The caller has the turn.
func (d *door) settle(ctx context.Context) error {
	d.mu.Lock()
	r := d.rest
	d.mu.Unlock()
	if r == (remains{}) {
		return nil
	}
	if r.saves {
		if err := recordOf(d).touch(ctx); err != nil {
			return err
		}
	}
	for {
		done, err := d.undo(ctx, r)
		switch {
		case err != nil:
			return d.s.explain(d.object, err)
		case done:
			d.leave(remains{})
			return nil
		}
	}
}

// undo makes the Lease object one that is not held by r, and that no call of r changes when it arrives late. It
// reports whether it is so; if not, something else has changed the object meanwhile.
func (d *door) undo(ctx context.Context, r remains) (done bool, err error) {
	o, err := d.s.leases.Get(ctx, d.object)
	switch {
	case apiclient.NotFound(err) && r.creates:
		if o, err = d.absent(ctx); err != nil {
			return false, err
		}
	case apiclient.NotFound(err):
		return true, nil
	case err != nil:
		return false, err
	case holderOf(o) == r.identity:
		o.Spec.HolderIdentity = nil
	case o.ResourceVersion == r.base:
		o.Annotations[touchedAnnotation] = random()
	default:
		return true, nil
	}
	_, err = d.s.write(ctx, o)
	return tried(err)
}

// tried reports whether a write has had its effect. One that has met another write is no error.
func tried(err error) (done bool, _ error) {
	if apiclient.Conflict(err) {
		return false, nil
	}
	return err == nil, err
}

// Until implements locks.Lock.
func (d *door) Until() time.Time {
	h := d.held()
	if h == nil {
		return time.Time{}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return h.until
}

// Close implements locks.Lock. It waits for the API server no longer than the store's Timeout. If that does
// not answer, another call tries again.
func (d *door) Close() error {
	d.mu.Lock()
	d.closed = true
	d.dropLocked()
	d.mu.Unlock()
	d.end()
	d.keeping.Wait()
	return d.Release(context.Background())
}

// Holder implements locks.Holder. It names the present holder.
func (d *door) Holder(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, d.s.timeout)
	defer cancel()
	o, err := d.s.leases.Get(ctx, d.object)
	if err != nil {
		return ""
	}
	return ownerOf(holderOf(o))
}

// holderOf returns the identity of the hold that an object names: "" if the lease is free.
func holderOf(o *coordinationv1.Lease) string {
	if o.Spec.HolderIdentity == nil {
		return ""
	}
	return *o.Spec.HolderIdentity
}
