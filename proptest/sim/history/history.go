package history

import (
	"fmt"
	"slices"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/keyspace"
)

// History is what the clients know: what they asked for, and what was acknowledged. It is the
// independent side of every judgement on data; it knows sets and sums, and nothing of items, dots
// or clocks.
type History struct {
	Sets      Shelf
	counters  map[string]*Sum
	Owns      Shelf             // what belongs to nodes
	Fleetings Shelf             // keys that expire
	finals    map[string]*Final // keys that may be permanently deleted
	lastFinal map[string]int    // by space, the number of the newest of them
	elements  int               // named so far
	patterns  []string          // of the keys that have become durable
}

// Shelf holds sets by key.
type Shelf map[string]*Set

// Set is the history of one set of unique elements: each is added once and removed at most
// once.
type Set struct {
	Key     string
	Durable bool
	Entries []*Entry
	ByElem  map[string]*Entry
	linear  []linearRead // the latest linearizable reads
	found   known
}

// Entry is one element's life.
type Entry struct {
	of      *Set
	Elem    string
	Slot    int
	Owner   uint64   // the uid of its writer; 0 where that does not matter
	Asked   int64    // when it was to be written, if that matters
	Field   string   // where a map has it; empty: in a set
	N       int      // its number there
	Acked   int64    // when a quorum had it; 0: not acknowledged by one
	Local   int64    // when the own replica had it (its disk, for a durable key)
	Gone    int64    // when a quorum had its removal, which had seen it; 0: not so
	at      int      // its place among the entries of its set
	Removed bool     // somebody asked to remove it
	Added   Fact     // the update that added it
	Taken   Fact     // and the one that removed it
	seen    int64    // when the first linearizable read ended that saw it; 0: none has
	missed  int64    // when the first one ended that missed it and had begun after that; 0: none has
	Group   []*Entry // all that one update has added; nil: only this
}

// Final is the history of a set that is permanently deleted at some time.
type Final struct {
	Set
	Asked   int64            // when somebody first asked to delete it
	Gone    int64            // when a quorum had the deletion
	Deleted Fact             // the deletion that a quorum had
	On      []int            // slots that had it on their disk, for a durable key
	Told    map[uint64]int64 // by uid: when a process was first told of it; only looked up
}

// Ask notes that somebody asks to delete the set.
func (b *Final) Ask(now int64) {
	if b.Asked == 0 {
		b.Asked = now
	}
}

// Delete notes that a quorum has a deletion. One that is excused is replaced by the next.
func (b *Final) Delete(f Fact, now int64) {
	if b.Gone == 0 || b.Deleted.Excused() {
		b.Gone, b.Deleted = now, f
	}
}

// Keep notes that a slot has the deletion on its disk.
func (b *Final) Keep(slot int) { b.On = append(b.On, slot) }

// Tell notes that a process was told of the deletion.
func (b *Final) Tell(uid uint64, at int64) {
	if _, ok := b.Told[uid]; !ok {
		b.Told[uid] = at
	}
}

// Sum is the history of one grow-only counter.
type Sum struct {
	Key     string
	durable bool
	Invoked uint64
	asked   []*Increment
	acked   []*Increment // those that a quorum acknowledged and that are not excused, in that order
	Floor   uint64       // their sum
	read    []AckedSum   // what linearizable reads that ended at a time counted, rising
}

// Increment is one update of a counter.
type Increment struct {
	AckedSum // at: when a quorum acknowledged it; 0: none has
	Added    Fact
}

// Ask notes that n is asked to be added.
func (b *Sum) Ask(n uint64) *Increment {
	b.Invoked += n
	i := &Increment{AckedSum: AckedSum{N: n}}
	b.asked = append(b.asked, i)
	return i
}

// Acknowledge notes that a quorum has an increment.
func (b *Sum) Acknowledge(i *Increment, at int64) {
	i.at = at
	if !i.Added.Excused() {
		b.Floor += i.N
		b.acked = append(b.acked, i)
	}
}

// AckedSum is a sum at a time.
type AckedSum struct {
	at int64
	N  uint64
}

// New is the history of clients that have done nothing.
func New() *History {
	return &History{Sets: Shelf{}, counters: map[string]*Sum{}, Owns: Shelf{}, Fleetings: Shelf{},
		finals: map[string]*Final{}, lastFinal: map[string]int{}}
}

// Set is the book of a set.
func (l *History) Set(key string) *Set { return l.book(l.Sets, key) }

// Owned is the book of a set or a map whose elements belong to nodes.
func (l *History) Owned(key string) *Set { return l.book(l.Owns, key) }

// Fleeting is the book of a set that expires.
func (l *History) Fleeting(key string) *Set { return l.book(l.Fleetings, key) }

// Final returns the book of the newest key of a space that was never deleted, or of one of those
// before it.
func (l *History) Final(space string, before int) *Final {
	key := func(n int) string { return fmt.Sprintf("%send/%06d", space, n) }
	n := l.lastFinal[space]
	if b := l.finals[key(n)]; b != nil && b.Asked != 0 {
		n++
		l.lastFinal[space] = n
	}
	if l.finals[key(n)] == nil {
		l.finals[key(n)] = &Final{Set: *l.newBook(key(n)), Told: map[uint64]int64{}}
	}
	return l.finals[key(max(0, n-before))]
}

func (l *History) newBook(key string) *Set {
	return &Set{Key: key, Durable: l.isDurable(key), ByElem: map[string]*Entry{}}
}

func (l *History) book(s Shelf, key string) *Set {
	b := s[key]
	if b == nil {
		b = l.newBook(key)
		s[key] = b
	}
	return b
}

// Sum is the book of a counter.
func (l *History) Sum(key string) *Sum {
	b := l.counters[key]
	if b == nil {
		b = &Sum{Key: key, durable: l.isDurable(key)}
		l.counters[key] = b
	}
	return b
}

// Add begins the life of an element that was never added before.
func (b *Set) Add(elem string, slot int) *Entry {
	e := &Entry{of: b, Elem: elem, at: len(b.Entries), Slot: slot}
	b.Entries = append(b.Entries, e)
	b.ByElem[elem] = e
	return e
}

// Acknowledge notes that a quorum has the element.
func (e *Entry) Acknowledge(now int64) { e.Acked = now }

// Apply notes that the replica of the writer has it.
func (e *Entry) Apply(now int64) { e.Local = now }

// Remove notes that somebody asks to remove it.
func (e *Entry) Remove() {
	e.Removed = true
	e.of.found.removed.Note(e, true)
}

// Own notes which process writes the element, and when that is asked for.
func (e *Entry) Own(uid uint64, now int64) { e.Owner, e.Asked = uid, now }

// Put notes that the element is a number in the field of a map.
func (e *Entry) Put(field string, n int) { e.Field, e.N = field, n }

// Take notes which update removed it, together with others, and that a quorum has that.
func (e *Entry) Take(f Fact, now int64) {
	e.Taken, e.Gone = f, now
	e.doubt()
}

// Go notes that a quorum has its removal, which had seen it.
func (e *Entry) Go(now int64) { e.Gone = now }

// Must reports whether a read that began at start must find the element, given what is known now.
func (e *Entry) Must(start int64) bool {
	return e.Acked != 0 && e.Acked < start && !e.Removed && !e.Added.Excused()
}

// MustNot reports whether a read that began at start must not find it.
func (e *Entry) MustNot(start int64) bool { return e.Gone != 0 && e.Gone < start && !e.Taken.Excused() }

// least is what a quorum read that began at start must count at least.
func (b *Sum) least(start int64) uint64 {
	sum := b.Floor
	for _, a := range slices.Backward(b.acked) {
		if a.at < start {
			break
		}
		sum -= a.N
	}
	return sum
}

// Lose asks of each update in one space that must last whether it is lost now.
func (l *History) Lose(durable bool, lost func(*Fact) bool) {
	for _, s := range []Shelf{l.Sets, l.Owns, l.Fleetings} {
		for _, b := range s { // order: each by itself
			b.lose(durable, lost)
		}
	}
	for _, b := range l.finals { // order: each by itself
		b.lose(durable, lost)
		if b.Durable == durable && b.Gone != 0 && b.Deleted.mayBeLost() {
			lost(&b.Deleted)
		}
	}
	for _, b := range l.counters { // order: each by itself
		if b.durable == durable {
			b.lose(lost)
		}
	}
}

// Ruined forgets what only the disk of a slot had to keep, of which it has kept less.
func (l *History) Ruined(slot int, kept *crdt.Clock) {
	for _, s := range []Shelf{l.Sets, l.Owns, l.Fleetings} {
		for _, b := range s { // order: each by itself
			b.ruined(slot, kept)
		}
	}
	for _, b := range l.finals { // order: each by itself
		b.ruined(slot, kept)
		b.On = slices.DeleteFunc(b.On, func(on int) bool { return on == slot })
	}
}

func (b *Set) ruined(slot int, kept *crdt.Clock) {
	for _, e := range b.Entries {
		if b.Durable && e.Slot == slot && (e.Added.Space != keyspace.Durable || !kept.Has(e.Added.Dot)) {
			e.Local = 0
		}
	}
}

func (b *Set) lose(durable bool, lost func(*Fact) bool) {
	if b.Durable != durable {
		return
	}
	for _, e := range b.Entries {
		gone := (e.Acked != 0 || e.seen != 0) && e.Added.mayBeLost() && lost(&e.Added)
		if (e.Gone != 0 || e.missed != 0) && e.Taken.mayBeLost() {
			gone = lost(&e.Taken) || gone
		}
		e.doubt()
		if gone {
			b.linear = nil
		}
	}
}

// lose forgets what reads counted when one of the increments is lost: they may have counted that.
func (b *Sum) lose(lost func(*Fact) bool) {
	any := false
	for _, i := range b.asked {
		if i.Added.mayBeLost() && lost(&i.Added) {
			any = true
			if i.at != 0 {
				b.Floor -= i.N
			}
		}
	}
	if any {
		b.read = nil
		b.acked = slices.DeleteFunc(b.acked, func(i *Increment) bool { return i.Added.Excused() })
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

// InOrder lists the sets by key.
func (s Shelf) InOrder() []*Set {
	books := make([]*Set, 0, len(s))
	for _, key := range sortedKeys(s) {
		books = append(books, s[key])
	}
	return books
}

// FinalsInOrder lists the sets that may be deleted, by key.
func (l *History) FinalsInOrder() []*Final {
	books := make([]*Final, 0, len(l.finals))
	for _, key := range sortedKeys(l.finals) {
		books = append(books, l.finals[key])
	}
	return books
}

// CountersInOrder lists the counters by key.
func (l *History) CountersInOrder() []*Sum {
	books := make([]*Sum, 0, len(l.counters))
	for _, key := range sortedKeys(l.counters) {
		books = append(books, l.counters[key])
	}
	return books
}

// Newest is the number of the element that was added last.
func (l *History) Newest() int { return l.elements }

// Next is the number of an element that was never added before.
func (l *History) Next() int {
	l.elements++
	return l.elements
}
