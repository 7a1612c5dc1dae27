package crdt

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/coterie-go/coterie/proptest/defect"
)

// mergeWorld is a store into which a donor's moment is merged in steps, and a twin to which the same
// happens at the same moments, and which merges at once, at the end.
type mergeWorld struct {
	t           *testing.T
	rng         *rand.Rand
	here, twin  *Replica
	donor, peer *Replica
	rows        map[Dot]*Item // what a disk would hold that follows the changes of here
	sent        []Group
	groups      int // that were applied in steps
}

func newMergeWorld(t *testing.T, seed uint64, planted defect.Set) *mergeWorld {
	o := StoreOptions{SketchCells: 64, SketchFrom: 8}
	mine := o
	mine.planted = planted
	return &mergeWorld{
		t: t, rng: rand.New(rand.NewPCG(seed, 1)), here: NewReplica(1, mine), twin: NewReplica(1, o),
		donor: NewReplica(2, o), peer: NewReplica(3, o), rows: map[Dot]*Item{},
	}
}

// change makes a random event.
func (w *mergeWorld) change(on ...*Replica) {
	key, e, kind := fmt.Sprint("k", w.rng.IntN(4)), fmt.Sprint(w.rng.IntN(6)), w.rng.IntN(16)
	for _, r := range on {
		var ch Changes
		var g Group
		var err error
		update := func(key string, fn func(*Tx) error) { g, err = r.Update(key, 0, fn, &ch) }
		switch {
		case kind < 5:
			update("set"+key, Mutate[ORSet[string]](func(s *ORSetTx[string]) error { return s.Add(e) }))
		case kind < 8:
			update("set"+key, Mutate[ORSet[string]](func(s *ORSetTx[string]) error { return s.Remove(e) }))
		case kind < 11:
			update("count"+key, Mutate[PNCounter](func(c *PNCounterTx) error { return c.Increment(1) }))
		case kind < 13:
			update("own"+key, Mutate[NodeSet[string]](func(s *NodeSetTx[string]) error { return s.Add(e) }))
		case kind < 15:
			update("set"+key, Mutate[ORSet[string]](func(s *ORSetTx[string]) error { return s.Clear() }))
		default:
			g, err = r.DeleteForever("end"+e, &ch)
		}
		if err != nil && !errors.Is(err, ErrDeleted) {
			w.t.Fatal(err)
		}
		if r == w.here {
			w.wrote(&ch)
		}
		if r != w.twin && g != nil {
			w.sent = append(w.sent, g)
		}
	}
}

// push brings a random group to random replicas.
func (w *mergeWorld) push() {
	if len(w.sent) == 0 {
		return
	}
	g := w.sent[w.rng.IntN(len(w.sent))]
	for _, to := range [][]*Replica{{w.donor}, {w.peer}, {w.here, w.twin}}[w.rng.IntN(3):] {
		for _, r := range to {
			var ch Changes
			if _, err := r.Apply(g, &ch); err != nil {
				w.t.Fatal(err)
			}
			if r == w.here {
				w.wrote(&ch)
			}
		}
	}
}

func (w *mergeWorld) wrote(ch *Changes) {
	for _, it := range ch.Put {
		if w.rows[it.Dot] != nil {
			w.t.Fatalf("%v is put twice", it)
		}
		w.rows[it.Dot] = it
	}
	for _, it := range ch.Dropped {
		if w.rows[it.Dot] == nil {
			w.t.Fatalf("%v is dropped, and was not there", it)
		}
		delete(w.rows, it.Dot)
	}
}

// shown is what readers see of each key.
func shown(s *Store) map[string]string {
	all := map[string]string{}
	snap := s.Snapshot()
	for key := range snap.Keys("") {
		for it := range snap.View(key).Items("") {
			all[key] += it.String()
		}
	}
	return all
}

// any does something.
func (w *mergeWorld) any() {
	switch w.rng.IntN(4) {
	case 0:
		w.change(w.donor)
	case 1:
		w.change(w.peer)
	case 2:
		w.change(w.here, w.twin)
	default:
		w.push()
	}
}

// step does some of a merge, of which nothing must show.
func (w *mergeWorld) step(m *Merging) (done bool, err error) {
	if done, err = m.Work(1 + w.rng.IntN(3)); err != nil {
		return false, err
	}
	if err := w.here.st.Check(); err != nil {
		return false, err
	}
	if w.here.st.Digest() != w.twin.st.Digest() || !w.here.st.Clock().Equal(w.twin.st.Clock()) {
		return false, errors.New("the merge shows before it is complete")
	}
	return done, nil
}

// run plays a history, and returns what differs at the end.
func (w *mergeWorld) run() error {
	some := func(most int, fn func()) {
		for range w.rng.IntN(most) {
			fn()
		}
	}
	some(60, w.any)
	own := w.here.Store().Pin()
	asked := own.Clock().Clone()
	some(20, w.any)
	theirs := w.donor.Store().Snapshot()
	if theirs.Clock().LastEvent(1) > w.here.Seq() {
		return errors.New("a donor from the future")
	}
	var gone []Dot
	var items []*Item
	var plain []Item
	for it := range own.Items() {
		if theirs.Clock().Has(it.Dot) && !theirs.Live(it.Dot) {
			gone = append(gone, it.Dot)
		}
	}
	for it := range theirs.In(theirs.Clock().Minus(asked), Dot{}) {
		items, plain = append(items, new(*it)), append(plain, *it)
	}
	some(20, w.any)
	m, err := w.here.BeginMerge(Difference{
		Clock: theirs.Clock(), Items: [][]*Item{items[:len(items)/2], items[len(items)/2:]}, Absent: [][]Dot{gone},
		Unsure: theirs.Clock().Minus(asked), Live: theirs.Live,
	})
	if err != nil {
		return err
	}
	for done := false; !done; {
		some(6, w.any)
		if w.rng.IntN(8) == 0 {
			l := NewLiving([]Origin{1, 2, 3}[w.rng.IntN(3):]...)
			w.here.SetLiving(l, nil)
			w.twin.SetLiving(l, nil)
		}
		if w.rng.IntN(20) == 0 { // another change of the clock: it begins anew
			all := w.peer.st.clock
			for _, r := range []*Replica{w.here, w.twin} {
				var ch Changes
				if all.LastEvent(1) > r.Seq() {
					break
				}
				snap := w.peer.st.Snapshot()
				if err := r.Merge(all, snap.Live, itemsOf(snap), &ch); err != nil {
					return err
				}
				if r == w.here {
					w.wrote(&ch)
				}
			}
		}
		if done, err = w.step(m); err != nil {
			return err
		}
	}
	some(6, w.any)
	before := shown(w.here.st)
	out := m.Take()
	absent := slices.Clone(gone)
	for it := range w.twin.st.In(theirs.Clock().Minus(asked), Dot{}) {
		if !theirs.Live(it.Dot) {
			absent = append(absent, it.Dot)
		}
	}
	if err := w.twin.MergeDiff(theirs.Clock(), absent, plain, nil); err != nil {
		return err
	}
	return w.compare(before, out)
}

func (w *mergeWorld) compare(before map[string]string, out *Merged) error {
	told := map[string]bool{}
	for out.Len() > 0 {
		var ch Changes
		out.Next(&ch)
		w.wrote(&ch)
		for _, key := range ch.Keys {
			told[key] = true
		}
	}
	here, twin := w.here.st, w.twin.st
	if err := here.Check(); err != nil {
		return err
	}
	if !here.Clock().Equal(twin.Clock()) || here.Digest() != twin.Digest() || !here.Floor().Includes(twin.Floor()) {
		return fmt.Errorf("in steps %v, at once %v", here, twin)
	}
	after := shown(here)
	if !maps.Equal(after, shown(twin)) {
		return fmt.Errorf("in steps %q, at once %q", after, shown(twin))
	}
	if len(w.rows) != here.Len() {
		return fmt.Errorf("the disk has %d rows of %d", len(w.rows), here.Len())
	}
	for it := range here.Snapshot().Items() {
		if w.rows[it.Dot] == nil {
			return fmt.Errorf("the disk lacks %v", it)
		}
	}
	for _, all := range []map[string]string{before, after} {
		for key := range all {
			if before[key] != after[key] && !told[key] {
				return fmt.Errorf("readers of key %q were not told", key)
			}
		}
	}
	return nil
}

// R4, R5: a merge in steps ends as one at once at its end does, whatever is written meanwhile. Until
// then nothing of it shows. What it has changed is told once.
func TestMergeInStepsIsOneAtOnce(t *testing.T) {
	for seed := range uint64(3000) {
		if err := newMergeWorld(t, seed, defect.Set{}).run(); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
	for name, planted := range map[string]defect.Set{
		"the clock before the items": defect.Of(defect.ClockBeforeItems),
		"writes that are lost":       defect.Of(defect.MergeAlone),
	} {
		noticed := false
		for seed := uint64(0); seed < 3000 && !noticed; seed++ {
			noticed = newMergeWorld(t, seed, planted).run() != nil
		}
		if !noticed {
			t.Errorf("the planted defect went unnoticed: %s", name)
		}
	}
}

// runGroup plays a history in which a large group of the peer is applied in steps, and returns what differs at the end.
func (w *mergeWorld) runGroup() error {
	for range w.rng.IntN(60) {
		w.any()
	}
	key := fmt.Sprint("setk", w.rng.IntN(4))
	g, err := w.peer.Update(key, 0, Mutate[ORSet[string]](func(s *ORSetTx[string]) error {
		for range 1 + w.rng.IntN(20) {
			e := fmt.Sprint(w.rng.IntN(9))
			if err := s.Add(e); err != nil {
				return err
			}
			if w.rng.IntN(3) > 0 {
				continue
			}
			if err := s.Remove(e); err != nil {
				return err
			}
		}
		return nil
	}), nil)
	if err != nil || len(g) == 0 {
		return err
	}
	if outcome, err := w.here.Look(g, nil); err != nil || outcome != Applied {
		return err
	}
	m := w.here.BeginApply(g)
	for done := false; !done; {
		for range w.rng.IntN(6) {
			w.any()
		}
		if done, err = w.step(m); err != nil {
			return err
		}
	}
	for range w.rng.IntN(6) {
		w.any()
	}
	before := shown(w.here.st)
	out := m.Take()
	if _, err := w.twin.Apply(g, nil); err != nil {
		return err
	}
	w.groups++
	return w.compare(before, out)
}

// A group that is applied in steps ends as one that is applied at once at its end does, whatever is written meanwhile.
func TestGroupInStepsIsOneAtOnce(t *testing.T) {
	groups := 0
	for seed := range uint64(3000) {
		w := newMergeWorld(t, seed, defect.Set{})
		if err := w.runGroup(); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		groups += w.groups
	}
	if groups < 1000 {
		t.Errorf("only %d groups were applied", groups)
	}
	noticed := false
	for seed := uint64(0); seed < 3000 && !noticed; seed++ {
		noticed = newMergeWorld(t, seed, defect.Of(defect.MergeAlone)).runGroup() != nil
	}
	if !noticed {
		t.Error("writes that are lost went unnoticed")
	}
}

// A group that comes again while it is applied in steps is applied at once, and the steps are over.
func TestGroupThatComesAgain(t *testing.T) {
	here, peer := NewReplica(1, StoreOptions{}), NewReplica(2, StoreOptions{})
	g := mustUpdate(t, peer, "k", Mutate[ORSet[string]](func(s *ORSetTx[string]) error { return s.Add("a") }))
	m := here.BeginApply(g)
	if m.Over() || !here.Merges() {
		t.Fatal("nothing has begun")
	}
	if _, err := here.Apply(g, nil); err != nil || !m.Over() || here.Merges() || here.Store().Len() != 1 {
		t.Fatalf("%v, over %v, %d items", err, m.Over(), here.Store().Len())
	}
	if done, err := m.Work(10); done || err != nil || m.Take().Len() != 0 || here.BeginApply(g) != nil {
		t.Fatalf("it goes on: %v, %v", done, err)
	}
}

// mergeOf begins to merge all that a donor has.
func mergeOf(t *testing.T, here, donor *Replica) *Merging {
	t.Helper()
	snap := donor.st.Snapshot()
	var items []*Item
	for it := range snap.Items() {
		items = append(items, new(*it))
	}
	m, err := here.BeginMerge(Difference{Clock: snap.Clock(), Items: [][]*Item{items}, Live: snap.Live})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// One step of a merge costs the same however much there is to merge, and however much is there, as
// does the end.
func TestStepsOfAMergeAreBounded(t *testing.T) {
	cost := func(n int) (step, end int) {
		here, donor := NewReplica(1, StoreOptions{}), NewReplica(2, StoreOptions{})
		for _, r := range []*Replica{here, donor} {
			for i := 0; i < n; i += 500 {
				mustUpdate(t, r, fmt.Sprint("k", i), Mutate[ORSet[string]](func(s *ORSetTx[string]) error {
					for j := range 500 {
						if err := s.Add(fmt.Sprint(r.Origin(), j)); err != nil {
							return err
						}
					}
					return nil
				}))
			}
		}
		m := mergeOf(t, here, donor)
		for done := false; !done; {
			var err error
			step = max(step, allocated(func() { done, err = m.Work(100) }))
			if err != nil {
				t.Fatal(err)
			}
		}
		end = allocated(func() { m.Take() })
		if here.st.Len() != 2*n {
			t.Fatal(here.st)
		}
		return step, end
	}
	least := func(n int) (step, end int) { // what goes on beside the test allocates too
		step, end = cost(n)
		again, last := cost(n)
		return min(step, again), min(end, last)
	}
	step, end := least(2_000)
	if s, e := least(100_000); s > 4*step || e > 2*end {
		t.Errorf("a step allocates %d bytes and the end %d; with 50 times as much %d and %d", step, end, s, e)
	}
}

// What a merge has changed is looked at later, and the store has changed again by then.
func TestAMergeIsLookedAtAfterTheNextChange(t *testing.T) {
	donor, here := NewReplica(1, StoreOptions{}), NewReplica(2, StoreOptions{})
	const n = 40 // all in one leaf of the index
	for i := range n {
		mustUpdate(t, donor, "s", Mutate[ORSet[string]](func(s *ORSetTx[string]) error { return s.Add(fmt.Sprint(i)) }))
	}
	m := mergeOf(t, here, donor)
	for done := false; !done; {
		var err error
		if done, err = m.Work(100); err != nil {
			t.Fatal(err)
		}
	}
	out := m.Take()
	mustUpdate(t, here, "s", Mutate[ORSet[string]](func(s *ORSetTx[string]) error { return s.Remove("0") }))
	var ch Changes
	for out.Len() > 0 {
		out.Next(&ch)
	}
	if len(ch.Put) != n {
		t.Errorf("%d items are told of, %d were brought", len(ch.Put), n)
	}
}
