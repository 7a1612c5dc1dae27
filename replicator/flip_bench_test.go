package replicator

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/keyspace"
	"github.com/coterie-go/coterie/replicator/settings"
)

// BenchmarkFlip says how long the longest step of a replica lasts that repairs a million items: the
// one that takes over what has come. "join" is an empty one, "drop" one that lost a million
// removals. ns/item is what to multiply with.
func BenchmarkFlip(b *testing.B) {
	const items, group = 1_000_000, 1000
	for _, space := range []string{"v", "d"} {
		for _, kind := range []string{"join", "drop"} {
			b.Run(space+"/"+kind, func(b *testing.B) {
				for b.Loop() {
					b.StopTimer()
					l := newLab(b, 1)
					l.durable = []string{"d/*"}
					l.ms = map[crdt.Origin]*Machine{}
					l.add(b, 1)
					l.step(1, Install{founded(1, 1)})
					id := uint64(0)
					change := func(fn func(*crdt.ORSetTx[string], string) error) {
						for i := 0; i < items; i += group {
							id++
							l.step(1, Update{ID: id, Key: fmt.Sprint(space, "/", i/group%10),
								Mutate: func(t *crdt.Tx) error {
									for j := range group {
										if err := fn(addOne.Mutator(t), fmt.Sprintf("element%07d", i+j)); err != nil {
											return err
										}
									}
									return nil
								}})
						}
					}
					change(func(s *crdt.ORSetTx[string], e string) error { return s.Add(e) })
					l.add(b, 2)
					v := with(viewOf(2, 1), 2)
					if kind == "drop" {
						l.step(1, Install{v})
						l.step(2, Install{v})
						l.drain()
						l.mute = true
						change(func(s *crdt.ORSetTx[string], e string) error { return s.Remove(e) })
						l.mute = false
						l.longest = 0
						l.now = l.now.Add(time.Minute)
					} else {
						l.step(1, Install{v})
						l.step(2, Install{v})
					}
					b.StartTimer()
					want := l.ms[1].Snapshot(keyspace.Volatile).Len() + l.ms[1].Snapshot(keyspace.Durable).Len()
					for i := 0; ; i++ {
						l.drain()
						if l.ms[2].Snapshot(keyspace.Volatile).Len()+l.ms[2].Snapshot(keyspace.Durable).Len() == want {
							break
						}
						if i > 10_000 {
							b.Fatal(l.ms[2])
						}
						l.now = l.now.Add(10 * time.Millisecond)
						l.step(1, Tick{})
						l.step(2, Tick{})
					}
					b.ReportMetric(float64(l.longest.Milliseconds()), "ms/step")
					b.ReportMetric(float64(l.longest.Nanoseconds())/items, "ns/item")
				}
			})
		}
	}
}

// add starts a machine without a view.
func (l *lab) add(b *testing.B, id crdt.Origin) {
	m, err := New(settings.Config{Self: id, DurableKeys: l.durable}, rand.New(rand.NewPCG(1, uint64(id))), Loaded{})
	if err != nil {
		b.Fatal(err)
	}
	l.ms[id] = m
}
