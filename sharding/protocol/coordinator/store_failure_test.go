package coordinator

import (
	"strings"
	"testing"

	"github.com/coterie-go/coterie/sharding/protocol"
)

// TestResumedIsSaidOnce: a write that hangs, and fails after a later one has worked, is no new failure. That it works
// again is said once, when all that was tried before has an answer.
func TestResumedIsSaidOnce(t *testing.T) {
	l := acting(t, protocol.Config{}, nil, 1)
	said := ""
	step := func(in protocol.CoordinatorInput) { said += l.step(in) + "\n" }
	wrote := func(s protocol.ShardID, err error) {
		for id, w := range l.c.term.store.writes { // order: one of them is of the shard
			if w.Kind == protocol.StateHomes && w.Homes[0].Shard == s {
				step(protocol.Wrote{ID: id, Err: err})
				return
			}
		}
		t.Fatalf("no home of shard %d is written", s)
	}
	l.get(0)
	l.get(1)
	wrote(0, errStore)
	l.get(2)
	wrote(2, nil)
	wrote(1, errStore)
	for n, kind := range []protocol.EventKind{protocol.StateResumed, protocol.StateDelayed} {
		if got := strings.Count(said, kind.String()); got != n {
			t.Errorf("%v was said %d times:\n%s", kind, got, said)
		}
	}
	l.now = l.now.Add(l.c.cfg.Coordination.RetryInterval)
	l.step(protocol.Tick{})
	wrote(0, nil)
	wrote(1, nil)
	if got := strings.Count(said, protocol.StateResumed.String()); got != 1 {
		t.Errorf("that it works again was said %d times:\n%s", got, said)
	}
}
