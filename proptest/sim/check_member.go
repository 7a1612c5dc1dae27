package sim

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/proptest/sim/stall"
	"github.com/coterie-go/coterie/replicator/keyspace"
)

// newJudges are all checkers of a world.
func newJudges(w *World) []checker {
	w.shardChecker = &shardChecker{begun: map[begun]bool{}, unable: map[complaint]bool{},
		mail: map[order]*mail{}, rests: map[home]*rest{}}
	w.tidy = &tidyChecker{newest: map[view.ClusterID]*view.View{}}
	all := []checker{
		&actingChecker{},
		&viewChecker{
			views: map[viewKey]*view.View{}, removed: map[uint64]view.Epoch{},
			eras: map[view.ClusterID]view.Era{},
		},
	}
	for _, s := range w.datasets {
		all = append(all, &dataChecker{data: s, space: keyspace.Volatile, books: map[view.ClusterID][]*viewBook{}},
			&dataChecker{data: s, space: keyspace.Durable, books: map[view.ClusterID][]*viewBook{}},
			&equalChecker{role: s.role, seen: [2]map[[2]uint64]sighting{{}, {}}})
	}
	return append(all,
		w.shardChecker,
		&livenessChecker{},
		persistedChecker{},
		w.tidy, // the last to be asked, because it looks at everything
	)
}

// actingChecker counts, at every instant, the processes that may coordinate for a role, and those
// that propose views.
type actingChecker struct{}

func (*actingChecker) name() string { return "acting" }

func (*actingChecker) after(w *World) {
	var first *Process
	for _, p := range w.live {
		if !p.mem.oldest || !p.mem.proposing(p.Time()) {
			continue
		}
		if first != nil {
			w.violate("one acting coordinator", "%v (%v) and %v (%v)", first, first.mem.m, p, p.mem.m)
			return
		}
		first = p
	}
	if w.opt.Roles == nil {
		return // the oldest of all is the oldest of the role
	}
	for _, s := range w.datasets {
		first = nil
		for _, p := range w.live {
			switch {
			case !p.mem.acting(s.role, p.Time()):
			case first != nil:
				w.violate("one acting coordinator", "for %s, %v (%v) and %v (%v)",
					s.role, first, first.mem.m, p, p.mem.m)
			default:
				first = p
			}
		}
	}
}

func (*actingChecker) finish(*World) {}

func (*actingChecker) settled(*World) bool { return true }

// viewChecker holds the chain of views together.
type viewChecker struct {
	views   map[viewKey]*view.View
	removed map[uint64]view.Epoch // uid → epoch of the first view without it; only looked up
	eras    map[view.ClusterID]view.Era
}

type viewKey struct {
	cluster view.ClusterID
	epoch   view.Epoch
}

func (*viewChecker) name() string { return "views" }

func (*viewChecker) after(*World) {}

func (j *viewChecker) installed(w *World, p *Process, v *view.View) {
	k := viewKey{v.Cluster, v.Epoch}
	if w.givenUp(v) {
		j.forget(v)
	}
	if was := j.views[k]; was != nil {
		if was.Hash() != v.Hash() {
			w.violate("one view per epoch", "%v installs %v, another installed %v", p, v, was)
		}
		return
	}
	j.views[k] = v
	w.counts.Views++
	j.sameEra(w, p, v)
	if v.Founded {
		w.founded(v)
	}
	parent := j.views[viewKey{v.Cluster, v.Epoch - 1}]
	if parent == nil || v.Founded {
		return // the first of a cluster, or a founding anew, or its parent was never installed by anybody
	}
	if v.Parent != parent.Hash() {
		w.violate("chain of views", "%v installs %v, whose parent is not %v", p, v, parent)
	}
	j.follows(w, parent, v)
}

// sameEra holds all views of a cluster to the time of its first founding.
func (j *viewChecker) sameEra(w *World, p *Process, v *view.View) {
	if was, known := j.eras[v.Cluster]; known && v.Era != was {
		w.violate("era", "%v installs %v of era %d, the cluster was founded in %d", p, v, v.Era, was)
	}
	j.eras[v.Cluster] = v.Era
}

// forget takes back the views that a founding anew gives up: those of its own epoch and later.
func (j *viewChecker) forget(founding *view.View) {
	for k, v := range j.views { // order: only deletes
		if k.cluster == founding.Cluster && k.epoch >= founding.Epoch && v.Hash() != founding.Hash() {
			delete(j.views, k)
		}
	}
}

// givenUp reports whether a view founds the cluster anew by the operator's word, with no process
// left in any other. Where the oldest alone, or the holder of a lease, may decide, a node that went
// for good may have taken later views with it. The word gives those up.
func (w *World) givenUp(v *view.View) bool {
	for _, p := range w.live {
		if p.mem.view != nil && p.mem.view.Hash() != v.Hash() {
			return false
		}
	}
	return v.Founded && w.operator.anyDisks
}

// follows holds one step of the chain to the rules of statuses.
func (j *viewChecker) follows(w *World, parent, v *view.View) {
	for _, m := range parent.Members {
		now, ok := v.Member(m.UID)
		switch {
		case !ok:
			j.removed[uint64(m.UID)] = v.Epoch
		case now.Status < m.Status:
			w.violate("status", "%v went back from %v to %v in %v", m.UID, m.Status, now.Status, v)
		case m.UpNumber != 0 && now.UpNumber != m.UpNumber:
			w.violate("age", "%v changed its age in %v, before %v", m.UID, v, parent)
		}
	}
	for _, l := range parent.Lines {
		was, _ := parent.InCharge(l.Service)
		if now, _ := v.InCharge(l.Service); v.Has(was.UID) && now.UID != was.UID {
			w.violate("in charge", "%v, in charge of %v, was passed over by %v in %v", was, l.Service, now, v)
		}
	}
	for _, m := range v.Members {
		if _, gone := j.removed[uint64(m.UID)]; gone {
			w.violate("removed for good", "%v is back in %v", m.UID, v)
		}
	}
}

func (*viewChecker) finish(*World) {}

func (*viewChecker) settled(*World) bool { return true }

// livenessChecker demands that a healed world gets well: one view that holds exactly the running
// processes, a coordinator, and reads and writes that succeed everywhere.
type livenessChecker struct{}

func (*livenessChecker) name() string { return "liveness" }

func (*livenessChecker) after(*World) {}

func (j *livenessChecker) settled(w *World) bool {
	return w.now > int64(w.opt.Safety+stall.AfterHeal) && j.missing(w) == ""
}

func (*livenessChecker) missing(w *World) string {
	return cmp.Or(w.divided(), w.unprobed(), w.unled())
}

// divided says why not all that should run have one view, and are Up in it; empty: they have.
func (w *World) divided() string {
	var v *view.View
	for _, s := range w.slots {
		if s.started > 0 && !s.retired && s.proc == nil {
			return fmt.Sprintf("n%d does not run", s.index)
		}
	}
	for _, p := range w.live {
		switch {
		case p.mem.view == nil:
			return fmt.Sprintf("%v has no view: %v", p, p.mem.m)
		case v == nil:
			v = p.mem.view
		case v.Cluster != p.mem.view.Cluster || v.Epoch != p.mem.view.Epoch:
			return fmt.Sprintf("%v has %v, %v has %v", w.live[0], v, p, p.mem.view)
		}
		if m, _ := p.mem.view.Member(view.UID(p.uid)); m.Status != view.Up {
			return fmt.Sprintf("%v is %v in %v", p, m.Status, p.mem.view)
		}
	}
	switch {
	case v == nil:
		return "nothing runs"
	case len(v.Members) != len(w.live):
		return fmt.Sprintf("%d run, the view is %v", len(w.live), v)
	}
	return ""
}

// unled says that no process acts; empty: one does.
func (w *World) unled() string {
	for _, s := range w.datasets {
		all := w.replicas(s.role)
		acting := func(r *replicaHost) bool { return r.p.mem.acting(s.role, r.p.Time()) }
		if len(all) > 0 && !slices.ContainsFunc(all, acting) {
			return fmt.Sprintf("no process of %d acts for %s", len(all), s.role)
		}
	}
	return ""
}

// unprobed is a replica that has not yet written to a majority and read that back.
func (w *World) unprobed() string {
	for _, s := range w.datasets {
		for _, r := range w.replicas(s.role) {
			if !r.probed && !r.p.slot.leaving { // load.probe leaves those out, too: they have to go
				return fmt.Sprintf("%v cannot write to a majority and read it back: %v", r, r.m)
			}
		}
	}
	return ""
}

func (j *livenessChecker) finish(w *World) {
	if m := j.missing(w); m != "" {
		w.violate("liveness", "%s", m)
	}
}
