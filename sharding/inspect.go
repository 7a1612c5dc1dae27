package sharding

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/sharding/codec"
	"github.com/coterie-go/coterie/sharding/dataplane"
)

// Stats is a snapshot of what a region counts.
type Stats = dataplane.Stats

// DropCount is how many messages were lost for one reason.
type DropCount = dataplane.DropCount

// PassivationCount is how many entities were told to stop for one cause.
type PassivationCount = dataplane.PassivationCount

// RegionState is what one region says of itself.
type RegionState struct {
	Node       view.UID
	Addr       string // of the node; empty if the view has it no more
	Proxy      bool   // it never hosts
	Registered bool   // with the coordinator of its view, and not about to leave: it may get shards
	Entities   int    // active, starting or stopping
	Active     int    // of these, those that run, or stop
	Shards     []ShardState
	Cut        bool // there are more ids of active entities than an answer takes; the counts are whole
}

// ShardState is one hosted shard.
type ShardState struct {
	Shard            ShardID
	Entities, Active int
	IDs              []string // of active entities, in order; only RegionState has them
}

// ClusterStats is what the regions of a type say of themselves.
type ClusterStats struct {
	Regions []RegionState // in the order of their nodes; without ids
	Failed  []Unanswered  // members that have the type's role and gave no answer
}

// Unanswered is a member that gave no answer in time, and why.
type Unanswered struct {
	Node view.UID
	Addr string
	Err  error
}

// Location is where an entity is.
type Location struct {
	Shard  ShardID
	Node   view.UID // that hosts the shard; 0: none does now
	Addr   string
	Active bool // the entity runs, or stops
}

// Active is how many entities run on the nodes that answered.
func (s ClusterStats) Active() (n int) {
	for i := range s.Regions {
		n += s.Regions[i].Active
	}
	return n
}

// Current is the nodes whose region may get shards: they are registered with the coordinator, and do not leave.
func (s ClusterStats) Current() (addrs []string) {
	for i := range s.Regions {
		if g := &s.Regions[i]; g.Registered && !g.Proxy {
			addrs = append(addrs, g.Addr)
		}
	}
	return addrs
}

func (u Unanswered) String() string { return fmt.Sprintf("%v %s: %v", u.Node, u.Addr, u.Err) }

func (l Location) String() string {
	switch {
	case l.Node == 0:
		return fmt.Sprintf("shard %d, which no node hosts now", l.Shard)
	case l.Active:
		return fmt.Sprintf("active in shard %d on %v %s", l.Shard, l.Node, l.Addr)
	}
	return fmt.Sprintf("not active, shard %d on %v %s", l.Shard, l.Node, l.Addr)
}

func (s RegionState) String() string {
	var b strings.Builder
	kind, mark := "region", ""
	if s.Proxy {
		kind = "proxy"
	}
	if !s.Registered {
		mark = ", gets no shards"
	}
	fmt.Fprintf(&b, "%s %v %s%s: %d entities, %d active", kind, s.Node, s.Addr, mark, s.Entities, s.Active)
	for _, sh := range s.Shards {
		fmt.Fprintf(&b, "\n  shard %d: %d entities, %d active", sh.Shard, sh.Entities, sh.Active)
		if len(sh.IDs) > 0 {
			fmt.Fprintf(&b, ": %q", sh.IDs)
		}
	}
	if s.Cut {
		b.WriteString("\n  and more ids")
	}
	return b.String()
}

func (s ClusterStats) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d active entities in %d regions, %d members did not answer",
		s.Active(), len(s.Regions), len(s.Failed))
	for i := range s.Regions {
		fmt.Fprintf(&b, "\n%v", s.Regions[i])
	}
	for _, f := range s.Failed {
		fmt.Fprintf(&b, "\nno answer of %v", f)
	}
	return b.String()
}

// State is the state of the type's region on a node: its shards with the ids of their active
// entities, up to 1 MiB of ids. It is for people and monitoring: what it says may have changed
// already. A shard is read under its lock, so none can fail; a node can, after Timeouts.Query.
//
// Errors: ErrTimeout, ErrNodeGone, ErrStopped, ErrBufferFull, ErrTooManyAsks.
func (g *Region[M]) State(ctx context.Context, node view.UID) (RegionState, error) {
	return inspectNode(g.plane, ctx, node, codec.InspectIDs, "")
}

// ClusterStats asks every member of the view that has the type's role, whether or not this
// coordinator knows its region. It waits no longer than EntityType.Timeouts.Query or ctx allows. A
// member that did not answer by then is in Failed. So is a member that has not started the type,
// with ErrStopped.
func (g *Region[M]) ClusterStats(ctx context.Context) ClusterStats {
	return inspectAll(g.plane, ctx, codec.InspectCounts, "")
}

// TotalActive is how many entities are active in the cluster, and which members did not answer, so
// that theirs are not counted.
func (g *Region[M]) TotalActive(ctx context.Context) (int, []Unanswered) {
	s := inspectAll(g.plane, ctx, codec.InspectTotals, "")
	return s.Active(), s.Failed
}

// CurrentRegions is the addresses of the nodes whose regions may get shards: they are registered with the
// coordinator, and do not leave. It tells which members did not answer, too.
func (g *Region[M]) CurrentRegions(ctx context.Context) ([]string, []Unanswered) {
	s := inspectAll(g.plane, ctx, codec.InspectTotals, "")
	return s.Current(), s.Failed
}

// Look says how far Where looks.
type Look uint8

const (
	// LookAround asks the node that should host the shard and, if that does not, all that may. The
	// default.
	LookAround Look = iota
	// LookHere asks no node and does not wait: it answers by what this region knows. Node is 0
	// while the shard is hosted elsewhere and its home is unknown or moving. Active is known of what
	// is hosted here.
	LookHere
)

// Where says where an entity is, and does not start it. It asks other nodes, unless look is
// LookHere.
//
// Errors: ErrInvalidID; with Node 0, the first reason why a member did not answer.
func (g *Region[M]) Where(ctx context.Context, id string, look ...Look) (Location, error) {
	return where(ctx, g.plane, id, len(look) > 0 && look[0] == LookHere)
}

func where(ctx context.Context, r *dataplane.Plane, id string, here bool) (Location, error) {
	if err := dataplane.CheckID(id); err != nil {
		return Location{}, err
	}
	loc := locationHere(r, id)
	if here {
		return loc, nil
	}
	home := loc.Node
	loc = Location{Shard: loc.Shard}
	found := func(s RegionState) bool {
		if len(s.Shards) != 1 {
			return false
		}
		loc.Node, loc.Addr, loc.Active = s.Node, s.Addr, s.Shards[0].Active > 0
		return true
	}
	if home != 0 {
		if s, err := inspectNode(r, ctx, home, codec.InspectEntity, id); err == nil && found(s) {
			return loc, nil
		}
	}
	all := inspectAll(r, ctx, codec.InspectEntity, id)
	if !slices.ContainsFunc(all.Regions, found) && len(all.Failed) > 0 {
		return loc, fmt.Errorf("no member that answered hosts shard %d; %v: %w",
			loc.Shard, all.Failed[0].Node, all.Failed[0].Err)
	}
	return loc, nil
}

// locationHere is what this region knows of an entity.
func locationHere(r *dataplane.Plane, id string) Location {
	number := r.Routes.ShardOf(id)
	loc := Location{Shard: ShardID(number)}
	if s := r.Routes.Hosted[number].Load(); s != nil { // also while its route waits to be opened
		e := s.Find(id)
		loc.Node, loc.Active = view.UID(r.Self), e != nil && e.State().Started
	} else {
		loc.Node, _ = r.Routes.Home(number)
	}
	if v := r.Cluster.View(); v != nil && loc.Node != 0 {
		m, _ := v.Member(loc.Node)
		loc.Addr = m.Addr
	}
	return loc
}

// inspectNode asks one node.
func inspectNode(r *dataplane.Plane, ctx context.Context, node view.UID, what codec.Inspection,
	id string) (RegionState, error) {
	ctx, cancel := r.Scheduler.WithTimeout(ctx, r.Timeouts.Query)
	defer cancel()
	w, err := r.Inquire(uint64(node), what, id).Wait(ctx)
	if err != nil {
		return RegionState{}, err
	}
	return stateOf(r, node, w), nil
}

// stateOf is what a node has answered.
func stateOf(r *dataplane.Plane, node view.UID, w codec.State) RegionState {
	s := RegionState{
		Node: node, Proxy: w.Proxy, Registered: w.Registered, Entities: int(w.Entities),
		Active: int(w.Active), Cut: w.Cut,
	}
	if v := r.Cluster.View(); v != nil {
		m, _ := v.Member(s.Node)
		s.Addr = m.Addr
	}
	for _, sh := range w.Shards {
		s.Shards = append(s.Shards, ShardState{
			Shard: ShardID(sh.Number), Entities: int(sh.Entities), Active: int(sh.Alive), IDs: sh.IDs,
		})
	}
	return s
}

// inspectAll asks all at one time, then waits for one after the other.
func inspectAll(r *dataplane.Plane, ctx context.Context, what codec.Inspection, id string) (s ClusterStats) {
	v := r.Cluster.View()
	if v == nil {
		return s
	}
	ctx, cancel := r.Scheduler.WithTimeout(ctx, r.Timeouts.Query)
	defer cancel()
	members := v.ByRole(r.Role)
	asked := make([]*dataplane.Inquiry, len(members))
	for i := range members {
		asked[i] = r.Inquire(uint64(members[i].UID), what, id)
	}
	for i, q := range asked {
		w, err := q.Wait(ctx)
		if err != nil {
			s.Failed = append(s.Failed, Unanswered{members[i].UID, members[i].Addr, err})
			continue
		}
		s.Regions = append(s.Regions, stateOf(r, members[i].UID, w))
	}
	return s
}
