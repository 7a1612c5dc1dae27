package membership

import (
	"fmt"
	"strings"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/bootstrap"
)

// Which keys are durable the chain of views says, so that all members agree at every moment. A node
// tells the patterns of its configuration when it asks to join. Those that the view does not have
// yet become Moving with the view that lets the node in. The replicators of all members then move
// the data of these keys, and each member says in its heartbeats when its part is done. When all
// have, the next view lists the patterns as Durable. One such move runs at a time: a node that
// brings other patterns waits until it has ended. A pattern that is agreed on stays, whether a node
// still has it configured or not, and a founding anew takes it over from the disks: data that was
// acknowledged as durable must be found. Only ForgetKeys takes it off them.

// A move that lasts for slowMove is said to wait, and again every slowMoveEach.
const (
	slowMove     = 10 * time.Second
	slowMoveEach = time.Minute
)

// tellSlowMove says for which nodes a move waits, if it lasts.
func (m *Machine) tellSlowMove() {
	if len(m.view.Moving) == 0 {
		return
	}
	if !m.leads() {
		return
	}
	if !m.slowMove.over(m.now, slowMoveEach) {
		m.dueAt(m.slowMove.until)
		return
	}
	var missing []string
	for _, o := range m.view.Members {
		if m.reports.Moved(o.UID) != m.view.Moves {
			missing = append(missing, fmt.Sprintf("%v@%s", o.UID, o.Addr))
		}
	}
	if len(missing) > 0 {
		m.fx.event(KeysWaiting{m.view.View, bootstrap.Shorten(strings.Join(missing, ", "), bootstrap.ReasonMax, "…")})
	}
}
