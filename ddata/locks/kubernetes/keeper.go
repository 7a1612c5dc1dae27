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
	l   *lease
	h   *hold
	ctx context.Context // ends with the hold
}

// Keep implements door.System.
func (l *lease) Keep(ctx context.Context, h *hold) { keeper{l, h, ctx}.keep() }

// keep renews the hold until it ends.
func (k keeper) keep() {
	l, h := k.l, k.h
	var failure error
	timer := time.NewTimer(l.s.ttl / renewals)
	defer timer.Stop()
	for {
		select {
		case <-k.ctx.Done():
			return
		case <-timer.C:
		}
		err := k.renew()
		if late := errors.Is(err, context.DeadlineExceeded); err != nil && k.ctx.Err() == nil && (!late ||
			failure == nil) {
			failure = err // the last attempt of a hold is always late
		}
		wait := k.pause(err)
		switch {
		case errors.Is(err, errGone):
			l.Lose(h, l.replaced("something else has removed or taken the Lease object"))
			return
		case wait <= 0:
			l.Lose(h, l.expired(failure))
			return
		}
		timer.Reset(wait)
	}
}

// pause returns when to renew again after an attempt that gave err: at the end of the hold at the latest.
func (k keeper) pause(err error) time.Duration {
	l, h := k.l, k.h
	var left time.Duration
	l.Locked(func() {
		if h.lasts(l.s) {
			left = time.Until(h.until)
		}
	})
	if left <= 0 {
		return 0
	}
	if err == nil {
		return min(l.s.ttl/renewals, left)
	}
	asked := min(apiclient.RetryAfter(err), left/2) // or the lease ends in obedience
	return min(max(l.s.ttl/renewals/attempts, asked), left)
}

// renew renews a hold once.
func (k keeper) renew() error {
	l, h := k.l, k.h
	var left time.Duration
	l.Locked(func() { left = time.Until(h.until) })
	ctx, cancel := context.WithTimeout(k.ctx, min(left, l.s.ttl/attempts))
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
	l, h := k.l, k.h
	next := h.object.DeepCopy()
	l.s.renewed(next)
	sent := l.s.moment()
	h.tries = append(h.tries, renewal{next.Spec.RenewTime.Time, sent})
	got, err := l.s.leases.Update(ctx, l.object, next)
	if err != nil {
		return err
	}
	if got.ResourceVersion == next.ResourceVersion || !h.has(got) {
		return l.s.lies("it has answered a renewal, and not made it")
	}
	k.renewedAt(got, sent)
	return nil
}

// renewedAt notes that a renewal which was sent at a time has changed the object.
func (k keeper) renewedAt(o *coordinationv1.Lease, sent moment) {
	l, h := k.l, k.h
	h.object, h.tries = o, nil
	l.Locked(func() { h.extend(sent, l.s) })
}

// compare reads the object when it is not as the hold knows it: something else may have written it, or a
// renewal whose answer got lost. It reports whether that is so. Such a renewal counts as any other: whatever has
// seen the object since then has seen it after the renewal was sent.
func (k keeper) compare(ctx context.Context) (found bool, err error) {
	l, h := k.l, k.h
	got, err := l.s.leases.Get(ctx, l.object)
	switch {
	case apiclient.NotFound(err):
		return false, errGone
	case err != nil:
		return false, err
	case got.UID != h.object.UID || !h.has(got):
		return false, errGone
	}
	h.object = got
	for _, t := range h.tries {
		if r := got.Spec.RenewTime; r != nil && r.Equal(&metav1.MicroTime{Time: t.renewTime}) {
			k.renewedAt(got, t.sent)
			return true, nil
		}
	}
	return false, nil
}
