package proptest

import "github.com/coterie-go/coterie/crdt"

// Past is the operations on one key that were carried out in a test of its own, for the Model of Laws.
// One goroutine at a time may use it.
type Past[O any] struct {
	events events[O]
	dots   []crdt.Dot
}

// Add notes an operation, the event that it made, and which events its replica had before. An operation
// that makes no event has none in a History.
func (p *Past[O]) Add(op O, event crdt.Dot, wall int64, had func(crdt.Dot) bool) {
	seen := p.seen(had)
	p.events.add(op, "", event.Origin, wall, seen)
	p.dots = append(p.dots, event)
}

// Of is the history of a replica that has some events.
func (p *Past[O]) Of(has func(crdt.Dot) bool) History[O] {
	return History[O]{&p.events, "", p.seen(has)}
}

func (p *Past[O]) seen(has func(crdt.Dot) bool) (seen bits) {
	for id, d := range p.dots {
		if has(d) {
			seen = seen.set(id)
		}
	}
	return seen
}

// Alike reports whether a Value and a Model say the same. Empty and nil are the same.
func Alike(value, model any) bool { return alike(value, model) }
