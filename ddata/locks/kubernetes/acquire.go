package kubernetes

import (
	"context"
	"math"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/coterie-go/coterie/ddata/locks/kubernetes/apiclient"
)

// TryAcquire implements door.System. The lease of a node that died is acquired by a call that finds it as an
// earlier one has found it, at least the TTL of that node before.
func (l *lease) TryAcquire(ctx context.Context) (*hold, error) {
	o, err := l.look(ctx)
	if err != nil || o == nil {
		return nil, l.s.explain(l.object, err)
	}
	identity := identityOf(l.owner)
	l.Leave(remains{identity: identity, base: o.ResourceVersion, creates: o.ResourceVersion == ""})
	*o.Spec.LeaseTransitions++
	l.s.renewed(o)
	o.Spec.HolderIdentity, o.Spec.AcquireTime = &identity, o.Spec.RenewTime
	sent := l.s.moment()
	o, err = l.s.write(ctx, o)
	switch {
	case apiclient.Conflict(err):
		l.Leave(remains{})
		return nil, nil
	case apiclient.Refused(err):
		l.Leave(remains{})
		return nil, l.s.explain(l.object, err)
	case err != nil:
		return nil, l.s.explain(l.object, err)
	case holderOf(o) != identity:
		return nil, l.s.lies("it has answered an acquisition with another holder")
	}
	h := &hold{identity: identity, fence: *o.Spec.LeaseTransitions, object: o}
	h.extend(sent, l.s)
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
func (l *lease) look(ctx context.Context) (*coordinationv1.Lease, error) {
	o, err := l.s.leases.Get(ctx, l.object)
	if apiclient.NotFound(err) {
		return l.absent(ctx)
	}
	if err != nil {
		return nil, err
	}
	if o.Spec.LeaseTransitions == nil {
		o.Spec.LeaseTransitions = new(int32)
	}
	switch seconds := o.Spec.LeaseDurationSeconds; {
	case o.Annotations[nameAnnotation] != l.name:
		return nil, foreign(l.s.path(l.object), "it has no annotation "+nameAnnotation+" with the name of the lease")
	case *o.Spec.LeaseTransitions == math.MaxInt32:
		return nil, foreign(l.s.path(l.object), "its leaseTransitions cannot be counted up")
	case holderOf(o) == "":
		return o, nil
	case seconds == nil || *seconds <= 0:
		return nil, foreign(l.s.path(l.object), "it has a holder and no leaseDurationSeconds, so it would stay "+
			"without an end")
	case l.seen.version != o.ResourceVersion:
		l.seen = sighting{o.ResourceVersion, time.Now()}
		return nil, nil
	case time.Since(l.seen.since) < time.Duration(*seconds)*time.Second:
		return nil, nil
	}
	return o, nil
}

// absent returns the object of a lease that was never held, or was removed. Its fence goes on from that of the
// record.
func (l *lease) absent(ctx context.Context) (*coordinationv1.Lease, error) {
	m, err := recordOf(l).read(ctx)
	if err != nil {
		return nil, err
	}
	fence, err := recordOf(l).fence(m)
	return &coordinationv1.Lease{
		ObjectMeta: l.s.meta(l.object, l.name), Spec: coordinationv1.LeaseSpec{LeaseTransitions: &fence},
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
