package kubernetes

import (
	"context"
	"errors"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/coterie-go/coterie/ddata/locks/kubernetes/apiclient"
)

// keeper renews a hold.
type keeper struct {
	d *door
	h *hold
}

// keep renews a hold until it ends.
func (k keeper) keep() {
	d, h := k.d, k.h
	var failure error
	timer := time.NewTimer(d.s.ttl / renewals)
	defer timer.Stop()
	for {
		select {
		case <-h.ctx.Done():
			return
		case <-timer.C:
		}
		err := k.renew()
		if late := errors.Is(err, context.DeadlineExceeded); err != nil && h.ctx.Err() == nil && (!late ||
			failure == nil) {
			failure = err // the last attempt of a hold is always late
		}
		wait := k.pause(err)
		switch {
		case errors.Is(err, errGone):
			d.lose(h, d.replaced("something else has removed or taken the Lease object"))
			return
		case wait <= 0:
			d.lose(h, d.expired(failure))
			return
		}
		timer.Reset(wait)
	}
}

// pause returns when to renew again after an attempt that gave err: at the end of the hold at the latest.
func (k keeper) pause(err error) time.Duration {
	d, h := k.d, k.h
	d.mu.Lock()
	defer d.mu.Unlock()
	if !h.lasts(d.s) {
		return 0
	}
	left := time.Until(h.until)
	if err == nil {
		return min(d.s.ttl/renewals, left)
	}
	asked := min(apiclient.RetryAfter(err), left/2) // or the lease ends in obedience
	return min(max(d.s.ttl/renewals/attempts, asked), left)
}

// renew renews a hold once.
func (k keeper) renew() error {
	d, h := k.d, k.h
	d.mu.Lock()
	left := time.Until(h.until)
	d.mu.Unlock()
	ctx, cancel := context.WithTimeout(h.ctx, min(left, d.s.ttl/attempts))
	defer cancel()
	err := k.update(ctx)
	if !apiclient.Conflict(err) && !apiclient.NotFound(err) {
		return err
	}
	if found, err := k.compare(ctx); found || err != nil {
		return err
	}
	return k.update(ctx)
}

// update changes the object as it was seen last.
func (k keeper) update(ctx context.Context) error {
	d, h := k.d, k.h
	next := h.lease.DeepCopy()
	d.s.renewed(next)
	sent := time.Now()
	h.tries = append(h.tries, renewal{next.Spec.RenewTime.Time, sent})
	got, err := d.s.leases.Update(ctx, d.object, next)
	if err != nil {
		return err
	}
	if got.ResourceVersion == next.ResourceVersion || !h.has(got) {
		return d.s.lies("it has answered a renewal, and not made it")
	}
	k.renewedAt(got, sent)
	return nil
}

// renewedAt notes that a renewal which was sent at a time has changed the object.
func (k keeper) renewedAt(o *coordinationv1.Lease, sent time.Time) {
	d, h := k.d, k.h
	h.lease, h.tries = o, nil
	d.mu.Lock()
	defer d.mu.Unlock()
	h.extend(sent, d.s)
}

// compare reads the object when it is not as the hold knows it: something else may have written it, or a
// renewal whose answer got lost. It reports whether that is so. Such a renewal counts as any other: whatever has
// seen the object since then has seen it after the renewal was sent.
func (k keeper) compare(ctx context.Context) (found bool, err error) {
	d, h := k.d, k.h
	got, err := d.s.leases.Get(ctx, d.object)
	switch {
	case apiclient.NotFound(err):
		return false, errGone
	case err != nil:
		return false, err
	case got.UID != h.lease.UID || !h.has(got):
		return false, errGone
	}
	h.lease = got
	for _, t := range h.tries {
		if r := got.Spec.RenewTime; r != nil && r.Equal(&metav1.MicroTime{Time: t.renewTime}) {
			k.renewedAt(got, t.sent)
			return true, nil
		}
	}
	return false, nil
}
