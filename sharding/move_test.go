package sharding

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coterie-go/coterie/sharding/control"
	"github.com/coterie-go/coterie/sharding/dataplane/entities"
	"github.com/coterie-go/coterie/sharding/protocol"
)

const lull = 20 * time.Millisecond // from one lull of the load to the next

// load tells numbered messages from several senders until stop, and returns how many were told.
func load(ctx context.Context, t *testing.T, regions []*Region[message_], stop <-chan struct{}) (told func() int) {
	var wg sync.WaitGroup
	var n atomic.Int64
	for s := range 6 {
		wg.Go(func() {
			g := regions[s%len(regions)]
			refs := make([]*EntityRef[message_], 20)
			for i := range refs {
				refs[i] = g.Ref(fmt.Sprint("e", i))
			}
			for i := 1; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				var err error
				m := numbered{Sender: s, N: i}
				if i%2 == 0 {
					err = refs[i%20].Tell(ctx, m)
				} else {
					err = g.Tell(ctx, fmt.Sprint("e", i%20), m)
				}
				if err != nil {
					t.Error(err)
					return
				}
				n.Add(1)
				switch {
				case i%100 == 0: // half of the time nothing is sent, whatever held up either: what can become idle does
					<-time.After(lull - time.Duration(time.Now().UnixNano())%lull)
				case i%10 == 0:
					<-time.After(time.Millisecond)
				}
			}
		})
	}
	return func() int {
		wg.Wait()
		return int(n.Load())
	}
}

// settled asks every entity, so that all that was told to it before has been handled.
func askAll(ctx context.Context, t *testing.T, g *Region[message_]) {
	t.Helper()
	for i := range 20 {
		if _, err := Ask(ctx, g.Ref(fmt.Sprint("e", i)), total{}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestRebalanceUnderLoad(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		rec := newRecorder()
		var moves atomic.Int64
		typ := rec.entityType()
		typ.Rebalance.Interval = time.Second
		typ.OnEvent = onNotes(func(e protocol.Event) {
			if e.Kind == protocol.ShardMoved {
				moves.Add(1)
			}
		})
		var regions []*Region[message_]
		for range 2 {
			regions = append(regions, start(w.join("backend"), typ))
		}
		proxy := start(w.join("frontend"), typ)
		w.install()
		ctx := within(t, 10*time.Minute)
		askAll(ctx, t, regions[0])
		stop := make(chan struct{})
		told := load(ctx, t, append(regions, proxy), stop)
		<-time.After(100 * time.Millisecond)
		regions = append(regions, start(w.join("backend"), typ))
		w.install()
		<-time.After(8 * time.Second)
		close(stop)
		n := told()
		<-time.After(time.Second)
		askAll(ctx, t, regions[2])
		if moves.Load() < 3 {
			t.Errorf("%d shards moved", moves.Load())
		}
		if rec.count() != n {
			t.Errorf("%d of %d messages arrived", rec.count(), n)
		}
		for _, f := range rec.faults() {
			t.Error(f)
		}
		for _, g := range append(regions, proxy) {
			if st := g.Stats(); len(st.Drops) > 0 || st.Buffered > 0 {
				t.Errorf("%+v", st)
			}
		}
	})
}

// A handler that does not return aborts the hand-off with an alarm; the shard stays and works again
// when it returns.
func TestStuckHandlerAbortsTheMove(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		var mu sync.Mutex
		var alarms []protocol.EventKind
		typ := cartType(&cartLog{})
		typ.Shards = 1
		typ.HandOff.StopTimeout, typ.HandOff.FinishTimeout = 2*time.Second, 10*time.Second
		typ.OnEvent = onNotes(func(e protocol.Event) {
			if e.Alarm() {
				mu.Lock()
				alarms = append(alarms, e.Kind)
				mu.Unlock()
			}
		})
		a, b := w.join("backend"), w.join("backend")
		ra := start(a, typ)
		w.install()
		rb := start(b, typ)
		ctx := within(t, 10*time.Minute)
		stuck := newGate()
		if err := ra.Tell(ctx, "stuck", block{stuck}); err != nil {
			t.Fatal(err)
		}
		<-stuck.entered
		if err := w.leaves(a, 20*time.Second); err == nil {
			t.Error("a node said that it has stopped while a handler ran")
		}
		mu.Lock()
		if len(alarms) == 0 {
			t.Error("no alarm")
		}
		mu.Unlock()
		close(stuck.open)
		if n, err := Ask(ctx, rb.Ref("stuck"), total{}); err != nil || n != 0 {
			t.Errorf("%d %v", n, err)
		}
	})
}

// While a node does not hold its lease its entities stand still; messages wait.
func TestLeaseLostAndRegained(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		log := &cartLog{}
		a, b := w.join("backend"), w.join("frontend")
		start(a, cartType(log))
		rb := start(b, cartType(&cartLog{}))
		w.install()
		ctx := within(t, 10*time.Minute)
		if _, err := Ask(ctx, rb.Ref("a"), total{}); err != nil {
			t.Fatal(err)
		}
		a.holdLease(false)
		for range 10 {
			if err := rb.Tell(ctx, "a", addItem{"x", 1}); err != nil {
				t.Fatal(err)
			}
		}
		<-time.After(time.Minute)
		if _, err := Ask(within(t, time.Second), rb.Ref("a"), total{}); !errors.Is(err, ErrTimeout) {
			t.Errorf("answered without the lease: %v", err)
		}
		a.holdLease(true)
		if n, err := Ask(ctx, rb.Ref("a"), total{}); err != nil || n != 10 {
			t.Errorf("%d %v", n, err)
		}
	})
}

func TestNobodyHasTheRole(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		g := start(w.join("frontend"), cartType(&cartLog{}))
		w.install()
		_, err := Ask(within(t, 3*time.Second), g.Ref("a"), total{})
		if !errors.Is(err, ErrTimeout) || !errors.Is(err, ErrUnknownRole) {
			t.Errorf("%v", err)
		}
	})
}

// Tell has accepted what waits for a role that no node has. The log says so, again and again, until
// a node has it.
func TestNobodyHasTheRoleIsLogged(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		var log lockedBuffer
		p := w.join("frontend").ports()
		p.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))
		g, err := StartOn(p, cartType(&cartLog{}))
		if err != nil {
			t.Fatal(err)
		}
		defer g.Close(context.Background())
		w.install()
		for i := range 7 {
			if err := g.Tell(t.Context(), fmt.Sprint("cart-", i), addItem{"x", 1}); err != nil {
				t.Fatal(err)
			}
		}
		<-time.After(control.NoHostFirst + control.NoHostAgain + time.Second)
		said := log.String()
		if n := strings.Count(said, "type=Cart role=backend buffered=7"); n != 2 {
			t.Errorf("%d warnings: %s", n, said)
		}
		start(w.join("backend"), cartType(&cartLog{}))
		w.install()
		<-time.After(3 * control.NoHostAgain)
		if again := log.String(); again != said {
			t.Errorf("warned of a type that is hosted: %s", again[len(said):])
		}
	})
}

// A buffer that is full pushes back: the caller waits, and a handler fails at once.
func TestBufferBound(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		typ := cartType(&cartLog{})
		typ.Limits.BufferMax = 10
		g := start(w.join("frontend"), typ)
		w.install()
		for range 10 {
			if err := g.Tell(t.Context(), "a", addItem{"x", 1}); err != nil {
				t.Fatal(err)
			}
		}
		began := time.Now()
		if err := g.Tell(within(t, time.Second), "a", addItem{}); !errors.Is(err, ErrBufferFull) ||
			time.Since(began) != time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		if err := g.Tell(entities.InHandler, "a", addItem{}); !errors.Is(err, ErrBufferFull) {
			t.Errorf("%v", err)
		}
		blocked := make(chan error, 1)
		go func() { blocked <- g.Tell(t.Context(), "a", addItem{"x", 5}) }()
		synctest.Wait()
		back := start(w.join("backend"), cartType(&cartLog{}))
		w.install()
		if err := <-blocked; err != nil {
			t.Error(err)
		}
		<-time.After(time.Second)
		if n, err := Ask(within(t, time.Second), back.Ref("a"), total{}); err != nil || n != 15 {
			t.Errorf("%d %v", n, err)
		}
	})
}

// A connection that takes nothing more pushes back as a buffer does: callers wait and learn why,
// and a handler fails at once.
func TestConnectionBound(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		front, back := w.join("frontend"), w.join("backend")
		g := start(front, cartType(&cartLog{}))
		start(back, cartType(&cartLog{}))
		w.install()
		if _, err := Ask(within(t, time.Minute), g.Ref("a"), total{}); err != nil {
			t.Fatal(err)
		}
		w.hub.CutBoth(front.member.Addr, back.member.Addr)
		large := addItem{strings.Repeat("x", 100<<10), 1}
		var err error
		// the connection takes what is queued until it holds all that it may
		for fresh := true; fresh; synctest.Wait() {
			fresh = false
			for err = nil; err == nil; fresh = fresh || err == nil {
				err = g.Tell(entities.InHandler, "a", large)
			}
			if !errors.Is(err, ErrBufferFull) {
				t.Errorf("in a handler: %v", err)
			}
		}
		began := time.Now()
		took := func(what string, err error, least time.Duration, is ...error) {
			t.Helper()
			for _, target := range is {
				if !errors.Is(err, target) {
					t.Errorf("%s: %v, want %v", what, err, target)
				}
			}
			if d := time.Since(began); d != least {
				t.Errorf("%s took %v", what, d)
			}
			began = time.Now()
		}
		took("a tell", g.Tell(within(t, time.Second), "a", large), time.Second, ErrBufferFull, context.DeadlineExceeded)
		_, err = Ask(within(t, time.Second), g.Ref("a"), total{})
		took("an ask", err, time.Second, ErrBufferFull, ErrTimeout)
		_, err = Ask(t.Context(), g.Ref("a"), total{})
		took("an ask without a deadline", err, g.plane.Timeouts.Ask, ErrBufferFull, ErrTimeout)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		took("a tell that is withdrawn", g.Tell(ctx, "a", large), time.Second, ErrBufferFull, context.Canceled)
		w.hub.HealBoth(front.member.Addr, back.member.Addr)
		if err := g.Tell(within(t, time.Minute), "a", large); err != nil {
			t.Errorf("after all: %v", err)
		}
	})
}

// Buffers may be as small as they like: the first message that waits must not fail (A7).
func TestSmallestBuffer(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		for most := 1; most < 4; most++ {
			typ := cartType(&cartLog{})
			typ.Name, typ.Limits.BufferMax = fmt.Sprint("Cart", most), most
			g := start(w.join("frontend"), typ)
			w.install()
			for i := range most {
				if err := g.Tell(entities.InHandler, "a", addItem{"x", 1}); err != nil {
					t.Errorf("message %d of %d: %v", i+1, most, err)
				}
			}
			if err := g.Tell(entities.InHandler, "a", addItem{}); !errors.Is(err, ErrBufferFull) {
				t.Errorf("beyond %d: %v", most, err)
			}
		}
		typ := cartType(&cartLog{})
		typ.Limits.BufferMax = -1
		if err := typ.Validate(); err == nil || !strings.Contains(err.Error(), "BufferMax") {
			t.Errorf("a negative one: %v", err)
		}
	})
}

// lockedBuffer takes what loggers of several goroutines write.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write implements io.Writer.
func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
