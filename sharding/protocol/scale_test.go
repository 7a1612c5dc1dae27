package protocol

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/membership"
)

// crowd is one coordinator and its regions, joined by a queue without loss or delay, so that only
// their own cost counts.
type crowd struct {
	now     time.Time
	c       *Coordinator
	regions []*Region
	queue   []func()
	writes  int
	sent    int
}

func newCrowd(tb testing.TB, nodes, shards int) *crowd {
	w := &crowd{now: time.Unix(0, 0)}
	v := &membership.View{Epoch: 1}
	for i := range nodes {
		u := UID(i + 1)
		cfg := Config{Type: "t", Self: u, Shards: shards}
		v.Members = append(v.Members, membership.Member{UID: u, Status: membership.Up, UpNumber: uint32(u)})
		r, err := NewRegion(cfg, rand.New(rand.NewPCG(1, uint64(u))))
		if err != nil {
			tb.Fatal(err)
		}
		w.regions = append(w.regions, r)
		if i == 0 {
			if w.c, err = NewCoordinator(cfg, rand.New(rand.NewPCG(2, 2))); err != nil {
				tb.Fatal(err)
			}
		}
	}
	w.coordinator(Lease{Held: true})
	w.coordinator(Install{View: v})
	for i := range w.regions {
		w.region(i, Lease{Held: true})
		w.region(i, Install{View: v})
	}
	w.run()
	return w
}

func (w *crowd) coordinator(in CoordinatorInput) {
	fx := w.c.Step(w.now, in)
	for _, sw := range fx.Write {
		w.writes++
		w.queue = append(w.queue, func() {
			if len(sw.Homes) > 0 {
				for i := range w.regions {
					w.region(i, TableChanged{Entries: sw.Homes})
				}
			}
			w.coordinator(Wrote{ID: sw.ID})
		})
	}
	for _, r := range fx.Read {
		w.queue = append(w.queue, func() { w.coordinator(DidRead{ID: r.ID}) })
	}
	w.post(1, fx.Send)
}

func (w *crowd) region(i int, in RegionInput) {
	fx := w.regions[i].Step(w.now, in)
	for _, a := range fx.Do {
		if s, ok := a.(StartShard); ok {
			w.queue = append(w.queue, func() { w.region(i, ShardStarted{Shard: s.Shard}) })
		}
	}
	w.post(UID(i+1), fx.Send)
}

func (w *crowd) post(from UID, es []Envelope) {
	for _, e := range es {
		w.sent++
		w.queue = append(w.queue, func() {
			m, err := DecodeMessage(AppendMessage(nil, e.Msg))
			if err != nil {
				panic(err)
			}
			if m.ToCoordinator() {
				w.coordinator(Receive{From: from, Msg: m})
			} else {
				w.region(int(e.To)-1, Receive{From: from, Msg: m})
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
	for _, r := range w.regions {
		n += r.hosted
	}
	return n
}

// TestAllocateMany: a hundred thousand shards that get traffic at once are allocated in few
// messages and writes.
func TestAllocateMany(t *testing.T) {
	const shards = 100_000
	w := newCrowd(t, 3, shards)
	w.writes, w.sent = 0, 0
	for s := range ShardID(shards) {
		i := int(s) % 3
		w.queue = append(w.queue, func() { w.region(i, Wanted{Shard: s}) })
	}
	w.run()
	for w.running() < shards && w.sent < shards { // what was gathered while a question was under way
		w.now = w.now.Add(askDelay)
		for i := range w.regions {
			w.region(i, Tick{})
		}
		w.run()
	}
	if n := w.running(); n != shards {
		t.Fatalf("%d shards run", n)
	}
	for i, r := range w.regions {
		if r.hosted < shards/3-1 || r.hosted > shards/3+1 {
			t.Errorf("region %d hosts %d", i, r.hosted)
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
		all := make([]ShardID, 100_000)
		for s := range all {
			all[s] = ShardID(s)
		}
		for i := 0; i < len(all); i += batchMax {
			w.coordinator(Receive{From: UID(1 + i%3), Msg: GetHomes{Shards: all[i:min(len(all), i+batchMax)]}})
		}
		w.run()
		if w.running() != 100_000 {
			b.Fatal(w.running())
		}
	}
}

// BenchmarkShardStarts measures what the machine does for each new entity that is remembered, with
// writes that take as long as 1,000 starts.
func BenchmarkShardStarts(b *testing.B) {
	s, err := NewShard(Config{Type: "t", Self: 1, Shards: 1, Remember: true}, rand.New(rand.NewPCG(1, 1)), 0)
	if err != nil {
		b.Fatal(err)
	}
	now := time.Unix(0, 0)
	s.Step(now, Open{})
	s.Step(now, DidRead{ID: 1})
	ids := make([]EntityID, 1_000_000)
	for i := range ids {
		ids[i] = EntityID("entity-" + ShardID(i).String())
	}
	var pending uint64
	i := 0
	for b.Loop() {
		for _, w := range s.Step(now, Wake{ID: ids[i%len(ids)]}).Write {
			pending = w.ID
		}
		if i++; i%1000 == 0 && pending != 0 {
			id := pending
			pending = 0
			for _, w := range s.Step(now, Wrote{ID: id}).Write {
				pending = w.ID
			}
		}
	}
}

// BenchmarkShardLoad measures the start of a shard with a million remembered ids.
func BenchmarkShardLoad(b *testing.B) {
	ids := make([]EntityID, 1_000_000)
	for i := range ids {
		ids[i] = EntityID("entity-" + ShardID(i).String())
	}
	for b.Loop() {
		s, _ := NewShard(Config{Type: "t", Self: 1, Shards: 1, Remember: true}, rand.New(rand.NewPCG(1, 1)), 0)
		s.Step(time.Unix(0, 0), Open{})
		s.Step(time.Unix(0, 0), DidRead{ID: 1, IDs: ids})
		if s.running != len(ids) {
			b.Fatal(s.running)
		}
	}
}
