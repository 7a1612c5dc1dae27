package sharding

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/replicator/quorum"
	"github.com/coterie-go/coterie/sharding/ledger"
	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/persistence/memory"
	"github.com/coterie-go/coterie/sharding/protocol"
	"github.com/coterie-go/coterie/sharding/remember/journaled"
)

// ledgeredType is a type whose homes are in the journal. Each node has a Ledger of its own, as in a
// process of its own.
func ledgeredType(t *testing.T, log *cartLog, m *memory.Store) EntityType[message_] {
	t.Helper()
	typ := cartType(log)
	var err error
	typ.Coordination.Ledger, err = ledger.New(ledger.Config{Type: typ.Name, Journal: m, Snapshots: m, SnapshotAfter: 3})
	if err != nil {
		t.Fatal(err)
	}
	return typ
}

// said gathers the events of a type by kind.
type said struct {
	mu sync.Mutex
	by map[protocol.EventKind][]string
}

func (s *said) hear(e protocol.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.by == nil {
		s.by = map[protocol.EventKind][]string{}
	}
	s.by[e.Kind] = append(s.by[e.Kind], e.Text)
}

func (s *said) of(k protocol.EventKind) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.by[k]
}

func homesOf(t *testing.T, g *Region[message_], n int) map[string]view.UID {
	t.Helper()
	homes := map[string]view.UID{}
	for i := range n {
		id := fmt.Sprint("cart-", i)
		if _, err := Ask(within(t, time.Hour), g.Ref(id), total{}); err != nil {
			t.Fatalf("%s: %v", id, err)
		}
		at, err := g.Where(within(t, time.Hour), id)
		if err != nil {
			t.Fatal(err)
		}
		homes[id] = at.Node
	}
	return homes
}

// With a ledger no majority is asked about homes, and the next coordinator leaves shards where they
// are.
func TestALedgerKeepsHomes(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		m := &memory.Store{}
		a := w.join("backend")
		start(a, ledgeredType(t, &cartLog{}, m))
		b := start(w.join("backend"), ledgeredType(t, &cartLog{}, m))
		c := w.join("backend")
		start(c, ledgeredType(t, &cartLog{}, m))
		w.install()
		before := homesOf(t, b, 40)
		w.kill(a)
		for id, home := range homesOf(t, b, 40) {
			if was := before[id]; was != a.member.UID && was != home {
				t.Errorf("%s was on %v, and is on %v after the takeover", id, was, home)
			}
		}
		for q := range w.store.Asked() {
			if q.Level != quorum.Local {
				t.Errorf("the replicas were asked at level %v", q.Level)
			}
		}
	})
}

// After a stop of all nodes without disks, remembered entities run again by themselves: the homes
// in the journal are of nodes that are gone, and the ids get new ones.
func TestALedgerAfterAStopOfAll(t *testing.T) {
	m := &memory.Store{}
	remembering := func(t *testing.T, log *cartLog) EntityType[message_] {
		typ := ledgeredType(t, log, m)
		store, err := journaled.New(journaled.Config{Type: typ.Name, Journal: m, Snapshots: m, SnapshotAfter: 2})
		if err != nil {
			t.Fatal(err)
		}
		typ.Remember.Entities, typ.Remember.Store = true, store
		return typ
	}
	inBubble(t, func(t *testing.T, w *world) {
		w.era, w.epoch = 1, 500
		var saved atomic.Int64
		m.After(func(_ context.Context, call string) error {
			if call == "SaveSnapshots" {
				saved.Add(1)
			}
			return nil
		})
		g := start(w.join("backend"), remembering(t, &cartLog{}))
		start(w.join("backend"), remembering(t, &cartLog{}))
		w.install()
		for i := range 30 {
			if _, err := g.StartEntity(within(t, time.Minute), fmt.Sprint("cart-", i)); err != nil {
				t.Fatal(err)
			}
		}
		<-time.After(time.Second)
		if saved.Load() == 0 {
			t.Error("no snapshot is made of the ids")
		}
	})
	inBubble(t, func(t *testing.T, w *world) {
		w.era, w.lastUp = 2, 10 // nodes with other UIDs
		logs := []*cartLog{{}, {}}
		for _, log := range logs {
			start(w.join("backend"), remembering(t, log))
		}
		w.install()
		<-time.After(10 * time.Second)
		if a, b := logs[0].made.Load(), logs[1].made.Load(); a+b != 30 || a == 0 || b == 0 {
			t.Errorf("%d and %d entities run after the restart, want 30 on two nodes", a, b)
		}
	})
}

// While the journal fails, hangs or loses answers no shard gets a home, and the coordinator says so.
// What runs goes on. Nothing is lost once the journal works again.
func TestALedgerThatFails(t *testing.T) {
	gone := errors.New("the database is gone")
	for name, fault := range map[string]func(m *memory.Store){
		"fails": func(m *memory.Store) {
			m.Before(func(context.Context, string) error { return gone })
		},
		"loses answers": func(m *memory.Store) {
			m.After(func(context.Context, string) error { return gone })
		},
		"hangs": func(m *memory.Store) {
			m.Before(func(ctx context.Context, _ string) error { <-ctx.Done(); return gone })
		},
		"panics": func(m *memory.Store) {
			m.Before(func(context.Context, string) error { panic(gone) })
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world) {
				m, heard := &memory.Store{}, &said{}
				typ := ledgeredType(t, &cartLog{}, m)
				typ.ShardOf, typ.OnEvent = XXHash, onNotes(heard.hear)
				g := start(w.join("backend"), typ)
				w.install()
				homesOf(t, g, 1)
				<-time.After(time.Second) // the list of regions is written, too
				fault(m)
				for i := range 20 {
					if err := g.Tell(within(t, time.Hour), fmt.Sprint("cart-", i), addItem{"x", 1}); err != nil {
						t.Fatal(err)
					}
				}
				<-time.After(time.Minute)
				if n, err := Ask(within(t, time.Minute), g.Ref("cart-0"), total{}); n != 1 || err != nil {
					t.Errorf("the entity that runs says %d, %v", n, err)
				}
				for _, k := range []protocol.EventKind{protocol.StateDelayed, protocol.StateFailed} {
					if said := heard.of(k); len(said) != 1 || !strings.Contains(said[0], gone.Error()) ||
						!strings.Contains(said[0], "write of sharding/Cart/homes") {
						t.Errorf("%v: %q", k, said)
					}
				}
				m.Before(nil)
				m.After(nil)
				for i := range 20 {
					n, err := Ask(within(t, time.Hour), g.Ref(fmt.Sprint("cart-", i)), total{})
					if n != 1 || err != nil {
						t.Errorf("cart %d holds %d: %v", i, n, err)
					}
				}
				if said := heard.of(protocol.StateResumed); len(said) != 1 {
					t.Errorf("of the end: %q", said)
				}
			})
		})
	}
}

// A journal that is gone at a takeover holds the new coordinator up, which says so. Shards that run
// go on, and the coordinator begins when the journal is there.
func TestALedgerThatIsGoneAtATakeover(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		m, heard := &memory.Store{}, &said{}
		a, b := w.join("backend"), w.join("backend")
		start(a, ledgeredType(t, &cartLog{}, m))
		typ := ledgeredType(t, &cartLog{}, m)
		typ.OnEvent = onNotes(heard.hear)
		g := start(b, typ)
		w.install()
		homes := homesOf(t, g, 20)
		m.Before(func(ctx context.Context, _ string) error { <-ctx.Done(); return ctx.Err() })
		w.kill(a)
		<-time.After(time.Minute)
		for id, home := range homes {
			if home != b.member.UID {
				continue
			}
			if _, err := Ask(within(t, time.Minute), g.Ref(id), total{}); err != nil {
				t.Errorf("%s, which runs: %v", id, err)
			}
		}
		if len(heard.of(protocol.StateFailed)) == 0 || len(heard.of(protocol.CoordinatorStarted)) != 0 {
			t.Errorf("alarms %q, begun %q", heard.of(protocol.StateFailed), heard.of(protocol.CoordinatorStarted))
		}
		m.Before(nil)
		homesOf(t, g, 20)
	})
}

// Homes that cannot be read let no coordinator begin. Callers on every node are told what is damaged,
// and what helps.
func TestADamagedLedger(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		m := &memory.Store{}
		if _, err := m.Append(t.Context(), persistence.Hosting{Type: ledger.TypeName("Cart")}, []persistence.Write{{
			Entity: "homes", ID: 1, Events: []persistence.Event{{Seq: 1, Name: "unknown", Version: 1}},
		}}); err != nil {
			t.Fatal(err)
		}
		a, b := w.join("backend"), w.join("backend")
		regions := []*Region[message_]{
			start(a, ledgeredType(t, &cartLog{}, m)), start(b, ledgeredType(t, &cartLog{}, m)),
		}
		w.install()
		<-time.After(time.Minute)
		for i, g := range regions {
			_, err := Ask(within(t, 5*time.Second), g.Ref("cart"), total{})
			for _, want := range []string{
				a.member.Addr, `of Cart, "homes": `, "event 1", persistence.ErrDamaged.Error(), "unknown", "ledger.Remove",
			} {
				if !errors.Is(err, ErrTimeout) || !strings.Contains(err.Error(), want) {
					t.Errorf("on node %d: %v, want %q in it", i+1, err, want)
				}
			}
		}
	})
}

// A coordinator that was paused while the others went on without it, and whose lease does not stop
// it, is deposed by its next write. It says so and decides nothing any more.
func TestALedgerDeposesAPausedCoordinator(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		m, heard := &memory.Store{}, &said{}
		a := w.join("backend")
		typ := ledgeredType(t, &cartLog{}, m)
		typ.OnEvent = onNotes(heard.hear)
		ra := start(a, typ)
		b := start(w.join("backend"), ledgeredType(t, &cartLog{}, m))
		w.install()
		homesOf(t, b, 1)
		a.gone = true // for the others
		w.install()
		homes := homesOf(t, b, 5)
		for i := range 100 {
			_ = ra.Tell(within(t, time.Minute), fmt.Sprint("cart-", i), addItem{"x", 1})
		}
		<-time.After(10 * time.Second)
		said := heard.of(protocol.CoordinatorDeposed)
		if len(said) != 1 || !strings.Contains(said[0], "a later coordinator") {
			t.Errorf("the deposed one says %q", said)
		}
		if len(heard.of(protocol.CoordinatorStopped)) != 1 || len(heard.of(protocol.StateFailed)) == 0 {
			t.Errorf("it has not stepped down, or does not say that it cannot begin again")
		}
		for id, home := range homesOf(t, b, 5) {
			if home != homes[id] {
				t.Errorf("%s has moved from %v to %v", id, homes[id], home)
			}
		}
	})
}

// A node whose type has no ledger takes no part where the others have one, and the other way round.
func TestOtherLedgerIsRefused(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		demandRefused(t, w, ledgeredType(t, &cartLog{}, &memory.Store{}), cartType(&cartLog{}),
			"Coordination.Ledger is not given here and given with the coordinator")
	})
}
