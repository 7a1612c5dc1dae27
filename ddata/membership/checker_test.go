package membership

import (
	"fmt"
	"slices"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/view"
)

// verify looks at the world from outside: what must hold at every instant and of the whole history.
// It knows the views that were installed and the nodes that act, not how either came about.
type checker struct {
	faults  []string
	views   map[place]*view.View
	first   map[place]time.Duration
	actors  map[view.UID]bool
	heard   map[view.UID]view.Epoch // of the first view that the node itself installed
	lastAct time.Duration           // when a node last acted
	retired view.Epoch              // the last under which members agreed on incarnations that are over
	more    func()                  // what else to look at, at every instant; nil = nothing
}

type place struct {
	cluster view.ClusterID
	epoch   view.Epoch
}

func (j *checker) init() {
	j.views = make(map[place]*view.View)
	j.first = make(map[place]time.Duration)
	j.actors = make(map[view.UID]bool)
	j.heard = make(map[view.UID]view.Epoch)
}

func (j *checker) fault(w *world, format string, args ...any) {
	f := fmt.Sprintf("%v: ", w.now) + fmt.Sprintf(format, args...)
	if len(j.faults) < 20 {
		w.log("FAULT %s", f)
		j.faults = append(j.faults, f)
	}
}

// instant: at most one node acts.
func (j *checker) instant(w *world) {
	if j.more != nil {
		j.more()
	}
	var acting *node
	for _, n := range w.nodes {
		if !n.acts() {
			continue
		}
		j.lastAct = w.now
		j.actors[n.uid] = true
		if acting != nil {
			j.fault(w, "two act: %v in %v and %v in %v", acting, acting.m.View(), n, n.m.View())
		}
		acting = n
	}
}

// installed: one view per epoch; each node that is missing from it had no lease any more or had
// stopped.
func (j *checker) installed(w *world, by *node, v *view.View) {
	me, _ := v.Member(by.uid)
	if by.up != 0 && me.UpNumber != by.up || me.Status < by.status {
		j.fault(w, "%v was number %d and %v, is %v", by, by.up, by.status, me)
	}
	by.up, by.status = me.UpNumber, me.Status
	if j.heard[by.uid] == 0 {
		j.heard[by.uid] = v.Epoch
	}
	p := place{v.Cluster, v.Epoch}
	if known, ok := j.views[p]; ok {
		if known.Hash() != v.Hash() {
			j.fault(w, "two views of %v: %v and %v", v.Epoch, known, v)
		}
		return
	}
	j.views[p] = v
	j.first[p] = w.now
	for _, o := range v.Members {
		if n := w.byUID[o.UID]; n != nil && !n.m.cfg.Formats.Contains(v.Format) {
			j.fault(w, "%v speaks %v, and %v lists it", n, n.m.cfg.Formats, v)
		}
	}
	w.log("%v installs %v", by, v)
	for _, n := range w.nodes {
		if !n.alive || n.stopped || v.Has(n.uid) || n.m.View() == nil || n.m.View().Cluster != v.Cluster ||
			n.m.View().Epoch > v.Epoch {
			continue
		}
		if n.m.Lease().Holds(n.local()) {
			j.fault(w, "%v is removed by %v while it holds a lease", n, v)
		}
	}
}

// history: parents, ages and uids along the chains.
func (j *checker) history(w *world) {
	places := make([]place, 0, len(j.views))
	for p := range j.views {
		places = append(places, p)
	}
	slices.SortFunc(places, func(a, b place) int {
		if a.cluster != b.cluster {
			return int(int64(a.cluster>>1) - int64(b.cluster>>1))
		}
		return int(int64(a.epoch) - int64(b.epoch))
	})
	gone := make(map[view.UID]bool)
	var before *view.View
	for _, p := range places {
		v := j.views[p]
		if before != nil && before.Cluster == v.Cluster {
			j.step(w, before, v, gone)
		}
		before = v
	}
}

// step compares a view with the one before. gone holds the nodes that were removed for good. A
// learner that never heard that it was one may still be asking, and the nodes that knew it may be
// gone as well.
func (j *checker) step(w *world, before, v *view.View, gone map[view.UID]bool) {
	if v.Epoch != before.Epoch+1 || !v.Founded && v.Parent != before.Hash() {
		if !v.Founded {
			j.fault(w, "broken chain between %v and %v", before, v)
		}
	}
	if v.Era != before.Era {
		j.fault(w, "era %d of %v became %d in %v", before.Era, before, v.Era, v)
	}
	j.ages(w, before, v)
	for _, o := range before.Members {
		n, ok := v.Member(o.UID)
		switch {
		case !ok && !v.Founded:
			gone[o.UID] = o.Full() || j.heard[o.UID] != 0 && j.heard[o.UID] <= before.Epoch
		case !ok:
		case n.Status < o.Status, o.UpNumber != 0 && n.UpNumber != o.UpNumber:
			j.fault(w, "%v became %v", o, n)
		}
	}
	for _, n := range v.Members {
		if gone[n.UID] {
			j.fault(w, "%v has come back in %v", n, v)
		}
	}
	if v.Format < before.Format {
		j.fault(w, "level %d of %v became %d in %v", before.Format, before, v.Format, v)
	}
	j.keys(w, before, v)
	for _, l := range before.Lines {
		was, _ := before.InCharge(l.Service)
		if is, _ := v.InCharge(l.Service); is.UID != was.UID && v.Has(was.UID) && !v.Founded {
			j.fault(w, "%v was in charge of %v, in %v it is %v", was, l.Service, v, is)
		}
	}
	if was, ok := before.Oldest(""); ok && !v.Founded {
		if is, _ := v.Oldest(""); is.UID != was.UID && v.Has(was.UID) {
			j.fault(w, "oldest was %v, is %v in %v", was, is, v)
		}
	}
}

// verdict fails the test if anything was found.
func (w *world) verdict() {
	w.t.Helper()
	w.checker.history(w)
	for _, f := range w.checker.faults {
		w.t.Error(f)
	}
}

// newest is the view with the highest epoch.
func (j *checker) newest() (newest *view.View) {
	for _, v := range j.views {
		if newest == nil || v.Epoch > newest.Epoch {
			newest = v
		}
	}
	return newest
}

// keys: what is agreed of durable keys only grows, and by no more than all members have moved.
func (j *checker) keys(w *world, before, v *view.View) {
	if lost := view.CutPatterns(view.MergePatterns(before.Durable, before.Moving),
		view.MergePatterns(v.Durable, v.Moving)); len(lost) > 0 || v.Moves < before.Moves {
		j.fault(w, "%q is neither durable nor moving any more in %v", lost, v)
	}
	more := view.CutPatterns(v.Durable, before.Durable)
	if len(more) == 0 || v.Founded { // what was volatile is gone with the stop
		return
	}
	for _, o := range v.Members {
		if n := w.byUID[o.UID]; before.Has(o.UID) && n.moved < before.Moves ||
			len(view.CutPatterns(more, before.Moving)) > 0 {
			j.fault(w, "%q are durable in %v, %v has moved #%d of #%d", more, v, o, n.moved, before.Moves)
		}
	}
}
