package sim

import (
	"slices"
	"strconv"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata/membership/downing"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/proptest/sim/history"
	"github.com/coterie-go/coterie/proptest/sim/origins"
	"github.com/coterie-go/coterie/proptest/sim/stall"
	"github.com/coterie-go/coterie/proptest/sim/sums"
	"github.com/coterie-go/coterie/proptest/sim/views"
	"github.com/coterie-go/coterie/replicator/effect"
	"github.com/coterie-go/coterie/replicator/keyspace"
	"github.com/coterie-go/coterie/replicator/replica"
)

// dataChecker watches for lost writes in one space of a role. It follows, from outside, what becomes of the
// voters that may have witnessed a write. A write that a majority has acknowledged may be lost only
// if each witness of it is gone, and not all of them left as they should: see excuse.go. In the
// volatile space a process takes what it knows with it, unless it left: what a majority of leavers
// knows must have been handed on, as long as a member of the role is there to take it. In the
// durable one it is gone only when the others go on without it; when all have stopped, the disks
// count, which come back.
type dataChecker struct {
	data  *dataset
	space keyspace.Space
	books map[view.ClusterID][]*viewBook // unsettled views and the newest settled one, in order
}

// viewBook follows one view's voters.
type viewBook struct {
	epoch  view.Epoch
	voters map[uint64]history.Fate // by uid
	disks  bool                    // everything has stopped since: a voter is there when its disk is
}

func (*dataChecker) name() string { return "data" }

func (j *dataChecker) installed(w *World, _ *Process, v *view.View) {
	books := j.books[v.Cluster]
	if n := len(books); n > 0 && books[n-1].epoch >= v.Epoch {
		return
	}
	for _, b := range books {
		b.disks = b.disks || v.Founded && j.space == keyspace.Durable
		b.keep(w, v, j.data.role)
	}
	j.excuse(w, books)
	b := &viewBook{epoch: v.Epoch, voters: map[uint64]history.Fate{}}
	for uid := range views.Full(v, j.data.role) {
		b.voters[uint64(uid)] = history.There
		if p := w.procs[uint64(uid)]; j.space == keyspace.Volatile && !p.alive {
			b.voters[p.uid] = endOf(p)
		}
	}
	j.books[v.Cluster] = append(books, b)
}

// keep notes the voters that a newer view has dropped, and those whose disk it has. A voter of the
// last view that is not in the view that founds the cluster anew left with no view that the others
// decided. A leaver of which no full member of its role is left has none to hand its data to.
func (b *viewBook) keep(w *World, v *view.View, role string) {
	slots := map[*Slot]bool{}
	for _, m := range v.Members {
		slots[w.procs[uint64(m.UID)].slot] = true
	}
	for u, f := range b.voters { // order: each by itself
		s := w.procs[u].slot
		switch {
		case b.disks && slots[s] && w.procs[u].replica(role).ruin != history.Wiped:
			b.voters[u] = history.There
		case b.disks && f == history.There:
			b.voters[u] = history.Absent
		case f != history.There || v.Has(view.UID(u)):
		case !v.Founded && (s.leaving || s.retired):
			if b.voters[u] = history.Left; !views.HasFull(v, role) {
				b.voters[u] = history.Last
			}
		default:
			b.voters[u] = history.Dropped
		}
	}
}

func (j *dataChecker) gone(w *World, p *Process) {
	if j.space == keyspace.Durable {
		return
	}
	for _, books := range j.books { // order: each cluster is judged by itself
		n := len(books)
		listed := n > 0 && books[n-1].voters[p.uid] == history.There // the last leaver is: no other can decide it
		any := false
		for _, b := range books {
			if f, is := b.voters[p.uid]; is && f == history.There {
				any = true
				if b.voters[p.uid] = history.Crashed; p.left && !listed {
					b.voters[p.uid] = history.Left
				}
			}
		}
		if any {
			j.excuse(w, books)
		}
	}
}

// settledView forgets the views before the one that a Replicator calls settled. If it says so too
// early, writes will be missed.
func (j *dataChecker) settledView(_ *World, r *replicaHost, s effect.Settlement) {
	v := r.p.mem.view
	if s.Space != j.space || r.set != j.data.set() || v == nil {
		return
	}
	books := j.books[v.Cluster]
	for len(books) > 1 && uint64(books[0].epoch) < s.Epoch {
		books = books[1:]
	}
	j.books[v.Cluster] = books
}

func (j *dataChecker) settled(w *World) bool { return true }

// finish looks into every live process for every write that must have survived.
func (j *dataChecker) finish(w *World) {
	if j.space != keyspace.Volatile {
		return // one of the two looks into both
	}
	l := j.data.history
	for _, r := range w.replicas(j.data.role) {
		for _, b := range l.Sets.InOrder() {
			finishSet(w, r, b)
		}
		for _, b := range l.CountersInOrder() {
			c, err := crdt.GCounter{}.View(r.view(b.Key))
			if err != nil || c.Value() < b.Floor || c.Value() > b.Invoked {
				w.violate("final sums", "%v: %s is %d, not within %d acknowledged and %d asked for (%v)",
					r, b.Key, c.Value(), b.Floor, b.Invoked, err)
			}
		}
	}
}

func finishSet(w *World, r *replicaHost, b *history.Set) {
	s, err := crdt.ORSet[string]{}.View(r.view(b.Key))
	if err != nil {
		w.violate("final sets", "%v: %s: %v", r, b.Key, err)
		return
	}
	all := b.Seen(s.All())
	for _, e := range b.Entries {
		// A durable write survives whatever happens to processes, for every disk but those of nodes
		// that left comes back. What a process says that it knows, it shows.
		kept := b.Durable && e.Local != 0 && !e.Removed && !w.slots[e.Slot].retired
		kept = kept || !e.Removed && r.knows(b.Key, e.Added)
		switch found := all.Has(e); {
		case !found && (kept || e.Must(w.now)):
			w.violate("final sets", "%v: %s lacks %s, acknowledged at %.6f",
				r, b.Key, e.Elem, float64(max(e.Acked, e.Local))/1e9)
		case found && e.MustNot(w.now):
			w.violate("final sets", "%v: %s holds %s, removed at %.6f", r, b.Key, e.Elem, float64(e.Gone)/1e9)
		}
	}
	for elem := range s.All() {
		if b.ByElem[elem] == nil {
			w.violate("final sets", "%v: %s holds %q, which no process added", r, b.Key, elem)
		}
	}
}

// equalChecker holds the replicas of some data to: equal clocks, equal digests, equal items.
type equalChecker struct {
	set      keyspace.Dataset
	seen     [keyspace.Count]sums.Sightings
	steps    int
	nextDeep int // the step from which the items are looked at again
}

func (*equalChecker) name() string           { return "equal" }
func (j *equalChecker) of() keyspace.Dataset { return j.set }

// stepped looks at a replica after some of its steps; at every item the more rarely the more there are, so that the
// cost of a step is bounded. That a digest is the one of its items the replica's own check finds after each step.
func (j *equalChecker) stepped(w *World, r *replicaHost) {
	if j.steps++; j.steps%4 != 0 {
		return
	}
	deep := j.steps >= j.nextDeep
	if deep {
		items, _ := r.checker.Weight()
		j.nextDeep = j.steps + 1024 + 4*items
	}
	j.look(w, r, deep)
}

func (j *equalChecker) look(w *World, r *replicaHost, deep bool) {
	for space := range j.seen {
		var all *crdt.Snapshot
		if deep {
			all = r.m.Snapshot(keyspace.Space(space))
		}
		clock, digest := r.m.Content(keyspace.Space(space))
		if other, is := j.seen[space].Look(r.p.uid, clock, digest, all); is != "" {
			w.violate("equal clocks", "%v space %v: %s at %v, at the same clock %v",
				r, keyspace.Space(space), is, w.procs[other], clock)
		}
	}
}

// settled waits until all stores are equal.
func (j *equalChecker) settled(w *World) bool { return j.differing(w) == nil }

// differing are two stores that are not equal; nil: all are.
func (j *equalChecker) differing(w *World) *stall.Lack {
	all := w.replicasOf(j.set)
	for space := range j.seen {
		for _, r := range all {
			clock, digest := r.m.Content(keyspace.Space(space))
			if c, d := all[0].m.Content(keyspace.Space(space)); !clock.Equal(c) || digest != d {
				return stall.Lacks("%v and %v differ in space %v: %v %v and %v %v",
					all[0], r, keyspace.Space(space), c, d, clock, digest)
			}
		}
	}
	return nil
}

func (j *equalChecker) finish(w *World) {
	if d := j.differing(w); d != nil {
		w.violate("stores converge", "%v", d)
	}
	for _, r := range w.replicasOf(j.set) {
		j.look(w, r, true)
		if err := r.m.Check(); err != nil && w.opt.CheckEvery > 0 {
			w.violate("replicator.Check", "%v: %v", r.p, err)
		}
	}
}

// originChecker holds the clocks of some data to what they may keep of incarnations that are over.
type originChecker struct {
	set    keyspace.Dataset
	judges map[view.ClusterID]*[keyspace.Count]origins.Judge
	steps  int
}

func newOriginChecker(set keyspace.Dataset) *originChecker {
	return &originChecker{set: set, judges: map[view.ClusterID]*[keyspace.Count]origins.Judge{}}
}

func (*originChecker) name() string           { return "origins" }
func (j *originChecker) of() keyspace.Dataset { return j.set }
func (*originChecker) settled(*World) bool    { return true }

// took takes the view that a replica has installed.
func (j *originChecker) took(w *World, r *replicaHost, v replica.View) {
	if r.set != j.set {
		return
	}
	of := j.judges[r.installed.Cluster]
	if of == nil {
		of = &[keyspace.Count]origins.Judge{}
		j.judges[r.installed.Cluster] = of
	}
	for s := range of {
		text := of[s].Installed(r.p.uid, v, func(id uint64) *crdt.Clock {
			p := w.procs[id]
			i := slices.IndexFunc(p.reps, func(o *replicaHost) bool { return o.set == j.set })
			if !p.alive || i < 0 {
				return nil
			}
			clock, _ := p.reps[i].m.Content(keyspace.Space(s))
			return clock
		})
		if text != "" {
			w.violate("clocks do not grow", "%v space %v: %s", r, keyspace.Space(s), text)
		}
	}
}

func (j *originChecker) stepped(w *World, r *replicaHost) {
	if r.installed == nil || !r.m.CaughtUp() {
		return
	}
	of := j.judges[r.installed.Cluster]
	if j.steps++; of == nil || j.steps%4 != 0 {
		return
	}
	for s := range of {
		clock, _ := r.m.Content(keyspace.Space(s))
		if text := of[s].Look(r.p.uid, clock); text != "" {
			w.violate("clocks do not grow", "%v space %v: %s", r, keyspace.Space(s), text)
		}
		w.counts.ClockRows = max(w.counts.ClockRows, uint64(of[s].Most))
	}
	if of[keyspace.Durable].Most > 0 {
		w.counts.CountItems = max(w.counts.CountItems, uint64(mostCounted(r, w.opt.Keys)))
	}
}

// mostCounted is how many items the durable counter has that has most.
func mostCounted(r *replicaHost, keys int) (most int) {
	for k := range keys {
		most = max(most, r.m.Peek(keyspace.Durable, "d/sum/"+strconv.Itoa(k)).Len())
	}
	return most
}

func (j *originChecker) gone(_ *World, p *Process) {
	for _, of := range j.judges { // order: each for itself
		for s := range of {
			of[s].Gone(p.uid)
		}
	}
}

func (*originChecker) finish(*World) {}

// caughtUp holds a joiner that says that it has caught up to all that a majority had acknowledged
// before it installed its first view. A founder has nothing to catch up with, and nor has a joiner
// if the last full member of its role has left meanwhile. An update from before its key became
// durable has other events in the durable space, which no checker knows.
func (d *replicaHost) caughtUp() {
	me, _ := d.installed.Member(view.UID(d.p.uid))
	if d.installed.Founded && me.Status != view.Joining || !views.HasFull(d.installed, d.set.Role) {
		return
	}
	for _, s := range d.p.w.datasets {
		if s.set() != d.set {
			continue
		}
		e, in := s.history.Unheard(d.joined, func(key string, f *history.Fact) bool {
			return d.m.SpaceOf(key) != f.Space || clockOf(d, f.Space).Has(f.Dot)
		})
		if e != nil {
			d.p.w.violate("caught up", "%v says so without %.12s of %s, acknowledged at %.6f; it joined at %.6f", d,
				e.Elem, in.Key, float64(e.Acked)/1e9, float64(d.joined)/1e9)
		}
	}
}

// founded holds a cluster that is founded anew to what was acknowledged as durable: some founder's
// disk has it. A bad disk may have lost it, and where less than a majority decides, or an operator
// gives disks up, it may be on others.
func (w *World) founded(v *view.View) {
	if v.Epoch == 1 || w.operator.anyDisks || w.opt.Bad > 0 || w.opt.Torn > 0 || w.opt.VotersMax > 0 ||
		w.opt.Strategy != (downing.KeepMajority{}) {
		return
	}
	for _, s := range w.datasets {
		e, in := s.history.Unheard(w.now, func(_ string, f *history.Fact) bool {
			return f.Space != keyspace.Durable || slices.ContainsFunc(v.Members, func(m view.Member) bool {
				r := w.procs[uint64(m.UID)].replica(s.role)
				return r != nil && r.stored.Has(f.Dot)
			})
		})
		if e != nil {
			w.violate("founded with what is durable", "no disk of %v has %.12s of %s, acknowledged at %.6f", v,
				e.Elem, in.Key, float64(e.Acked)/1e9)
		}
	}
}
