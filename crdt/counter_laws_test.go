package crdt_test

import (
	"fmt"
	"maps"

	"pgregory.net/rapid"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/proptest"
)

func gcounterLaws() proptest.Laws[crdt.GCounter, *crdt.GCounterTx, uint64] {
	return proptest.Laws[crdt.GCounter, *crdt.GCounterTx, uint64]{
		Op:    rapid.Uint64Range(0, 300),
		Do:    (*crdt.GCounterTx).Increment,
		Value: func(c crdt.GCounter) any { return c.Value() },
		Model: func(h proptest.History[uint64]) any {
			sum := uint64(0)
			for e := range h.All() {
				sum += e.Op
			}
			return sum
		},
	}
}

// countOp counts at a key of a map, or takes it out; without a map the key is 0.
type countOp struct {
	What what // add, remove or clear
	Key  int
	N    int64
	Down bool // by Decrement(-N), not Increment(N)
}

func drawCounts(keys int, kinds ...what) *rapid.Generator[countOp] {
	return rapid.Custom(func(t *rapid.T) countOp {
		op := countOp{What: rapid.SampledFrom(kinds).Draw(t, "what")}
		if op.What != clearAll {
			op.Key = rapid.IntRange(0, keys-1).Draw(t, "key")
		}
		if op.What == add {
			op.N, op.Down = rapid.Int64Range(-200, 200).Draw(t, "n"), rapid.Bool().Draw(t, "down")
			if rapid.IntRange(0, 5).Draw(t, "zero") == 0 {
				op.N = 0
			}
		}
		return op
	})
}

func pnCounterLaws() proptest.Laws[crdt.PNCounter, *crdt.PNCounterTx, countOp] {
	return proptest.Laws[crdt.PNCounter, *crdt.PNCounterTx, countOp]{
		Op: drawCounts(1, add),
		Do: func(c *crdt.PNCounterTx, op countOp) error {
			if op.Down {
				return c.Decrement(-op.N)
			}
			return c.Increment(op.N)
		},
		Value: func(c crdt.PNCounter) any { return c.Value() },
		Model: func(h proptest.History[countOp]) any {
			sum := int64(0)
			for e := range h.All() {
				sum += e.Op.N
			}
			return sum
		},
	}
}

// tally is the specification of counters that can be taken out of a map. An origin has one number
// at a key: what it counts there it adds to the number that was there, if that lived, and a removal
// takes away the numbers that were there.
type tally struct {
	numbers map[*proptest.Event[countOp]]int64
	zeros   bool // counting 0 where there is nothing makes a number, else never
}

func newTally(zeros bool) *tally {
	return &tally{numbers: map[*proptest.Event[countOp]]int64{}, zeros: zeros}
}

// live returns the countings of a key whose numbers live.
func (c *tally) live(h proptest.History[countOp], key int) (live []*proptest.Event[countOp]) {
	for _, e := range h.Live(func(later, earlier *proptest.Event[countOp]) bool {
		if later.Op.What == clearAll || later.Op.What == remove {
			return later.Op.What == clearAll || later.Op.Key == earlier.Op.Key
		}
		return later.Op.Key == earlier.Op.Key && later.Op.N != 0 && later.Origin == earlier.Origin
	}) {
		if e.Op.What == add && e.Op.Key == key && c.counts(e) {
			live = append(live, e)
		}
	}
	return live
}

// counts reports whether a counting made a number.
func (c *tally) counts(e *proptest.Event[countOp]) bool {
	return e.Op.N != 0 || c.zeros && len(c.live(e.Seen, e.Op.Key)) == 0
}

// number returns what the origin of e had at its key afterwards.
func (c *tally) number(e *proptest.Event[countOp]) int64 {
	n, known := c.numbers[e]
	if !known {
		n = e.Op.N
		for _, before := range c.live(e.Seen, e.Op.Key) {
			if before.Origin == e.Origin {
				n += c.number(before)
			}
		}
		c.numbers[e] = n
	}
	return n
}

func (c *tally) sum(h proptest.History[countOp], key int) (sum int64, ok bool) {
	live := c.live(h, key)
	for _, e := range live {
		sum += c.number(e)
	}
	return sum, len(live) > 0
}

// counters is all that a map of counters shows.
type counters struct {
	All  map[string]int64
	Len  int
	Has0 bool
	At1  int64
}

func keyName(k int) string { return fmt.Sprint("k", k) }

func pnCounterMapLaws() proptest.Laws[crdt.PNCounterMap[string], *crdt.PNCounterMapTx[string], countOp] {
	spec := newTally(true)
	return proptest.Laws[crdt.PNCounterMap[string], *crdt.PNCounterMapTx[string], countOp]{
		Op: drawCounts(3, add, add, add, add, remove, remove, clearAll),
		Do: func(m *crdt.PNCounterMapTx[string], op countOp) error {
			before, err := m.Value(keyName(op.Key))
			if err != nil {
				return err
			}
			switch op.What {
			case clearAll:
				err = m.Clear()
				before = 0
			case remove:
				err = m.Remove(keyName(op.Key))
				before = 0
			default:
				if op.Down {
					err = m.Decrement(keyName(op.Key), -op.N)
				} else {
					err = m.Increment(keyName(op.Key), op.N)
				}
			}
			after, _ := m.Value(keyName(op.Key))
			if after != before+op.N || m.Contains(keyName(op.Key)) != (op.What == add) ||
				len(maps.Collect(m.All())) != m.Len() {
				return fmt.Errorf("the transaction read %d before it and %d after it", before, after)
			}
			return err
		},
		Value: func(m crdt.PNCounterMap[string]) any {
			at1, err := m.Value("k1")
			if err != nil {
				return err
			}
			return counters{maps.Collect(m.All()), m.Len(), m.Contains("k0"), at1}
		},
		Model: func(h proptest.History[countOp]) any {
			c := counters{All: map[string]int64{}}
			for k := range 3 {
				if n, ok := spec.sum(h, k); ok {
					c.All[keyName(k)] = n
				}
			}
			_, c.Has0 = c.All["k0"]
			c.Len, c.At1 = len(c.All), c.All["k1"]
			return c
		},
	}
}

type counterMap = crdt.ORMap[string, crdt.PNCounter, *crdt.PNCounterTx]

// counterMapLaws: as PNCounterMap, but a key is there while an update of it lives, even one that
// counted nothing.
func counterMapLaws() proptest.Laws[counterMap, *crdt.ORMapTx[string, crdt.PNCounter, *crdt.PNCounterTx], countOp] {
	spec := newTally(false)
	return proptest.Laws[counterMap, *crdt.ORMapTx[string, crdt.PNCounter, *crdt.PNCounterTx], countOp]{
		Op: drawCounts(3, add, add, add, add, remove, remove, clearAll),
		Do: func(m *crdt.ORMapTx[string, crdt.PNCounter, *crdt.PNCounterTx], op countOp) error {
			switch op.What {
			case clearAll:
				return m.Clear()
			case remove:
				return m.Remove(keyName(op.Key))
			}
			return m.Update(keyName(op.Key), func(c *crdt.PNCounterTx) error { return c.Increment(op.N) })
		},
		Value: func(m counterMap) any {
			c := counters{All: map[string]int64{}, Len: m.Len(), Has0: m.Contains("k0")}
			for k, v := range m.All() {
				c.All[k] = v.Value()
			}
			at1, _ := m.Get("k1")
			c.At1 = at1.Value()
			return c
		},
		Model: func(h proptest.History[countOp]) any {
			c := counters{All: map[string]int64{}}
			for _, e := range h.Live(func(later, earlier *proptest.Event[countOp]) bool {
				return later.Op.What == clearAll || later.Op.Key == earlier.Op.Key
			}) {
				if e.Op.What == add {
					c.All[keyName(e.Op.Key)] = 0
				}
			}
			for k := range 3 {
				if n, ok := spec.sum(h, k); ok {
					c.All[keyName(k)] = n
				}
			}
			_, c.Has0 = c.All["k0"]
			c.Len, c.At1 = len(c.All), c.All["k1"]
			return c
		},
	}
}
