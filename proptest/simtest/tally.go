package simtest

import (
	"errors"
	"fmt"
	"strings"

	"github.com/coterie-go/coterie/sharding"
)

// tally counts what the worlds of a test have shown, for people.
type tally struct {
	worlds, operations int
	open               int    // operations without an answer
	failed             int    // of these, those whose handler failed with an error that says nothing to clients
	failure            string // the first of them
	undecided          int    // histories without a verdict
}

// unanswered counts an operation whose client has heard err.
func (t *tally) unanswered(err error) {
	t.open++
	if errors.Is(err, sharding.ErrHandler) {
		if t.failed++; t.failed == 1 {
			t.failure = err.Error()
		}
	}
}

// add adds the tally of a world.
func (t *tally) add(o tally) {
	if t.failed == 0 {
		t.failure = o.failure
	}
	t.worlds, t.operations, t.open = t.worlds+1, t.operations+o.operations, t.open+o.open
	t.failed, t.undecided = t.failed+o.failed, t.undecided+o.undecided
}

// String says it in lines.
func (t *tally) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "simtest: %d operations in %d worlds", t.operations, t.worlds)
	if t.open > 0 {
		fmt.Fprintf(&b, ", %d of them without an answer", t.open)
	}
	if t.failed > 0 {
		fmt.Fprintf(&b, "\nsimtest: of these, %d failed with an error that is not in EntityType.Errors: if that "+
			"is what the entity answers, put it there. The first: %s", t.failed, t.failure)
	}
	if t.undecided > 0 {
		fmt.Fprintf(&b, "\nsimtest: for %d histories there was no verdict in %v, and they passed: let there be "+
			"fewer Steps, or more Entities", t.undecided, checkMost)
	}
	return b.String()
}
