package downing

import (
	"fmt"
	"maps"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/view"
)

// Reach tells which of the other members of the installed view this node hears. A message that came
// makes a member reachable, and nothing else does. A member that was silent for UnreachableAfter is
// unreachable. So is, at once, a member whose process seems to have ended: there was a connection to
// it, and its machine refuses another. A message takes that back.
//
// What is heard only puts off the time at which a member falls silent. So Look looks at no member
// before the first one could have fallen silent, except at those that were unreachable or are
// suspected.
//
// Invariant: contacts has an entry for every other member of the view and no more. refusing counts those whose
// machine refuses connections, and doubted those that seem to be gone.
type Reach struct {
	after    time.Duration // UnreachableAfter
	least    time.Duration // the silence that a suspected member is allowed at least
	contacts map[view.UID]*contact
	refusing int
	doubted  int
	lookAt   time.Time // no member can fall silent before, and none that is unreachable was heard
}

// contact is what this node knows of one member's words.
type contact struct {
	heard       time.Time // when a message of it last came
	unreachable time.Time // since when it counts as unreachable; zero = reachable
	suspected   bool      // a hint said that it is dead, and nothing was heard since
	watched     bool      // heartbeats pass between it and this node: its silence means something
	connected   bool      // it has answered an attempt to connect
	refused     time.Time // since when its machine refuses connections, and nothing was heard; zero = it does not
	misled      bool      // it was heard after its machine had refused a connection
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

// Follow takes a view that was just installed, of which self is this node. What is known of a member
// stays known. The silence of a member that was not watched counts from now on.
func (r *Reach) Follow(now time.Time, self view.UID, v *view.View, watched func(view.Member) bool) {
	r.lookAt = time.Time{}
	others := 0
	for o := range view.Others(v.Members, self) {
		others++
		c := r.contacts[o.UID]
		if c == nil {
			c = &contact{}
			r.contacts[o.UID] = c
		}
		if !c.watched {
			c.heard = now
		}
		c.watched = watched(*o)
	}
	if len(r.contacts) > others { // some are gone
		maps.DeleteFunc(r.contacts, func(u view.UID, c *contact) bool {
			gone := !v.Has(u)
			if gone {
				r.tally(c, -1)
			}
			return gone
		})
	}
}

// Heard notes that a message of a node came. It reports whether that ends a silence, which Look
// then tells.
func (r *Reach) Heard(u view.UID, now time.Time) bool {
	c := r.contacts[u]
	if c == nil {
		return false
	}
	c.heard = now
	if c.suspected || !c.refused.IsZero() {
		r.tally(c, -1)
		c.misled = c.misled || !c.refused.IsZero()
		c.suspected, c.refused = false, time.Time{}
		r.tally(c, 1)
	}
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
	r.tally(c, -1)
	c.suspected = true
	r.tally(c, 1)
	r.lookAt = time.Time{}
}

// Connect notes that a member has answered an attempt to connect.
func (r *Reach) Connect(u view.UID) {
	if c := r.contacts[u]; c != nil {
		r.tally(c, -1)
		c.connected, c.misled, c.refused = true, false, time.Time{}
		r.tally(c, 1)
	}
}

// Refuse notes that a member's machine refuses connections to it. It means nothing if there never was
// one. A member that was heard after such a refusal lives behind a machine that refuses connections:
// until it is connected again, a refusal means something only after a silence.
func (r *Reach) Refuse(u view.UID, now time.Time) {
	c := r.contacts[u]
	if c == nil || !c.connected || !c.refused.IsZero() || c.misled && now.Before(c.heard.Add(r.least)) {
		return
	}
	r.tally(c, -1)
	c.refused = now
	r.tally(c, 1)
	r.lookAt = time.Time{}
}

// tally counts a contact in by 1, and out by -1.
func (r *Reach) tally(c *contact, by int) {
	if !c.refused.IsZero() {
		r.refusing += by
	}
	if c.isDoubted() {
		r.doubted += by
	}
}

// RefusedSince returns since when a member's machine refuses connections to it while nothing is heard
// of it; zero = it does not.
func (r *Reach) RefusedSince(u view.UID) time.Time {
	if c := r.contacts[u]; c != nil {
		return c.refused
	}
	return time.Time{}
}

// Ended returns those of some nodes whose process seems to have ended: their machine refuses
// connections. They come in the order of the nodes.
func (r *Reach) Ended(members []view.Member) (ended []view.UID) {
	if r.refusing == 0 {
		return nil
	}
	for _, o := range members {
		if !r.RefusedSince(o.UID).IsZero() {
			ended = append(ended, o.UID)
		}
	}
	return ended
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
		if c == nil || !c.watched && !c.suspected && c.refused.IsZero() && c.unreachable.IsZero() {
			continue
		}
		limit := c.heard.Add(r.allowed(c))
		r.tally(c, -1)
		switch silent := !now.Before(limit); {
		case silent && c.unreachable.IsZero():
			c.unreachable = now
			changes = append(changes, Change{Member: o})
		case !silent && !c.unreachable.IsZero():
			c.unreachable = time.Time{}
			changes = append(changes, Change{Member: o, Reachable: true})
		}
		r.tally(c, 1)
		if c.unreachable.IsZero() && limit.Before(r.lookAt) {
			r.lookAt = limit
		}
	}
	return changes, r.lookAt
}

// allowed is how long a member may be silent. A hint halves it, and a refused connection ends it.
func (r *Reach) allowed(c *contact) time.Duration {
	switch {
	case !c.refused.IsZero():
		return 0
	case c.suspected:
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
	return c != nil && c.isDoubted()
}

func (c *contact) isDoubted() bool { return c.suspected || !c.unreachable.IsZero() }

// DoubtsAny reports whether a member seems to be gone.
func (r *Reach) DoubtsAny() bool { return r.doubted > 0 }

// Check verifies the invariants against the installed view, of which self is this node.
func (r *Reach) Check(self view.UID, v *view.View) error {
	known, found := 0, Reach{}
	for o := range view.Others(v.Members, self) {
		if c := r.contacts[o.UID]; c != nil {
			known++
			found.tally(c, 1)
		}
	}
	if known != len(v.Members)-1 || known != len(r.contacts) {
		return fmt.Errorf("%d contacts, %d to other members of %d", len(r.contacts), known, len(v.Members))
	}
	if found.refusing != r.refusing || found.doubted != r.doubted {
		return fmt.Errorf("%d refuse, and %d are counted; %d are doubted, and %d are counted",
			found.refusing, r.refusing, found.doubted, r.doubted)
	}
	return nil
}
