package sim

import (
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/proptest/sim/history"
	"github.com/coterie-go/coterie/proptest/sim/random"
)

// The roles of nodes. In most worlds all nodes are of the backend.
const (
	backend = "backend"
	edge    = "edge" // has data of its own, and entity types
	idle    = "idle" // its clients keep no data
)

// dataset is the data of one role: what its clients know of it.
type dataset struct {
	role    string
	history *history.History
}

func newDatasets(roles []string) (all []*dataset) {
	for _, role := range roles {
		all = append(all, &dataset{role, history.New()})
	}
	return all
}

// dataset is the data of a role.
func (w *World) dataset(role string) *dataset {
	return w.datasets[slices.IndexFunc(w.datasets, func(s *dataset) bool { return s.role == role })]
}

// replicas lists the running replicas of a role, in order of start.
func (w *World) replicas(role string) (all []*replicaHost) {
	for _, p := range w.live {
		if r := p.replica(role); r != nil {
			all = append(all, r)
		}
	}
	return all
}

// isLast reports whether a process is the only one that is Up and stays, of those with one of its
// roles.
func (w *World) isLast(p *Process) bool {
	if w.opt.Roles == nil {
		return false
	}
	return slices.ContainsFunc(p.reps, func(r *replicaHost) bool {
		return r.role != idle && !slices.ContainsFunc(w.replicas(r.role), func(o *replicaHost) bool {
			return o != r && o.p.up() && !o.p.slot.leaving
		})
	})
}

// streamOf tells the streams of the roles apart. That of the backend is the one of worlds without
// others.
func streamOf(role string) string {
	if role == backend {
		return ""
	}
	return " of " + role
}

// String names the process, and the role if it is not the backend.
func (d *replicaHost) String() string { return d.p.String() + d.suffix() }

// suffix names the role of a replica in traces.
func (d *replicaHost) suffix() string { return strings.TrimPrefix(streamOf(d.role), " of") }

// fullOf lists the full members of a view that have a role, oldest first.
func fullOf(v *view.View, role string) []view.Member {
	return slices.DeleteFunc(v.Full(), func(m view.Member) bool { return !m.HasRole(role) })
}

// rolesOf are the roles of the nodes of a slot.
func (o *Options) rolesOf(slot int) []string {
	if len(o.Roles) == 0 {
		return []string{backend}
	}
	return o.Roles[slot]
}

// dataRoles are the roles whose clients keep data.
func (o *Options) dataRoles() []string {
	if len(o.Roles) == 0 {
		return []string{backend}
	}
	return []string{backend, edge}
}

// roleOfType is the role of the nodes that host an entity type.
func (o *Options) roleOfType(index int) string {
	roles := o.dataRoles()
	return roles[index%len(roles)]
}

// drawRoles draws the roles of nodes: in some worlds not all are of the backend. At least two of the
// first nodes have each role with data.
func (o *Options) drawRoles(r *rand.Rand) {
	if some := r.IntN(4) == 0; !some || o.Nodes < 3 {
		return
	}
	switch o.Scenario {
	case plainChaos, coldRestarts, badDisks, lostKinds, smallLogs, rollingMoves, laggingViews:
	default:
		return // those are about all nodes
	}
	for range o.Nodes + o.Spare {
		o.Roles = append(o.Roles, random.Pick(r, []string{backend}, []string{edge}, []string{idle},
			[]string{backend, edge}, []string{backend, edge}))
	}
	for _, role := range o.dataRoles() {
		for _, i := range r.Perm(o.Nodes) {
			if has := func(roles []string) bool { return slices.Contains(roles, role) }; !has(o.Roles[i]) &&
				len(slices.DeleteFunc(slices.Clone(o.Roles[:o.Nodes]), func(x []string) bool { return !has(x) })) < 2 {
				o.Roles[i] = []string{backend, edge}
			}
		}
	}
}
