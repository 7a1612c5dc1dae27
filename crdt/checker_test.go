package crdt

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
)

// checkedWorld is a store that is written to at random, with all that a store maintains: keys of one item,
// small and large ones, siblings, marks, a sketch, a log, and a merge that is under way.
type checkedWorld struct {
	rng     *rand.Rand
	rep     *Replica
	other   *Replica
	checker *Checker
}

func newCheckedWorld(seed uint64) *checkedWorld {
	o := StoreOptions{DigestSeed: seed, SketchCells: 64, SketchFrom: 16, LogMax: 300}
	w := &checkedWorld{rng: rand.New(rand.NewPCG(seed, 5)), rep: NewReplica(1, o), other: NewReplica(2, o)}
	w.checker = NewChecker(w.rep.Store(), nil)
	return w
}

// write lets one of the two write to a key.
func (w *checkedWorld) write(t *testing.T, r *Replica) {
	elem := fmt.Sprint(w.rng.IntN(150))
	switch w.rng.IntN(8) {
	case 0:
		key := fmt.Sprint("one", w.rng.IntN(9))
		mustUpdate(t, r, key, Mutate[LWWRegister[string]](func(x *LWWRegisterTx[string]) error { return x.Put(elem) }))
	case 1:
		mustUpdate(t, r, "few", Mutate[ORSet[string]](func(x *ORSetTx[string]) error { return x.Add(elem[:1]) }))
	case 2:
		mustUpdate(t, r, "owned", Mutate[NodeSet[string]](func(x *NodeSetTx[string]) error { return x.Add(elem[:1]) }))
	case 3:
		mustUpdate(t, r, "many", Mutate[ORSet[string]](func(x *ORSetTx[string]) error { return x.Remove(elem) }))
	default:
		mustUpdate(t, r, "many", Mutate[ORSet[string]](func(x *ORSetTx[string]) error { return x.Add(elem) }))
	}
}

// step writes here and there, and ships; merge says whether to go on with a merge in steps.
func (w *checkedWorld) step(t *testing.T, merge bool) {
	for range 1 + w.rng.IntN(3) {
		w.write(t, w.rep)
		w.write(t, w.other)
	}
	st, from := w.rep.Store(), w.other.Store()
	switch {
	case merge && st.merging == nil:
		var items []*Item
		for it := range from.Snapshot().Items() {
			items = append(items, new(*it))
		}
		snap := from.Snapshot()
		if _, err := w.rep.BeginMerge(Difference{
			Clock: snap.Clock(), Items: [][]*Item{items}, Unsure: snap.Clock(), Live: snap.Live,
		}); err != nil {
			t.Fatal(err)
		}
	case merge:
		if done, err := st.merging.Work(20); err != nil {
			t.Fatal(err)
		} else if done {
			st.merging.Take()
		}
	case st.merging == nil && w.rng.IntN(2) == 0:
		gs, _, covered := from.Missing(st.Clock(), 1<<20)
		if !covered {
			t.Fatal("the log is too short")
		}
		mustApply(t, st, gs...)
	}
	if w.rng.IntN(40) == 0 {
		st.SetLiving(NewLiving([]Origin{1, 2}[w.rng.IntN(2):]...), nil)
	}
	if w.rng.IntN(40) == 0 {
		st.Trim(st.Clock().Clone())
	}
}

// writable returns the state of a key for spoiling.
func writable(s *Store, key string) *keyState { return s.live.keys.writable(key, s.live.keys.get(key)) }

// TestCheckerFindsNothingWhereNothingIs holds the checker to Check over many writes.
func TestCheckerFindsNothingWhereNothingIs(t *testing.T) {
	for seed := range uint64(20) {
		w := newCheckedWorld(seed)
		for i := range 200 {
			w.step(t, i/20%2 == 1)
			if w.rng.IntN(3) > 0 {
				continue // several steps between two checks
			}
			if err := errors.Join(w.rep.Store().Check(), w.checker.Check()); err != nil {
				t.Fatalf("seed %d, step %d: %v", seed, i, err)
			}
		}
	}
}

// corruptions break one invariant each, as a write that forgets something would.
var corruptions = map[string]func(s *Store){
	"digest":      func(s *Store) { s.live.digest[0]++ },
	"count":       func(s *Store) { s.live.count++ },
	"bytes":       func(s *Store) { s.live.bytes++ },
	"key table":   func(s *Store) { s.live.keys.drop(s.live.some()) },
	"index lacks": func(s *Store) { s.live.index.Remove(s.live.some().Dot) },
	"index has more": func(s *Store) {
		d := Dot{Origin: 7, Seq: 7}
		s.live.index.Put(d, &Item{Dot: d, Key: "many"})
	},
	"index has another": func(s *Store) {
		it := s.live.some()
		other := *it
		s.live.index.Remove(it.Dot)
		s.live.index.Put(it.Dot, &other)
	},
	"no clock": func(s *Store) {
		s.live.insert(&Item{Dot: Dot{Origin: 7, Seq: 7}, Key: "many", Path: KindORSet.Path() + "x"}, nil, nil)
	},
	"less clock": func(s *Store) {
		var d Clock
		d.Add(s.live.some().Dot)
		s.clock, s.pinned = s.clock.Minus(&d), false
	},
	"items of a key": func(s *Store) { writable(s, "many").items++ },
	"paths of a key": func(s *Store) { writable(s, "many").paths++ },
	"bytes of a key": func(s *Store) { writable(s, "many").bytes++ },
	"kind of a key":  func(s *Store) { writable(s, "many").kind = KindLWWMap },
	"kind of few":    func(s *Store) { writable(s, "few").kind = KindLWWMap },
	"bytes of few":   func(s *Store) { writable(s, "few").bytes++ },
	"marks of plain": func(s *Store) { writable(s, "many").marking().folds++ },
	"owners":         func(s *Store) { writable(s, "owned").marks.owners[0].items++ },
	"item elsewhere": func(s *Store) {
		it := s.live.some()
		other := *it
		other.Key = "elsewhere"
		ks := writable(s, "many")
		dropItem(ks, it, nil)
		putItem(ks, &other, nil, nil)
		s.live.index.Remove(it.Dot)
		s.live.index.Put(it.Dot, &other)
	},
	"siblings in no order": func(s *Store) {
		s.changing()
		var it *Item
		for seq := range uint64(3) {
			s.clock.Add(Dot{Origin: 9, Seq: seq + 1})
			it = &Item{Dot: Dot{Origin: 9, Seq: seq + 1}, Key: "many", Path: KindORSet.Path() + "sibling"}
			s.live.insert(it, nil, nil)
		}
		rest := &bigOf(writable(s, "many")).rest
		got := rest.Get(it.Path)
		rest.Set(&siblings{it.Path, []*Item{got.items[1], got.items[0]}}, nil)
	},
	"sketch":          func(s *Store) { s.live.sketch.Toggle(77) },
	"no sketch":       func(s *Store) { s.live.sketch.Sketch = nil },
	"deleted keys":    func(s *Store) { s.live.marks.deleted++ },
	"owned keys":      func(s *Store) { delete(s.live.marks.owned, 1) },
	"litter":          func(s *Store) { s.live.marks.litter.Insert("many") },
	"log events":      func(s *Store) { s.log.events++ },
	"log bytes":       func(s *Store) { s.log.bytes++ },
	"floor":           func(s *Store) { s.log.floor.Add(s.log.lastOne().item.Dot) },
	"log without one": func(s *Store) { *s.log.lastOne() = logged{} },
	"log of another": func(s *Store) { // an add would be shipped as a removal
		last := s.log.lastOne()
		for it := range s.live.keys.get("many").scan(KindORSet.Path()) {
			if it.Dot != last.item.Dot {
				last.item = it
				return
			}
		}
	},
	"log twice":     func(s *Store) { s.log.places.Push(*s.log.lastOne()) },
	"group twice":   func(s *Store) { s.log.again() },
	"group":         func(s *Store) { ol := s.log.origins[0]; ol.runs.At(ol.runs.Len()-1).First++ },
	"clock of more": func(s *Store) { s.changing(); s.clock.Add(Dot{Origin: 8, Seq: 8}) },
}

// some returns an item of the large key.
func (c *contents) some() (it *Item) {
	c.keys.get("many").ascend("", func(i *Item) bool {
		it = i
		return false
	})
	return it
}

// lastOne returns the last place of the log that holds an event.
func (l *eventLog) lastOne() *logged {
	i := l.places.Len() - 1
	for l.places.At(i).item == nil {
		i--
	}
	return l.places.At(i)
}

// again enters the last group once more, which has one event.
func (l *eventLog) again() {
	p := *l.lastOne()
	p.of.runs.Add(l.end(), p.item.Dot.Seq, 1)
	l.places.Push(p)
	l.events, l.bytes = l.events+int(p.n), l.bytes+int(p.bytes)
}

// spoiltOld are the corruptions of an event of the log that the last check has found right.
var spoiltOld = map[string]bool{"log without one": true, "log of another": true, "group": true}

// TestCheckerFindsWhatCheckFinds corrupts a store between two checks: the checker finds it at the next one,
// as Check does, whether something is written along with it or not. Only an old event of the log is looked at
// again when the checker looks at everything.
func TestCheckerFindsWhatCheckFinds(t *testing.T) {
	for name, corrupt := range corruptions {
		for _, writes := range []bool{false, true} {
			w := newCheckedWorld(1)
			for range 100 {
				w.step(t, false)
			}
			w.write(t, w.rep)
			if err := w.checker.Check(); err != nil || w.rep.Store().live.keys.get("many").more.big == nil {
				t.Fatalf("%s: not begun: %v", name, err)
			}
			if writes {
				w.step(t, false)
				w.write(t, w.rep)
			}
			corrupt(w.rep.Store())
			if w.rep.Store().Check() == nil {
				t.Errorf("%s, writes %v: Check finds nothing", name, writes)
			}
			if w.checker.n++; w.checker.n%wholeEvery == 0 {
				t.Fatal("a check of everything")
			}
			w.checker.n--
			checks, most := 1, 1
			if !writes && spoiltOld[name] {
				most = wholeEvery
			}
			for ; checks < most && w.checker.Check() == nil; checks++ {
			}
			if checks == most && w.checker.Check() == nil {
				t.Errorf("%s, writes %v: the checker finds nothing in %d checks", name, writes, most)
			}
		}
	}
}

// lose takes the first group of one origin out of the log, and leaves the floor.
func lose(l *eventLog, ol *originLog) {
	floor := l.floor.Clone()
	l.forget(ol)
	l.floor = *floor
}

// TestCheckerFindsALostEvent takes an old event out of the log as a trim would, and forgets the floor or the place.
func TestCheckerFindsALostEvent(t *testing.T) {
	for name, spoil := range map[string]func(l *eventLog, ol *originLog){
		"no floor": lose,
		"no cut": func(l *eventLog, ol *originLog) {
			first, last := l.front(ol)
			l.floor.AddRange(ol.origin, first, last)
		},
		"another's floor": func(l *eventLog, ol *originLog) {
			lose(l, ol)
			for _, other := range l.origins {
				if first, last := l.front(other); other != ol {
					l.floor.AddRange(other.origin, first, last)
				}
			}
		},
	} {
		for _, writes := range []bool{false, true} {
			w := newCheckedWorld(4)
			for range 60 {
				w.step(t, false)
			}
			if l := &w.rep.Store().log; w.checker.Check() != nil || len(l.origins) < 2 || w.checker.Check() != nil {
				t.Fatal("not begun")
			} else if spoil(l, l.origins[0]); writes {
				w.write(t, w.rep)
			}
			if w.rep.Store().Check() == nil || w.checker.Check() == nil {
				t.Errorf("%s, writes %v: nothing is found", name, writes)
			}
		}
	}
}

// TestCheckerFindsWhatIsWrongWithAMerge corrupts the items that a merge in steps makes.
func TestCheckerFindsWhatIsWrongWithAMerge(t *testing.T) {
	w := newCheckedWorld(2)
	for i := range 12 {
		w.step(t, i > 9)
	}
	m := w.rep.Store().merging
	if err := w.checker.Check(); err != nil || m == nil {
		t.Fatal(m, err)
	}
	if _, err := m.Work(1); err != nil || w.checker.Check() != nil {
		t.Fatal("a merge goes wrong by itself", err)
	}
	m.next.digest[1]++
	if w.rep.Store().Check() == nil || w.checker.Check() == nil {
		t.Error("the copy's digest is wrong, and nothing says so")
	}
}

// TestCheckerKeepsARule holds all keys to what the caller demands of them, the new ones too.
func TestCheckerKeepsARule(t *testing.T) {
	w := newCheckedWorld(3)
	banned := errors.New("banned")
	k := NewChecker(w.rep.Store(), func(key string) error {
		if key == "banned" {
			return banned
		}
		return nil
	})
	w.step(t, false)
	if err := k.Check(); err != nil {
		t.Fatal(err)
	}
	addAll(t, w.rep, "banned", "x")
	if err := k.Check(); !errors.Is(err, banned) {
		t.Error(err)
	}
	if err := NewChecker(w.rep.Store(), k.rule).Check(); !errors.Is(err, banned) {
		t.Error(err)
	}
}
