package replicator

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/keyspace"
	"github.com/coterie-go/coterie/replicator/settings"
)

// What one step costs of a repair, on both sides, does not depend on how much differs. Bytes that are
// allocated stand for it: lists that grow, trees that are copied, clocks and messages that are made.
func TestStepsOfARepairAreBounded(t *testing.T) {
	bytes := func(items int, space, kind string) (most [2]int64) {
		l := behind(t, items, space, kind)
		l.gauge = func() int64 {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			return int64(m.TotalAlloc)
		}
		clear(l.longest)
		l.agree(t)
		return [2]int64{l.longest[1].cost, l.longest[2].cost}
	}
	for _, c := range []struct{ space, kind string }{{"d", "join"}, {"d", "drop"}, {"v", "keys"}} {
		few, many := bytes(15_000, c.space, c.kind), bytes(60_000, c.space, c.kind)
		for i, side := range []string{"donor", "receiver"} {
			// a sketch grows with what differs, and is bounded by itself
			if many[i] > 2*few[i]+2*16*sketchMax {
				t.Errorf("%s/%s: a step of the %s allocates %d bytes, with 4 times as much %d",
					c.space, c.kind, side, few[i], many[i])
			}
		}
	}
}

// sketchMax is the default of Config.SketchMax.
const sketchMax = 1 << 16

// BenchmarkFlip says how long the longest step lasts of a replica that repairs a million items or
// fewer, and of its donor, and which input that step took. "join" is an empty replica, "drop" one
// that lost as many removals. "keys" has a key for each item, with a subscription to all of them.
func BenchmarkFlip(b *testing.B) {
	for _, items := range []int{100_000, 1_000_000} {
		if testing.Short() && items > 100_000 {
			break
		}
		for _, space := range []string{"v", "d"} {
			for _, kind := range []string{"join", "drop", "keys"} {
				b.Run(fmt.Sprintf("%d/%s/%s", items, space, kind), func(b *testing.B) {
					for b.Loop() {
						b.StopTimer()
						l := behind(b, items, space, kind)
						runtime.LockOSThread()
						b.StartTimer()
						l.agree(b)
						runtime.UnlockOSThread()
						for id, name := range map[crdt.Origin]string{2: "receiver", 1: "donor"} { // order: named
							at := l.longest[id]
							b.ReportMetric(float64(at.cost)/1e6, name+"-ms")
							b.Logf("%s: %v for %s", name, time.Duration(at.cost), at.what)
						}
					}
				})
			}
		}
	}
}

// behind returns a machine 2 that has to be repaired from machine 1, see BenchmarkFlip.
func behind(b testing.TB, items int, space, kind string) *lab {
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
		l.step(1, Reachable{Origin: 2}) // else the updates are held back
		change(func(s *crdt.ORSetTx[string], e string) error { return s.Remove(e) })
		l.mute = false
		l.step(1, Reachable{Origin: 2, Is: true})
		l.now = l.now.Add(time.Minute)
	}
	clear(l.longest)
	return l
}

// agree steps two machines until they hold the same, and nothing waits.
func (l *lab) agree(b testing.TB) {
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

// add starts a machine without a view, whose log is too short to help.
func (l *lab) add(b testing.TB, id crdt.Origin) {
	cfg := settings.Config{Self: id, DurableKeys: l.durable, LogMax: 1000}
	m, err := New(cfg, rand.New(rand.NewPCG(1, uint64(id))), Loaded{})
	if err != nil {
		b.Fatal(err)
	}
	l.ms[id] = m
}
