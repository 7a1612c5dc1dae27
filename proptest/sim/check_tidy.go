package sim

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata/membership/view"
)

// tidyChecker waits until the healed world is tidy: nothing is left of nodes that are gone, of keys
// that have expired, and of permanently deleted keys except their markers. It then holds what is
// left to the history.
type tidyChecker struct {
	newest map[view.ClusterID]*view.View // of the views that some process has installed
}

func (*tidyChecker) name() string { return "tidy" }

func (*tidyChecker) after(*World) {}

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
	for _, b := range s.history.fleetings.inOrder() {
		if !r.view(b.key).Empty() {
			return fmt.Sprintf("%v: %s has not expired", r, b.key)
		}
	}
	for _, b := range s.history.owns.inOrder() {
		for it := range r.items(b.key) {
			if owner := w.procs[uint64(it.Dot.Origin)]; !owner.alive {
				return fmt.Sprintf("%v holds %v in %s of %v, which is gone", r, it.Dot, b.key, owner)
			}
		}
	}
	for _, b := range s.history.finalsInOrder() {
		n := 0
		for range r.items(b.key) {
			n++
		}
		if n > 1 && r.view(b.key).Deleted() {
			return fmt.Sprintf("%v holds %d items in %s beside the marker", r, n-1, b.key)
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
			for _, b := range s.history.owns.inOrder() {
				finishOwned(w, r, b)
			}
			for _, b := range s.history.finalsInOrder() {
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
func checkOwned(w *World, r *replicaHost, b *setBook, has func(string) bool, start int64, which []int) {
	for _, i := range which {
		e := b.entries[i]
		may, must := w.shows(r, e.owner)
		switch found := has(e.elem); {
		case found && !may:
			w.violate("elements vanish with their node", "%v reads %s with %s of %v, which is not in %v",
				r, b.key, e.elem, e.owner, r.installed)
		case !found && must && e.must(start):
			w.violate("acknowledged writes", "%v read %s of a majority without %s of %v, which is a member, "+
				"acknowledged at %.6f (read began %.6f)", r, b.key,
				e.elem, e.owner, float64(e.acked)/1e9, float64(start)/1e9)
		case found && e.mustNot(start):
			w.violate("acknowledged removes",
				"%v read %s of a majority with %s, whose removal was acknowledged at %.6f (read began %.6f)", r, b.key,
				e.elem, float64(e.gone)/1e9, float64(start)/1e9)
		}
	}
}

// checkOwnedMap does the same for a map: of an owner's values at a field the last one is shown,
// which is no older than the last acknowledged.
func checkOwnedMap(w *World, r *replicaHost, b *setBook, m crdt.NodeMap[string, int], start int64) {
	shown := map[string]map[crdt.Origin]int{}
	for i := range fields {
		field := fmt.Sprintf("f%d", i)
		shown[field] = map[crdt.Origin]int{}
		for o, n := range m.Each(field) {
			shown[field][o] = n
			if may, _ := w.shows(r, w.procs[uint64(o)]); !may {
				w.violate("elements vanish with their node", "%v reads %s of %s of %v, which is not in %v",
					r, field, b.key, w.procs[uint64(o)], r.installed)
			}
		}
	}
	for i := max(0, len(b.entries)-64); i < len(b.entries); i++ {
		e := b.entries[i]
		if _, must := w.shows(r, e.owner); must && e.must(start) && shown[e.field][crdt.Origin(e.owner.uid)] < e.n {
			w.violate("acknowledged writes", "%v read %d at %s of %s of %v, which is a member and was told at %.6f "+
				"that %d is there (read began %.6f)", r,
				shown[e.field][crdt.Origin(e.owner.uid)], e.field, b.key, e.owner, float64(e.acked)/1e9,
				e.n, float64(start)/1e9)
		}
	}
}

// finishOwned looks for what belongs to living owners: all of it is everywhere, acknowledged by a
// quorum or not, because its owner has it.
func finishOwned(w *World, r *replicaHost, b *setBook) {
	content := r.view(b.key)
	s, err := crdt.NodeSet[string]{}.View(content)
	m, err2 := crdt.NodeMap[string, int]{}.View(content)
	if strings.Contains(b.key, "/map/") {
		err = err2
	}
	if err != nil {
		w.violate("final sets", "%v: %s: %v", r, b.key, err)
		return
	}
	for _, e := range b.entries {
		found := e.field == "" && s.Contains(e.elem)
		if e.field != "" {
			for o, n := range m.Each(e.field) {
				found = found || uint64(o) == e.owner.uid && n >= e.n
			}
		}
		switch {
		case found && !e.owner.alive:
			w.violate("elements vanish with their node", "%v: %s holds %s of %v, which is gone",
				r, b.key, e.elem, e.owner)
		case !found && e.owner.alive && e.local != 0 && !e.removed:
			w.violate("final sets", "%v: %s lacks %s of %v, which runs, written at %.6f",
				r, b.key, e.elem, e.owner, float64(e.local)/1e9)
		case found && e.field == "" && e.mustNot(w.now):
			w.violate("final sets", "%v: %s holds %s, removed at %.6f", r, b.key, e.elem, float64(e.gone)/1e9)
		}
	}
}

// checkFleeting holds a quorum read of a key that expires against its history. An element goes with
// its key, and not before the time of the key has passed since the element was written, nor since
// any later write that a majority had acknowledged when the oldest asked it.
func checkFleeting(w *World, r *replicaHost, b *setBook, has func(string) bool, start int64, which []int) {
	for _, i := range which {
		if e := b.entries[i]; !has(e.elem) && e.must(start) && b.mayExpire(i, w.opt.ExpireAfter) > w.now {
			w.violate("expires in its time", "%v read %s of a majority without %s, acknowledged at %.6f (read began "+
				"%.6f); the key cannot expire before %.6f",
				r, b.key, e.elem, float64(e.acked)/1e9, float64(start)/1e9,
				float64(b.mayExpire(i, w.opt.ExpireAfter))/1e9)
		}
	}
}

// mayExpire is the first moment at which an element can go because its key expires.
func (b *setBook) mayExpire(i int, after time.Duration) int64 {
	after = after * 985 / 1000 // by the fastest clock
	const asking = int64(expireTimeout) + int64(expireTimeout)/20
	at := b.entries[i].asked + int64(after)
	for _, e := range b.entries[i+1:] {
		if e.asked+asking > at {
			break // no process knew of this write when the oldest asked; nor of what came later
		}
		if e.acked != 0 && !e.added.excused() && e.acked+asking <= at && at < e.asked+int64(after) {
			at = e.asked + int64(after)
		}
	}
	return at
}

// expireTimeout is how long operations may take in worlds where keys expire: what the oldest has
// heard of a majority is that old at the most.
const expireTimeout = 2 * time.Second

// checkTold holds the answer to an operation on a key to what this process was told of it before. A
// permanent deletion never ends, and no process is told of one for a key that was never deleted.
func checkTold(w *World, r *replicaHost, b *finalBook, err error, start int64) {
	switch at, told := b.told[r.p.uid]; {
	case err == nil && told && at < start:
		w.violate("deleted forever", "%v is told at %.6f that %s is deleted forever, and finds or writes something "+
			"at %.6f", r, float64(at)/1e9, b.key,
			float64(start)/1e9)
	case !errors.Is(err, crdt.ErrDeleted):
	case b.asked == 0:
		w.violate("deleted forever", "%v says of %s, which no process has deleted: %v", r, b.key, err)
	default:
		b.tell(r.p, w.now)
	}
}

// checkFinal holds a quorum read that found no deletion against the history.
func checkFinal(w *World, r *replicaHost, b *finalBook, start int64) {
	if b.gone != 0 && b.gone < start && !b.deleted.excused() {
		w.violate("deleted forever", "%v reads %s of a majority, whose deletion was acknowledged at %.6f (read "+
			"began %.6f)", r, b.key, float64(b.gone)/1e9,
			float64(start)/1e9)
	}
}

// finishFinal looks for every deletion that must have survived, and for what was written to keys
// that were never deleted.
func finishFinal(w *World, r *replicaHost, b *finalBook) {
	deleted := r.view(b.key).Deleted()
	must := b.gone != 0 && !b.deleted.excused()
	for _, slot := range b.on {
		must = must || b.durable && !w.slots[slot].retired
	}
	for _, q := range w.live {
		_, told := b.told[q.uid]
		must = must || told
	}
	switch {
	case must && !deleted:
		w.violate("deleted forever", "%v: %s is back", r, b.key)
	case deleted && b.asked == 0:
		w.violate("deleted forever", "%v: %s, which no process has deleted", r, b.key)
	case b.asked == 0:
		finishSet(w, r, &b.setBook)
	}
}
