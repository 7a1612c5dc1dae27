package sharding

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/ddatatest"
	"github.com/coterie-go/coterie/ddata/host"
	"github.com/coterie-go/coterie/ddata/membership/singleton"
	"github.com/coterie-go/coterie/ddata/scheduler"
	"github.com/coterie-go/coterie/sharding/control"
	"github.com/coterie-go/coterie/sharding/persistence/memory"
	"github.com/coterie-go/coterie/sharding/protocol"
	"github.com/coterie-go/coterie/sharding/remember"
	"github.com/coterie-go/coterie/sharding/remember/journaled"
	"github.com/coterie-go/coterie/sharding/remember/remembertest"
)

// dataStore is the replicated data of a region as a store, for the laws.
type dataStore struct{ s *control.StateStore }

var _ remember.Store = dataStore{}

func (d dataStore) Shards(ctx context.Context, _ singleton.FencingToken) ([]protocol.ShardID, error) {
	in, err := d.read(ctx, protocol.StateRead{Kind: protocol.StateRemembered})
	return in.Shards, err
}

func (d dataStore) List(ctx context.Context, _ singleton.FencingToken, add, remove []protocol.ShardID) error {
	return d.write(ctx, protocol.StateWrite{Kind: protocol.StateRemembered, AddShards: add, RemoveShards: remove})
}

func (d dataStore) Load(
	ctx context.Context, _ singleton.FencingToken, shard protocol.ShardID,
) ([]protocol.EntityID, error) {
	in, err := d.read(ctx, protocol.StateRead{Kind: protocol.StateIDs, Shard: shard})
	return in.IDs, err
}

func (d dataStore) Update(
	ctx context.Context, _ singleton.FencingToken, shard protocol.ShardID, add, remove []protocol.EntityID,
) error {
	return d.write(ctx, protocol.StateWrite{Kind: protocol.StateIDs, Shard: shard, AddIDs: add, RemoveIDs: remove})
}

func (d dataStore) write(ctx context.Context, w protocol.StateWrite) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	done := make(chan error, 1)
	d.s.Write(w, func(err error) { done <- err })
	return <-done
}

func (d dataStore) read(ctx context.Context, r protocol.StateRead) (protocol.DidRead, error) {
	if ctx.Err() != nil {
		return protocol.DidRead{}, ctx.Err()
	}
	done := make(chan protocol.DidRead, 1)
	d.s.Read(r, func(_ crdt.Reader, in protocol.DidRead) { done <- in })
	in := <-done
	return in, in.Err
}

// The replicated data that keep ids by default obey the laws of a remember.Store, seen from two
// nodes.
func TestReplicatedDataIsARememberStore(t *testing.T) {
	nodes := ddatatest.StartWith(t, 2, func(_ int, c *ddata.Config) {
		c.Roles, c.Preset = []string{"backend"}, ddata.LAN
	})
	var stores atomic.Int64
	remembertest.Run(t, func(t testing.TB) (a, b remember.Store) {
		typ := fmt.Sprint("Laws", stores.Add(1))
		open := func(i int) remember.Store {
			data, err := nodes[i].Host().Data("backend")
			if err != nil {
				t.Fatal(err)
			}
			return dataStore{
				&control.StateStore{
					Type: typ, Data: data, Quorums: Quorums{}.WithDefaults(),
					Asides: control.NewAsides(scheduler.Goroutines{}),
				},
			}
		}
		return open(0), open(1)
	})
}

// The keys of remembered ids are reserved: nodes have them durable without a word in their Config.
func TestKeysOfRememberedIDsAreReserved(t *testing.T) {
	if pattern := protocol.DurablePrefix("*") + "*"; !slices.Contains(host.DurableKeys(), pattern) {
		t.Errorf("%q is not in %q", pattern, host.DurableKeys())
	}
}

// rememberingType is a type whose ids are in the store.
func rememberingType(log *cartLog, s remember.Store) EntityType[message_] {
	typ := cartType(log)
	typ.Remember.Entities, typ.Remember.Store = true, s
	return typ
}

// Ids are kept in the store that was given, and in nothing else: after a stop of everything they
// are started from there.
func TestRememberStore(t *testing.T) {
	sets, events := &remember.Memory{}, &memory.Store{}
	t.Run("of sets", func(t *testing.T) { testRememberStore(t, func() remember.Store { return sets }) })
	t.Run("in a journal", func(t *testing.T) {
		testRememberStore(t, func() remember.Store {
			store, err := journaled.New(journaled.Config{
				Type: "Cart", Journal: events, Snapshots: events, SnapshotAfter: 3,
			})
			if err != nil {
				t.Fatal(err)
			}
			return store
		})
	})
}

func testRememberStore(t *testing.T, open func() remember.Store) {
	inBubble(t, func(t *testing.T, w *world) {
		a, b := w.join("backend"), w.join("backend")
		ra, rb := start(a, rememberingType(&cartLog{}, open())), start(b, rememberingType(&cartLog{}, open()))
		w.install()
		ctx := within(t, time.Minute)
		for i := range 40 {
			if _, err := ra.StartEntity(ctx, fmt.Sprint("cart-", i)); err != nil {
				t.Fatal(err)
			}
		}
		for i := range 10 {
			if err := rb.Passivate(ctx, fmt.Sprint("cart-", i)); err != nil {
				t.Fatal(err)
			}
		}
		<-time.After(10 * time.Second)
		for _, key := range w.store.Keys(protocol.DurablePrefix("Cart")) {
			t.Errorf("%s is in the replicated data", key)
		}
	})
	inBubble(t, func(t *testing.T, w *world) {
		w.era++ // the clock of its founder is later
		logs := []*cartLog{{}, {}}
		for _, log := range logs {
			start(w.join("backend"), rememberingType(log, open()))
		}
		w.install()
		<-time.After(10 * time.Second)
		if n := logs[0].made.Load() + logs[1].made.Load(); n != 30 {
			t.Errorf("%d entities run after the restart, want 30", n)
		}
	})
}

// A node that would forget what the others remember, or the other way round, takes no part. A proxy
// elsewhere need not know.
func TestOtherRememberEntitiesIsRefused(t *testing.T) {
	for _, remembers := range []bool{true, false} {
		inBubble(t, func(t *testing.T, w *world) {
			typ, wrong := rememberingType(&cartLog{}, &remember.Memory{}), cartType(&cartLog{})
			if !remembers {
				typ, wrong = wrong, typ
			}
			demandRefused(t, w, typ, wrong,
				fmt.Sprintf("Remember.Entities is %t here and %t with the coordinator", !remembers, remembers))
			proxy := start(w.join(), wrong)
			w.install()
			if _, err := Ask(within(t, time.Minute), proxy.Ref("cart-1"), total{}); err != nil {
				t.Errorf("a question through a proxy is told %v", err)
			}
		})
	}
}

// While the store fails nothing is lost. What was told waits, a caller that asks in vain is told
// why, and everything runs once the store works again.
func TestRememberStoreFails(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		var store remember.Memory
		log := &cartLog{}
		typ := rememberingType(log, &store)
		typ.Shards = 1
		var failed, resumed atomic.Int64
		typ.OnEvent = onNotes(func(e protocol.Event) {
			switch e.Kind {
			case protocol.RememberFailed:
				failed.Add(1)
			case protocol.RememberResumed:
				resumed.Add(1)
			}
		})
		g := start(w.join("backend"), typ)
		w.install()
		ctx := within(t, time.Hour)
		if _, err := g.StartEntity(ctx, "before"); err != nil {
			t.Fatal(err)
		}
		store.Before(func(_ context.Context, call string) error {
			if call == "Update" {
				panic("the tables are gone")
			}
			return nil
		})
		for i := range 20 {
			if err := g.Tell(ctx, fmt.Sprint("cart-", i), addItem{"x", 1}); err != nil {
				t.Fatal(err)
			}
		}
		short, cancel := context.WithTimeout(ctx, 30*time.Second)
		defer cancel()
		if _, err := Ask(short, g.Ref("cart-0"), total{}); !errors.Is(err, ErrTimeout) ||
			!errors.Is(err, ErrRemembering) ||
			!strings.Contains(err.Error(), "the tables are gone") {
			t.Errorf("an ask in vain: %v", err)
		}
		if n, err := Ask(ctx, g.Ref("before"), total{}); n != 0 || err != nil {
			t.Errorf("the entity that runs does not answer: %v", err)
		}
		if failed.Load() != 1 || resumed.Load() != 0 {
			t.Errorf("%d events of failure and %d of the end", failed.Load(), resumed.Load())
		}
		store.Before(nil)
		for i := range 20 {
			if n, err := Ask(ctx, g.Ref(fmt.Sprint("cart-", i)), total{}); n != 1 || err != nil {
				t.Errorf("cart %d holds %d: %v", i, n, err)
			}
		}
		short, cancel = context.WithTimeout(ctx, time.Second)
		defer cancel()
		if _, err := Ask(short, g.Ref("cart-0"), silent{}); errors.Is(err, ErrRemembering) || resumed.Load() != 1 {
			t.Errorf("it is over: %v, %d events", err, resumed.Load())
		}
	})
}

// sluggish is a store that takes longer than it is given: what it does takes effect, and its answer
// is that of the context.
type sluggish struct {
	remember.Memory
	slow  atomic.Bool
	calls atomic.Int64
	twice atomic.Bool // two calls were under way
}

func (s *sluggish) Update(
	ctx context.Context, by singleton.FencingToken, shard protocol.ShardID, add, remove []protocol.EntityID,
) error {
	if s.calls.Add(1) > 1 {
		s.twice.Store(true)
	}
	defer s.calls.Add(-1)
	if s.slow.Load() {
		<-ctx.Done()
		<-time.After(time.Second)
	}
	if err := s.Memory.Update(context.WithoutCancel(ctx), by, shard, add, remove); err != nil {
		return err
	}
	return ctx.Err()
}

// A store that answers after its time is up: the write counts as failed, is repeated, and never
// beside the one before. A hand-off waits for it.
func TestRememberStoreIsLate(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		store := &sluggish{}
		logs := []*cartLog{{}, {}}
		types := []EntityType[message_]{rememberingType(logs[0], store), rememberingType(logs[1], store)}
		for i := range types {
			types[i].Shards, types[i].Rebalance.Interval = 1, -1
		}
		a := w.join("backend")
		ra := start(a, types[0])
		w.install()
		rb := start(w.join("backend"), types[1])
		w.install()
		ctx := within(t, time.Hour)
		if _, err := ra.StartEntity(ctx, "first"); err != nil {
			t.Fatal(err)
		}
		store.slow.Store(true)
		for i := range 10 {
			if err := ra.Tell(ctx, fmt.Sprint("cart-", i), addItem{"x", 1}); err != nil {
				t.Fatal(err)
			}
		}
		<-time.After(20 * time.Second)
		if logs[0].made.Load() > 1 {
			t.Error("an entity runs whose id may not be remembered")
		}
		left := make(chan error, 1)
		go func() { left <- w.handsOver(a, time.Hour) }()
		<-time.After(3 * time.Second)
		store.slow.Store(false)
		if err := <-left; err != nil {
			t.Fatal(err)
		}
		for i := range 10 {
			if n, err := Ask(ctx, rb.Ref(fmt.Sprint("cart-", i)), total{}); n != 1 && logs[0].made.Load() == 1 ||
				err != nil {
				t.Errorf("cart %d holds %d: %v", i, n, err)
			}
		}
		if store.twice.Load() {
			t.Error("two updates of one shard at a time")
		}
		if ids, err := store.Load(ctx, FencingToken{}, 0); len(ids) != 11 || err != nil {
			t.Errorf("%d ids are remembered: %v", len(ids), err)
		}
	})
}

// H7: an id of an entity that runs vanishes from its set, and so does the shard from the list: both
// are put back, in the replicated data and in a store that tells of changes.
func TestVanishedIDsComeBack(t *testing.T) {
	for name, s := range map[string]*remember.Memory{"replicated data": nil, "store": {}} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world) {
				typ := rememberingType(&cartLog{}, nil)
				if typ.Shards = 1; s != nil {
					typ.Remember.Store = s
				}
				g := start(w.join("backend"), typ)
				w.install()
				ctx := within(t, time.Minute)
				for _, id := range []string{"a", "b"} {
					if _, err := g.StartEntity(ctx, id); err != nil {
						t.Fatal(err)
					}
				}
				// a late removal knows what was there before the shard was loaded, not what is
				// being added
				<-time.After(time.Second)
				var store remember.Store = dataStore{g.run.control.State}
				if s != nil {
					store = s
				}
				if err := store.Update(ctx, FencingToken{}, 0, nil, []protocol.EntityID{"b"}); err != nil {
					t.Fatal(err)
				}
				<-time.After(time.Second)
				if ids, err := store.Load(ctx, FencingToken{}, 0); len(ids) != 2 || err != nil {
					t.Errorf("%q are remembered, want both that run: %v", ids, err)
				}
				if s != nil {
					return
				}
				if err := store.List(ctx, FencingToken{}, nil, []protocol.ShardID{0}); err != nil {
					t.Fatal(err)
				}
				<-time.After(time.Second)
				if shards, err := store.Shards(ctx, FencingToken{}); len(shards) != 1 || err != nil {
					t.Errorf("%v are on the list, want the shard: %v", shards, err)
				}
			})
		})
	}
}

// A type that recovers at a constant rate starts so many per interval, and at once those for which
// a message comes.
func TestRecoverConstant(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		var store remember.Memory
		const shards = 8 // the rate holds for all together
		ctx := within(t, time.Minute)
		for i := range 100 {
			id := protocol.EntityID(fmt.Sprintf("cart-%02d", i))
			shard := protocol.ShardOf(id, shards)
			if err := errors.Join(store.List(ctx, FencingToken{}, []protocol.ShardID{shard}, nil),
				store.Update(ctx, FencingToken{}, shard, []protocol.EntityID{id}, nil)); err != nil {
				t.Fatal(err)
			}
		}
		log := &cartLog{}
		typ := rememberingType(log, &store)
		typ.Shards, typ.Remember.Recovery = shards, protocol.RecoverConstant
		g := start(w.join("backend"), typ)
		w.install()
		synctest.Wait()
		for passed := range 5 {
			if n := log.made.Load(); n != int64(5*(passed+1)) {
				t.Errorf("%d run after %d intervals", n, passed)
			}
			<-time.After(100 * time.Millisecond)
			synctest.Wait()
		}
		if _, err := Ask(ctx, g.Ref("cart-99"), total{}); err != nil || log.made.Load() != 31 {
			t.Errorf("%d run after the message to the last: %v", log.made.Load(), err)
		}
		<-time.After(2 * time.Second)
		if n := log.made.Load(); n != 100 {
			t.Errorf("%d run in the end", n)
		}
	})
}

// What ended because another's failure was escalated is remembered, too, and starts again with
// that.
func TestEscalationStartsWhatIsRemembered(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		log := &cartLog{}
		typ := rememberingType(log, &remember.Memory{})
		typ.Supervision.Decide, typ.Remember.RestartBackoff = Always(Escalate), 3*time.Second
		g := start(w.join("backend"), typ)
		w.install()
		ctx := within(t, time.Minute)
		ids := idsOf(0, typ.Shards, 5)
		for _, id := range ids {
			if _, err := Ask(ctx, g.Ref(id), total{}); err != nil {
				t.Fatal(err)
			}
		}
		if err := g.Tell(ctx, ids[0], crash{}); err != nil {
			t.Fatal(err)
		}
		<-time.After(2 * time.Second)
		if log.stopped.Load() != 4 || log.made.Load() != 5 {
			t.Errorf("%d stopped, %d made before the time is up", log.stopped.Load(), log.made.Load())
		}
		<-time.After(2 * time.Second)
		if n := log.made.Load(); n != 10 {
			t.Errorf("%d made when the time was up", n)
		}
	})
}

// An entity that ended by itself is remembered, and started again after Remember.RestartBackoff.
func TestEntityRestartBackoff(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		log := &cartLog{}
		typ := rememberingType(log, &remember.Memory{})
		typ.Supervision.Decide, typ.Remember.RestartBackoff = Always(Stop), 3*time.Second
		g := start(w.join("backend"), typ)
		w.install()
		ctx := within(t, time.Minute)
		if err := g.Tell(ctx, "a", crash{}); err != nil {
			t.Fatal(err)
		}
		<-time.After(2 * time.Second)
		if n := log.made.Load(); n != 1 {
			t.Errorf("made %d times before the time is up", n)
		}
		<-time.After(2 * time.Second)
		if n := log.made.Load(); n != 2 {
			t.Errorf("made %d times when the time was up", n)
		}
	})
}
