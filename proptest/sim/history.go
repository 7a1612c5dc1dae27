package sim

import (
	"fmt"
	"slices"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/keyspace"
)

// history is what the clients know: what they asked for, and what was acknowledged. It is the
// independent side of every judgement on data; it knows sets and sums, and nothing of items, dots
// or clocks.
type history struct {
	sets      shelf
	counters  map[string]*sumBook
	owns      shelf                 // what belongs to nodes
	fleetings shelf                 // keys that expire
	finals    map[string]*finalBook // keys that may be permanently deleted
	lastFinal map[string]int        // by space, the number of the newest of them
	nextElem  int
	patterns  []string // of the keys that have become durable
}

// shelf holds sets by key.
type shelf map[string]*setBook

// setBook is the history of one set of unique elements: each is added once and removed at most
// once.
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
	owner   *Process // its writer; nil where that does not matter
	asked   int64    // when it was to be written, if that matters
	field   string   // where a map has it; empty: in a set
	n       int      // its number there
	acked   int64    // when a quorum had it; 0: not acknowledged by one
	local   int64    // when the own replica had it (its disk, for a durable key)
	removed bool     // somebody asked to remove it
	gone    int64    // when a quorum had its removal, which had seen it; 0: not so
	added   fact     // the update that added it
	taken   fact     // and the one that removed it
	seen    int64    // when the first linearizable read ended that saw it; 0: none has
	missed  int64    // when the first one ended that missed it and had begun after that; 0: none has
	group   []*entry // all that one update has added; nil: only this
}

// finalBook is the history of a set that is permanently deleted at some time.
type finalBook struct {
	setBook
	asked   int64            // when somebody first asked to delete it
	gone    int64            // when a quorum had the deletion
	deleted fact             // the deletion that a quorum had
	on      []int            // slots that had it on their disk, for a durable key
	told    map[uint64]int64 // by uid: when a process was first told of it; only looked up
}

func (b *finalBook) tell(p *Process, at int64) {
	if _, ok := b.told[p.uid]; !ok {
		b.told[p.uid] = at
	}
}

// sumBook is the history of one grow-only counter.
type sumBook struct {
	key     string
	durable bool
	invoked uint64
	asked   []*increment
	acked   []*increment // those that a quorum acknowledged and that are not excused, in that order
	floor   uint64       // their sum
	read    []ackedSum   // what linearizable reads that ended at a time counted, rising
}

// increment is one update of a counter.
type increment struct {
	ackedSum // at: when a quorum acknowledged it; 0: none has
	added    fact
}

// acknowledge notes that a quorum has an increment.
func (b *sumBook) acknowledge(i *increment, at int64) {
	i.at = at
	if !i.added.excused() {
		b.floor += i.n
		b.acked = append(b.acked, i)
	}
}

type ackedSum struct {
	at int64
	n  uint64
}

func newHistory() *history {
	return &history{sets: shelf{}, counters: map[string]*sumBook{}, owns: shelf{}, fleetings: shelf{},
		finals:    map[string]*finalBook{},
		lastFinal: map[string]int{}}
}

func (l *history) set(key string) *setBook { return l.book(l.sets, key) }

func (l *history) owned(key string) *setBook { return l.book(l.owns, key) }

func (l *history) fleeting(key string) *setBook { return l.book(l.fleetings, key) }

// final returns the book of the newest key of a space that was never deleted, or of one of those
// before it.
func (l *history) final(space string, before int) *finalBook {
	key := func(n int) string { return fmt.Sprintf("%send/%06d", space, n) }
	n := l.lastFinal[space]
	if b := l.finals[key(n)]; b != nil && b.asked != 0 {
		n++
		l.lastFinal[space] = n
	}
	if l.finals[key(n)] == nil {
		l.finals[key(n)] = &finalBook{setBook: *l.newBook(key(n)), told: map[uint64]int64{}}
	}
	return l.finals[key(max(0, n-before))]
}

func (l *history) newBook(key string) *setBook {
	return &setBook{key: key, durable: l.isDurable(key), byElem: map[string]*entry{}}
}

func (l *history) book(s shelf, key string) *setBook {
	b := s[key]
	if b == nil {
		b = l.newBook(key)
		s[key] = b
	}
	return b
}

func (l *history) counter(key string) *sumBook {
	b := l.counters[key]
	if b == nil {
		b = &sumBook{key: key, durable: l.isDurable(key)}
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

// must reports whether a read that began at start must find the element, given what is known now.
func (e *entry) must(start int64) bool {
	return e.acked != 0 && e.acked < start && !e.removed && !e.added.excused()
}

// mustNot reports whether a read that began at start must not find it.
func (e *entry) mustNot(start int64) bool { return e.gone != 0 && e.gone < start && !e.taken.excused() }

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

// lose asks of each update in one space that must last whether it is lost now.
func (l *history) lose(durable bool, lost func(*fact) bool) {
	for _, s := range []shelf{l.sets, l.owns, l.fleetings} {
		for _, b := range s { // order: each by itself
			b.lose(durable, lost)
		}
	}
	for _, b := range l.finals { // order: each by itself
		b.lose(durable, lost)
		if b.durable == durable && b.gone != 0 && b.deleted.mayBeLost() {
			lost(&b.deleted)
		}
	}
	for _, b := range l.counters { // order: each by itself
		if b.durable == durable {
			b.lose(lost)
		}
	}
}

// ruined forgets what only the disk of a slot had to keep, of which it has kept less.
func (l *history) ruined(slot int, kept *crdt.Clock) {
	for _, s := range []shelf{l.sets, l.owns, l.fleetings} {
		for _, b := range s { // order: each by itself
			b.ruined(slot, kept)
		}
	}
	for _, b := range l.finals { // order: each by itself
		b.ruined(slot, kept)
		b.on = slices.DeleteFunc(b.on, func(on int) bool { return on == slot })
	}
}

func (b *setBook) ruined(slot int, kept *crdt.Clock) {
	for _, e := range b.entries {
		if b.durable && e.slot == slot && (e.added.space != keyspace.Durable || !kept.Has(e.added.dot)) {
			e.local = 0
		}
	}
}

func (b *setBook) lose(durable bool, lost func(*fact) bool) {
	if b.durable != durable {
		return
	}
	for _, e := range b.entries {
		gone := (e.acked != 0 || e.seen != 0) && e.added.mayBeLost() && lost(&e.added)
		if (e.gone != 0 || e.missed != 0) && e.taken.mayBeLost() {
			gone = lost(&e.taken) || gone
		}
		if gone {
			b.linear = nil
		}
	}
}

// lose forgets what reads counted when one of the increments is lost: they may have counted that.
func (b *sumBook) lose(lost func(*fact) bool) {
	any := false
	for _, i := range b.asked {
		if i.added.mayBeLost() && lost(&i.added) {
			any = true
			if i.at != 0 {
				b.floor -= i.n
			}
		}
	}
	if any {
		b.read = nil
		b.acked = slices.DeleteFunc(b.acked, func(i *increment) bool { return i.added.excused() })
	}
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

// inOrder yields the books by key.
func (s shelf) inOrder() []*setBook {
	books := make([]*setBook, 0, len(s))
	for _, key := range sortedKeys(s) {
		books = append(books, s[key])
	}
	return books
}

func (l *history) finalsInOrder() []*finalBook {
	books := make([]*finalBook, 0, len(l.finals))
	for _, key := range sortedKeys(l.finals) {
		books = append(books, l.finals[key])
	}
	return books
}
