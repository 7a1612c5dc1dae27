package region

import (
	"testing"
	"time"

	"github.com/coterie-go/coterie/sharding/protocol"
)

// TestRegionReportsLoads: only what has changed, now and then all of it, and all of it to each new
// coordinator.
func TestRegionReportsLoads(t *testing.T) {
	r, err := New(protocol.Config{Identity: protocol.Identity{Name: "t", Shards: 8}, Self: 2}, newRand())
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(0, 0)
	r.Step(now, protocol.Install{View: viewOf(1, 1, 2)})
	measure := func(ls ...protocol.ShardLoad) string {
		return r.Step(now, protocol.Measured{Period: time.Second, Shards: ls}).String()
	}
	a, b := protocol.ShardLoad{Shard: 1, Messages: 100, Entities: 10}, protocol.ShardLoad{Shard: 2, Messages: 50}
	if got := measure(a); got != "" {
		t.Errorf("without a destination: %s", got)
	}
	r.Step(now, protocol.Receive{From: 1, Msg: protocol.Registered{Floor: protocol.Token{Epoch: 1, Up: 1, Seq: 1}}})
	if got := measure(a, b); got != "→1 loads 1s 1:100/0s/10 2:50/0s/0\n" {
		t.Errorf("the first: %s", got)
	}
	b.Messages = 100
	a.Messages = 105
	if got := measure(a, b); got != "→1 loads 1s 2:100/0s/0\n" {
		t.Errorf("what has changed: %s", got)
	}
	if got := measure(a, b); got != "" {
		t.Errorf("nothing has changed: %s", got)
	}
	all := 0
	for range 2 * allLoads {
		if got := measure(a, b); got != "" {
			all++
		}
	}
	if all != 2 {
		t.Errorf("all was reported %d times", all)
	}
}
