package options

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/coterie-go/coterie/proptest/sim/random"
)

// The roles of nodes. In most worlds all nodes are of the backend.
const (
	Backend = "backend"
	Edge    = "edge" // has data of its own, and entity types
	Idle    = "idle" // its clients keep no data
)

// RolesOf are the roles of the nodes of a slot.
func (o *Options) RolesOf(slot int) []string {
	if len(o.Roles) == 0 {
		return []string{Backend}
	}
	return o.Roles[slot]
}

// DataRoles are the roles whose clients keep data.
func (o *Options) DataRoles() []string {
	if len(o.Roles) == 0 {
		return []string{Backend}
	}
	return []string{Backend, Edge}
}

// RoleOfType is the role of the nodes that host an entity type.
func (o *Options) RoleOfType(index int) string {
	roles := o.DataRoles()
	return roles[index%len(roles)]
}

// drawRoles draws the roles of nodes: in some worlds not all are of the backend. At least two of the
// first nodes have each role with data. It also draws whether nodes start types late, and whether they
// are of several builds.
func (o *Options) drawRoles(rs random.Streams) {
	late := rs.Stream("late types", 0)
	o.LateTypes = lateTypes(o, late)
	o.LackTypes = o.LateTypes > 0 && late.IntN(2) == 0
	o.Builds = severalBuilds(o, rs.Stream("builds", 0))
	defer drawKeyRoles(o, rs)
	r := rs.Stream("roles", 0)
	if some := r.IntN(4) == 0; !some || o.Nodes < 3 {
		return
	}
	switch o.Scenario {
	case PlainChaos, ColdRestarts, BadDisks, LostKinds, SmallLogs, RollingMoves, LaggingViews, NewKeys:
	default:
		return // those are about all nodes
	}
	for range o.Nodes + o.Spare {
		o.Roles = append(o.Roles, random.Pick(r, []string{Backend}, []string{Edge}, []string{Idle},
			[]string{Backend, Edge}, []string{Backend, Edge}))
	}
	for _, role := range o.DataRoles() {
		for _, i := range r.Perm(o.Nodes) {
			if has := func(roles []string) bool { return slices.Contains(roles, role) }; !has(o.Roles[i]) &&
				len(slices.DeleteFunc(slices.Clone(o.Roles[:o.Nodes]), func(x []string) bool { return !has(x) })) < 2 {
				o.Roles[i] = []string{Backend, Edge}
			}
		}
	}
}

// severalBuilds draws whether processes are of several builds, in worlds that are not about all of them.
func severalBuilds(o *Options, r *rand.Rand) bool {
	switch o.Scenario {
	case PlainChaos, ColdRestarts, LostKinds, GrowingView, SmallLogs, RollingMoves, RollingRestarts:
		return !o.Calm && r.IntN(3) == 0
	}
	return false
}

// lateTypes draws how late types start, in worlds that are not about all of them.
func lateTypes(o *Options, r *rand.Rand) time.Duration {
	switch o.Scenario {
	case PlainChaos, ColdRestarts, LostKinds, GrowingView, RollingMoves, LaggingViews:
		if !o.Calm {
			return random.Pick(r, 0, 0, 2*time.Second, 20*time.Second)
		}
	}
	return 0
}
