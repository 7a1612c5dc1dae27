package sharding

import (
	"fmt"
	"iter"
	"runtime"
	"testing"
	"time"

	"github.com/coterie-go/coterie/sharding/protocol"
)

// BenchmarkRememberedStart starts one shard with b.N remembered entities, as a restart of the whole
// cluster does, and reports the memory of each when idle, machine included.
func BenchmarkRememberedStart(b *testing.B) {
	w := newWorld(b)
	log := &cartLog{}
	typ := cartType(log)
	typ.Shards, typ.Remember.Entities = 1, true
	empty := receiveFunc(func(*Context[message_], message_) error { return nil })
	made := make(chan struct{})
	typ.New = func(*Context[message_]) Entity[message_] {
		if log.made.Add(1) == int64(b.N) {
			close(made)
		}
		return empty
	}
	write := protocol.StateWrite{Kind: protocol.StateIDs}
	for i := range b.N {
		write.AddIDs = append(write.AddIDs, protocol.EntityID(fmt.Sprintf("cart-%010d", i)))
	}
	remember := func(w2 protocol.StateWrite) {
		w.store.Update(w2.Key("Cart"), 0, 0, w2.Mutate, func(err error) {
			if err != nil {
				b.Fatal(err)
			}
		})
	}
	for ids := range chunks(write.AddIDs, 10_000) {
		remember(protocol.StateWrite{Kind: protocol.StateIDs, AddIDs: ids})
	}
	write.AddIDs = nil
	remember(protocol.StateWrite{Kind: protocol.StateRemembered, AddShards: []protocol.ShardID{0}})
	n := w.join("backend")
	before := heapBytes()
	b.ResetTimer()
	start(n, typ)
	w.install()
	<-made
	b.StopTimer()
	<-time.After(100 * time.Millisecond)
	b.ReportMetric(float64(heapBytes()-before)/float64(b.N), "B/entity")
	runtime.KeepAlive(w)
}

func heapBytes() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func chunks(ids []protocol.EntityID, n int) iter.Seq[[]protocol.EntityID] {
	return func(yield func([]protocol.EntityID) bool) {
		for len(ids) > 0 {
			k := min(n, len(ids))
			if !yield(ids[:k]) {
				return
			}
			ids = ids[k:]
		}
	}
}
