package faulty

import (
	"cmp"
	"context"
	"math/rand/v2"
	"net"
	"sync"
	"time"

	"github.com/coterie-go/coterie/ddata/transport"
)

// Weather is the state of one wire. The zero value is calm.
type Weather struct {
	// Cut stops everything until it is healed.
	Cut bool
	// Delay is how much later everything arrives; Jitter is drawn and added. Order is kept.
	Delay, Jitter time.Duration
	// Rate is how many bytes per second arrive. 0: all that come.
	Rate int
	// BreakEvery is after how many packets, in the mean, the connection that carries them breaks.
	// 0: never.
	BreakEvery int
}

// Wires is what lies between the processes of a test. All methods may be called at any time from
// any goroutine.
type Wires struct {
	closed chan struct{}
	wg     sync.WaitGroup // of what carries

	mu      sync.Mutex
	rng     *rand.Rand
	usual   Weather
	special map[wire]Weather
	changed chan struct{} // closed and replaced when any weather changes
	conns   map[*conn]struct{}
	over    bool
}

// wire is one direction between two addresses.
type wire struct{ from, to string }

// New makes calm wires.
func New(seed uint64) *Wires {
	return &Wires{
		closed: make(chan struct{}), changed: make(chan struct{}), rng: rand.New(rand.NewPCG(seed, 1)),
		special: map[wire]Weather{}, conns: map[*conn]struct{}{},
	}
}

// At is the network of the process that listens at addr. An empty addr is replaced by the one at
// which it listens first.
func (w *Wires) At(addr string, inner transport.Network) transport.Network {
	return &network{w: w, inner: inner, addr: addr}
}

// Set makes the weather of one wire; SetAll that of all others.
func (w *Wires) Set(from, to string, now Weather) {
	w.change(func() { w.special[wire{from, to}] = now })
}

// SetAll makes the weather of all wires, whatever Set said before.
func (w *Wires) SetAll(now Weather) {
	w.change(func() {
		clear(w.special)
		w.usual = now
	})
}

// HealAll makes all wires calm.
func (w *Wires) HealAll() { w.SetAll(Weather{}) }

// Cut stops everything from one address to another until Heal. The other direction is not touched.
func (w *Wires) Cut(from, to string) { w.turn(from, to, true) }

// Heal ends a cut: what was on its way arrives.
func (w *Wires) Heal(from, to string) { w.turn(from, to, false) }

// CutBoth stops everything between two addresses, until Heal or HealAll.
func (w *Wires) CutBoth(a, b string) {
	w.Cut(a, b)
	w.Cut(b, a)
}

// Break ends the connections that are open between two addresses, whichever side dialled them.
func (w *Wires) Break(a, b string) {
	w.mu.Lock()
	var open []*conn
	for c := range w.conns {
		if (c.there == wire{a, b}) || (c.there == wire{b, a}) {
			open = append(open, c)
		}
	}
	w.mu.Unlock()
	for _, c := range open {
		c.tear()
	}
}

// Close ends everything that is carried, and waits for it. Networks of the wires cannot dial any
// more.
func (w *Wires) Close() {
	w.mu.Lock()
	first := !w.over
	w.over = true
	open := make([]*conn, 0, len(w.conns))
	for c := range w.conns {
		open = append(open, c)
	}
	w.mu.Unlock()
	if first {
		close(w.closed)
	}
	for _, c := range open {
		c.tear()
	}
	w.wg.Wait()
}

func (w *Wires) turn(from, to string, cut bool) {
	w.change(func() {
		now := w.weatherLocked(wire{from, to})
		now.Cut = cut
		w.special[wire{from, to}] = now
	})
}

func (w *Wires) change(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
	close(w.changed)
	w.changed = make(chan struct{})
}

func (w *Wires) weatherLocked(x wire) Weather {
	if s, ok := w.special[x]; ok {
		return s
	}
	return w.usual
}

// look is the present weather, and a channel that is closed when it may be another.
func (w *Wires) look(x wire) (Weather, <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.weatherLocked(x), w.changed
}

// arrival draws when a packet of so many bytes arrives that enters a wire now, behind one that
// arrives at last; and whether the connection breaks instead.
func (w *Wires) arrival(x wire, size int, last time.Time) (at time.Time, breaks bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.weatherLocked(x)
	at = time.Now().Add(now.Delay)
	if now.Jitter > 0 {
		at = at.Add(time.Duration(w.rng.Int64N(int64(now.Jitter))))
	}
	if at.Before(last) {
		at = last
	}
	if now.Rate > 0 {
		at = at.Add(time.Duration(size) * time.Second / time.Duration(now.Rate))
	}
	return at, now.BreakEvery > 0 && w.rng.IntN(now.BreakEvery) == 0
}

// cross waits until at, and until the wire is whole. False: stop was closed.
func (w *Wires) cross(x wire, at time.Time, stop <-chan struct{}) bool {
	t := time.NewTimer(time.Until(at))
	defer t.Stop()
	late := true // it has not arrived yet
	for {
		now, changed := w.look(x)
		if !late && !now.Cut {
			return true
		}
		select {
		case <-t.C:
			late = false
		case <-changed:
		case <-stop:
			return false
		case <-w.closed:
			return false
		}
	}
}

// network is one process's.
type network struct {
	w     *Wires
	inner transport.Network

	mu   sync.Mutex
	addr string
}

var _ transport.Network = (*network)(nil)

// Listen listens where the wrapped network does.
func (n *network) Listen(ctx context.Context, addr string) (net.Listener, error) {
	l, err := n.inner.Listen(ctx, addr)
	if err != nil {
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.addr == "" {
		n.addr = l.Addr().String()
	}
	return l, nil
}

// Dial connects through the wires: a question there, an answer back.
func (n *network) Dial(ctx context.Context, addr string) (net.Conn, error) {
	n.mu.Lock()
	there := wire{n.addr, addr}
	n.mu.Unlock()
	for _, x := range []wire{there, {there.to, there.from}} {
		at, _ := n.w.arrival(x, 0, time.Time{})
		if !n.w.cross(x, at, ctx.Done()) {
			return nil, &net.OpError{Op: "dial", Net: "faulty", Err: cmp.Or(context.Cause(ctx), net.ErrClosed)}
		}
	}
	inner, err := n.inner.Dial(ctx, addr)
	if err != nil {
		return nil, err
	}
	return n.w.carry(inner, there)
}
