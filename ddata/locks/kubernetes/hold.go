package kubernetes

import (
	"errors"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
)

const (
	// drift is by how much the rates of the clocks of two machines may differ, in percent.
	drift = 3
	// renewals is how often a lease is renewed in its TTL.
	renewals = 6
	// attempts is how often a renewal that has failed is tried again in the time between two, and which part
	// of the TTL one call may take.
	attempts = 4
)

// hold is one time of being the holder.
type hold struct {
	identity string
	fence    int32 // the leaseTransitions of this hold

	object *coordinationv1.Lease // as the server has it; of the goroutine that renews
	tries  []renewal             // those since object that have no answer; of that goroutine, too
	record *corev1.ConfigMap     // as this hold has written it, without its data; nil = not yet; of the turn

	// The door's lock guards these.
	until  time.Time
	day    time.Time // until, by the time of day
	saving bool      // a save may be under way
}

// renewal is an update that is under way.
type renewal struct {
	renewTime time.Time // what it writes
	sent      moment
}

// moment is a time by both clocks: a suspend may pass by one of them.
type moment struct {
	at  time.Time // by the monotonic clock
	day time.Time // by the time of day
}

func (s *Store) moment() moment { return moment{time.Now(), s.wall().Round(0)} }

// extend notes a renewal that succeeded. By both clocks the hold lasts from when it was sent, whenever its answer is
// read. The door's lock is held, or the hold has not begun.
func (h *hold) extend(sent moment, s *Store) {
	ttl := s.ttl - s.ttl*drift/100
	if until := sent.at.Add(ttl); until.After(h.until) {
		h.until, h.day = until, sent.day.Add(ttl)
	}
}

// lasts reports whether the time of a hold is not over. It looks at the time of day, too: during a suspend the
// monotonic clock may stand still. The door's lock is held.
func (h *hold) lasts(s *Store) bool {
	now := s.moment()
	return now.at.Before(h.until) && now.day.Before(h.day)
}

// Rest implements door.System.
func (*lease) Rest(h *hold) remains { return remains{identity: h.identity, saves: h.saving} }

// End implements door.System.
func (*lease) End(h *hold) time.Time { return h.until }

// Lasts implements door.System.
func (l *lease) Lasts(h *hold) bool { return h.lasts(l.s) }

// Expired implements door.System.
func (l *lease) Expired() error { return l.expired(nil) }

// Late implements door.System.
func (l *lease) Late() error { return l.expired(errors.New("the API server has answered too late")) }

// errGone: the object is not the one of the hold.
var errGone = errors.New("the object is not that of the hold")

// has reports whether an object names the hold.
func (h *hold) has(o *coordinationv1.Lease) bool {
	return holderOf(o) == h.identity && o.Spec.LeaseTransitions != nil && *o.Spec.LeaseTransitions == h.fence
}
