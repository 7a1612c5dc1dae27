package memory

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strconv"

	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// log is the events of all types in the order in which they were stored. The offset of an event is
// how many there are up to it.
type log struct {
	entries []entry
	grown   chan struct{} // closed when there are more; nil: nothing waits
}

type entry struct {
	of    entity
	slice int
	event persistence.Event
}

func (l *log) append(typ string, id protocol.EntityID, events []persistence.Event) {
	for _, e := range events {
		l.entries = append(l.entries, entry{of: entity{typ, id}, slice: persistence.SliceOf(string(id)), event: e})
	}
}

// forget leaves the places of a type's events, for the offsets, and nothing in them.
func (l *log) forget(typ string) {
	for i := range l.entries {
		if l.entries[i].of.typ == typ {
			l.entries[i] = entry{slice: -1}
		}
	}
}

// announce wakes what waits.
func (l *log) announce() {
	if l.grown != nil {
		close(l.grown)
		l.grown = nil
	}
}

// more returns a channel that is closed when there are more entries.
func (l *log) more() <-chan struct{} {
	if l.grown == nil {
		l.grown = make(chan struct{})
	}
	return l.grown
}

// Events implements persistence.Reader.
func (s *Store) Events(ctx context.Context, q persistence.Query) iter.Seq2[persistence.Recorded, error] {
	return func(yield func(persistence.Recorded, error) bool) {
		at, err := parseOffset(q.After)
		if err == nil {
			err = q.Check()
		}
		if err == nil {
			err = s.hooks.enter(ctx, "Events")
		}
		for err == nil {
			r, next, more, broken := s.next(q, at)
			switch {
			case next > at:
				if at = next; !yield(r, broken) {
					return
				}
				err = ctx.Err()
			case q.Live:
				err = wait(ctx, more)
			default:
				return
			}
		}
		if !q.Live || ctx.Err() == nil {
			yield(persistence.Recorded{}, err)
		}
	}
}

func wait(ctx context.Context, more <-chan struct{}) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-more:
		return nil
	}
}

// next returns the first event behind a place that a query asks for, or what is wrong with it, and the
// place after it. If there is none, the place is the same, and more is closed when there may be one.
func (s *Store) next(
	q persistence.Query, at int,
) (r persistence.Recorded, next int, more <-chan struct{}, broken error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := at; i < len(s.log.entries); i++ {
		e := &s.log.entries[i]
		if !e.fits(q) || e.event.Seq <= s.histories[e.of].deleted {
			continue
		}
		r = persistence.Recorded{Entity: e.of.id, Offset: persistence.Offset(strconv.Itoa(i + 1))}
		if s.histories[e.of].damaged[e.event.Seq] {
			r.Event = persistence.Event{Seq: e.event.Seq, Name: e.event.Name, Version: e.event.Version}
			return r, i + 1, nil, damage(q.Type, e.of.id, e.event.Seq)
		}
		r.Event = cloned(e.event)
		return r, i + 1, nil, nil
	}
	return r, at, s.log.more(), nil
}

func (e *entry) fits(q persistence.Query) bool {
	return e.of.typ == q.Type && q.HasSlice(e.slice) &&
		(q.Tag == "" || slices.Contains(e.event.Tags, q.Tag))
}

func parseOffset(o persistence.Offset) (int, error) {
	if o == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(string(o))
	if err != nil || n < 0 {
		return 0, fmt.Errorf("memory: %q is no offset of this store", string(o))
	}
	return n, nil
}
