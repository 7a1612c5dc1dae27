package crdt

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
)

// logWorld is a store whose log is compared with a list: groups without removals, from a few
// origins, that come in any order, whole or known in part.
type logWorld struct {
	t     *testing.T
	rng   *rand.Rand
	store *Store
	made  []Group
	list  []kept // what the log must hold, in apply order
	floor Clock
}

// old is the origin of what the events remove.
const old Origin = 9

// kept is a group in the log, and how many trimmed events stand between it and the next one.
type kept struct {
	Group
	holes int
}

func TestLogAgainstAList(t *testing.T) {
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 2))
		w := &logWorld{t: t, rng: rng, store: NewStore(StoreOptions{LogMax: 1 + rng.IntN(120)})}
		w.floor.AddRange(old, 1, 2)
		if err := w.store.MergeDiff(&w.floor, nil, nil, nil); err != nil {
			t.Fatal(err)
		}
		w.make(3, 60)
		inOrder := rng.IntN(2) == 0 // and then the places of an origin are in order of seq too
		if !inOrder {
			rng.Shuffle(len(w.made), func(i, j int) { w.made[i], w.made[j] = w.made[j], w.made[i] })
		}
		for _, g := range w.made {
			switch rng.IntN(12) {
			case 0:
				w.trim()
			case 1:
				w.cover()
			case 2:
				continue // lost
			}
			w.apply(g)
			w.compare(seed)
		}
	}
}

// make makes groups of one to four events for each of some origins, the origins mixed.
func (w *logWorld) make(origins, groups int) {
	next := make([]uint64, origins)
	for range groups {
		o := w.rng.IntN(origins)
		var g Group
		for range 1 + w.rng.IntN(4) {
			next[o]++
			e := Event{Dot: Dot{Origin: Origin(o + 1), Seq: next[o]}, Puts: w.rng.IntN(4) > 0}
			e.Key, e.Path = w.one("k", "l"), w.one("p", "q")
			if e.Puts {
				e.Payload = w.one("", "", "x")
			}
			for seq := range w.rng.Uint64N(3) {
				e.Removes = append(e.Removes, w.earlier(Dot{Origin: old, Seq: seq + 1}, g))
			}
			g = append(g, e)
		}
		w.made = append(w.made, g)
	}
}

// one returns one of them.
func (w *logWorld) one(of ...string) string { return of[w.rng.IntN(len(of))] }

// earlier returns the dot of an event that was made before, of the group that is being made or another; or else.
func (w *logWorld) earlier(or Dot, g Group) Dot {
	if n := len(w.made); n > 0 && w.rng.IntN(3) > 0 {
		g = w.made[n-1-w.rng.IntN(min(n, 5))]
	}
	if len(g) == 0 || w.rng.IntN(3) == 0 {
		return or
	}
	return g[w.rng.IntN(len(g))].Dot
}

// apply applies a group and foretells the log: the runs that were not known, then the bound.
func (w *logWorld) apply(g Group) {
	known := w.store.Clock().Clone()
	if outcome, err := w.store.Apply(g, nil); err != nil {
		w.t.Fatal(err)
	} else if outcome == Waiting {
		return // what it removes was lost, or comes later
	}
	var run Group
	for i := range g {
		if known.Has(g[i].Dot) {
			w.log(run)
			run = nil
		} else {
			run = append(run, g[i])
		}
	}
	w.log(run)
}

func (w *logWorld) log(g Group) {
	if len(g) == 0 {
		return
	}
	w.shrink(w.store.opt.LogMax - len(g))
	w.list = append(w.list, kept{Group: g})
	w.shrink(w.store.opt.LogMax)
}

// shrink drops what stands before so many events, or before so many places as holes may make of
// them.
func (w *logWorld) shrink(most int) {
	if events, places := w.count(); events <= most && places <= 2*w.store.opt.LogMax {
		return
	}
	for len(w.list) > 0 {
		events, places := w.count()
		if events <= most && places <= w.store.opt.LogMax {
			return
		}
		w.drop(0)
	}
}

func (w *logWorld) count() (events, places int) {
	for _, k := range w.list {
		events += len(k.Group)
		places += len(k.Group) + k.holes
	}
	return events, places
}

func (w *logWorld) drop(i int) {
	for _, e := range w.list[i].Group {
		w.floor.Add(e.Dot)
	}
	if i > 0 {
		w.list[i-1].holes += len(w.list[i].Group) + w.list[i].holes
	}
	w.list = slices.Delete(w.list, i, i+1)
}

// trim trims by two clocks that have most of the store's; per origin it stops at the first group that
// one of them lacks.
func (w *logWorld) trim() {
	a, b := w.part(4), w.part(4)
	w.store.Trim(a, b)
	stuck := map[Origin]bool{}
	for i := 0; i < len(w.list); {
		o := w.list[i].First().Origin
		ds := dotsOfGroup(w.list[i].Group)
		stuck[o] = stuck[o] || !a.HasAll(ds) || !b.HasAll(ds)
		if stuck[o] {
			i++
		} else {
			w.drop(i)
		}
	}
}

// cover merges some dots of one origin, as a repair does.
func (w *logWorld) cover() {
	var donor Clock
	first := 1 + w.rng.Uint64N(150)
	donor.AddRange(Origin(1+w.rng.IntN(3)), first, first+w.rng.Uint64N(6))
	w.floor.Join(donor.Minus(w.store.Clock()))
	if err := w.store.MergeDiff(&donor, nil, nil, nil); err != nil {
		w.t.Fatal(err)
	}
}

// part returns a part of the store's clock, of which one run in n is cut short or lacks a dot.
func (w *logWorld) part(n int) *Clock {
	c := &Clock{}
	for r := range w.store.Clock().Ranges() {
		cut := r.Last
		if w.rng.IntN(n) == 0 {
			cut = r.First + w.rng.Uint64N(r.Last-r.First+1)
		}
		c.AddRange(r.Origin, r.First, cut)
		if cut+2 <= r.Last {
			c.AddRange(r.Origin, cut+2+w.rng.Uint64N(r.Last-cut-1), r.Last)
		}
	}
	return c
}

// compare asks what peers lack and compares it with a walk over the list.
func (w *logWorld) compare(seed uint64) {
	if err := w.store.Check(); err != nil {
		w.t.Fatalf("seed %d: %v", seed, err)
	}
	if !w.store.Floor().Equal(&w.floor) {
		w.t.Fatalf("seed %d: floor %v, must be %v", seed, w.store.Floor(), &w.floor)
	}
	for range 3 {
		peer := w.part(2)
		peer.Join(&w.floor)
		gs, more, covered := w.store.Missing(peer, 1<<30)
		if more || !covered {
			w.t.Fatal(seed, more, covered)
		}
		want := slices.DeleteFunc(slices.Clone(w.list), func(k kept) bool { return peer.HasAll(dotsOfGroup(k.Group)) })
		same := func(g Group, k kept) bool { return reflect.DeepEqual(g, k.Group) }
		if !slices.EqualFunc(gs, want, same) {
			w.t.Fatalf("seed %d: a peer at %v is sent\n%v, must be\n%v", seed, peer, gs, want)
		}
	}
}

func dotsOfGroup(g Group) []Dot {
	var ds []Dot
	for i := range g {
		ds = append(ds, g[i].Dot)
	}
	return ds
}
