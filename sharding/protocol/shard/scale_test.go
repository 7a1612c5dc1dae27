package shard

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/coterie-go/coterie/sharding/protocol"
)

// BenchmarkShardStarts measures what the machine does for each new entity that is remembered, with
// writes that take as long as 1,000 starts.
func BenchmarkShardStarts(b *testing.B) {
	s, err := New(protocol.Config{Identity: protocol.Identity{Name: "t", Shards: 1}, Self: 1,
		Remember: protocol.Remember[protocol.StoreID]{Entities: true}}, rand.New(rand.NewPCG(1, 1)), 0)
	if err != nil {
		b.Fatal(err)
	}
	now := time.Unix(0, 0)
	s.Step(now, protocol.Open{})
	s.Step(now, protocol.DidRead{ID: 1})
	ids := make([]protocol.EntityID, 1_000_000)
	for i := range ids {
		ids[i] = protocol.EntityID("entity-" + protocol.ShardID(i).String())
	}
	var pending uint64
	i := 0
	for b.Loop() {
		for _, w := range s.Step(now, protocol.Wake{ID: ids[i%len(ids)]}).Write {
			pending = w.ID
		}
		if i++; i%1000 == 0 && pending != 0 {
			id := pending
			pending = 0
			for _, w := range s.Step(now, protocol.Wrote{ID: id}).Write {
				pending = w.ID
			}
		}
	}
}

// BenchmarkShardLoad measures the start of a shard with a million remembered ids, and its longest step.
func BenchmarkShardLoad(b *testing.B) {
	ids := make([]protocol.EntityID, 1_000_000)
	for i := range ids {
		ids[i] = protocol.EntityID("entity-" + protocol.ShardID(i).String())
	}
	var longest time.Duration
	for b.Loop() {
		s, _ := New(protocol.Config{Identity: protocol.Identity{Name: "t", Shards: 1}, Self: 1,
			Remember: protocol.Remember[protocol.StoreID]{Entities: true}}, rand.New(rand.NewPCG(1, 1)), 0)
		step := func(in protocol.ShardInput) {
			began := time.Now()
			s.Step(time.Unix(0, 0), in)
			longest = max(longest, time.Since(began))
		}
		step(protocol.Open{})
		step(protocol.DidRead{ID: 1, IDs: ids})
		for !s.Deadline().IsZero() {
			step(protocol.Tick{})
		}
		if s.population.entities.running != len(ids) {
			b.Fatal(s.population.entities.running)
		}
	}
	b.ReportMetric(longest.Seconds()*1e3, "ms/longest-step")
}
