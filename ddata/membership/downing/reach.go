package downing

import (
	"time"

	"github.com/coterie-go/coterie/ddata/membership/view"
)

// Reach tells which of the other members of the installed view this node hears. A message that came
// makes a member reachable, and nothing else does. A member that was silent for UnreachableAfter is
// unreachable.
//
// What is heard only puts off the time at which a member falls silent. So Look looks at no member
// before the first one could have fallen silent, except at those that were unreachable or are
// suspected.
//
// Invariant: contacts has an entry for every other member of the view and no more.
type Reach struct {
	after    time.Duration // UnreachableAfter
	least    time.Duration // the silence that a suspected member is allowed at least
	contacts map[view.UID]*contact
	lookAt   time.Time // no member can fall silent before, and none that is unreachable was heard
}

// contact is what this node knows of one member's words.
type contact struct {
	heard       time.Time // when a message of it last came
	unreachable time.Time // since when it counts as unreachable; zero = reachable
	suspected   bool      // a hint said that it is dead, and nothing was heard since
	watched     bool      // heartbeats pass between it and this node: its silence means something
}

// Change is a member that fell silent, or that is heard again.
type Change struct {
	Member    view.Member
	Reachable bool
}

// NewReach returns a Reach without members. Members are unreachable after a silence of after;
// suspected ones after half of it, and not before two beats.
func NewReach(after, beat time.Duration) *Reach {
	return &Reach{after: after, least: 2 * beat, contacts: make(map[view.UID]*contact)}
}

// Follow takes the other members of a view that was just installed. What is known of a member stays
// known. The silence of a member that was not watched counts from now on.
func (r *Reach) Follow(now time.Time, others []view.Member, watched func(view.Member) bool) {
	old := r.contacts
	r.lookAt = time.Time{}
	r.contacts = make(map[view.UID]*contact, len(others))
	for _, o := range others {
		c := &contact{heard: now, watched: watched(o)}
		if was := old[o.UID]; was != nil {
			c.unreachable, c.suspected = was.unreachable, was.suspected
			if was.watched {
				c.heard = was.heard
			}
		}
		r.contacts[o.UID] = c
	}
}

// Heard notes that a message of a node came. It reports whether that ends a silence, which Look
// then tells.
func (r *Reach) Heard(u view.UID, now time.Time) bool {
	c := r.contacts[u]
	if c == nil {
		return false
	}
	c.heard, c.suspected = now, false
	if c.unreachable.IsZero() {
		return false
	}
	r.lookAt = time.Time{}
	return true
}

// Suspect takes a hint that a member is dead: it is allowed less silence until it is heard. A
// member that was not watched is asked from now on.
func (r *Reach) Suspect(u view.UID, now time.Time) {
	c := r.contacts[u]
	if c == nil {
		return
	}
	if !c.watched && !c.suspected {
		c.heard = now
	}
	c.suspected = true
	r.lookAt = time.Time{}
}

// Look compares what was heard of the members with the silence that they are allowed. It returns
// the changes in the order of the members, and when to look again.
func (r *Reach) Look(now time.Time, members []view.Member) (changes []Change, again time.Time) {
	if now.Before(r.lookAt) {
		return nil, r.lookAt
	}
	r.lookAt = now.Add(r.after)
	for _, o := range members {
		c := r.contacts[o.UID]
		if c == nil || !c.watched && !c.suspected && c.unreachable.IsZero() {
			continue
		}
		limit := c.heard.Add(r.allowed(c))
		switch silent := !now.Before(limit); {
		case silent && c.unreachable.IsZero():
			c.unreachable = now
			changes = append(changes, Change{Member: o})
		case !silent && !c.unreachable.IsZero():
			c.unreachable = time.Time{}
			changes = append(changes, Change{Member: o, Reachable: true})
		}
		if c.unreachable.IsZero() && limit.Before(r.lookAt) {
			r.lookAt = limit
		}
	}
	return changes, r.lookAt
}

// allowed is how long a member may be silent. A hint halves it.
func (r *Reach) allowed(c *contact) time.Duration {
	if c.suspected {
		return max(r.after/2, r.least)
	}
	return r.after
}

// Hears reports whether a member is reachable. It hears no node that is not another member.
func (r *Reach) Hears(u view.UID) bool {
	c := r.contacts[u]
	return c != nil && c.unreachable.IsZero()
}

// UnreachableSince returns when a member fell silent. It is zero for all others.
func (r *Reach) UnreachableSince(u view.UID) time.Time {
	if c := r.contacts[u]; c != nil {
		return c.unreachable
	}
	return time.Time{}
}

// LastHeard returns when a message of a member last came, or when the first view came that lists
// it.
func (r *Reach) LastHeard(u view.UID) time.Time {
	if c := r.contacts[u]; c != nil {
		return c.heard
	}
	return time.Time{}
}

// Watches reports whether the silence of a member means something without a hint.
func (r *Reach) Watches(u view.UID) bool {
	c := r.contacts[u]
	return c != nil && c.watched
}

// Doubts reports whether a member seems to be gone: it is suspected, or unreachable.
func (r *Reach) Doubts(u view.UID) bool {
	c := r.contacts[u]
	return c != nil && (c.suspected || !c.unreachable.IsZero())
}
