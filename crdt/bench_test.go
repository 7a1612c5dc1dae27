package crdt

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// benchSizes are the set sizes at which costs are compared: they should not grow with the set.
var benchSizes = []int{1_000, 100_000, 1_000_000}

func benchElement(i int) string { return fmt.Sprintf("element-%08d", i) }

// benchSet returns a replica whose key "s" holds n elements in random order, with an empty log.
func benchSet(tb testing.TB, o Origin, n int) *Replica {
	tb.Helper()
	r := NewReplica(o, StoreOptions{})
	for _, i := range rand.New(rand.NewPCG(1, 2)).Perm(n) {
		mustUpdate(tb, r, "s", Mutate[ORSet[string]](func(s *ORSetTx[string]) error { return s.Add(benchElement(i)) }))
	}
	r.Trim(r.Store().Clock().Clone())
	return r
}

func mustUpdate(tb testing.TB, r *Replica, key string, fn func(*Tx) error) Group {
	tb.Helper()
	g, err := r.Update(key, 0, fn, nil)
	if err != nil {
		tb.Fatal(err)
	}
	return g
}

func eachSize(b *testing.B, fn func(b *testing.B, n int)) {
	for _, n := range benchSizes {
		if testing.Short() && n > 100_000 {
			break
		}
		b.Run(fmt.Sprintf("elements=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			fn(b, n)
		})
	}
}

func BenchmarkORSetAddRemove(b *testing.B) {
	for _, op := range []string{"add", "readd", "remove"} {
		b.Run(op, func(b *testing.B) {
			eachSize(b, func(b *testing.B, n int) { benchAddRemove(b, op, n) })
		})
	}
}

// benchAddRemove measures one operation on a set of n elements; batches of the inverse keep its
// size, untimed.
func benchAddRemove(b *testing.B, op string, n int) {
	r := benchSet(b, 1, n)
	rng := rand.New(rand.NewPCG(3, 4))
	const batch = 512
	es := make([]string, batch)
	var ch Changes
	b.ResetTimer()
	do := func(remove bool) {
		for _, e := range es {
			ch.Reset()
			_, err := r.Update("s", 0, Mutate[ORSet[string]](func(s *ORSetTx[string]) error {
				if remove {
					return s.Remove(e)
				}
				return s.Add(e)
			}), &ch)
			if err != nil {
				b.Fatal(err)
			}
		}
	}
	for done := 0; done < b.N; done += batch {
		b.StopTimer()
		for i := range es {
			es[i] = benchElement(rng.IntN(n))
			if op != "readd" {
				es[i] += "x"
			}
		}
		if op == "remove" {
			do(false)
		}
		b.StartTimer()
		do(op == "remove")
		b.StopTimer()
		if op == "add" {
			do(true)
		}
		b.StartTimer()
	}
}

// BenchmarkApply measures remote groups of one event each, as they come off the wire.
func BenchmarkApply(b *testing.B) {
	for _, decode := range []bool{false, true} {
		b.Run(fmt.Sprintf("decode=%v", decode), func(b *testing.B) {
			eachSize(b, func(b *testing.B, n int) { benchApply(b, n, decode) })
		})
	}
}

func benchApply(b *testing.B, n int, decode bool) {
	base := benchSet(b, 1, n)
	snap := base.Store().Snapshot()
	rng := rand.New(rand.NewPCG(3, 4))
	from := NewReplica(2, StoreOptions{})
	gs := make([]Group, 200_000)
	raw := make([][]byte, len(gs))
	for i := range gs {
		e := benchElement(rng.IntN(2 * n))
		gs[i] = mustUpdate(b, from, "s", Mutate[ORSet[string]](func(s *ORSetTx[string]) error { return s.Add(e) }))
		raw[i] = AppendGroup(nil, gs[i])
	}
	var items []Item
	for it := range snap.Items() {
		items = append(items, *it)
	}
	var to *Store
	var ch Changes
	b.ResetTimer()
	for i := range b.N {
		if i%len(gs) == 0 {
			b.StopTimer()
			to = NewStore(StoreOptions{})
			if err := to.MergeDiff(snap.Clock(), nil, items, nil); err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
		}
		g := gs[i%len(gs)]
		if decode {
			var err error
			if g, err = DecodeGroup(raw[i%len(gs)]); err != nil {
				b.Fatal(err)
			}
		}
		ch.Reset()
		if out, err := to.Apply(g, &ch); out != Applied || err != nil {
			b.Fatal(out, err)
		}
	}
}

// BenchmarkMergeDelta measures joining one element by the state path, which the log does not serve.
func BenchmarkMergeDelta(b *testing.B) {
	eachSize(b, func(b *testing.B, n int) {
		r := benchSet(b, 1, n)
		donor := r.Store().Clock().Clone()
		items := make([]Item, 1)
		var ch Changes
		b.ResetTimer()
		for i := range b.N {
			d := Dot{Origin: 2, Seq: uint64(i + 1)}
			donor.Add(d)
			items[0] = Item{Dot: d, Key: "s", Path: "\x02new" + benchElement(i)}
			ch.Reset()
			if err := r.MergeDiff(donor, nil, items, &ch); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkGet(b *testing.B) {
	r := benchSet(b, 1, 100_000)
	for i := range 10_000 {
		mustUpdate(b, r, fmt.Sprintf("counter-%d", i),
			Mutate[GCounter](func(c *GCounterTx) error { return c.Increment(1) }))
	}
	snap := r.Store().Snapshot()
	b.Run("view", func(b *testing.B) {
		b.ReportAllocs()
		for range b.N {
			if s, err := ViewOf[ORSet[string]](snap.View("s")); err != nil || s.Len() == 0 {
				b.Fatal(err)
			}
		}
	})
	b.Run("contains", func(b *testing.B) {
		b.ReportAllocs()
		s, _ := ViewOf[ORSet[string]](snap.View("s"))
		es := make([]string, 1024)
		for i := range es {
			es[i] = benchElement(i * 97)
		}
		b.ResetTimer()
		for i := range b.N {
			if !s.Contains(es[i%len(es)]) {
				b.Fatal("lost")
			}
		}
	})
}

// BenchmarkMissing measures finding the newest ten groups that a peer lacks in logs of different
// lengths.
func BenchmarkMissing(b *testing.B) {
	eachSize(b, func(b *testing.B, n int) {
		r := NewReplica(1, StoreOptions{LogMax: 1 << 20})
		for i := range n {
			mustUpdate(b, r, "s", Mutate[ORSet[string]](func(s *ORSetTx[string]) error {
				return s.Add(benchElement(i))
			}))
		}
		var peer Clock
		peer.AddRange(1, 1, uint64(n-10))
		b.ResetTimer()
		for range b.N {
			if gs, more, covered := r.Store().Missing(&peer, 1<<20); len(gs) != 10 || more || !covered {
				b.Fatal(len(gs), more, covered)
			}
		}
	})
}

// BenchmarkWriteAfterSnapshot measures a write whose tree nodes a snapshot holds.
func BenchmarkWriteAfterSnapshot(b *testing.B) {
	for _, every := range []int{1, 100} {
		b.Run(fmt.Sprintf("every=%d", every), func(b *testing.B) {
			b.ReportAllocs()
			r := benchSet(b, 1, 100_000)
			rng := rand.New(rand.NewPCG(3, 4))
			b.ResetTimer()
			for i := range b.N {
				if i%every == 0 {
					r.Store().Snapshot()
				}
				e := benchElement(rng.IntN(100_000))
				mustUpdate(b, r, "s", Mutate[ORSet[string]](func(s *ORSetTx[string]) error { return s.Add(e) }))
			}
		})
	}
}

// BenchmarkLoad measures the start of a store from rows in the order of their dots, whose paths or keys are scattered.
func BenchmarkLoad(b *testing.B) {
	const rows = 200_000
	for name, place := range map[string]func(i uint64) (key, path string){
		"keys=1":    func(i uint64) (string, string) { return "set", fmt.Sprintf("\x02%016x", i) },
		"keys=rows": func(i uint64) (string, string) { return fmt.Sprintf("%016x", i), "\x02" },
	} {
		items, clock, sum := make([]Item, rows), Clock{}, Digest{}
		for i := range items {
			it := &items[i]
			it.Dot = Dot{Origin: 1, Seq: uint64(i + 1)}
			it.Key, it.Path = place(uint64(i) * 0x9E3779B97F4A7C15)
			clock.Add(it.Dot)
			sum = sum.Plus(HashItem(0, it))
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for range b.N {
				if err := NewStore(StoreOptions{}).Load(&clock, sum, asRows(items, nil)); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*rows), "ns/row")
		})
	}
}

// BenchmarkTrim drops groups from the log that so many replicas have acknowledged.
func BenchmarkTrim(b *testing.B) {
	const groups = 1000
	for _, replicas := range []int{3, 50, 1000} {
		b.Run(fmt.Sprint(replicas), func(b *testing.B) {
			r, has := NewReplica(1, StoreOptions{LogMax: groups}), make([]*Clock, replicas)
			for i := range has {
				has[i] = &Clock{}
			}
			seq := uint64(0)
			for b.Loop() {
				b.StopTimer()
				for range groups {
					seq++
					g := Group{{Dot: Dot{Origin: 2, Seq: seq}, Key: "k", Path: "p"}}
					if _, err := r.Apply(g, nil); err != nil {
						b.Fatal(err)
					}
				}
				for _, c := range has {
					c.AddRange(2, 1, seq)
				}
				b.StartTimer()
				if r.Trim(has...); r.Store().LogLen() > 0 {
					b.Fatalf("%d groups stay", r.Store().LogLen())
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(seq), "ns/group")
		})
	}
}
