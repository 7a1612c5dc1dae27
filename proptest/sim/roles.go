package sim

import (
	"slices"
	"strings"

	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/proptest/sim/history"
	"github.com/coterie-go/coterie/proptest/sim/options"
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
// roles that may host shards.
func (w *World) isLast(p *Process) bool {
	if w.opt.Roles == nil {
		return false
	}
	return slices.ContainsFunc(p.reps, func(r *replicaHost) bool {
		return r.role != options.Idle && !slices.ContainsFunc(w.replicas(r.role), func(o *replicaHost) bool {
			return o != r && o.p.up() && !o.p.slot.leaving && !isProxy(o.p)
		})
	})
}

// streamOf tells the streams of the roles apart. That of the backend is the one of worlds without
// others.
func streamOf(role string) string {
	if role == options.Backend {
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
