package crdt

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// Keys of the world, one per type. Few elements, so that operations meet.
const (
	setKey     = "set"
	bigSetKey  = "big"
	counterKey = "counter"
	mapKey     = "map"
	regKey     = "register"
)

// update makes one group of one to three mutations, of which the specification foretells how many events each makes.
func (w *world) update(i int) error {
	n := w.nodes[i]
	w.wall += int64(w.pick(3)) * 10
	key := []string{setKey, bigSetKey, counterKey, mapKey, regKey}[w.pick(5)]
	var ch Changes
	var made []*specOp
	before := n.rep.Store().Clock().Clone()
	seen := n.seen.clone()
	wall := w.wall - int64(w.pick(3))*15 // clocks differ
	inner := w.drawn(1 + 3*8)
	g, err := n.rep.Update(key, wall, func(tx *Tx) error {
		for range 1 + inner.pick(3) {
			op, err := inner.mutate(tx, key, seen)
			if err != nil {
				return err
			}
			if op != nil {
				w.ops++
				op.id, op.key, op.origin = w.ops, key, uint64(n.rep.Origin())
				op.observe(seen)
				seen[op.id] = op
				made = append(made, op)
			}
		}
		return nil
	}, &ch)
	if err != nil {
		return err
	}
	if len(g) != len(made) {
		return fmt.Errorf("%d operations made %d events: %v", len(made), len(g), g)
	}
	after := n.rep.Store().Clock()
	if !after.Includes(before) || after.Equal(before) != (len(g) == 0) {
		return fmt.Errorf("an update with %d events took the clock from %v to %v", len(g), before, after)
	}
	for k, op := range made {
		w.byDot[g[k].Dot] = op
	}
	n.seen = seen
	for to := range w.nodes {
		if to != i && len(g) > 0 {
			w.flying = append(w.flying, flight{to: to, group: g})
		}
	}
	return n.store(&ch)
}

// drawn returns a world for use inside an update function whose choices are made already: rapid ends a test by a panic, which Update would catch.
func (w *world) drawn(n int) *world {
	choices := make([]int, n)
	for i := range choices {
		choices[i] = w.pick(10_080)
	}
	inner := *w
	inner.pick = func(n int) int {
		c := choices[0]
		choices = choices[1:]
		return c % n
	}
	return &inner
}

// mutate does one operation and returns what the specification knows of it, nil when it must make no event.
func (w *world) mutate(tx *Tx, key string, seen specSet) (*specOp, error) {
	switch key {
	case counterKey:
		n := uint64(w.pick(4))
		if err := (GCounter{}).Mutator(tx).Increment(n); err != nil || n == 0 {
			return nil, err
		}
		return &specOp{puts: true, count: seen.counts(key)[uint64(tx.Origin())] + n}, nil
	case mapKey:
		return w.mutateMap(tx, seen)
	case regKey:
		return w.mutateRegister(tx, seen)
	}
	return w.mutateSet(tx, key, seen)
}

func (w *world) mutateSet(tx *Tx, key string, seen specSet) (*specOp, error) {
	elems := 4
	if key == bigSetKey {
		elems = 3 * keySmallMax
	}
	s := ORSet[string]{}.Mutator(tx)
	e := "e" + strconv.Itoa(w.pick(elems))
	if s.Contains(e) != (len(seen.aliveAt(key, e)) > 0) {
		return nil, fmt.Errorf("transaction reads Contains(%q) = %v", e, s.Contains(e))
	}
	switch k := w.pick(12); {
	case k == 0:
		if len(seen.alive(key)) == 0 {
			return nil, s.Clear()
		}
		return &specOp{}, s.Clear()
	case k < 4:
		if len(seen.aliveAt(key, e)) == 0 {
			return nil, s.Remove(e)
		}
		return &specOp{elem: e}, s.Remove(e)
	}
	return &specOp{elem: e, puts: true}, s.Add(e)
}

func (w *world) mutateMap(tx *Tx, seen specSet) (*specOp, error) {
	m := LWWMap[int64, string]{}.Mutator(tx)
	k := int64(w.pick(3) - 1)
	elem, value := strconv.FormatInt(k, 10), "v"+strconv.Itoa(w.pick(3))
	switch w.pick(5) {
	case 0:
		if len(seen.aliveAt(mapKey, elem)) == 0 {
			return nil, m.Remove(k)
		}
		return &specOp{elem: elem}, m.Remove(k)
	case 1:
		op := w.explicit(tx, mapKey, elem, value, seen)
		won, err := m.PutAt(k, value, op.ts)
		return w.judge(op, won, err, seen)
	}
	return &specOp{elem: elem, puts: true, value: value, ts: seen.nextTimestamp(mapKey, elem, tx.Wall())}, m.Put(k, value)
}

func (w *world) mutateRegister(tx *Tx, seen specSet) (*specOp, error) {
	r := LWWRegister[[]byte]{}.Mutator(tx)
	value := "v" + strconv.Itoa(w.pick(3))
	switch w.pick(5) {
	case 0:
		if len(seen.alive(regKey)) == 0 {
			return nil, r.Remove()
		}
		return &specOp{elem: "r"}, r.Remove()
	case 1:
		op := w.explicit(tx, regKey, "r", value, seen)
		won, err := r.PutAt([]byte(value), op.ts)
		return w.judge(op, won, err, seen)
	}
	return &specOp{elem: "r", puts: true, value: value, ts: seen.nextTimestamp(regKey, "r", tx.Wall())}, r.Put([]byte(value))
}

// explicit makes a put with a timestamp of the caller's, near those that are there.
func (w *world) explicit(tx *Tx, key, elem, value string, seen specSet) *specOp {
	ts := Timestamp{uint64(w.pick(4)), uint64(w.pick(2))}
	if win := seen.winner(key, elem); win != nil && w.pick(2) == 0 {
		ts = Timestamp{win.ts.High, win.ts.Low + uint64(w.pick(2))}
	}
	return &specOp{elem: elem, puts: true, value: value, ts: ts, key: key, origin: uint64(tx.Origin())}
}

func (w *world) judge(op *specOp, won bool, err error, seen specSet) (*specOp, error) {
	win := seen.winner(op.key, op.elem)
	if want := win == nil || specCompare(op, win) > 0; err == nil && won != want {
		err = fmt.Errorf("PutAt(%v) answered %v, against %v", op.ts, won, win)
	}
	if !won {
		return nil, err
	}
	return op, err
}

// checkValues compares every key's value with the specification.
func checkValues(n *worldNode) error {
	st := n.rep.Store()
	for _, key := range []string{setKey, bigSetKey} {
		s, err := ViewOf[ORSet[string]](st.View(key))
		if err != nil {
			return err
		}
		if got, want := slices.Collect(s.All()), n.seen.elements(key); !slices.Equal(got, want) || s.Len() != len(want) {
			return fmt.Errorf("%s: %d elements %v, must be %v", key, s.Len(), got, want)
		}
	}
	c, err := ViewOf[GCounter](st.View(counterKey))
	if err != nil {
		return err
	}
	if c.Value() != n.seen.count(counterKey) {
		return fmt.Errorf("counter %d, must be %d", c.Value(), n.seen.count(counterKey))
	}
	if err := checkMap(n); err != nil {
		return err
	}
	r, err := ViewOf[LWWRegister[[]byte]](st.View(regKey))
	if err != nil {
		return err
	}
	v, ts, ok := r.At()
	if win := n.seen.winner(regKey, "r"); ok != (win != nil) || ok && (ts != win.ts || !bytes.Equal(v, []byte(win.value))) {
		return fmt.Errorf("register %q at %v, must be %v", v, ts, win)
	}
	return nil
}

func checkMap(n *worldNode) error {
	m, err := ViewOf[LWWMap[int64, string]](n.rep.Store().View(mapKey))
	if err != nil {
		return err
	}
	want := map[int64]string{}
	for k := int64(-1); k < 2; k++ {
		win := n.seen.winner(mapKey, strconv.FormatInt(k, 10))
		v, ts, ok := m.At(k)
		if ok != (win != nil) || ok && (ts != win.ts || v != win.value) {
			return fmt.Errorf("map[%d] = %q at %v, must be %v", k, v, ts, win)
		}
		if ok {
			want[k] = v
		}
	}
	if got := maps.Collect(m.All()); !maps.Equal(got, want) || m.Len() != len(want) {
		return fmt.Errorf("map %v of %d, must be %v", got, m.Len(), want)
	}
	return nil
}
