package sim

import (
	"cmp"
	"slices"

	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/proptest/sim/builds"
	"github.com/coterie-go/coterie/proptest/sim/stall"
	"github.com/coterie-go/coterie/proptest/sim/views"
	"github.com/coterie-go/coterie/replicator/keyspace"
)

// newJudges are all checkers of a world.
func newJudges(w *World) []checker {
	w.shardChecker = &shardChecker{begun: map[begun]bool{}, unable: map[complaint]bool{},
		mail: map[order]*mail{}, rests: map[home]*rest{}}
	w.tidy = &tidyChecker{newest: map[view.ClusterID]*view.View{}}
	all := []checker{&actingChecker{}, &viewChecker{views.New()}}
	for _, s := range w.datasets {
		all = append(all, &dataChecker{data: s, space: keyspace.Volatile, books: map[view.ClusterID][]*viewBook{}},
			&dataChecker{data: s, space: keyspace.Durable, books: map[view.ClusterID][]*viewBook{}},
			&equalChecker{set: s.set()}, &equalChecker{set: reserved(s.role)},
			newOriginChecker(s.set()), newOriginChecker(reserved(s.role)))
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
type actingChecker struct {
	oldest processes   // of all, each in its view
	leads  []processes // those that are the oldest of each role, likewise
}

func (*actingChecker) name() string                                   { return "acting" }
func (j *actingChecker) installed(w *World, p *Process, _ *view.View) { j.gone(w, p) }
func (j *actingChecker) gone(w *World, _ *Process) {
	j.oldest = w.live.keep(j.oldest, func(p *Process) bool { return p.mem.oldest })
	if w.opt.Roles == nil {
		return // the oldest of all is the oldest of the role
	}
	if j.leads == nil {
		j.leads = make([]processes, len(w.datasets))
	}
	for i, s := range w.datasets {
		j.leads[i] = w.live.keep(j.leads[i], func(p *Process) bool { return slices.Contains(p.mem.leads, s.role) })
	}
}

// keep returns those that are kept, in the memory of room.
func (ps processes) keep(room processes, kept func(*Process) bool) processes {
	return slices.DeleteFunc(append(room[:0], ps...), func(p *Process) bool { return !kept(p) })
}

// after reads the clocks, which costs the most, only where two have the place to act.
func (j *actingChecker) after(w *World) {
	if a, b := j.oldest.two(func(p *Process) bool { return p.mem.proposing(p.Time()) }); b != nil {
		w.violate("one acting coordinator", "%v (%v) and %v (%v)", a, a.mem.m, b, b.mem.m)
	}
	for i, leads := range j.leads {
		role := w.datasets[i].role
		if a, b := leads.two(func(p *Process) bool { return p.mem.acting(role, p.Time()) }); b != nil {
			w.violate("one acting coordinator", "for %s, %v (%v) and %v (%v)", role, a, a.mem.m, b, b.mem.m)
		}
	}
}

// two are the first two of which acts is true.
func (ps processes) two(acts func(*Process) bool) (first, second *Process) {
	for _, p := range ps {
		switch {
		case first == nil || !acts(first):
			first = p
		case acts(p):
			return first, p
		}
	}
	return nil, nil
}

func (*actingChecker) finish(*World)       {}
func (*actingChecker) settled(*World) bool { return true }

// viewChecker holds the chain of views together.
type viewChecker struct{ chain *views.Chain }

func (*viewChecker) name() string { return "views" }

func (j *viewChecker) installed(w *World, p *Process, v *view.View) {
	if w.givenUp(v) {
		j.chain.Forget(v)
	}
	j.chain.Agreed = func(u view.UID) view.Epoch { return w.procs[uint64(u)].mem.agreed }
	if !j.chain.Installed(v, func(rule, text string) { w.violate(rule, "%v installs: %s", p, text) }) {
		return
	}
	w.counts.Views++
	w.counts.LevelsRaised, w.counts.Retired = j.chain.Raised, j.chain.Retired
	if text := w.operator.builds.Unspoken(v); text != "" {
		w.violate("format level", "%v installs: %s", p, text)
	}
	if v.Founded {
		w.founded(v)
	}
}

// givenUp reports whether a view founds the cluster anew by the operator's word, with no process
// left in any other. Where the oldest alone, or the holder of a lease, may decide, a node that went
// for good may have taken later views with it. The word gives those up.
func (w *World) givenUp(v *view.View) bool {
	return v.Founded && w.operator.anyDisks && !slices.ContainsFunc(w.live, func(p *Process) bool {
		return p.mem.view != nil && !view.Same(p.mem.view, v)
	})
}

func (*viewChecker) finish(*World)       {}
func (*viewChecker) settled(*World) bool { return true }

// livenessChecker demands that a healed world gets well: one view that holds exactly the running
// processes, a coordinator, and reads and writes that succeed everywhere.
type livenessChecker struct{}

func (*livenessChecker) name() string { return "liveness" }

func (j *livenessChecker) settled(w *World) bool {
	return w.now > int64(w.opt.Safety+stall.AfterHeal) && j.missing(w) == nil
}

func (*livenessChecker) missing(w *World) *stall.Lack {
	return cmp.Or(w.divided(), w.unprobed(), w.unled())
}

// divided says why not all that should run have one view, and are Up in it; nil: they have.
func (w *World) divided() *stall.Lack {
	var v *view.View
	for _, s := range w.slots {
		if s.started > 0 && !s.retired && s.proc == nil {
			return stall.Lacks("n%d does not run", s.index)
		}
	}
	for _, p := range w.live {
		switch {
		case p.mem.view == nil:
			return stall.Lacks("%v has no view: %v", p, p.mem.m)
		case v == nil:
			v = p.mem.view
		case v.Cluster != p.mem.view.Cluster || v.Epoch != p.mem.view.Epoch:
			return stall.Lacks("%v has %v, %v has %v", w.live[0], v, p, p.mem.view)
		}
		if m, _ := p.mem.view.Member(view.UID(p.uid)); m.Status != view.Up {
			return stall.Lacks("%v is %v in %v", p, m.Status, p.mem.view)
		}
	}
	switch {
	case v == nil:
		return stall.Said("nothing runs")
	case len(v.Members) != len(w.live):
		return stall.Lacks("%d run, the view is %v", len(w.live), v)
	}
	return stall.Said(builds.Unraised(v))
}

// unled says that no process acts; nil: one does.
func (w *World) unled() *stall.Lack {
	for _, s := range w.datasets {
		all := w.replicas(s.role)
		acting := func(r *replicaHost) bool { return r.p.mem.acting(s.role, r.p.Time()) }
		if len(all) > 0 && !slices.ContainsFunc(all, acting) {
			return stall.Lacks("no process of %d acts for %s", len(all), s.role)
		}
	}
	return nil
}

// unprobed is a replica that has not yet written to a majority and read that back.
func (w *World) unprobed() *stall.Lack {
	for _, s := range w.datasets {
		for _, r := range w.replicas(s.role) {
			if !r.probed && !r.p.slot.leaving { // load.probe leaves those out, too: they have to go
				return stall.Lacks("%v cannot write to a majority and read it back: %v", r, r.m)
			}
		}
	}
	return nil
}

func (j *livenessChecker) finish(w *World) {
	if m := j.missing(w); m != nil {
		w.violate("liveness", "%s", m)
	}
}
