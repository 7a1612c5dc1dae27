package replicator

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/quorum"
	"github.com/coterie-go/coterie/replicator/settings"
	"github.com/coterie-go/coterie/replicator/wire"
)

// lab is three machines without checks, encoded messages between them, and a clock that stands
// still.
type lab struct {
	now time.Time
	ms  map[crdt.Origin]*Machine
	net []packetBytes
	buf []packetBytes
	n   int // replies without error
	msg int

	durable []string                 // keys of machines that are added
	mute    bool                     // what is sent gets lost
	gauge   func() int64             // of what steps cost
	longest map[crdt.Origin]stepCost // of each machine's steps
}

// stepCost is what a step has cost, and what it was.
type stepCost struct {
	cost int64
	what string
}

type packetBytes struct {
	from, to crdt.Origin
	b        []byte
}

func newLab(b testing.TB, n int) *lab {
	l := &lab{
		now: time.Unix(1, 0), ms: map[crdt.Origin]*Machine{}, longest: map[crdt.Origin]stepCost{}, gauge: threadTime,
	}
	var ids []crdt.Origin
	for i := range n {
		id := crdt.Origin(i + 1)
		m, err := New(settings.Config{Self: id}, rand.New(rand.NewPCG(1, uint64(i))), Loaded{})
		if err != nil {
			b.Fatal(err)
		}
		ids, l.ms[id] = append(ids, id), m
	}
	for _, id := range ids {
		l.step(id, Install{founded(1, ids...)})
	}
	l.drain()
	return l
}

func (l *lab) step(id crdt.Origin, in Input) {
	before := l.gauge()
	e := l.ms[id].Step(l.now, in)
	if cost := l.gauge() - before; cost > l.longest[id].cost {
		l.longest[id] = stepCost{cost, kindOf(in)}
	}
	persist := slices.Clone(e.Persist)
	defer func() {
		for _, b := range persist {
			l.step(id, Persisted{ID: b.ID})
		}
	}()
	for _, env := range e.Send {
		if l.mute {
			break
		}
		l.net = append(l.net, packetBytes{id, env.To, wire.Append(nil, env.Msg)})
	}
	for _, w := range e.Whole {
		msg, err := wire.DecodeWhole(w.Data)
		if err != nil {
			panic(err)
		}
		defer l.step(id, Decoded{w.From, w.Flow, msg})
	}
	for _, r := range e.Reply {
		if r.Err == nil {
			l.n++
		}
	}
}

// threadTime is the processor time of this thread, in nanoseconds. Unlike the time on the wall it
// leaves out what others take of the machine.
func threadTime() int64 {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t)
	return t.Nano()
}

// kindOf names an input, and what is received.
func kindOf(in Input) string {
	if r, ok := in.(*Receive); ok {
		return fmt.Sprintf("%T", r.Msg)
	}
	return fmt.Sprintf("%T", in)
}

func (l *lab) drain() {
	for len(l.net) > 0 {
		l.net, l.buf = l.buf[:0], l.net
		for _, p := range l.buf {
			l.msg++
			m, err := wire.Decode(p.b)
			if err != nil {
				panic(err)
			}
			l.step(p.to, &Receive{p.from, m})
		}
	}
}

// BenchmarkWriteMajority is one core doing the work of three nodes, codec included: callers that
// wait for their acks.
func BenchmarkWriteMajority(b *testing.B) {
	for _, callers := range []int{1, 64, 1024} {
		b.Run(fmt.Sprint("callers=", callers), func(b *testing.B) {
			l := newLab(b, 3)
			b.ReportAllocs()
			id := uint64(0)
			for b.Loop() {
				for range callers {
					id++
					l.step(1, Update{ID: id, Key: "s", Write: quorum.Majority, Mutate: func(t *crdt.Tx) error {
						return addOne.Mutator(t).Add(fmt.Sprint(id))
					}})
				}
				l.drain()
				if id%8192 < uint64(callers) {
					l.now = l.now.Add(time.Second)
					for o := range crdt.Origin(3) {
						l.step(o+1, Tick{})
					}
					l.drain()
				}
			}
			if l.n != int(id) {
				b.Fatalf("%d of %d acknowledged", l.n, id)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(id), "ns/write")
			b.ReportMetric(float64(l.msg)/float64(id), "msgs/write")
		})
	}
}

// BenchmarkMany is a core doing the work of many nodes while one of them writes and another one reads, one after the
// other. What a node does for a message of another one must not grow with the nodes.
func BenchmarkMany(b *testing.B) {
	for _, n := range []int{3, 30, 300} {
		b.Run(fmt.Sprint("nodes=", n), func(b *testing.B) {
			l := newLab(b, n)
			l.gauge = func() int64 { return 0 }
			id, messages := uint64(0), l.msg
			for b.Loop() {
				id += 2
				l.step(1, Update{ID: id, Key: "s", Write: quorum.Majority, Mutate: func(t *crdt.Tx) error {
					return addOne.Mutator(t).Add(fmt.Sprint(id % 1000))
				}})
				l.drain()
				l.step(2, Get{ID: id + 1, Key: "s", Read: quorum.Majority})
				l.drain()
			}
			if l.n != int(id) {
				b.Fatalf("%d of %d answered", l.n, id)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(l.msg-messages), "ns/msg")
			b.ReportMetric(float64(l.msg-messages)/float64(id), "msgs/op")
		})
	}
}

// BenchmarkReadMajority reads a key that does not change: only a hash travels.
func BenchmarkReadMajority(b *testing.B) {
	l := newLab(b, 3)
	l.step(1, Update{ID: 1, Key: "s", Write: quorum.All, Mutate: func(t *crdt.Tx) error {
		return addOne.Mutator(t).Add("x")
	}})
	l.drain()
	id := uint64(1)
	b.ReportAllocs()
	for b.Loop() {
		id++
		l.step(2, Get{ID: id, Key: "s", Read: quorum.Majority})
		l.drain()
	}
	if l.n != int(id) {
		b.Fatalf("%d of %d answered", l.n, id)
	}
}
