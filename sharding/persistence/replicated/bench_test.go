package replicated_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/persistence/replicated"
	"github.com/coterie-go/coterie/sharding/protocol"
)

const (
	heldEvents   = 100_000
	heldEntities = 1000
)

// heap is what the process holds after a collection.
func heap() float64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

// fill appends events of 100 bytes to many entities of one shard.
func fill(b *testing.B, s *replicated.Store) {
	b.Helper()
	for round := range uint64(heldEvents / heldEntities) {
		var writes []persistence.Write
		for e := range heldEntities {
			id := protocol.EntityID(fmt.Sprintf("entity-%06d", e))
			writes = append(writes, write(id, round, fmt.Sprintf("%0100d", round)))
		}
		refused, err := s.Append(b.Context(), hosting(1), writes)
		if err != nil || len(refused) > 0 {
			b.Fatal(err, refused)
		}
	}
}

// BenchmarkHeld measures the memory of a node for events that it holds, beside their bodies.
func BenchmarkHeld(b *testing.B) {
	s := open(b, start(b, b.TempDir()).nodes[0])
	before := heap()
	fill(b, s)
	for b.Loop() {
		b.ReportMetric((heap()-before)/heldEvents-100, "B-beside-body/event")
	}
	runtime.KeepAlive(s)
}

// BenchmarkLive measures the time from an append until a live query yields the event, in a shard
// that holds many others.
func BenchmarkLive(b *testing.B) {
	s := open(b, start(b, b.TempDir()).nodes[0])
	fill(b, s)
	ctx, cancel := context.WithCancel(b.Context())
	found := make(chan string)
	go func() {
		defer close(found)
		q := persistence.Query{Type: "T", Live: true}
		for r, err := range s.Events(ctx, q) {
			if err != nil {
				b.Error(err)
				return
			}
			if r.Entity == "new" {
				found <- string(r.Event.Body)
			}
		}
	}()
	after := uint64(0)
	for b.Loop() {
		appended(b, s, hosting(1), write("new", after, "x"))
		if after++; <-found != "x" {
			b.Fatal("the query has ended")
		}
	}
	cancel()
	for range found { // until it has ended
	}
}

// BenchmarkFirst measures a query of all events of a shard that holds many.
func BenchmarkFirst(b *testing.B) {
	s := open(b, start(b, b.TempDir()).nodes[0])
	fill(b, s)
	for b.Loop() {
		got, _, err := events(b, s, "")
		if err != nil || len(got) != heldEvents {
			b.Fatal(len(got), err)
		}
	}
}
