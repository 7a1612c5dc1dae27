package network_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/transport"
	"github.com/coterie-go/coterie/proptest/sim/network"
	"github.com/coterie-go/coterie/proptest/sim/queue"
	"github.com/coterie-go/coterie/proptest/sim/random"
	"github.com/coterie-go/coterie/proptest/sim/trace"
)

// world is a network of processes that only note what they get.
type world struct {
	now      int64
	q        queue.Queue[network.Endpoint]
	trace    trace.Trace
	net      *network.Network
	ends     []*end
	perished int
}

type end struct {
	uid     uint64
	slot    int
	dead    bool
	got     []string
	lent    []byte
	taken   []string
	back    []string
	events  []bool
	dialled []string
}

func newWorld(s network.Settings, nodes int) *world {
	w := &world{}
	w.trace = trace.New(nil, &w.now)
	s.Slots, s.DelayMin, s.DelayMean = nodes, time.Millisecond, 10*time.Millisecond
	w.net = network.New(s, w, random.Streams{Seed: 1}.Stream("network", 0), &w.trace)
	for i := range nodes {
		w.ends = append(w.ends, &end{uid: uint64(i + 1), slot: i})
	}
	return w
}

func (w *world) Now() int64 { return w.now }

func (w *world) At(t int64, owner network.Endpoint, run func()) { w.q.Push(max(t, w.now), owner, run) }

func (w *world) Find(uid uint64) network.Endpoint {
	if i := int(uid) - 1; i >= 0 && i < len(w.ends) {
		return w.ends[i]
	}
	return nil
}

func (w *world) Listener(addr string) network.Endpoint {
	for _, e := range w.ends {
		if e.String() == addr {
			return e
		}
	}
	return nil
}

func (w *world) Perished([]byte, string) { w.perished++ }

// run lets all happen until a time.
func (w *world) run(until time.Duration) {
	for !w.q.Empty() && w.now < int64(until) {
		e := w.q.Pop()
		if w.now = e.At; e.Owner == nil || e.Owner.Alive() {
			e.Run()
		}
	}
}

func (e *end) String() string                 { return fmt.Sprintf("n%d", e.slot) }
func (e *end) UID() uint64                    { return e.uid }
func (e *end) Slot() int                      { return e.slot }
func (e *end) Alive() bool                    { return !e.dead }
func (e *end) Extensions() network.Extensions { return e }

func (e *end) Dialled(to uint64, refused bool) {
	e.dialled = append(e.dialled, fmt.Sprintf("%d %t", to, refused))
}
func (e *end) Link(ev transport.LinkEvent) { e.events = append(e.events, ev.Up) }

func (e *end) Receive(pk network.Packet) {
	e.got, e.lent = append(e.got, string(pk.Payload)), pk.Payload
}

func (e *end) Take(_ uint64, _ transport.Channel, payload []byte) {
	e.taken = append(e.taken, string(payload))
}

func (e *end) Lost(_ uint64, _ transport.Channel, payload []byte, _ bool) {
	e.back = append(e.back, string(payload))
}

func numbers(from, to int) (all []string) {
	for i := from; i < to; i++ {
		all = append(all, fmt.Sprint(i))
	}
	return all
}

func apart(a, b int) bool { return a != b }

// TestControlLaneLoses what it is told to lose, and repeats.
func TestControlLaneLoses(t *testing.T) {
	w := newWorld(network.Settings{Duplicate: 1}, 2)
	a, b := w.ends[0], w.ends[1]
	w.net.LoseBy(func(_, _ int, pk *network.Packet) bool { return pk.Payload[0] == 'x' })
	for _, s := range []string{"x", "y"} {
		w.net.Send(a, b.uid, network.Control, network.ToMember, 0, []byte(s))
	}
	w.net.Send(a, 77, network.Control, network.ToMember, 0, []byte("z"))
	w.net.SendAddr(a, "n7", network.ToMember, []byte("z"))
	w.run(time.Minute)
	if want := []string{"y", "y"}; !slices.Equal(b.got, want) {
		t.Errorf("%q arrive, want %q", b.got, want)
	}
	if !bytes.Equal(b.lent, []byte{0xa5}) {
		t.Errorf("the bytes last: %q", b.lent)
	}
	if c := w.net.Traffic; c.Sent != 3 || c.Delivered != 2 || c.Lost != 3 {
		t.Errorf("%+v", c)
	}
}

// TestStreamsAreFIFO: a short cut holds up, a long one loses, and nothing overtakes.
func TestStreamsAreFIFO(t *testing.T) {
	for _, c := range []struct {
		cut  time.Duration
		want []string
	}{
		{2 * time.Second, numbers(0, 40)}, {time.Minute, append(numbers(0, 20), numbers(30, 40)...)},
	} {
		w := newWorld(network.Settings{}, 2)
		a, b := w.ends[0], w.ends[1]
		send := func(from, to int) {
			for _, s := range numbers(from, to) {
				w.net.Send(a, b.uid, network.Data, network.ToReplica, 0, []byte(s))
			}
		}
		send(0, 20)
		w.run(time.Second)
		w.net.Cut(apart)
		send(20, 30)
		w.At(w.now+int64(c.cut), nil, w.net.Heal)
		w.run(2 * time.Minute)
		send(30, 40)
		if w.run(4 * time.Minute); !slices.Equal(b.got, c.want) {
			t.Errorf("a cut of %v: %q arrive", c.cut, b.got)
		}
	}
}

// TestStripesLoseNothing between the living, however often their connection breaks.
func TestStripesLoseNothing(t *testing.T) {
	w := newWorld(network.Settings{LaneMax: 1 << 20}, 2)
	a, b := w.ends[0], w.ends[1]
	s := w.net.Connect(a, b, 0, random.Streams{Seed: 1}.Stream("stripe", 0))
	for i, n := range numbers(0, 200) {
		w.At(int64(i)*int64(100*time.Millisecond), a, func() {
			if err := s.Append(1, func(b []byte) []byte { return append(b, n...) }, nil); err != nil {
				t.Errorf("%s: %v", n, err)
			}
			switch {
			case i%50 == 20:
				w.net.Cut(apart)
			case i%50 == 40:
				w.net.Cut(nil)
			case i%9 == 0:
				w.net.ResetBetween(a, b)
			}
		})
	}
	if w.run(2 * time.Minute); !slices.Equal(b.taken, numbers(0, 200)) {
		t.Errorf("%q arrive", b.taken)
	}
	if !slices.Contains(a.events, false) || s.Busy() {
		t.Errorf("the connection has not broken, or is busy: %v", a.events)
	}
}

// TestStripesAreBusyWhileTheyDial: what waits for a connection is under way, if the receiver can be reached.
func TestStripesAreBusyWhileTheyDial(t *testing.T) {
	w := newWorld(network.Settings{LaneMax: 1 << 20}, 2)
	s := w.net.Connect(w.ends[0], w.ends[1], 0, random.Streams{Seed: 1}.Stream("stripe", 0))
	if s.Busy() {
		t.Error("nothing is under way")
	}
	if err := s.Append(1, func(b []byte) []byte { return append(b, 'x') }, nil); err != nil || !s.Busy() {
		t.Errorf("a frame waits for the connection: busy %t, %v", s.Busy(), err)
	}
	if w.net.Cut(apart); s.Busy() {
		t.Error("the receiver cannot be reached")
	}
}

// TestStripesGiveBack what a removed peer has not got, and end what their sender took with it.
func TestStripesGiveBack(t *testing.T) {
	w := newWorld(network.Settings{LaneMax: 2}, 3)
	a, b := w.ends[0], w.ends[1]
	w.net.Cut(apart)
	rng := random.Streams{Seed: 1}.Stream("stripe", 0)
	s, other := w.net.Connect(a, b, 0, rng), w.net.Connect(a, w.ends[2], 0, rng)
	for _, stripe := range []*network.Stripe{s, other} {
		for i := range 3 {
			fill := func(b []byte) []byte { return append(b, byte('0'+i)) }
			if err := stripe.Append(1, fill, nil); (err != nil) != (i == 2) {
				t.Errorf("%d: %v", i, err)
			}
		}
	}
	s.Remove()
	if w.run(time.Minute); !slices.Equal(a.back, numbers(0, 2)) || len(b.taken) > 0 {
		t.Errorf("%q come back, %q arrive", a.back, b.taken)
	}
	if err := s.Append(1, nil, nil); err != transport.ErrNoPeer {
		t.Errorf("a removed peer: %v", err)
	}
	a.dead = true
	if w.net.Forget(a); w.perished != 2 {
		t.Errorf("%d frames perished with their sender", w.perished)
	}
}

// TestFlapsAreBesideCuts: what flaps does not heal what is cut.
func TestFlapsAreBesideCuts(t *testing.T) {
	w := newWorld(network.Settings{}, 3)
	w.net.Cut(func(a, b int) bool { return a == 0 && b == 1 })
	w.net.Flap(func(a, b int) bool { return a == 2 })
	if w.net.Connected(0, 1) || w.net.Connected(1, 2) {
		t.Error("connected")
	}
	if w.net.Flap(nil); w.net.Connected(0, 1) || !w.net.Connected(1, 2) {
		t.Error("the end of flapping ends the cut")
	}
	if c := w.net.Traffic; c.Cuts != 1 || c.Flaps != 1 {
		t.Errorf("%+v", c)
	}
}

// TestControlConnectionsTellOfEnds: an attempt brings an answer or a refusal; a refusal where the
// process has ended, and, at times, at a cut and after a reset. A cut that swallows brings nothing.
func TestControlConnectionsTellOfEnds(t *testing.T) {
	told := map[string]bool{}
	for seed := range 40 {
		w := newWorld(network.Settings{}, 3)
		a, b, c := w.ends[0], w.ends[1], w.ends[2]
		w.net.Controls.Dial(a, b)
		w.net.Controls.Dial(a, b)
		w.net.Controls.Dial(a, c)
		w.run(time.Second)
		if slices.Sort(a.dialled); !slices.Equal(a.dialled, []string{"2 false", "3 false"}) {
			t.Fatalf("connected: %v", a.dialled)
		}
		for range seed { // other draws
			w.net.Cut(func(from, to int) bool { return false })
		}
		a.dialled = nil
		w.net.Cut(func(from, to int) bool { return from == 1 || to == 1 })
		w.run(10 * time.Second)
		told[fmt.Sprint("cut ", len(a.dialled) > 0)] = true
		if slices.Contains(a.dialled, "2 false") || slices.Contains(a.dialled, "3 true") {
			t.Fatalf("at a cut: %v", a.dialled)
		}
		w.net.Heal()
		w.run(15 * time.Second)
		a.dialled = nil
		w.net.ResetBetween(a, b)
		w.run(25 * time.Second)
		told[fmt.Sprint("reset ", a.dialled[0])] = true
		if a.dialled[len(a.dialled)-1] != "2 false" {
			t.Fatalf("after a reset: %v", a.dialled)
		}
		a.dialled, c.dead = nil, true
		w.net.Forget(c)
		w.run(35 * time.Second)
		if len(a.dialled) < 2 || slices.Contains(a.dialled, "3 false") || slices.Contains(a.dialled, "2 true") {
			t.Fatalf("after an end: %v", a.dialled)
		}
		w.net.Controls.Hangup(a, 3)
		a.dialled = nil
		w.run(45 * time.Second)
		if len(a.dialled) > 0 {
			t.Fatalf("no peer any more: %v", a.dialled)
		}
	}
	for _, want := range []string{"cut true", "cut false", "reset 2 true", "reset 2 false"} {
		if !told[want] {
			t.Errorf("never: %s", want)
		}
	}
}
