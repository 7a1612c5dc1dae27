package membership

import (
	"fmt"
	"strings"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/bootstrap"
	"github.com/coterie-go/coterie/ddata/membership/view"
)

// Which keys are durable the chain of views says, so that all members agree at every moment. A node
// tells the patterns of its configuration when it asks to join. Those that the view does not have
// yet become Moving with the view that lets the node in. The replicators of all members then move
// the data of these keys, and each member says in its heartbeats when its part is done. When all
// have, the next view lists the patterns as Durable. One such move runs at a time: a node that
// brings other patterns waits until it has ended. A pattern that is agreed on stays, whether a node
// still has it configured or not, and a founding anew takes it over from the disks: data that was
// acknowledged as durable must be found. Only ForgetKeys takes it off them.

// A move that lasts for slowMove is said to wait, and again every slowMoveEach. So is a retirement.
const (
	slowMove     = 10 * time.Second
	slowMoveEach = time.Minute
)

// moves tells when a move of keys lasts.
type moves struct {
	*step
	in   *cluster
	slow pause // between events that a move waits
}

// begin notes that a view begins a move.
func (o *moves) begin() { o.slow.begin(o.now, slowMove) }

// advance says for which nodes a move waits, if it lasts. The node that leads says so.
func (o *moves) advance(leads func() bool) {
	v := o.in.view
	if len(v.Moving) == 0 || !leads() {
		return
	}
	if !o.slow.over(o.now, slowMoveEach) {
		o.dueAt(o.slow.until)
		return
	}
	var missing []view.Member
	for _, m := range v.Members {
		if o.in.reports.Moved(m.UID) != v.Moves {
			missing = append(missing, m)
		}
	}
	if len(missing) > 0 {
		o.fx.event(KeysWaiting{v.View, named(missing)})
	}
}

// named lists members in an event; empty: there are none.
func named(ms []view.Member) string {
	names := make([]string, len(ms))
	for i, m := range ms {
		names[i] = fmt.Sprintf("%v@%s", m.UID, m.Addr)
	}
	return bootstrap.Shorten(strings.Join(names, ", "), bootstrap.ReasonMax, "…")
}
