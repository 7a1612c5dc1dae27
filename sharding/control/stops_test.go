package control

import (
	"testing"

	"github.com/coterie-go/coterie/sharding/dataplane"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// Each StopShards ends when all of its shards rest, not before, and not because another's do; one
// whose context has ended is forgotten.
func TestStopShardsWaitsForItsOwn(t *testing.T) {
	var c Stops
	wait := func(shards ...protocol.ShardID) *stopWait {
		w := newStopWait(shards)
		c.add(w)
		return w
	}
	ended := func(w *stopWait) bool { return dataplane.IsDone(w.Done) }
	one, two, gone := wait(1, 2), wait(2, 3), wait(1)
	c.forget(gone)
	for _, x := range []struct {
		rests    protocol.ShardID
		one, two bool
	}{{2, false, false}, {1, true, false}, {3, true, true}} {
		if c.AtRest([]protocol.ShardID{x.rests}); ended(one) != x.one || ended(two) != x.two {
			t.Errorf("with %d at rest the first has ended: %v, the second: %v", x.rests, ended(one), ended(two))
		}
	}
	if ended(gone) || len(c.Waits) != 0 {
		t.Errorf("%d wait", len(c.Waits))
	}
}
