package sharding

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/ddatatest"
	"github.com/coterie-go/coterie/ddata/locks"
	"github.com/coterie-go/coterie/ddata/locks/file"
	"github.com/coterie-go/coterie/sharding/dataplane/lease"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// leased is the cart type with leases of shards, and a record of what its regions note.
func leased(store locks.Store) (EntityType[message_], *noted) {
	typ := cartType(&cartLog{})
	typ.Leases.Shards = store
	seen := &noted{}
	typ.OnEvent = onNotes(seen.add)
	return typ, seen
}

// noted are events of a region.
type noted struct {
	mu     sync.Mutex
	events []protocol.Event
}

func (n *noted) add(e protocol.Event) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.events = append(n.events, e)
}

func (n *noted) count(kind protocol.EventKind) (k int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, e := range n.events {
		if e.Kind == kind {
			k++
		}
	}
	return k
}

// free reports whether a lease has no holder.
func free(t *testing.T, store locks.Store, name string) bool {
	t.Helper()
	l, err := store.Lock(name, "test")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ok, err := l.Acquire(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return ok
}

// A node whose type has another store of leases than the coordinator's takes no part.
func TestOtherStoreOfLeasesIsRefused(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		mine, other := locks.NewMemory(), locks.NewMemory()
		typ, _ := leased(mine)
		wrong, _ := leased(other)
		demandRefused(t, w, typ, wrong, fmt.Sprintf("Leases.Shards is store %s here and store %s with the coordinator",
			other.ID(), mine.ID()))
	})
}

// demandRefused: a node on which the type is set otherwise than for its coordinator takes no part.
// Both sides say so, and a caller that asks there is told.
func demandRefused(t *testing.T, w *world, typ, wrong EntityType[message_], want string) {
	t.Helper()
	seen, alsoSeen := &noted{}, &noted{}
	typ.OnEvent, wrong.OnEvent = onNotes(seen.add), onNotes(alsoSeen.add)
	a, b := start(w.join("backend"), typ), start(w.join("backend"), wrong)
	w.install()
	if _, err := Ask(within(t, time.Minute), a.Ref("cart-1"), total{}); err != nil {
		t.Fatal(err)
	}
	_, err := Ask(within(t, time.Minute), b.Ref("cart-1"), total{})
	if !errors.Is(err, ErrTimeout) || !strings.Contains(err.Error(), want) {
		t.Errorf("a question there is told %v, not %q", err, want)
	}
	if why := b.plane.Standing.Uncoordinated(); why == nil || !strings.Contains(why.Error(), want) {
		t.Errorf("Health says %v", why)
	}
	if seen.count(protocol.TypeMismatch) != 1 || alsoSeen.count(protocol.TypeMismatch) != 1 {
		t.Errorf("told: %v and %v", seen.events, alsoSeen.events)
	}
	if n := b.Stats().Shards; n != 0 {
		t.Errorf("it hosts %d shards", n)
	}
}

// Two clusters of one name share a store, as after a network that was split by an operator's hand:
// a shard runs in one of them. What waits in the other is told why, is not lost, and is delivered
// when the first one has left.
func TestTwoClustersShareAStore(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		store := locks.NewMemory()
		other := newWorld(t)
		typ, _ := leased(store)
		a := w.join("backend")
		one := start(a, typ)
		w.install()
		if _, err := Ask(within(t, time.Minute), one.Ref("a"), total{}); err != nil {
			t.Fatal(err)
		}
		typ2, seen := leased(store)
		two := start(other.join("backend"), typ2)
		other.install()
		for range 3 {
			if err := two.Tell(t.Context(), "a", addItem{"x", 1}); err != nil {
				t.Fatal(err)
			}
		}
		_, err := Ask(within(t, 20*time.Second), two.Ref("a"), total{})
		if !errors.Is(err, ErrTimeout) || !strings.Contains(err.Error(), "waits here for the lease") ||
			!strings.Contains(err.Error(), "held by") {
			t.Errorf("the second cluster: %v", err)
		}
		if s := two.Stats(); s.Awaiting != 1 || s.Entities != 0 || s.Buffered == 0 {
			t.Errorf("%+v", s)
		}
		if n := seen.count(protocol.LeaseAwaited); n != 1 {
			t.Errorf("noted %d times", n)
		}
		if err := w.leaves(a, time.Minute); err != nil {
			t.Fatal(err)
		}
		if n, err := Ask(within(t, time.Minute), two.Ref("a"), total{}); n != 3 || err != nil {
			t.Errorf("when the first has left: %d %v", n, err)
		}
		if s := two.Stats(); s.Awaiting != 0 || len(s.Drops) > 1 { // the reply of the question that ended too early
			t.Errorf("%+v", s)
		}
	})
}

// rude does things although it should not, and says what came of them.
type rude struct {
	Returns[message_, int]
	gate *gate
	said chan error
}

func (rude) command() {}

// rudeCart obeys rude.
type rudeCart struct{ cart }

func (k *rudeCart) Receive(c *Context[message_], msg message_) error {
	m, ok := msg.(rude)
	if !ok {
		return k.cart.Receive(c, msg)
	}
	m.gate.entered <- struct{}{}
	<-c.Done()
	_, fence := c.Fence()
	_, late := c.Responder()
	for _, err := range []error{
		context.Cause(c), c.Tell("b", addItem{}), c.Region().Tell(c, "b", addItem{}), c.Self().Tell(c, addItem{}),
		fence, late, c.Post(1, "b", nil),
	} {
		m.said <- err
	}
	<-m.gate.open
	return nil
}

const rudeWords = 7

func rudeType(store locks.Store) (EntityType[message_], *noted) {
	typ, seen := leased(store)
	log := &cartLog{}
	typ.Messages = CBOR[message_](addItem{}, total{}, rude{})
	typ.New = func(*Context[message_]) Entity[message_] {
		log.made.Add(1)
		return &rudeCart{cart{log: log}}
	}
	return typ, seen
}

// A lost lease stops its shard at once: the handler's context ends, its effects are refused, what
// waited is dropped with the reason. The shard comes back, not before that handler has returned,
// and without what was lost.
func TestLostLeaseStopsTheShard(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		store := locks.NewMemory()
		typ, seen := rudeType(store)
		g := start(w.join("backend"), typ)
		w.install()
		name := lease.ShardName("", "Cart", g.plane.Routes.ShardOf("a"))
		m := rude{gate: newGate(), said: make(chan error, rudeWords)}
		ctx := within(t, time.Minute)
		rudeDone := make(chan error)
		go func() {
			_, err := Ask(ctx, g.Ref("a"), m)
			rudeDone <- err
		}()
		<-m.gate.entered
		asked := make(chan error)
		go func() {
			_, err := Ask(ctx, g.Ref("a"), total{})
			asked <- err
		}()
		synctest.Wait()
		store.Take(name)
		for range rudeWords {
			if err := <-m.said; !errors.Is(err, ErrNoLease) {
				t.Errorf("%v", err)
			}
		}
		synctest.Wait()
		if s := g.Stats(); s.LeasesLost != 1 || s.Awaiting != 1 || s.Entities != 0 {
			t.Errorf("%+v", s)
		}
		<-time.After(30 * time.Second) // longer than the pause
		if why := g.plane.AwaitsLease(g.plane.Routes.ShardOf("a")); !strings.Contains(why, "a handler that ran here") {
			t.Errorf("the shard says it waits for %q", why)
		}
		if g.Stats().Awaiting != 1 {
			t.Error("the shard runs again while a handler of its last hosting does")
		}
		close(m.gate.open)
		if err := <-asked; !errors.Is(err, ErrNoLease) {
			t.Errorf("the question in the mailbox: %v", err)
		}
		if err := <-rudeDone; !errors.Is(err, ErrNoLease) {
			t.Errorf("the question that was handled: %v", err)
		}
		if n, err := Ask(within(t, time.Minute), g.Ref("a"), total{}); n != 0 || err != nil {
			t.Errorf("afterwards: %d %v", n, err)
		}
		if seen.count(protocol.ShardLeaseLost) != 1 {
			t.Errorf("%v", seen.events)
		}
		if d := g.Stats().Drops; len(d) != 1 || d[0] != (DropCount{Reason: DropLeaseLost, Count: 1}) {
			t.Errorf("%v", d)
		}
	})
}

// A node without the role of a type has no coordinator that could give a lease back when it leaves.
func TestLeavingWithoutTheRole(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		typ, _ := leased(locks.NewMemory())
		typ.Leases.Coordinator = typ.Leases.Shards
		host, front := w.join("backend"), w.join("frontend")
		start(host, typ)
		from := start(front, typ)
		w.install()
		if _, err := Ask(within(t, time.Minute), from.Ref("a"), total{}); err != nil {
			t.Fatal(err)
		}
		if err := w.leaves(front, time.Minute); err != nil {
			t.Error(err)
		}
	})
}

// A region that is closed gives its leases back, but none under which a handler still runs.
func TestCloseGivesLeasesBack(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		store := locks.NewMemory()
		typ, _ := leased(store)
		typ.Leases.Coordinator = store
		n := w.join("backend")
		g, err := StartOn(n.ports(), typ)
		if err != nil {
			t.Fatal(err)
		}
		w.install()
		stuck := newGate()
		if err := g.Tell(t.Context(), "a", block{stuck}); err != nil {
			t.Fatal(err)
		}
		<-stuck.entered
		quiet := "b"
		for g.plane.Routes.ShardOf(quiet) == g.plane.Routes.ShardOf("a") {
			quiet += "b"
		}
		if _, err := Ask(within(t, time.Minute), g.Ref(quiet), total{}); err != nil {
			t.Fatal(err)
		}
		name := func(id string) string { return lease.ShardName("", "Cart", g.plane.Routes.ShardOf(id)) }
		if free(t, store, name("a")) || free(t, store, name(quiet)) ||
			free(t, store, lease.CoordinatorName("", "Cart")) {
			t.Error("a lease of what runs is free")
		}
		if err := g.Close(within(t, time.Second)); err == nil {
			t.Error("closed while a handler runs")
		}
		if free(t, store, name("a")) || !free(t, store, name(quiet)) ||
			!free(t, store, lease.CoordinatorName("", "Cart")) {
			t.Error("closing gave back what is in use, or did not what is not")
		}
		close(stuck.open)
		synctest.Wait()
		if !free(t, store, name("a")) {
			t.Error("the lease is still held when the handler has returned")
		}
	})
}

// slowStore answers about one name when it is let.
type slowStore struct {
	*locks.Memory
	name string
	gate *gate
}

func (s *slowStore) Lock(name, owner string) (locks.Lock, error) {
	l, err := s.Memory.Lock(name, owner)
	if name == s.name && err == nil {
		l = &slowLease{l, s.gate}
	}
	return l, err
}

type slowLease struct {
	locks.Lock
	gate *gate
}

func (l *slowLease) Acquire(ctx context.Context, lost func(error)) (bool, error) {
	l.gate.entered <- struct{}{}
	<-l.gate.open // whatever ctx says
	return l.Lock.Acquire(ctx, lost)
}

// A store that stands still holds up the shards that wait for it, and neither the others nor a
// hand-off.
func TestStoreThatStandsStill(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		store := &slowStore{Memory: locks.NewMemory(), gate: newGate()}
		typ, seen := leased(store)
		a := w.join("backend")
		one := start(a, typ)
		store.name = lease.ShardName("", "Cart", one.plane.Routes.ShardOf("a"))
		w.install()
		if err := one.Tell(t.Context(), "a", addItem{"x", 5}); err != nil {
			t.Fatal(err)
		}
		<-store.gate.entered
		far := "b"
		for one.plane.Routes.ShardOf(far) == one.plane.Routes.ShardOf("a") {
			far += "b"
		}
		if _, err := Ask(within(t, time.Second), one.Ref(far), total{}); err != nil {
			t.Errorf("another shard: %v", err)
		}
		fast, _ := leased(store.Memory) // the other node has a way to the store
		start(w.join("backend"), fast)
		w.install()
		if err := w.handsOver(a, 20*time.Second); err != nil {
			t.Errorf("the hand-off: %v", err)
		}
		if n, err := Ask(within(t, time.Minute), one.Ref("a"), total{}); n != 5 || err != nil {
			t.Errorf("in its next home: %d %v", n, err)
		}
		if seen.count(protocol.LeaseAwaited) != 1 {
			t.Errorf("%v", seen.events)
		}
		close(store.gate.open)
	})
}

// What a store says is wrong is told, and tried again.
func TestStoreThatFails(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		store := locks.NewMemory()
		store.Fail(errors.New("no way there"))
		typ, _ := leased(store)
		g := start(w.join("backend"), typ)
		w.install()
		if _, err := Ask(within(t, 8*time.Second), g.Ref("a"), total{}); err == nil ||
			!strings.Contains(err.Error(), "no way there") {
			t.Errorf("%v", err)
		}
		store.Fail(nil)
		if _, err := Ask(within(t, time.Minute), g.Ref("a"), total{}); err != nil {
			t.Errorf("mended: %v", err)
		}
	})
}

// Real nodes with the leases of a directory: a shard follows its lease when a node leaves, and a
// second cluster of the same name gets nothing until the first has gone, whatever way it goes.
func TestRealNodesShareADirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "leases")
	open := func() locks.Store {
		d, err := file.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	typ := func() EntityType[message_] {
		typ, _ := leased(open())
		typ.Leases.Coordinator = open()
		return typ
	}
	nodes := ddatatest.Start(t, "backend", "backend")
	ctx := within(t, time.Minute)
	var regions []*Region[message_]
	for _, n := range nodes {
		g, err := Start(n, typ())
		if err != nil {
			t.Fatal(err)
		}
		regions = append(regions, g)
	}
	all := func(g *Region[message_]) {
		t.Helper()
		for i := range 40 {
			if _, err := Ask(ctx, g.Ref(fmt.Sprint("cart-", i)), total{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	all(regions[1])
	if err := nodes[0].Leave(within(t, 20*time.Second)); err != nil {
		t.Fatal(err)
	}
	all(regions[1])
	second := ddatatest.StartWith(t, 1, func(_ int, c *ddata.Config) { c.Roles = []string{"backend"} })[0]
	shardsOnly := typ()
	shardsOnly.Leases.Coordinator = nil // which would hold everything up
	far, err := Start(second, shardsOnly)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Ask(within(t, 500*time.Millisecond), far.Ref("cart-1"), total{}); !errors.Is(err, ErrTimeout) ||
		!strings.Contains(err.Error(), "held by") {
		t.Errorf("the second cluster: %v", err)
	}
	if err := nodes[1].Close(); err != nil {
		t.Fatal(err)
	}
	all(far)
}
