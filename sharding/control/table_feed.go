package control

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// tableFeed brings the changes of the table of homes to the loop. Only the latest table counts.
//
// Invariant: at most one table at a time is compared and told of. What compares it has seen for itself.
type tableFeed struct {
	latest atomic.Pointer[crdt.Reader] // not looked at yet; nil: none is
	seen   protocol.TableWatch
	busy   bool // a table is compared, or told of; the loop's
}

// put takes a table. It reports whether the loop has to look: if not, it is about to.
func (f *tableFeed) put(v crdt.Reader) (look bool) { return f.latest.Swap(&v) == nil }

// look has the latest table compared with the one before, beside the loop: they may differ in all shards.
func (f *tableFeed) look(c *Plane) {
	if f.busy {
		return
	}
	v := f.latest.Swap(nil)
	if v == nil {
		return
	}
	f.busy = c.Inbox.Aside(func() {
		parts := slices.Collect(slices.Chunk(f.seen.Changed(*v), protocol.BatchMax))
		c.Inbox.Do(func(c *Plane, _ time.Time) { f.tell(c, parts) })
	})
}

// tell tells the machines what has changed, a part at a time: no step is longer because the table is large, and what
// else waits for the loop comes between.
func (f *tableFeed) tell(c *Plane, parts [][]protocol.Entry) {
	if len(parts) > 0 {
		in := protocol.TableChanged{Entries: parts[0]}
		c.toRegion(in)
		c.Coord.post(in)
		parts = parts[1:]
	}
	if len(parts) > 0 {
		c.Inbox.Do(func(c *Plane, _ time.Time) { f.tell(c, parts) })
		return
	}
	f.busy = false
	f.look(c)
}
