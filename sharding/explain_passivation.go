package sharding

import (
	"fmt"
	"strings"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/sharding/dataplane"
	"github.com/coterie-go/coterie/sharding/passivation"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// Passivated is one passivation that this region has seen.
type Passivated struct {
	ID    string
	Shard ShardID
	Cause protocol.Cause
	At    time.Time
	// Limit is the shard's part of the limit on active entities at that time; 0: there is none.
	Limit int
}

func (p Passivated) String() string {
	switch {
	case p.Cause == protocol.CauseLimit:
		return fmt.Sprintf("%v because its shard has room for %d", p.Cause, p.Limit)
	case p.Cause == protocol.CauseIdle:
		return "idle for too long"
	}
	return "it was asked for"
}

// PassivationState is what the passivation strategy holds of one entity, on the node that hosts its
// shard.
type PassivationState struct {
	ID    string
	Shard ShardID
	// Home is the node whose region knows more, if that is another; 0: the shard has no home that
	// is known here.
	Home   view.UID
	Hosted bool // the shard is hosted here; if not, nothing that follows is known but Last
	Active bool // the entity runs, or stops

	// Idle is for how long no message was handled, counted in looks of Strategy.IdleInterval: the
	// true time is up to one interval longer or shorter. IdleTimeout is when it goes for that; 0:
	// never.
	Idle, IdleTimeout time.Duration
	// Limit is the shard's part of the limit on active entities, and Kept how many the policy
	// keeps; 0: there is no limit.
	Limit, Kept int
	// Leaving says that the policy has given the entity up, and it has not stopped yet.
	Leaving bool
	// Standing is the entity's in the policy; zero if it is not in it.
	Standing passivation.Standing
	// Next is the entity of the shard that goes when one more becomes active that was not seen
	// lately; empty: none goes. Fresh: that one itself, at once.
	Next  string
	Fresh bool
	// Last are the latest passivations of the entity here that are still known, the latest first.
	Last []Passivated
}

// String says in words why the entity was passivated, and what would make it go.
func (s PassivationState) String() string {
	var b strings.Builder
	say := func(format string, args ...any) {
		if b.Len() > 0 {
			b.WriteString("; ")
		}
		fmt.Fprintf(&b, format, args...)
	}
	switch {
	case !s.Hosted && s.Home == 0:
		say("%q is of shard %d, whose home is not known here", s.ID, s.Shard)
	case !s.Hosted:
		say("%q is of shard %d, which lives on %v: ask there", s.ID, s.Shard, s.Home)
	case !s.Active:
		say("%q is not active", s.ID)
	default:
		say("%q is active", s.ID)
		s.prospects(say)
	}
	for _, p := range s.Last {
		say("passivated at %s: %v", p.At.UTC().Format(time.RFC3339), p)
	}
	return b.String()
}

// prospects says what would make an active entity go.
func (s PassivationState) prospects(say func(string, ...any)) {
	if s.Leaving {
		say("it has to go, because its shard has room for %d, and has not stopped yet", s.Limit)
	}
	if s.IdleTimeout > 0 {
		say("no message for about %v, it goes after %v", s.Idle, s.IdleTimeout)
	}
	if s.Standing.Limit > 0 {
		say("of %d active in its shard, with room for %d: %v", s.Kept, s.Limit, s.Standing)
	}
	switch {
	case s.IdleTimeout == 0 && s.Limit == 0:
		say("nothing but Passivate makes it go")
	case s.Limit == 0:
	case s.Fresh:
		say("entities that become active now go before it")
	case s.Next == "":
		say("there is room")
	case s.Next == s.ID:
		say("it goes next")
	default:
		say("%q goes next", s.Next)
	}
}

// ExplainPassivation returns what the passivation strategy holds of an entity whose shard is hosted
// here, why it was passivated when it was, and which entity goes next. It starts nothing, does not
// wait, and is no use of the entity. Of the passivations of a region the latest 256 are known.
func (g *Region[M]) ExplainPassivation(id string) PassivationState {
	return explainPassivation(g.plane, id)
}

func explainPassivation(r *dataplane.Plane, id string) PassivationState {
	number := r.Routes.ShardOf(id)
	st := PassivationState{ID: id, Shard: ShardID(number)}
	for _, p := range r.Entities.Passivations.Latest.Of(id) {
		st.Last = append(st.Last, Passivated{ID: p.ID, Shard: p.Shard, Cause: p.Cause, At: p.At, Limit: p.Limit})
	}
	st.Home, _ = r.Routes.Home(number)
	s := r.Routes.Hosted[number].Load()
	if s == nil {
		return st
	}
	st.Hosted = true
	if r.Entities.IdleScan.Looks() {
		st.IdleTimeout = r.Entities.Passivations.Strategy.IdleTimeout
	}
	e := s.Find(id)
	if e != nil && e.State().Started {
		st.Active = true
		st.Idle = r.Entities.IdleScan.Idle(e)
	}
	if s.Passivator != nil {
		p := s.Passivator.Explain(e)
		st.Limit, st.Kept, st.Leaving, st.Standing, st.Next, st.Fresh = p.Limit, p.Kept, p.Leaving,
			p.Standing, p.Next, p.Fresh
	}
	return st
}
