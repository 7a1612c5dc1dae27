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

// BenchmarkFlip says how long the longest step lasts of a replica that repairs a million items or
// fewer, and of its donor, and which input that step took. "join" is an empty replica, "drop" one
// that lost as many removals. "keys" has a key for each item, with a subscription to all of them.
func BenchmarkFlip(b *testing.B) {
	for _, items := range []int{100_000, 1_000_000} {
		for _, space := range []string{"v", "d"} {
			for _, kind := range []string{"join", "drop", "keys"} {
				b.Run(fmt.Sprintf("%d/%s/%s", items, space, kind), func(b *testing.B) {
					for b.Loop() {
						b.StopTimer()
						flip(b, items, space, kind)
					}
				})
			}
		}
	}
}

func flip(b *testing.B, items int, space, kind string) {
	l := newLab(b, 1)
	l.durable = []string{"d/*"}
	l.ms = map[crdt.Origin]*Machine{}
	l.add(b, 1)
	l.step(1, Install{founded(1, 1)})
	id := uint64(0)
	const group = 1000
	change := func(fn func(*crdt.ORSetTx[string], string) error) {
		for i := 0; i < items; {
			id++
			key, n := fmt.Sprint(space, "/", i/group%10), group
			if kind == "keys" {
				key, n = fmt.Sprint(space, "/", i), 1
			}
			l.step(1, Update{ID: id, Key: key, Mutate: func(t *crdt.Tx) error {
				for j := range n {
					if err := fn(addOne.Mutator(t), fmt.Sprintf("element%07d", i+j)); err != nil {
						return err
					}
				}
				return nil
			}})
			i += n
		}
	}
	change(func(s *crdt.ORSetTx[string], e string) error { return s.Add(e) })
	l.add(b, 2)
	if kind == "keys" {
		l.step(2, Subscribe{ID: 1, All: true})
	}
	v := with(viewOf(2, 1), 2)
	l.step(1, Install{v})
	l.step(2, Install{v})
	if kind == "drop" {
		l.agree(b)
		l.mute = true
		change(func(s *crdt.ORSetTx[string], e string) error { return s.Remove(e) })
		l.mute = false
		l.now = l.now.Add(time.Minute)
	}
	clear(l.longest)
	b.StartTimer()
	l.agree(b)
	for id, who := range map[crdt.Origin]string{2: "receiver", 1: "donor"} {
		at := l.longest[id]
		b.ReportMetric(float64(at.took.Microseconds())/1000, who+"-ms")
		b.Logf("%s: %v, %s", who, at.took, at.what)
	}
}

// agree steps two machines until they hold the same, and nothing waits.
func (l *lab) agree(b *testing.B) {
	count := func(id crdt.Origin) int {
		return l.ms[id].Snapshot(keyspace.Volatile).Len() + l.ms[id].Snapshot(keyspace.Durable).Len()
	}
	for i := 0; ; i++ {
		l.drain()
		busy := false
		for id := range crdt.Origin(2) {
			for at := l.ms[id+1].Deadline(); !at.IsZero() && !at.After(l.now); at = l.ms[id+1].Deadline() {
				l.step(id+1, Tick{})
				busy = true
				l.drain()
			}
		}
		if !busy && count(1) == count(2) && !l.ms[2].spaces[0].IsLate() && !l.ms[2].spaces[1].IsLate() {
			return
		}
		if i > 1000 {
			b.Fatal(l.ms[2])
		}
		if !busy {
			l.now = l.now.Add(10 * time.Millisecond)
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
