package sim

import (
	"errors"
	"fmt"
	"strings"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/proptest/sim/history"
)

// tidyChecker waits until the healed world is tidy: nothing is left of nodes that are gone, of keys
// that have expired, and of permanently deleted keys except their markers. It then holds what is
// left to the history.
type tidyChecker struct {
	newest map[view.ClusterID]*view.View // of the views that some process has installed
}

func (*tidyChecker) name() string { return "tidy" }

func (j *tidyChecker) installed(_ *World, _ *Process, v *view.View) {
	if n := j.newest[v.Cluster]; n == nil || n.Epoch < v.Epoch {
		j.newest[v.Cluster] = v
	}
}

func (j *tidyChecker) settled(w *World) bool { return j.litter(w) == "" }

// litter is something that should have gone. It looks at one replica of each role; that all are equal is judged
// elsewhere.
func (j *tidyChecker) litter(w *World) string {
	for _, s := range w.datasets {
		if all := w.replicas(s.role); len(all) > 0 {
			if l := s.litter(w, all[0]); l != "" {
				return l
			}
		}
	}
	return ""
}

// litter is something that a replica should have tidied up.
func (s *dataset) litter(w *World, r *replicaHost) string {
	for _, b := range s.history.Fleetings.InOrder() {
		if !r.view(b.Key).Empty() {
			return fmt.Sprintf("%v: %s has not expired", r, b.Key)
		}
	}
	for _, b := range s.history.Owns.InOrder() {
		for it := range r.items(b.Key) {
			if owner := w.procs[uint64(it.Dot.Origin)]; !owner.alive {
				return fmt.Sprintf("%v holds %v in %s of %v, which is gone", r, it.Dot, b.Key, owner)
			}
		}
	}
	for _, b := range s.history.FinalsInOrder() {
		n := 0
		for range r.items(b.Key) {
			n++
		}
		if n > 1 && r.view(b.Key).Deleted() {
			return fmt.Sprintf("%v holds %d items in %s beside the marker", r, n-1, b.Key)
		}
	}
	return ""
}

func (j *tidyChecker) finish(w *World) {
	if l := j.litter(w); l != "" {
		w.violate("tidied up", "%s", l)
	}
	for _, s := range w.datasets {
		for _, r := range w.replicas(s.role) {
			for _, b := range s.history.Owns.InOrder() {
				finishOwned(w, r, b)
			}
			for _, b := range s.history.FinalsInOrder() {
				finishFinal(w, r, b)
			}
		}
	}
}

// shows reports whether a replica may show what belongs to an owner, and whether it must. It must
// because the owner is in the newest view too.
func (w *World) shows(r *replicaHost, owner *Process) (may, must bool) {
	v, o := r.installed, view.UID(owner.uid)
	if v == nil {
		return r.p == owner, false
	}
	n := w.tidy.newest[v.Cluster]
	return v.Has(o), v.Has(o) && n != nil && n.Has(o)
}

// checkOwned holds a quorum read of a set whose elements belong to nodes against its history: those
// of a node that is not in the reader's view are not shown, those of one that is in everybody's
// are.
func checkOwned(w *World, r *replicaHost, b *history.Set, has func(string) bool, start int64, which []int) {
	for _, i := range which {
		e := b.Entries[i]
		owner := w.procs[e.Owner]
		may, must := w.shows(r, owner)
		switch found := has(e.Elem); {
		case found && !may:
			w.violate("elements vanish with their node", "%v reads %s with %s of %v, which is not in %v",
				r, b.Key, e.Elem, owner, r.installed)
		case !found && must && e.Must(start):
			w.violate("acknowledged writes", "%v read %s of a majority without %s of %v, which is a member, "+
				"acknowledged at %.6f (read began %.6f)", r, b.Key,
				e.Elem, owner, float64(e.Acked)/1e9, float64(start)/1e9)
		case found && e.MustNot(start):
			w.violate("acknowledged removes",
				"%v read %s of a majority with %s, whose removal was acknowledged at %.6f (read began %.6f)", r, b.Key,
				e.Elem, float64(e.Gone)/1e9, float64(start)/1e9)
		}
	}
}

// checkOwnedMap does the same for a map: of an owner's values at a field the last one is shown,
// which is no older than the last acknowledged.
func checkOwnedMap(w *World, r *replicaHost, b *history.Set, m crdt.NodeMap[string, int], start int64) {
	shown := map[string]map[crdt.Origin]int{}
	for i := range fields {
		field := fmt.Sprintf("f%d", i)
		shown[field] = map[crdt.Origin]int{}
		for o, n := range m.Each(field) {
			shown[field][o] = n
			if may, _ := w.shows(r, w.procs[uint64(o)]); !may {
				w.violate("elements vanish with their node", "%v reads %s of %s of %v, which is not in %v",
					r, field, b.Key, w.procs[uint64(o)], r.installed)
			}
		}
	}
	for i := max(0, len(b.Entries)-64); i < len(b.Entries); i++ {
		e := b.Entries[i]
		if _, must := w.shows(r, w.procs[e.Owner]); must && e.Must(start) &&
			shown[e.Field][crdt.Origin(e.Owner)] < e.N {
			w.violate("acknowledged writes", "%v read %d at %s of %s of %v, which is a member and was told at %.6f "+
				"that %d is there (read began %.6f)", r,
				shown[e.Field][crdt.Origin(e.Owner)], e.Field, b.Key, w.procs[e.Owner], float64(e.Acked)/1e9,
				e.N, float64(start)/1e9)
		}
	}
}

// finishOwned looks for what belongs to living owners: all of it is everywhere, acknowledged by a
// quorum or not, because its owner has it.
func finishOwned(w *World, r *replicaHost, b *history.Set) {
	content := r.view(b.Key)
	s, err := crdt.NodeSet[string]{}.View(content)
	m, err2 := crdt.NodeMap[string, int]{}.View(content)
	if strings.Contains(b.Key, "/map/") {
		err = err2
	}
	if err != nil {
		w.violate("final sets", "%v: %s: %v", r, b.Key, err)
		return
	}
	for _, e := range b.Entries {
		owner, found := w.procs[e.Owner], e.Field == "" && s.Contains(e.Elem)
		if e.Field != "" {
			for o, n := range m.Each(e.Field) {
				found = found || uint64(o) == e.Owner && n >= e.N
			}
		}
		switch {
		case found && !owner.alive:
			w.violate("elements vanish with their node", "%v: %s holds %s of %v, which is gone",
				r, b.Key, e.Elem, owner)
		case !found && owner.alive && e.Local != 0 && !e.Removed:
			w.violate("final sets", "%v: %s lacks %s of %v, which runs, written at %.6f",
				r, b.Key, e.Elem, owner, float64(e.Local)/1e9)
		case found && e.Field == "" && e.MustNot(w.now):
			w.violate("final sets", "%v: %s holds %s, removed at %.6f", r, b.Key, e.Elem, float64(e.Gone)/1e9)
		}
	}
}

// checkTold holds the answer to an operation on a key to what this process was told of it before. A
// permanent deletion never ends, and no process is told of one for a key that was never deleted.
func checkTold(w *World, r *replicaHost, b *history.Final, err error, start int64) {
	switch at, told := b.Told[r.p.uid]; {
	case err == nil && told && at < start:
		w.violate("deleted forever", "%v is told at %.6f that %s is deleted forever, and finds or writes something "+
			"at %.6f", r, float64(at)/1e9, b.Key,
			float64(start)/1e9)
	case !errors.Is(err, crdt.ErrDeleted):
	case b.Asked == 0:
		w.violate("deleted forever", "%v says of %s, which no process has deleted: %v", r, b.Key, err)
	default:
		b.Tell(r.p.uid, w.now)
	}
}

// checkFinal holds a quorum read that found no deletion against the history.
func checkFinal(w *World, r *replicaHost, b *history.Final, start int64) {
	if b.Gone != 0 && b.Gone < start && !b.Deleted.Excused() {
		w.violate("deleted forever", "%v reads %s of a majority, whose deletion was acknowledged at %.6f (read "+
			"began %.6f)", r, b.Key, float64(b.Gone)/1e9,
			float64(start)/1e9)
	}
}

// finishFinal looks for every deletion that must have survived, and for what was written to keys
// that were never deleted.
func finishFinal(w *World, r *replicaHost, b *history.Final) {
	deleted := r.view(b.Key).Deleted()
	must := b.Gone != 0 && !b.Deleted.Excused()
	for _, slot := range b.On {
		must = must || b.Durable && !w.slots[slot].retired
	}
	for _, q := range w.live {
		_, told := b.Told[q.uid]
		must = must || told
	}
	switch {
	case must && !deleted:
		w.violate("deleted forever", "%v: %s is back", r, b.Key)
	case deleted && b.Asked == 0:
		w.violate("deleted forever", "%v: %s, which no process has deleted", r, b.Key)
	case b.Asked == 0:
		finishSet(w, r, &b.Set)
	}
}
