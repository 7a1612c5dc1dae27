package history

import (
	"slices"
	"strings"

	"github.com/coterie-go/coterie/replicator/keyspace"
)

// isDurable reports whether a key is durable, by the simulator's rule for its own keys and for
// those that have become durable.
func (l *History) isDurable(key string) bool {
	named := func(p string) bool { return keyspace.Match(p, key) }
	return strings.HasPrefix(key, "d/") || slices.ContainsFunc(l.patterns, named)
}

// Agreed takes over the patterns of the keys that a view has as durable. All that was acknowledged
// of them before is on the disks of its members, whose slots are those of in.
func (l *History) Agreed(patterns []string, in func(slot int) bool) {
	if len(patterns) <= len(l.patterns) {
		return
	}
	l.patterns = patterns
	for _, s := range []Shelf{l.Sets, l.Owns, l.Fleetings} {
		for _, b := range s { // order: each by itself
			if was := b.Durable; was != l.isDurable(b.Key) {
				b.becomeDurable(in)
			}
		}
	}
	for _, b := range l.finals { // order: each by itself
		if was := b.Durable; was != l.isDurable(b.Key) {
			b.becomeDurable(in)
			b.On = nil
		}
	}
	for _, b := range l.counters { // order: each by itself
		b.durable = l.isDurable(b.Key)
	}
}

// becomeDurable: what only one replica had until now may have gone with it. The disk of a slot that is in the view no
// more has nothing of it.
func (b *Set) becomeDurable(in func(slot int) bool) {
	b.Durable = true
	for _, e := range b.Entries {
		if e.Acked == 0 || e.Added.Excused() || !in(e.Slot) {
			e.Local = 0
		}
	}
}
