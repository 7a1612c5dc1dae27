package protocol_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/sharding/protocol"
	"github.com/coterie-go/coterie/sharding/protocol/coordinator"
	"github.com/coterie-go/coterie/sharding/protocol/region"
)

// crowd is one coordinator and its regions, joined by a queue without loss or delay, so that only
// their own cost counts.
type crowd struct {
	now     time.Time
	c       *coordinator.Coordinator
	regions []*region.Region
	started []int // shards, by region
	queue   []func()
	writes  int
	sent    int
}

func newCrowd(tb testing.TB, nodes, shards int) *crowd {
	w := &crowd{now: time.Unix(0, 0)}
	v := &view.View{Epoch: 1}
	service := protocol.Identity{Name: "t"}.Service()
	v.Lines = view.Lines{{Service: service, Members: []view.UID{1}}}
	for i := range nodes {
		u := protocol.UID(i + 1)
		cfg := protocol.Config{Identity: protocol.Identity{Name: "t", Shards: shards}, Self: u}
		v.Members = append(v.Members, view.Member{UID: u, Status: view.Up, UpNumber: uint32(u)})
		r, err := region.New(cfg, rand.New(rand.NewPCG(1, uint64(u))))
		if err != nil {
			tb.Fatal(err)
		}
		w.regions, w.started = append(w.regions, r), append(w.started, 0)
		if i == 0 {
			if w.c, err = coordinator.New(cfg, rand.New(rand.NewPCG(2, 2))); err != nil {
				tb.Fatal(err)
			}
		}
	}
	w.coordinator(protocol.LeaseChanged{Held: true})
	w.coordinator(protocol.Install{View: v})
	for i := range w.regions {
		w.region(i, protocol.LeaseChanged{Held: true})
		w.region(i, protocol.Install{View: v})
	}
	w.run()
	return w
}

func (w *crowd) coordinator(in protocol.CoordinatorInput) {
	fx := w.c.Step(w.now, in)
	for _, sw := range fx.Write {
		w.writes++
		w.queue = append(w.queue, func() {
			if len(sw.Homes) > 0 {
				for i := range w.regions {
					w.region(i, protocol.TableChanged{Entries: sw.Homes})
				}
			}
			w.coordinator(protocol.Wrote{ID: sw.ID})
		})
	}
	for _, r := range fx.Read {
		w.queue = append(w.queue, func() { w.coordinator(protocol.DidRead{ID: r.ID}) })
	}
	w.post(1, fx.Send)
}

func (w *crowd) region(i int, in protocol.RegionInput) {
	fx := w.regions[i].Step(w.now, in)
	for _, a := range fx.Do {
		if s, ok := a.(protocol.StartShard); ok {
			w.started[i]++
			w.queue = append(w.queue, func() { w.region(i, protocol.ShardStarted{Shard: s.Shard}) })
		}
	}
	w.post(protocol.UID(i+1), fx.Send)
}

func (w *crowd) post(from protocol.UID, es []protocol.Envelope) {
	for _, e := range es {
		w.sent++
		w.queue = append(w.queue, func() {
			m, err := protocol.DecodeMessage(protocol.AppendMessage(nil, e.Msg))
			if err != nil {
				panic(err)
			}
			if m.ToCoordinator() {
				w.coordinator(protocol.Receive{From: from, Msg: m})
			} else {
				w.region(int(e.To)-1, protocol.Receive{From: from, Msg: m})
			}
		})
	}
}

func (w *crowd) run() {
	for i := 0; i < len(w.queue); i++ {
		w.queue[i]()
		w.queue[i] = nil
	}
	w.queue = w.queue[:0]
}

func (w *crowd) running() int {
	n := 0
	for _, started := range w.started {
		n += started
	}
	return n
}

// TestAllocateMany: a hundred thousand shards that get traffic at once are allocated in few
// messages and writes.
func TestAllocateMany(t *testing.T) {
	const shards = 100_000
	w := newCrowd(t, 3, shards)
	w.writes, w.sent = 0, 0
	for s := range protocol.ShardID(shards) {
		i := int(s) % 3
		w.queue = append(w.queue, func() { w.region(i, protocol.Wanted{Shard: s}) })
	}
	w.run()
	for w.running() < shards && w.sent < shards { // what was gathered while a question was under way
		w.now = w.now.Add(10 * time.Millisecond)
		for i := range w.regions {
			w.region(i, protocol.Tick{})
		}
		w.run()
	}
	if n := w.running(); n != shards {
		t.Fatalf("%d shards run", n)
	}
	for i, started := range w.started {
		if started < shards/3-1 || started > shards/3+1 {
			t.Errorf("region %d hosts %d", i, started)
		}
	}
	if w.writes > 200 || w.sent > 2000 {
		t.Errorf("%d writes and %d messages", w.writes, w.sent)
	}
	t.Logf("%d writes, %d messages", w.writes, w.sent)
	if err := w.c.Check(); err != nil {
		t.Error(err)
	}
}

func BenchmarkAllocate100k(b *testing.B) {
	for b.Loop() {
		w := newCrowd(b, 3, 100_000)
		all := make([]protocol.ShardID, 100_000)
		for s := range all {
			all[s] = protocol.ShardID(s)
		}
		for i := 0; i < len(all); i += protocol.BatchMax {
			w.coordinator(protocol.Receive{
				From: protocol.UID(1 + i%3), Msg: protocol.GetHomes{Shards: all[i:min(len(all), i+protocol.BatchMax)]},
			})
		}
		w.run()
		if w.running() != 100_000 {
			b.Fatal(w.running())
		}
	}
}
