package shard

import (
	"testing"
	"time"

	"github.com/coterie-go/coterie/sharding/protocol"
)

// TestA6HandOffWhileWaiting: a shard that waits for its lease, or for what it remembers, answers a
// stop at once.
func TestA6HandOffWhileWaiting(t *testing.T) {
	for name, loading := range map[string]bool{"lease": false, "remembered ids": true} {
		cfg := protocol.Config{Identity: protocol.Identity{Name: "t", Shards: 4}, Self: 1}
		cfg.Remember.Entities = true
		if !loading {
			cfg.Leases.Shards = "store"
		}
		sh, err := New(cfg, newRand(), 2)
		if err != nil {
			t.Fatal(err)
		}
		now := time.Unix(0, 0)
		fx := sh.Step(now, protocol.Open{})
		if len(fx.Read) == 1 != loading || len(fx.Lease) == 1 == loading {
			t.Fatalf("%s: it does not wait for that:\n%v", name, fx)
		}
		fx = sh.Step(now, protocol.Stop{HandOff: protocol.Token{Epoch: 1, Up: 1, Seq: 1}})
		if len(fx.Region) != 1 || fx.Region[0] != (protocol.ShardStopped{
			Shard: 2, HandOff: protocol.Token{Epoch: 1, Up: 1, Seq: 1},
		}) {
			t.Errorf("%s: no answer at once:\n%v", name, fx)
		}
	}
}
