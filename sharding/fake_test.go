package sharding

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/ddata/events/eventstest"
	"github.com/coterie-go/coterie/ddata/host"
	"github.com/coterie-go/coterie/ddata/host/hosttest"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/ddata/runloop"
	"github.com/coterie-go/coterie/ddata/scheduler"
	"github.com/coterie-go/coterie/sharding/dataplane"
	"github.com/coterie-go/coterie/sharding/dataplane/entities"
	"github.com/coterie-go/coterie/sharding/dataplane/mailbox"
	"github.com/coterie-go/coterie/sharding/dataplane/routes"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// The messages of the tests.
type (
	message_ interface{ command() }

	addItem struct {
		Name string
		N    int
	}
	total struct{ Returns[message_, int] }
	echo  struct {
		Returns[message_, string]
		Text string
	}
	crash    struct{ Returns[message_, int] }
	failing  struct{ Returns[message_, int] }
	silent   struct{ Returns[message_, int] }
	leaveNow struct{}
	block    struct{ gate *gate }
	unknown  struct{}
)

func (addItem) command()  {}
func (total) command()    {}
func (echo) command()     {}
func (crash) command()    {}
func (failing) command()  {}
func (silent) command()   {}
func (leaveNow) command() {}
func (block) command()    {}
func (unknown) command()  {}

func testMessages() Codec[message_] {
	return CBOR[message_](addItem{}, total{}, echo{}, crash{}, failing{}, silent{}, leaveNow{}, block{})
}

// gate holds handlers up.
type gate struct{ entered, open chan struct{} }

func newGate() *gate { return &gate{make(chan struct{}, 100), make(chan struct{})} }

// cart is the entity of the tests.
type cart struct {
	log *cartLog
	n   int
}

// cartLog counts what happens to all carts of a test.
type cartLog struct {
	made, stopped atomic.Int64
}

func (k *cart) Receive(c *Context[message_], msg message_) error {
	switch m := msg.(type) {
	case addItem:
		k.n += m.N
	case total:
		return c.Reply(k.n)
	case echo:
		return c.Reply(m.Text)
	case crash:
		panic("boom")
	case failing:
		return errors.New("no luck")
	case leaveNow:
		c.Passivate()
	case block:
		m.gate.entered <- struct{}{}
		<-m.gate.open
	}
	return nil
}

func (k *cart) Stop(*Context[message_]) error {
	k.log.stopped.Add(1)
	return nil
}

func cartType(log *cartLog) EntityType[message_] {
	return EntityType[message_]{
		Identity: Identity{Name: "Cart", Role: "backend", Shards: 16}, Messages: testMessages(),
		New: func(*Context[message_]) Entity[message_] {
			log.made.Add(1)
			return &cart{log: log}
		},
	}
}

// fakeLease is a lease that tests take away.
type fakeLease struct {
	lost  atomic.Bool
	lapse atomic.Int64 // which look from now on finds it lost; 0: none does
}

func (l *fakeLease) Holds() bool {
	return !l.lost.Load() && (l.lapse.Load() == 0 || l.lapse.Add(-1) != 0)
}
func (l *fakeLease) OnLease(func(bool)) (cancel func()) { return func() {} }

// fakeControl hosts every shard here and starts entities at once: the data plane alone.
type fakeControl struct {
	r       *dataplane.Plane
	mu      sync.Mutex
	wanted_ []uint32
	notes   []protocol.Event
}

func (f *fakeControl) Wanted(n uint32) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.wanted_ = append(f.wanted_, n)
}
func (f *fakeControl) FlushLater(uint32)        {}
func (f *fakeControl) Misrouted(uint64, uint32) {}
func (f *fakeControl) Wake(s *entities.Shard, id string) {
	s.Start([]protocol.EntityID{protocol.EntityID(id)}, 0)
}
func (f *fakeControl) EntityStopped(*entities.Shard, string) {}
func (f *fakeControl) Admit(uint64, int) (runloop.Permit,
	bool) {
	return runloop.Permit{}, true
}
func (f *fakeControl) StartEntity(*entities.Shard, string, mailbox.Envelope, runloop.Permit) {}
func (f *fakeControl) Receive(uint64, protocol.Message, int)                                 {}
func (f *fakeControl) Rejected(uint64, error)                                                {}
func (f *fakeControl) Note(e protocol.Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.notes = append(f.notes, e)
}
func (f *fakeControl) Aside(fn func()) bool { fn(); return true }
func (f *fakeControl) Reshare() {
	shards := f.r.Routes.Shards()
	f.r.Entities.Passivations.Reshare(len(shards), slices.Values(shards))
}
func (f *fakeControl) Passivate(s *entities.Shard, id string, _ protocol.Cause, _ runloop.Permit) {
	if e := s.Find(id); e != nil {
		s.Command(e, mailbox.StopNow)
	}
}

type fakeCluster struct{ uid view.UID }

func (f fakeCluster) UID() view.UID                                  { return f.uid }
func (fakeCluster) View() *view.View                                 { return nil }
func (fakeCluster) Offer(view.Service)                               {}
func (fakeCluster) OnView(func(*view.View)) (cancel func())          { return func() {} }
func (fakeCluster) OnReachable(func(view.UID, bool)) (cancel func()) { return func() {} }

// localRegion is a region with all shards here and no machines.
func localRegion(tb testing.TB, t EntityType[message_], edits ...func(*Ports)) (*Region[message_], *fakeLease) {
	tb.Helper()
	if err := t.Validate(); err != nil {
		tb.Fatal(err)
	}
	lease := &fakeLease{}
	ports := fakePorts(1, hosttest.NoChannels{}, lease)
	for _, edit := range edits {
		edit(&ports)
	}
	g := &Region[message_]{plane: dataplane.New(settingsOf(ports, t))}
	shards := hostAll(tb, g, t)
	closing(tb, g, shards)
	return g, lease
}

// settingsOf are the settings of a data plane without machines.
func settingsOf(p Ports, t EntityType[message_]) dataplane.Settings {
	return planeSettings(p, t, t.machines(p))
}

// onEvent is a listener of the events of one type.
func onEvent[E events.Event](hear func(E)) events.Listener { return eventstest.On(hear) }

// onNotes is a listener of what the control plane notes.
func onNotes(hear func(protocol.Event)) events.Listener {
	return onEvent(func(e Event) { hear(e.What) })
}

func fakePorts(uid view.UID, net host.Channels, lease host.Lease) Ports {
	return Ports{
		Scheduler: scheduler.Goroutines{}, Cluster: fakeCluster{uid}, Lease: lease, Network: net,
		Log: slog.New(slog.DiscardHandler),
	}
}

// hostAll puts all shards of a region here.
func hostAll(tb testing.TB, g *Region[message_], t EntityType[message_]) []*entities.Shard {
	r := g.plane
	r.Entities.NewBody = g.incarnate(t.New)
	r.SteeredBy(&fakeControl{r: r})
	var shards []*entities.Shard
	for n := range r.Routes.Slots {
		s := entities.NewShard(r.Entities, uint32(n), protocol.Token{Epoch: 1, Seq: uint64(n)})
		shards = append(shards, s)
		r.Routes.Slots[n].Store(&routes.Route{Local: s})
		r.Routes.Lanes[n].Store(s)
		r.Routes.Hosted[n].Store(s)
	}
	return shards
}

func closing(tb testing.TB, g *Region[message_], shards []*entities.Shard) {
	r := g.plane
	tb.Cleanup(func() {
		r.Users.Close(errRegionClosed)
		r.Asks.Stop()
		r.Entities.StopScans()
		for _, s := range shards {
			s.Shut(func(*entities.Entity, mailbox.Envelope, uint32) {})
		}
		if err := r.Entities.Pool.Drain(context.Background()); err != nil {
			tb.Error(err)
		}
		r.Out.Overflow.Cancel()
		r.Out.Overflow.Ended.Wait()
	})
}

// homeOf is where an entity's shard lives, as far as a region knows; ok is false while it does not.
func homeOf(g *Region[message_], id string) (home view.UID, ok bool) {
	loc, err := g.Where(context.Background(), id, LookHere)
	return loc.Node, err == nil && loc.Node != 0
}
