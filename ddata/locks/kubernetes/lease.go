package kubernetes

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"

	"github.com/coterie-go/coterie/ddata/locks"
	"github.com/coterie-go/coterie/ddata/locks/door"
	"github.com/coterie-go/coterie/ddata/locks/kubernetes/apiclient"
)

// lease is one owner's lock of one name.
type lease struct {
	*door.Door[*hold, remains]
	s            *Store
	name, object string
	owner        string
	seen         sighting // of the call with the turn
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
	_ locks.Lock                  = (*lease)(nil)
	_ locks.Holder                = (*lease)(nil)
	_ door.System[*hold, remains] = (*lease)(nil)
)

func (s *Store) lease(name, owner string) *lease {
	l := &lease{s: s, name: name, object: s.object(name), owner: owner}
	l.Door = door.New(l)
	return l
}

// Refer implements door.System.
func (l *lease) Refer(err error) error { return fmt.Errorf("lease %s: %w", l.s.path(l.object), err) }

// Bound implements door.System.
func (l *lease) Bound(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, l.s.timeout)
}

// Undo implements door.System.
func (l *lease) Undo(ctx context.Context, r remains) error {
	if r.saves {
		if err := recordOf(l).touch(ctx); err != nil {
			return err
		}
	}
	for {
		done, err := l.undo(ctx, r)
		switch {
		case err != nil:
			return l.s.explain(l.object, err)
		case done:
			return nil
		}
	}
}

// undo makes the Lease object one that is not held by r, and that no call of r changes when it arrives late. It
// reports whether it is so; if not, something else has changed the object meanwhile.
func (l *lease) undo(ctx context.Context, r remains) (done bool, err error) {
	o, err := l.s.leases.Get(ctx, l.object)
	switch {
	case apiclient.NotFound(err) && r.creates:
		if o, err = l.absent(ctx); err != nil {
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
	_, err = l.s.write(ctx, o)
	return tried(err)
}

// tried reports whether a write has had its effect. One that has met another write is no error.
func tried(err error) (done bool, _ error) {
	if apiclient.Conflict(err) {
		return false, nil
	}
	return err == nil, err
}

// Holder implements locks.Holder. It names the present holder.
func (l *lease) Holder(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, l.s.timeout)
	defer cancel()
	o, err := l.s.leases.Get(ctx, l.object)
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
