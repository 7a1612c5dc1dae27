package repair

import (
	"slices"
	"time"

	"github.com/coterie-go/coterie/crdt"
)

// Donors are the donations of this replica, in both spaces. The zero value has none.
type Donors struct{ all []*Donation }

// Len returns how many there are.
func (o *Donors) Len() int { return len(o.all) }

// All returns them. The caller must not change the slice.
func (o *Donors) All() []*Donation { return o.all }

// Find returns the donation with this session, nil if there is none.
func (o *Donors) Find(to crdt.Origin, space uint8, session uint64) *Donation {
	for _, d := range o.all {
		if d.To == to && d.Space == space && d.Session == session {
			return d
		}
	}
	return nil
}

// Supersede drops the donations to a peer in a space that have another session.
func (o *Donors) Supersede(to crdt.Origin, space uint8, session uint64) {
	o.all = slices.DeleteFunc(o.all, func(d *Donation) bool {
		return d.To == to && d.Space == space && d.Session != session
	})
}

// Open pins the store for a puller that has told its clock.
func (o *Donors) Open(to crdt.Origin, space uint8, session uint64, store *crdt.Store, content *crdt.Clock) *Donation {
	pin := store.Pin()
	d := &Donation{
		To: to, Space: space, Session: session, Pin: pin, News: pin.Clock().Minus(content),
		within: pin.Clock().And(content),
	}
	o.all = append(o.all, d)
	return d
}

// Reconciling reports whether a peer is about to learn what it shares with this replica in a space.
func (o *Donors) Reconciling(to crdt.Origin, space uint8) bool {
	return slices.ContainsFunc(o.all, func(d *Donation) bool { return d.To == to && d.Space == space && d.Shares() })
}

// Close drops a donation, and reports whether there was one.
func (o *Donors) Close(to crdt.Origin, space uint8, session uint64) bool {
	d := o.Find(to, space, session)
	o.all = slices.DeleteFunc(o.all, func(x *Donation) bool { return x == d })
	return d != nil
}

// Expire drops the donations that have expired, and those to peers that have left.
func (o *Donors) Expire(now time.Time, left func(crdt.Origin) bool) {
	o.all = slices.DeleteFunc(o.all, func(d *Donation) bool { return !now.Before(d.until) || left(d.To) })
}

// Deadline returns when one of them needs work; zero: never.
func (o *Donors) Deadline(now time.Time) (at time.Time) {
	for _, d := range o.all {
		if t := d.Deadline(now); at.IsZero() || t.Before(at) {
			at = t
		}
	}
	return at
}
