package events

import (
	"iter"
	"maps"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
)

// kindsMax bounds the kinds of events that are counted one by one; further ones are counted
// together.
const kindsMax = 256

// otherKinds is the kind of those beyond kindsMax.
const otherKinds = "other"

// Counts counts events by their kind, from the start of a node. The kind is the name of the type,
// for those of other packages with its package. It may be used from any goroutine.
type Counts struct {
	of atomic.Pointer[map[reflect.Type]*kindCount] // nil: none yet. A map does not change; those with a new kind follow

	mu    sync.Mutex // for new kinds
	other kindCount
}

type kindCount struct {
	name string
	n    atomic.Uint64
}

// Tell counts an event.
func (c *Counts) Tell(e Event) {
	t := reflect.TypeOf(e)
	k := c.known()[t]
	if k == nil {
		k = c.add(t)
	}
	k.n.Add(1)
}

func (c *Counts) add(t reflect.Type) *kindCount {
	c.mu.Lock()
	defer c.mu.Unlock()
	known := c.known()
	if k := known[t]; k != nil {
		return k
	}
	if len(known) == kindsMax {
		return &c.other
	}
	more := maps.Collect(maps.All(known))
	more[t] = &kindCount{name: kindOf(t)}
	c.of.Store(&more)
	return more[t]
}

// known are the kinds so far, by type.
func (c *Counts) known() map[reflect.Type]*kindCount {
	if m := c.of.Load(); m != nil {
		return *m
	}
	return nil
}

// kindOf names a kind of event.
func kindOf(t reflect.Type) string {
	return strings.TrimPrefix(strings.TrimPrefix(t.String(), "*"), "events.")
}

// All returns the number of each kind. Those of this package are there from the start, so that a
// series does not begin with the first event.
func (c *Counts) All() iter.Seq2[string, uint64] {
	all := map[string]uint64{}
	for _, e := range kinds {
		all[kindOf(reflect.TypeOf(e))] = 0
	}
	for _, k := range c.known() {
		all[k.name] += k.n.Load()
	}
	if n := c.other.n.Load(); n > 0 {
		all[otherKinds] += n
	}
	return maps.All(all)
}
