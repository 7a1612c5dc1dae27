package sim

import (
	"slices"
	"strings"
)

// ledger is what the clients know: what they asked for, and what was acknowledged. It is the independent side of every judgement on
// data; it knows sets and sums, and nothing of items, dots or clocks.
type ledger struct {
	sets     map[string]*setBook
	counters map[string]*sumBook
	nextElem int
}

// setBook is the history of one set of unique elements: each is added once and removed at most once.
type setBook struct {
	key     string
	durable bool
	entries []*entry
	byElem  map[string]*entry
	linear  []linearRead // the latest linearizable reads
}

// entry is one element's life.
type entry struct {
	elem    string
	slot    int
	acked   int64 // when a quorum had it; 0: not acknowledged by one
	local   int64 // when the own replica had it (its disk, for a durable key)
	removed bool  // somebody asked to remove it
	gone    int64 // when a quorum had its removal, which had seen it; 0: not so
	excused bool  // more than a minority of those who may have had it is gone
	seen    int64 // when the first linearizable read ended that saw it; 0: none has
	missed  int64 // when the first one ended that missed it and had begun after that; 0: none has
}

// sumBook is the history of one grow-only counter.
type sumBook struct {
	key     string
	durable bool
	invoked uint64
	acked   []ackedSum
	floor   uint64     // of all that a quorum acknowledged and that is not excused
	read    []ackedSum // what linearizable reads that ended at a time counted, rising
}

type ackedSum struct {
	at int64
	n  uint64
}

func newLedger() *ledger {
	return &ledger{sets: map[string]*setBook{}, counters: map[string]*sumBook{}}
}

// isDurable is the simulator's rule for its own keys.
func isDurable(key string) bool { return strings.HasPrefix(key, "d/") }

func (l *ledger) set(key string) *setBook {
	b := l.sets[key]
	if b == nil {
		b = &setBook{key: key, durable: isDurable(key), byElem: map[string]*entry{}}
		l.sets[key] = b
	}
	return b
}

func (l *ledger) counter(key string) *sumBook {
	b := l.counters[key]
	if b == nil {
		b = &sumBook{key: key, durable: isDurable(key)}
		l.counters[key] = b
	}
	return b
}

func (b *setBook) add(elem string, slot int) *entry {
	e := &entry{elem: elem, slot: slot}
	b.entries = append(b.entries, e)
	b.byElem[elem] = e
	return e
}

// must says whether a read that began at start must find the element, given what is known now.
func (e *entry) must(start int64) bool {
	return e.acked != 0 && e.acked < start && !e.removed && !e.excused
}

// mustNot says whether a read that began at start must not find it.
func (e *entry) mustNot(start int64) bool { return e.gone != 0 && e.gone < start && !e.excused }

// least is what a quorum read that began at start must count at least.
func (b *sumBook) least(start int64) uint64 {
	sum := b.floor
	for _, a := range slices.Backward(b.acked) {
		if a.at < start {
			break
		}
		sum -= a.n
	}
	return sum
}

// excuse forgives everything in one space that was acknowledged so far: more than a minority of its witnesses is gone.
func (l *ledger) excuse(durable bool) (n uint64) {
	for _, b := range l.sets {
		if b.durable != durable {
			continue
		}
		for _, e := range b.entries {
			if !e.excused && (e.acked != 0 || e.gone != 0) {
				n++
			}
			e.excused = true
		}
		b.linear = nil
	}
	for _, b := range l.counters {
		if b.durable != durable {
			continue
		}
		b.floor, b.acked, b.read = 0, nil, nil
	}
	return n
}

// sortedKeys gives a map's keys in order.
func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
