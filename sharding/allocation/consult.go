package allocation

import (
	"fmt"
	"slices"
	"time"
)

// Isolated reports whether a strategy is called beside the coordinator: whatever is not of this
// package may be slow, may wait, may panic.
func Isolated(s Strategy) bool {
	switch s.(type) {
	case LeastShard, Threshold, ConsistentHashing, External, LoadAware:
		return false
	}
	return true
}

// Request asks for the home of one shard. Requester is the region that asked first, 0 when no
// region did.
type Request struct {
	Shard     ShardID
	Requester UID
}

// Consultation is one question to an isolated strategy. It shares nothing with the coordinator, so
// that its answer may take its time.
type Consultation struct {
	ID          uint64
	Requests    []Request    // homes that are wanted
	Rebalance   bool         // look at the balance, too
	InProgress  []ShardID    // for the look at the balance
	Allocations *Allocations // a copy
}

// Choice is a home that was chosen, 0: not now.
type Choice struct {
	Shard ShardID
	Home  UID
}

// Failure is one way in which a strategy misbehaved.
type Failure struct {
	Shard ShardID
	Home  UID    // that it named, though it is no region that may host
	Panic string // what it panicked with
}

// Advice is the answer of a strategy. Where it misbehaved there is a failure, and for the home of a
// shard the default's answer.
type Advice struct {
	ID       uint64
	Homes    []Choice
	Moves    []ShardID
	Failures []Failure
}

// Ask has the strategy answer. Each of its choices counts in what it sees for the next one. A panic
// while it looks at the balance moves nothing: its own Allocate would send elsewhere, or back, what
// another strategy had taken.
func (c *Consultation) Ask(s Strategy) Advice {
	out := Advice{ID: c.ID}
	for _, r := range c.Requests {
		home, failure := Choose(s, r, c.Allocations)
		if failure != nil {
			out.Failures = append(out.Failures, *failure)
		}
		if home != 0 {
			c.Allocations.Add(home, r.Shard)
		}
		out.Homes = append(out.Homes, Choice{r.Shard, home})
	}
	if c.Rebalance {
		if p := guard(func() { out.Moves = slices.Clone(s.Rebalance(c.Allocations, c.InProgress)) }); p != "" {
			out.Failures, out.Moves = append(out.Failures, Failure{Panic: p}), nil
		}
	}
	return out
}

// Choose asks a strategy for the home of one shard. If it panics, or names what is no region that
// may host, the default answers instead.
func Choose(s Strategy, r Request, a *Allocations) (home UID, failure *Failure) {
	var ok bool
	p := guard(func() { home, ok = s.Allocate(r.Requester, r.Shard, a) })
	switch {
	case p != "":
		failure = &Failure{Shard: r.Shard, Panic: p}
	case !ok:
		return 0, nil
	case !a.May(home):
		failure = &Failure{Shard: r.Shard, Home: home}
	default:
		return home, nil
	}
	home, _ = LeastShard{}.Allocate(r.Requester, r.Shard, a)
	return home, failure
}

// guard runs fn and says what it panicked with.
func guard(fn func()) (cause string) {
	defer func() {
		if p := recover(); p != nil {
			cause = fmt.Sprint(p)
		}
	}()
	fn()
	return ""
}

// Copy makes Allocations that share nothing with a.
func (a *Allocations) Copy(n Needs) *Allocations {
	f := &frozen{of: make(map[UID][]ShardID, len(a.Regions))}
	if n.Loads {
		f.loads, f.moved = map[ShardID]Load{}, map[ShardID]time.Time{}
	}
	if n.Locations {
		f.locations = map[ShardID]string{}
	}
	for _, r := range a.Regions {
		f.of[r.UID] = a.ShardsOf(r.UID)
	}
	for s := range ShardID(a.Shards) {
		if n.Loads {
			if l, ok := a.Load(s); ok {
				f.loads[s] = l
			}
			if at := a.MovedAt(s); !at.IsZero() {
				f.moved[s] = at
			}
		}
		if n.Locations {
			if addr := a.Location(s); addr != "" {
				f.locations[s] = addr
			}
		}
	}
	return &Allocations{Now: a.Now, Regions: slices.Clone(a.Regions), Shards: a.Shards, Moving: a.Moving, facts: f}
}

// frozen are the facts at one moment.
type frozen struct {
	of        map[UID][]ShardID
	loads     map[ShardID]Load
	moved     map[ShardID]time.Time
	locations map[ShardID]string
}

var _ Facts = (*frozen)(nil)

// ShardsOf implements Facts.
func (f *frozen) ShardsOf(u UID) []ShardID { return slices.Clone(f.of[u]) }

// Load implements Facts.
func (f *frozen) Load(s ShardID) (Load, bool) {
	l, ok := f.loads[s]
	return l, ok
}

// MovedAt implements Facts.
func (f *frozen) MovedAt(s ShardID) time.Time { return f.moved[s] }

// Location implements Facts.
func (f *frozen) Location(s ShardID) string { return f.locations[s] }

// String prints what is asked.
func (c *Consultation) String() string {
	s := fmt.Sprintf("consult #%d", c.ID)
	for _, r := range c.Requests {
		s += fmt.Sprintf(" %v", r.Shard)
	}
	if c.Rebalance {
		s += " balance"
	}
	return s
}

// String prints the choices, the moves and the failures.
func (a Advice) String() string {
	s := fmt.Sprintf("advice #%d", a.ID)
	for _, h := range a.Homes {
		s += fmt.Sprintf(" %v→%v", h.Shard, h.Home)
	}
	if len(a.Moves) > 0 {
		s += fmt.Sprintf(" move %v", a.Moves)
	}
	if len(a.Failures) > 0 {
		s += fmt.Sprintf(" failures %+v", a.Failures)
	}
	return s
}
