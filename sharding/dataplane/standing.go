package dataplane

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/coterie-go/coterie/ddata/host"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/sharding/failure"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// Standing is how the region stands with its coordinator, and the coordinator of this node with the
// regions. The control plane writes it after each step; any goroutine reads it.
type Standing struct {
	cluster host.Cluster
	service view.Service // that members offer which have started the type
	self    uint64

	registered        atomic.Bool                    // with the coordinator of the view
	everRegistered    atomic.Bool                    // some coordinator has registered it
	leaving           atomic.Int32                   // how many have said that it leaves, or is about to
	hasLeft           atomic.Bool                    // it has handed everything over, and gets nothing any more
	Coordinates       atomic.Bool                    // the coordinator of this node acts
	coordinator       atomic.Uint64                  // the node whose coordinator is the one that acts; 0: none
	CoordinatorAbsent atomic.Bool                    // the type was closed there, and not started again
	moving            atomic.Int64                   // shards that this coordinator knows to be on their way
	awaits            atomic.Pointer[[]protocol.UID] // whose reports this node's coordinator waits for
	mismatch          atomic.Pointer[string]         // why that coordinator has refused this node; nil: it has not
	failing           atomic.Pointer[string]         // what it says of its state, which it cannot use; nil: nothing
}

// RegionSteps notes what the Region machine knows after a step.
func (s *Standing) RegionSteps(registered, ever bool, coordinator uint64, absent bool) {
	s.registered.Store(registered)
	s.everRegistered.Store(ever)
	s.CoordinatorAbsent.Store(absent)
	another := s.coordinator.Swap(coordinator) != coordinator
	if (registered || another) && s.mismatch.Load() != nil {
		s.mismatch.Store(nil)
	}
}

// StateFails notes what the coordinator says of its state, which it cannot read or write; empty:
// nothing.
func (s *Standing) StateFails(why string) {
	switch was := s.failing.Load(); {
	case why == "" && was != nil:
		s.failing.Store(nil)
	case why != "" && (was == nil || *was != why):
		s.failing.Store(&why)
	}
}

// CoordinatorSteps notes what the Coordinator machine of this node knows after a step.
func (s *Standing) CoordinatorSteps(acts bool, awaits []protocol.UID, moving int) {
	s.Coordinates.Store(acts)
	s.moving.Store(int64(moving))
	s.awaits.Store(&awaits)
}

// Refused notes why the coordinator has refused this node.
func (s *Standing) Refused(why string) { s.mismatch.Store(&why) }

// Leaves notes that the region has handed everything over.
func (s *Standing) Leaves() { s.hasLeft.Store(true) }

// Leaving notes that the region leaves, or is about to: no other one counts on it. Each call is taken back by Stays
// or never.
func (s *Standing) Leaving() { s.leaving.Add(1) }

// Stays takes back a call of Leaving.
func (s *Standing) Stays() { s.leaving.Add(-1) }

// hosts reports whether the region may get shards: others can hand theirs over.
func (s *Standing) hosts() bool {
	return s.registered.Load() && s.leaving.Load() == 0 && !s.hasLeft.Load()
}

// Moving is how many shards are on their way, as the coordinator of this node knows; 0: it does not act.
func (s *Standing) Moving() int {
	if !s.Coordinates.Load() {
		return 0
	}
	return int(s.moving.Load())
}

// Coordinator is the node whose coordinator is the one that acts; 0: none.
func (s *Standing) Coordinator() view.UID { return view.UID(s.coordinator.Load()) }

// IsNew reports whether no coordinator has registered the region yet.
func (s *Standing) IsNew() bool { return !s.everRegistered.Load() }

// Unhosted returns the reason why no node can host the type; nil: some node can.
func (s *Standing) Unhosted() error {
	v := s.cluster.View()
	if v == nil || len(v.ByRole(s.service.Role)) > 0 {
		return nil
	}
	return fmt.Errorf("%w: no member of view %v has role %q", failure.ErrUnknownRole, v.Epoch, s.service.Role)
}

// Uncoordinated returns the reason why no coordinator gives homes to this region, and names the
// nodes on which it depends; nil: one does.
func (s *Standing) Uncoordinated() error {
	v := s.cluster.View()
	if v == nil {
		return errors.New("there is no view yet")
	}
	if awaits := s.awaits.Load(); awaits != nil && len(*awaits) > 0 {
		var names []string
		for _, u := range (*awaits)[:min(len(*awaits), 5)] {
			names = append(names, NameIn(v, u))
		}
		return fmt.Errorf("the coordinator, on this node, waits until %d members have said what they host: %s",
			len(*awaits), strings.Join(names, ", "))
	}
	u, why := s.Coordinator(), s.mismatch.Load()
	failing := s.failing.Load()
	switch {
	case u != 0 && failing != nil:
		return fmt.Errorf("the coordinator, on %s, can give no homes, because its state fails: %s",
			NameIn(v, u), *failing)
	case s.registered.Load():
		return nil
	case u == 0:
		return cmp.Or(s.Unhosted(), s.unlisted(v))
	case why != nil:
		return fmt.Errorf("the coordinator, on %s, has refused this node: %s", NameIn(v, u), *why)
	case s.CoordinatorAbsent.Load():
		return fmt.Errorf("the type was closed on %s, which has its coordinator, and could not be started again: "+
			"start it there, or let that node leave", NameIn(v, u))
	case uint64(u) == s.self:
		return errors.New("the coordinator, on this node, begins")
	}
	return fmt.Errorf("the coordinator, on %s, has not answered", NameIn(v, u))
}

// unlisted returns the reason why the view has no member in charge of the type.
func (s *Standing) unlisted(v *view.View) error {
	if _, some := v.Oldest(s.service.Role); !some {
		return fmt.Errorf("no member of view %v with role %q is up", v.Epoch, s.service.Role)
	}
	if why := v.Lines.Refuses(s.service); why != "" {
		return fmt.Errorf("the type can have no coordinator: %s", why)
	}
	return fmt.Errorf("no member of view %v with role %q has started the type, or a view that lists it is yet to come",
		v.Epoch, s.service.Role)
}

// NameIn names a node as a view has it.
func NameIn(v *view.View, u view.UID) string {
	m, _ := v.Member(u)
	return fmt.Sprintf("%v %s", u, m.Addr)
}
