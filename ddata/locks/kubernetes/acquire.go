package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/coterie-go/coterie/ddata/locks"
	"github.com/coterie-go/coterie/ddata/locks/kubernetes/apiclient"
)

// attempt is one call of Acquire, from its begin until it is the hold, fails, or is given up.
type attempt struct {
	d   *door
	ctx context.Context
	end context.CancelFunc
}

// Acquire implements locks.Lock. The lease of a node that died is acquired by a call that finds it as an
// earlier one has found it, at least the TTL of that node before.
func (d *door) Acquire(ctx context.Context, lost func(error)) (bool, error) {
	releases := d.countReleases(0)
	ctx, done, err := d.enter(ctx)
	if err != nil {
		return false, err
	}
	defer done()
	if d.held() != nil {
		return true, nil
	}
	a, err := d.try(ctx, releases)
	if err != nil {
		return false, err
	}
	defer a.finish()
	h, err := a.acquire(lost)
	if h == nil || err != nil {
		return false, a.failed(err)
	}
	return a.begin(h)
}

// try begins an attempt. releases is their number when Acquire was called.
func (d *door) try(ctx context.Context, releases int) (*attempt, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.closed:
		return nil, d.refuse(locks.ErrClosed)
	case d.releases != releases:
		return nil, d.releasedError()
	}
	a := &attempt{d: d}
	a.ctx, a.end = context.WithCancel(ctx)
	d.trying = a
	return a, nil
}

func (d *door) releasedError() error {
	return fmt.Errorf("%w: it was released while it was acquired", d.refuse(locks.ErrNotHeld))
}

// finish ends an attempt, if it was not given up.
func (a *attempt) finish() {
	a.d.mu.Lock()
	defer a.d.mu.Unlock()
	if a.d.trying == a {
		a.d.trying = nil
	}
	a.end()
}

// acquire makes a hold: nil if there is a holder.
func (a *attempt) acquire(lost func(error)) (*hold, error) {
	d := a.d
	if err := d.settle(a.ctx); err != nil {
		return nil, err
	}
	o, err := d.look(a.ctx)
	if err != nil || o == nil {
		return nil, d.s.explain(d.object, err)
	}
	identity := identityOf(d.owner)
	d.leave(remains{identity: identity, base: o.ResourceVersion, creates: o.ResourceVersion == ""})
	*o.Spec.LeaseTransitions++
	d.s.renewed(o)
	o.Spec.HolderIdentity, o.Spec.AcquireTime = &identity, o.Spec.RenewTime
	sent := time.Now()
	o, err = d.s.write(a.ctx, o)
	switch {
	case apiclient.Conflict(err):
		d.leave(remains{})
		return nil, nil
	case apiclient.Refused(err):
		d.leave(remains{})
		return nil, d.s.explain(d.object, err)
	case err != nil:
		return nil, d.s.explain(d.object, err)
	case holderOf(o) != identity:
		return nil, d.s.lies("it has answered an acquisition with another holder")
	}
	h := &hold{identity: identity, fence: *o.Spec.LeaseTransitions, lost: lost, lease: o}
	h.extend(sent, d.s)
	return h, nil
}

// write creates an object that has no resourceVersion, and updates one that has.
func (s *Store) write(ctx context.Context, o *coordinationv1.Lease) (*coordinationv1.Lease, error) {
	if o.ResourceVersion == "" {
		return s.leases.Create(ctx, o.Name, o)
	}
	return s.leases.Update(ctx, o.Name, o)
}

// look returns the object of a lease that may be taken, with its transitions: nil if there is a holder. An
// object that is still to be made has no resourceVersion.
func (d *door) look(ctx context.Context) (*coordinationv1.Lease, error) {
	o, err := d.s.leases.Get(ctx, d.object)
	if apiclient.NotFound(err) {
		return d.absent(ctx)
	}
	if err != nil {
		return nil, err
	}
	if o.Spec.LeaseTransitions == nil {
		o.Spec.LeaseTransitions = new(int32)
	}
	switch seconds := o.Spec.LeaseDurationSeconds; {
	case o.Annotations[nameAnnotation] != d.name:
		return nil, foreign(d.s.path(d.object), "it has no annotation "+nameAnnotation+" with the name of the lease")
	case *o.Spec.LeaseTransitions == math.MaxInt32:
		return nil, foreign(d.s.path(d.object), "its leaseTransitions cannot be counted up")
	case holderOf(o) == "":
		return o, nil
	case seconds == nil || *seconds <= 0:
		return nil, foreign(d.s.path(d.object), "it has a holder and no leaseDurationSeconds, so it would stay "+
			"without an end")
	case d.seen.version != o.ResourceVersion:
		d.seen = sighting{o.ResourceVersion, time.Now()}
		return nil, nil
	case time.Since(d.seen.since) < time.Duration(*seconds)*time.Second:
		return nil, nil
	}
	return o, nil
}

// absent returns the object of a lease that was never held, or was removed. Its fence goes on from that of the
// record.
func (d *door) absent(ctx context.Context) (*coordinationv1.Lease, error) {
	m, err := recordOf(d).read(ctx)
	if err != nil {
		return nil, err
	}
	fence, err := recordOf(d).fence(m)
	return &coordinationv1.Lease{
		ObjectMeta: d.s.meta(d.object, d.name), Spec: coordinationv1.LeaseSpec{LeaseTransitions: &fence},
	}, err
}

// renewed makes a change of an object that counts as a renewal.
func (s *Store) renewed(o *coordinationv1.Lease) {
	now := metav1.NewMicroTime(s.wall().Truncate(time.Microsecond)) // no more than that is kept
	if last := o.Spec.RenewTime; last != nil && !now.After(last.Time) {
		now = metav1.NewMicroTime(last.Add(time.Microsecond)) // an update without a change has no effect
	}
	seconds := int32(s.ttl / time.Second)
	o.Spec.RenewTime, o.Spec.LeaseDurationSeconds = &now, &seconds
}

// failed is an error of an attempt, or says that the attempt was given up.
func (a *attempt) failed(err error) error {
	a.d.mu.Lock()
	defer a.d.mu.Unlock()
	if given := a.givenUpLocked(); given != nil {
		return given
	}
	return err
}

// givenUpLocked says by what an attempt was given up: nil if it goes on.
func (a *attempt) givenUpLocked() error {
	switch {
	case a.d.closed:
		return a.d.refuse(locks.ErrClosed)
	case a.d.trying != a:
		return a.d.releasedError()
	}
	return nil
}

// begin makes the door the holder.
func (a *attempt) begin(h *hold) (bool, error) {
	d := a.d
	d.mu.Lock()
	defer d.mu.Unlock()
	d.rest = remains{identity: h.identity}
	if err := a.givenUpLocked(); err != nil {
		return false, err
	}
	if !h.lasts(d.s) {
		return false, d.expired(errors.New("the API server has answered too late"))
	}
	h.ctx, h.cancel = context.WithCancel(context.Background())
	d.hold, d.trying, d.rest = h, nil, remains{}
	d.keeping.Go(keeper{d, h}.keep)
	return true, nil
}
