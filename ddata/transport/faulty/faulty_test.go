package faulty_test

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/coterie-go/coterie/ddata/transport"
	"github.com/coterie-go/coterie/ddata/transport/faulty"
	"github.com/coterie-go/coterie/ddata/transport/memory"
	"github.com/coterie-go/coterie/ddata/transport/transporttest"
	"github.com/coterie-go/coterie/proptest/bubble"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// overTCP runs the suite on loopback, through wires.
type overTCP struct{ w *faulty.Wires }

func (u overTCP) Site() (transport.Network, string) {
	return u.w.At("", transport.TCP()), "127.0.0.1:0"
}

// overMemory runs the suite in virtual time, through wires.
type overMemory struct {
	w    *faulty.Wires
	hub  *memory.Hub
	next int
}

func (u *overMemory) Site() (transport.Network, string) {
	u.next++
	addr := memory.Addr(u.next)
	return u.w.At(addr, u.hub.At(addr)), addr
}

func wires(t *testing.T, seed uint64, now faulty.Weather) *faulty.Wires {
	w := faulty.New(seed)
	w.SetAll(now)
	t.Cleanup(w.Close)
	return w
}

var rough = faulty.Weather{Delay: 200 * time.Microsecond, Jitter: time.Millisecond}

// weathers are those in which the suite runs: with -short, as under the race detector, only one.
// Late wires in a bubble take a minute there.
func weathers(short string) map[string]faulty.Weather {
	all := map[string]faulty.Weather{"calm": {}, "late": rough}
	if testing.Short() {
		return map[string]faulty.Weather{short: all[short]}
	}
	return all
}

func TestSuiteOverTCP(t *testing.T) {
	for name, now := range weathers("late") {
		t.Run(name, func(t *testing.T) {
			transporttest.Run(t, transporttest.World{Start: func(t *testing.T) transporttest.Universe {
				return overTCP{wires(t, 1, now)}
			}})
		})
	}
}

func TestSuiteOverMemory(t *testing.T) {
	for name, now := range weathers("calm") {
		t.Run(name, func(t *testing.T) {
			transporttest.Run(t, transporttest.World{
				Bubble: bubble.Test,
				Start: func(t *testing.T) transporttest.Universe {
					return &overMemory{w: wires(t, 1, now), hub: memory.NewHub()}
				},
			})
		})
	}
}

const addrA, addrB = "10.0.0.1:1", "10.0.0.2:1"

// ends makes a connection from a to b in virtual time.
func ends(t *testing.T, w *faulty.Wires) (a, b net.Conn) {
	t.Helper()
	hub := memory.NewHub()
	l, err := w.At(addrB, hub.At(addrB)).Listen(t.Context(), addrB)
	if err != nil {
		t.Fatal(err)
	}
	accepted := make(chan net.Conn, 1)
	go func() {
		if c, err := l.Accept(); err == nil {
			accepted <- c
		}
	}()
	if a, err = w.At(addrA, hub.At(addrA)).Dial(t.Context(), addrB); err != nil {
		t.Fatal(err)
	}
	b = <-accepted
	t.Cleanup(func() {
		a.Close()
		b.Close()
		l.Close()
	})
	return a, b
}

func inBubble(t *testing.T, f func(t *testing.T, w *faulty.Wires)) {
	bubble.Test(t, func(t *testing.T) { f(t, wires(t, 1, faulty.Weather{})) })
}

func send(t *testing.T, c net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
}

func expect(t *testing.T, c net.Conn, want string, after time.Duration) {
	t.Helper()
	start := time.Now()
	got := make([]byte, len(want))
	if _, err := io.ReadFull(c, got); err != nil || string(got) != want {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
	if d := time.Since(start).Round(time.Millisecond); d != after {
		t.Errorf("%q came after %v, want %v", want, d, after)
	}
}

func silence(t *testing.T, c net.Conn) {
	t.Helper()
	if err := c.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if n, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%d bytes, %v; want silence", n, err)
	}
	if err := c.SetReadDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
}

// One way is cut, the other is not; what was said meanwhile arrives when it heals.
func TestCutOneWay(t *testing.T) {
	inBubble(t, func(t *testing.T, w *faulty.Wires) {
		a, b := ends(t, w)
		w.Cut(addrA, addrB)
		send(t, a, "hello")
		silence(t, b)
		send(t, b, "are you there?")
		expect(t, a, "are you there?", 0)
		w.Heal(addrA, addrB)
		expect(t, b, "hello", 0)
		w.CutBoth(addrA, addrB)
		send(t, a, "x")
		send(t, b, "y")
		silence(t, a)
		silence(t, b)
		w.HealAll()
		expect(t, a, "y", 0)
		expect(t, b, "x", 0)
	})
}

// No dial gets through a cut, on either way; a dial that waits long enough succeeds when the cut
// heals.
func TestDialThroughACut(t *testing.T) {
	inBubble(t, func(t *testing.T, w *faulty.Wires) {
		hub := memory.NewHub()
		l, err := hub.At(addrB).Listen(t.Context(), addrB)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				defer c.Close()
			}
		}()
		from := w.At(addrA, hub.At(addrA))
		for _, way := range [][2]string{{addrA, addrB}, {addrB, addrA}} {
			w.Cut(way[0], way[1])
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			if _, err := from.Dial(ctx, addrB); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("cut %v: %v", way, err)
			}
			cancel()
			time.AfterFunc(time.Second, func() { w.Heal(way[0], way[1]) })
			c, err := from.Dial(t.Context(), addrB)
			if err != nil {
				t.Fatal(err)
			}
			c.Close()
		}
	})
}

func TestDelayAndRate(t *testing.T) {
	inBubble(t, func(t *testing.T, w *faulty.Wires) {
		a, b := ends(t, w)
		w.Set(addrA, addrB, faulty.Weather{Delay: 30 * time.Millisecond})
		send(t, a, "late")
		expect(t, b, "late", 30*time.Millisecond)
		send(t, b, "at once")
		expect(t, a, "at once", 0)

		// A slow reader: the writer is held up when a window is under way, and a deadline frees it.
		w.Set(addrA, addrB, faulty.Weather{Rate: 1 << 20})
		start := time.Now()
		const size = 4 << 20
		go func() { _, _ = a.Write(make([]byte, size)) }()
		if _, err := io.ReadFull(b, make([]byte, size)); err != nil {
			t.Fatal(err)
		}
		if d := time.Since(start); d < 4*time.Second || d > 4100*time.Millisecond {
			t.Errorf("4 MiB at 1 MiB/s took %v", d)
		}
		w.Set(addrA, addrB, faulty.Weather{Rate: 1})
		if err := a.SetWriteDeadline(time.Now().Add(time.Second)); err != nil {
			t.Fatal(err)
		}
		if n, err := a.Write(make([]byte, size)); !errors.Is(err, os.ErrDeadlineExceeded) || n == 0 || n > 1<<20 {
			t.Errorf("wrote %d, %v", n, err)
		}
	})
}

// What a side wrote before it closed still reaches the other side, even if late; through a cut it
// waits for a limited time.
func TestCloseBringsWhatWasWritten(t *testing.T) {
	for _, half := range []bool{true, false} {
		inBubble(t, func(t *testing.T, w *faulty.Wires) {
			a, b := ends(t, w)
			w.Set(addrA, addrB, faulty.Weather{Delay: time.Second})
			send(t, a, "last words")
			if half {
				if err := a.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
					t.Fatal(err)
				}
			}
			a.Close()
			expect(t, b, "last words", time.Second)
			if _, err := b.Read(make([]byte, 1)); err != io.EOF {
				t.Errorf("after the end: %v", err)
			}
		})
	}
	inBubble(t, func(t *testing.T, w *faulty.Wires) {
		a, b := ends(t, w)
		w.Cut(addrA, addrB)
		send(t, a, "never")
		a.Close()
		if got, err := io.ReadAll(b); len(got) > 0 || err != nil {
			t.Errorf("through a cut: %q, %v", got, err)
		}
	})
}

// A half that is closed goes on hearing.
func TestCloseWrite(t *testing.T) {
	inBubble(t, func(t *testing.T, w *faulty.Wires) {
		a, b := ends(t, w)
		send(t, a, "all")
		if err := a.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(b); string(got) != "all" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
		send(t, b, "thanks")
		expect(t, a, "thanks", 0)
	})
}

// Connections break as often as the weather says, by the seed; whatever breaks, the Data lane
// loses, doubles and reorders nothing.
func TestBreaksLoseNoData(t *testing.T) {
	w := wires(t, 7, faulty.Weather{})
	start := func(id transport.NodeID) *transport.Mesh {
		m, err := transport.Listen(t.Context(), transport.Config{
			Cluster: "c", Self: id, Bind: "127.0.0.1:0",
			Network: w.At("", transport.TCP()), BackoffMin: time.Millisecond,
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { m.Close() })
		return m
	}
	a, b := start(1), start(2)
	const last = 30_000
	var wrong atomic.Uint64
	next := uint64(1)
	done := make(chan struct{})
	b.Handle(1, transport.HandlerFunc(func(_ transport.NodeID, p []byte) {
		if binary.LittleEndian.Uint64(p) != next {
			wrong.Add(1)
		}
		if next++; next == last+1 {
			close(done)
		}
	}))
	if err := a.AddPeer(b.Self(), b.Addr()); err != nil {
		t.Fatal(err)
	}
	w.Set(a.Addr(), b.Addr(), faulty.Weather{BreakEvery: 30, Jitter: 200 * time.Microsecond})
	w.Set(b.Addr(), a.Addr(), faulty.Weather{BreakEvery: 100})
	for n := uint64(1); n <= last; n++ {
		fill := func(dst []byte) []byte {
			return append(binary.LittleEndian.AppendUint64(dst, n), make([]byte, 200)...)
		}
		if err := a.AppendWait(t.Context(), b.Self(), transport.Data, 0, 1, fill, nil); err != nil {
			t.Fatal(err)
		}
	}
	w.HealAll()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatalf("not all came: %v", b.Stats())
	}
	if s := a.Stats(); wrong.Load() > 0 || s.Resent == 0 || s.Dials < 5 {
		t.Errorf("%d out of order or twice; %v", wrong.Load(), s)
	}
	w.Break(b.Addr(), a.Addr())
}
