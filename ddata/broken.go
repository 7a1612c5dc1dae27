package ddata

import (
	"errors"
	"fmt"

	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/ddata/runloop"
)

// broken ends the node because one of its machines has panicked: at once without its lease, as a
// crash for the others, and with ErrBroken. The process goes on, and decides what to do. name says
// which machine, state is what it was in. It is for the loops of this package and of extensions, on
// whose goroutines it is called; see runloop.Loop.WhenBroken.
func (n *Node) broken(name string, b runloop.Broken, state fmt.Stringer) {
	n.end.finish(fmt.Errorf("%w: %s: %v; the log has its state: report it, and start the node again",
		ErrBroken, name, b.Value))
	defer func() { _ = recover() }() // a listener may be what has panicked, and may do so again
	n.reports.emit(events.MachineBroken{
		Machine: name, State: stateOf(state), Panic: fmt.Sprint(b.Value), Stack: string(b.Stack),
	})
}

// stateOf prints the state of a machine that may be unable to.
func stateOf(s fmt.Stringer) (text string) {
	defer func() {
		if v := recover(); v != nil {
			text = fmt.Sprintf("it does not print itself: %v", v)
		}
	}()
	if text = s.String(); len(text) > stateMax {
		text = text[:stateMax] + "…"
	}
	return text
}

// stateMax bounds what the log takes of the state of a machine.
const stateMax = 64 << 10

// unexpected reports whether the node ends for a reason that an operator should look at.
func unexpected(err error) bool {
	return errors.Is(err, ErrDowned) || errors.Is(err, ErrBroken) || errors.Is(err, ErrStore) ||
		errors.Is(err, ErrOutdated)
}
