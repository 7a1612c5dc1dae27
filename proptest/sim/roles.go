package sim

import (
	"slices"
	"strings"

	"github.com/coterie-go/coterie/proptest/sim/history"
	"github.com/coterie-go/coterie/proptest/sim/options"
	"github.com/coterie-go/coterie/replicator/keyspace"
)

// dataset is the users' data of one role: what its clients know of it.
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

// set names the data.
func (s *dataset) set() keyspace.Dataset { return keyspace.Dataset{Role: s.role} }

// reserved names the reserved data of a role.
func reserved(role string) keyspace.Dataset { return keyspace.Dataset{Role: role, Reserved: true} }

// replicas lists the running replicas of the users' data of a role, in order of start.
func (w *World) replicas(role string) []*replicaHost {
	return w.replicasOf(keyspace.Dataset{Role: role})
}

// replicasOf lists the running replicas of some data, in order of start.
func (w *World) replicasOf(set keyspace.Dataset) (all []*replicaHost) {
	for _, p := range w.live {
		if r := p.reps.of(set); r != nil {
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
		return r.set.Role != options.Idle && !slices.ContainsFunc(w.replicas(r.set.Role), func(o *replicaHost) bool {
			return o.p != p && o.p.up() && !o.p.slot.leaving && !isProxy(o.p)
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

// String names the process, the role if it is not the backend, and reserved data.
func (d *replicaHost) String() string { return d.p.String() + d.suffix() }

// suffix names the data of a replica in traces.
func (d *replicaHost) suffix() string {
	s := strings.TrimPrefix(streamOf(d.set.Role), " of")
	if d.set.Reserved {
		s += " reserved"
	}
	return s
}
