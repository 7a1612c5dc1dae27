package membership

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Which keys are durable the chain of views says, so that all members agree at every moment. A node
// tells the patterns of its configuration when it asks to join. Those that the view does not have
// yet become Moving with the view that lets the node in. The replicators of all members then move
// the data of these keys, and each member says in its heartbeats when its part is done. When all
// have, the next view lists the patterns as Durable. One such move runs at a time: a node that
// brings other patterns waits until it has ended. A pattern that is agreed on stays, whether a node
// still has it configured or not, and a founding anew takes it over from the disks: data that was
// acknowledged as durable must be found. Only ForgetKeys takes it off them.

// Bounds of the patterns of a view, and of one node.
const (
	patternsMax    = 256
	roomOfPatterns = 16 << 10 // bytes
	movesMax       = 1<<16 - 1
)

// merged returns the patterns of both, sorted, each once.
func merged(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

// less returns the patterns of a that are not in b.
func less(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(p string) bool { return slices.Contains(b, p) })
}

// checkPatterns holds patterns to their order and bounds.
func checkPatterns(ps []string) error {
	bytes := 0
	for i, p := range ps {
		if bytes += 3 + len(p); p == "" || !utf8.ValidString(p) || i > 0 && ps[i-1] >= p {
			return fmt.Errorf("pattern %.40q of durable keys is empty, not UTF-8 or out of order", p)
		}
	}
	if len(ps) > patternsMax || bytes > roomOfPatterns {
		return fmt.Errorf("%d patterns of durable keys with %d bytes, at most %d with %d", len(ps), bytes, patternsMax, roomOfPatterns)
	}
	return nil
}

// checkMoves holds what a view says of durable keys to its invariants.
func (v *View) checkMoves() error {
	both := merged(v.Durable, v.Moving)
	switch {
	case len(both) != len(v.Durable)+len(v.Moving):
		return errors.New("view: a pattern is durable and moving, or given twice")
	case len(v.Moving) > 0 && v.Moves == 0:
		return errors.New("view: a move without a number")
	}
	return errors.Join(checkPatterns(v.Durable), checkPatterns(v.Moving), checkPatterns(both))
}

// refusesPatterns says why the patterns of a joiner cannot be agreed on; empty: they can.
func (v *View) refusesPatterns(patterns []string) string {
	known := merged(v.Durable, v.Moving)
	if len(less(patterns, known)) == 0 {
		return ""
	}
	if v.Moves == movesMax {
		return fmt.Sprintf("durable keys were added %d times already, which is as often as they can be", movesMax)
	}
	if err := checkPatterns(merged(known, patterns)); err != nil {
		return "a view has to be stored and sent, and with this node it has " + err.Error()
	}
	return ""
}

// agreeOnKeys fills in a founding view what the founders have configured, and what was agreed on
// before the cluster stopped. A move that was under way then needs no end: what was volatile is
// gone, and the replicators bring the rest together.
func (v *View) agreeOnKeys(founders []Probe, needs []Known) error {
	for _, p := range founders {
		v.Durable = merged(v.Durable, p.Durable)
	}
	for _, k := range needs {
		v.Durable, v.Moves = merged(v.Durable, k.Durable), max(v.Moves, k.Moves)
	}
	return checkPatterns(v.Durable)
}

// takesPatterns reports whether a joiner that brings patterns can be let in now: not while the data
// of other keys moves.
func (v *View) takesPatterns(patterns []string, parent *View) bool {
	if len(less(patterns, merged(v.Durable, v.Moving))) == 0 {
		return true
	}
	return (len(v.Moving) == 0 || v.Moves != parent.Moves) && v.refusesPatterns(patterns) == ""
}

// beginMove makes what a joiner brings move, if it is new.
func (v *View) beginMove(patterns []string, parent *View) {
	more := less(patterns, merged(v.Durable, v.Moving))
	if len(more) == 0 {
		return
	}
	if v.Moves == parent.Moves {
		v.Moves++
	}
	v.Moving = merged(v.Moving, more)
}

// endMove lets the keys that move be durable when all members that stay have done their part.
func (m *Machine) endMove(c *candidate) {
	next := c.proposal.View
	waits := func(o Member) bool { return m.movedBy(o.UID) != next.Moves && !m.cfg.Faults.MoveUnasked }
	if len(next.Moving) == 0 || slices.ContainsFunc(next.Members, waits) {
		return
	}
	next.Durable, next.Moving = merged(next.Durable, next.Moving), nil
	c.changed = true
}

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
	if lead, ok := m.lead(); !ok || lead != m.cfg.UID {
		return
	}
	if m.now.Before(m.slowMoveAt) {
		m.dueAt(m.slowMoveAt)
		return
	}
	m.slowMoveAt = m.now.Add(slowMoveEach)
	var missing []string
	for _, o := range m.view.Members {
		if m.movedBy(o.UID) != m.view.Moves {
			missing = append(missing, fmt.Sprintf("%v@%s", o.UID, o.Addr))
		}
	}
	if len(missing) > 0 {
		m.event(KeysWaiting{m.view, shorten(strings.Join(missing, ", "), reasonMax, "…")})
	}
}

// movedBy is the last move of which a member has done its part.
func (m *Machine) movedBy(u UID) uint16 {
	if u == m.cfg.UID {
		return m.self.moved
	}
	if p := m.peers[u]; p != nil {
		return p.moved
	}
	return 0
}

// onMoved takes the word of this node's replicators.
func (m *Machine) onMoved(number uint16) {
	if number == m.self.moved {
		return
	}
	m.self.moved = number
	if m.view != nil {
		m.wake = true
		m.toVoters(m.heartbeat()) // they decide what follows
	}
}
