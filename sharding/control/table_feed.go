package control

import (
	"sync/atomic"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// tableFeed brings the changes of the table of homes to the loop. Only the latest table counts.
type tableFeed struct {
	latest atomic.Pointer[crdt.Reader] // not looked at yet; nil: none is
	seen   protocol.TableWatch         // the loop's
}

// put takes a table. It reports whether the loop has to look: if not, it is about to.
func (f *tableFeed) put(v crdt.Reader) (look bool) { return f.latest.Swap(&v) == nil }

// take returns what has changed since the last look.
func (f *tableFeed) take() protocol.TableChanged {
	return protocol.TableChanged{Entries: f.seen.Changed(*f.latest.Swap(nil))}
}
