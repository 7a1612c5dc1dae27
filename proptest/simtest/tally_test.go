package simtest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/coterie-go/coterie/sharding"
)

// A test that sees little says so: business errors that clients cannot tell from failures, and histories
// without a verdict.
func TestTallyTellsWhatWasNotSeen(t *testing.T) {
	var all tally
	for _, cause := range []string{"no money", "no account"} {
		world := tally{operations: 3}
		world.unanswered(fmt.Errorf("%w: %s", sharding.ErrHandler, cause))
		world.unanswered(context.DeadlineExceeded)
		all.add(world)
	}
	all.add(tally{operations: 1})
	text := all.String()
	for _, want := range []string{"7 operations in 3 worlds, 4 of them", "2 failed", "no money", "EntityType.Errors"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not told:\n%s", want, text)
		}
	}
	if strings.Contains(text, "no account") || strings.Contains(text, "verdict") {
		t.Errorf("too much is told:\n%s", text)
	}
	if all.add(tally{undecided: 2}); !strings.Contains(all.String(), "for 2 histories there was no verdict") {
		t.Errorf("histories without a verdict are not told:\n%v", &all)
	}
}
