package sharding

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coterie-go/coterie/crdt/cbor"
	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/ddatatest"
	"github.com/coterie-go/coterie/ddata/locks"
	"github.com/coterie-go/coterie/ddata/transport"
	"github.com/coterie-go/coterie/sharding/codec"
	"github.com/coterie-go/coterie/sharding/dataplane"
	"github.com/coterie-go/coterie/sharding/dataplane/mailbox"
	"github.com/coterie-go/coterie/sharding/dataplane/routes"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// byAge starts nodes of one role and returns them, the oldest first.
func byAge(t *testing.T, n int) []*ddata.Node {
	t.Helper()
	nodes := ddatatest.StartWith(t, n, func(_ int, c *ddata.Config) { c.Roles = []string{"backend"} })
	v := nodes[0].View()
	age := func(n *ddata.Node) int { m, _ := v.Member(n.UID()); return int(m.UpNumber) }
	slices.SortFunc(nodes, func(a, b *ddata.Node) int { return age(a) - age(b) })
	return nodes
}

func begin(t *testing.T, n *ddata.Node, typ EntityType[message_]) *Region[message_] {
	t.Helper()
	g, err := Start(n, typ)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func askThirty(t *testing.T, what string, g *Region[message_]) {
	t.Helper()
	for i := range 30 {
		if _, err := Ask(within(t, 20*time.Second), g.Ref(fmt.Sprint("e", i)), total{}); err != nil {
			t.Fatalf("%s: e%d: %v; health %v", what, i, err, g.plane.Standing.Uncoordinated())
		}
	}
}

// A type that does not run on all nodes of its role has service as soon as the oldest has started
// it, and a node that runs it leaves when no other does.
func TestTypeNotStartedEverywhere(t *testing.T) {
	nodes := byAge(t, 3)
	log := &cartLog{}
	oldest := begin(t, nodes[0], cartType(log))
	askThirty(t, "only the oldest runs it", oldest)
	young := begin(t, nodes[2], cartType(log))
	askThirty(t, "two run it", young)
	stats := oldest.ClusterStats(within(t, 20*time.Second))
	if f := stats.Failed; len(f) != 1 || f[0].Node != nodes[1].UID() || !errors.Is(f[0].Err, ErrStopped) ||
		!strings.Contains(f[0].Err.Error(), "not started there") {
		t.Errorf("%v", stats)
	}
	for _, i := range []int{0, 2} {
		if h := nodes[i].Health(); !h.Ready {
			t.Errorf("node %d: %v", i, h)
		}
	}
	if err := young.Close(within(t, 20*time.Second)); err != nil {
		t.Fatal(err)
	}
	if err := nodes[0].Leave(within(t, 20*time.Second)); err != nil {
		t.Error(err)
	}
	young = begin(t, nodes[2], cartType(log))
	askThirty(t, "the oldest that is left has started it", begin(t, nodes[1], cartType(log)))
	askThirty(t, "started again", young)
}

// A type that its oldest node does not run serves at once: the coordinator is on the oldest node that
// has started the type. A node that starts it later takes nothing from it, however old it is, and takes
// its turn when the node in charge has gone.
func TestTypeNotStartedOnTheOldest(t *testing.T) {
	nodes := byAge(t, 3)
	typ := cartType(&cartLog{})
	middle := begin(t, nodes[1], typ)
	askThirty(t, "only the second runs it", middle)
	old, young := begin(t, nodes[0], typ), begin(t, nodes[2], typ)
	askThirty(t, "asked on the oldest", old)
	askThirty(t, "asked on the youngest", young)
	for i, g := range []*Region[message_]{old, middle, young} {
		if acts := g.plane.Standing.Coordinates.Load(); acts != (i == 1) {
			t.Errorf("the coordinator of node %d acts: %t", i, acts)
		}
		if h := nodes[i].Health(); !h.Ready {
			t.Errorf("node %d: %v", i, h)
		}
	}
	if err := nodes[1].Leave(within(t, 20*time.Second)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the oldest, which came next, takes over", old.plane.Standing.Coordinates.Load)
	askThirty(t, "the first one has gone", young)
	if young.plane.Standing.Coordinates.Load() {
		t.Error("two act")
	}
}

// A proxy of a type that no node of the role has started hears why it waits, and is served as soon as
// one has.
func TestTypeStartedNowhere(t *testing.T) {
	nodes := ddatatest.StartWith(t, 3, func(i int, c *ddata.Config) {
		if i > 0 {
			c.Roles = []string{"backend"}
		}
	})
	typ := cartType(&cartLog{})
	proxy := begin(t, nodes[0], typ)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := Ask(ctx, proxy.Ref("a"), total{})
	if err == nil || !strings.Contains(err.Error(), "has started the type") {
		t.Errorf("%v", err)
	}
	begin(t, nodes[1], typ)
	askThirty(t, "one has started it", proxy)
}

// A node with a new type is rolled back while no other node runs the type. It gives its shards of other
// types away, and leaves at once and in order.
func TestNewTypeIsRolledBack(t *testing.T) {
	nodes := byAge(t, 2)
	typ := cartType(&cartLog{})
	old, young := begin(t, nodes[0], typ), begin(t, nodes[1], typ)
	askThirty(t, "the type that both run", young)
	fresh := cartType(&cartLog{})
	fresh.Name = "New"
	g := begin(t, nodes[1], fresh)
	askThirty(t, "the new type", g)
	if h := nodes[1].Health(); !h.Ready {
		t.Errorf("the node is not ready: %v", h)
	}
	began := time.Now()
	if err := nodes[1].Leave(within(t, 20*time.Second)); err != nil || time.Since(began) > 10*time.Second {
		t.Errorf("after %v: %v", time.Since(began), err)
	}
	if err := nodes[1].Err(); !errors.Is(err, ddata.ErrLeft) {
		t.Errorf("the node has ended with %v", err)
	}
	askThirty(t, "what both ran", old)
}

// The region of the node whose coordinator acts is closed: that goes on. When the last region is
// closed nothing runs, and when one starts again, all does.
func TestCloseEverywhere(t *testing.T) {
	nodes := byAge(t, 2)
	log := &cartLog{}
	typ := cartType(log)
	typ.Leases.Coordinator = locks.NewMemory()
	old, young := begin(t, nodes[0], typ), begin(t, nodes[1], typ)
	askThirty(t, "at first", old)
	for _, g := range []*Region[message_]{old, young} {
		if err := g.Close(within(t, 20*time.Second)); err != nil {
			t.Fatal(err)
		}
		if !old.plane.Standing.Coordinates.Load() {
			t.Error("the coordinator has ended with its region")
		}
	}
	if n, m := log.made.Load(), log.stopped.Load(); n != m {
		t.Errorf("%d entities were made, %d stopped", n, m)
	}
	for _, n := range nodes {
		if got := Types(n); len(got) > 0 {
			t.Errorf("types that run: %v", got)
		}
		if _, err := Lookup[message_](n, "Cart"); !errors.Is(err, ErrNotStarted) {
			t.Error(err)
		}
	}
	young = begin(t, nodes[1], typ)
	askThirty(t, "one is started again", young)
	old = begin(t, nodes[0], typ)
	askThirty(t, "both are", old)
	eventually(t, "the new coordinator acts", func() bool { return old.plane.Standing.Coordinates.Load() })
}

// A type cannot be started again, because its coordinator's lease is not given back: the node
// answers for it meanwhile, and keeps what it has promised.
func TestTypeNotStartedAgain(t *testing.T) {
	node := byAge(t, 1)[0]
	broken := errors.New("no way there")
	var away atomic.Bool
	typ := cartType(&cartLog{})
	typ.Leases.Coordinator = &stuckStore{locks.NewMemory(), func(context.Context) error {
		if away.Load() {
			return broken
		}
		return nil
	}}
	g := begin(t, node, typ)
	askThirty(t, "at first", g)
	if err := g.Close(within(t, 20*time.Second)); err != nil {
		t.Fatal(err)
	}
	away.Store(true)
	if _, err := Start(node, typ); !errors.Is(err, broken) {
		t.Fatal(err)
	}
	away.Store(false)
	a, err := typesOf(node.Host()).absence(typ.Name)
	if err != nil || a.started || a.who.Predecessor != g.run.control.Predecessor() ||
		a.who.Predecessor.Incarnation != 1 {
		t.Errorf("answered by: %+v", a)
	}
	askThirty(t, "started again", begin(t, node, typ))
}

// A type that was closed on the node in charge of it, and cannot be started there again, has no
// coordinator until it is. A node that wants one tells of it, and is ready all the same.
func TestTypeNotStartedAgainInCharge(t *testing.T) {
	nodes := byAge(t, 3)
	broken := errors.New("no way there")
	var away atomic.Bool
	var said atomic.Int64
	typ := cartType(&cartLog{})
	typ.Leases.Coordinator = &stuckStore{locks.NewMemory(), func(context.Context) error {
		if away.Load() {
			return broken
		}
		return nil
	}}
	old := begin(t, nodes[0], typ)
	askThirty(t, "two run it", begin(t, nodes[1], typ))
	if err := old.Close(within(t, 20*time.Second)); err != nil {
		t.Fatal(err)
	}
	away.Store(true)
	if _, err := Start(nodes[0], typ); !errors.Is(err, broken) {
		t.Fatal(err)
	}
	typ.OnEvent = onNotes(func(e protocol.Event) {
		if e.Kind == protocol.CoordinatorAbsent && e.Peer == nodes[0].UID() && e.Alarm() {
			said.Add(1)
		}
	})
	fresh := begin(t, nodes[2], typ)
	eventually(t, "it is said", func() bool { return said.Load() > 0 })
	// A question that is out has no answer yet, and the node is not ready until that is there again.
	eventually(t, "the node is ready", func() bool {
		text := fmt.Sprint(fresh.plane.Standing.Uncoordinated())
		return nodes[2].Health().Ready && strings.Contains(text, "the type was closed on") &&
			strings.Contains(text, nodes[0].Addr())
	})
	away.Store(false)
	begin(t, nodes[0], typ)
	askThirty(t, "started again", fresh)
}

// A region that is closed on a living node under load hands its shards over: every question is
// answered, by each of the others; and it starts again.
func TestCloseUnderLoad(t *testing.T) {
	for name, which := range map[string]int{"the coordinator's": 0, "another": 2} {
		t.Run(name, func(t *testing.T) {
			nodes := byAge(t, 3)
			log := &cartLog{}
			regions := make([]*Region[message_], 3)
			for i, n := range nodes {
				regions[i] = begin(t, n, cartType(log))
			}
			for _, g := range regions {
				askThirty(t, "at first", g)
			}
			stop := make(chan struct{})
			var asked atomic.Int64
			var wg sync.WaitGroup
			for i, g := range regions {
				if i == which {
					continue
				}
				for k := range 4 {
					wg.Go(func() {
						for j := 0; ; j++ {
							select {
							case <-stop:
								return
							default:
							}
							ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
							_, err := Ask(ctx, g.Ref(fmt.Sprint("e", (j*7+k)%30)), total{})
							cancel()
							if err != nil {
								t.Errorf("from %d: %v", i, err)
								return
							}
							asked.Add(1)
						}
					})
				}
			}
			for round := range 3 {
				if err := regions[which].Close(within(t, 20*time.Second)); err != nil {
					t.Fatal(round, err)
				}
				if n := regions[which].Stats().Shards; n != 0 {
					t.Errorf("%d shards are left", n)
				}
				before := asked.Load()
				eventually(t, "questions are answered", func() bool { return asked.Load() > before+200 })
				regions[which] = begin(t, nodes[which], cartType(log))
				askThirty(t, "started again", regions[which])
			}
			close(stop)
			wg.Wait()
			for i, n := range nodes[:2] {
				if err := n.Leave(within(t, 20*time.Second)); err != nil {
					t.Error(i, err)
				}
			}
			askThirty(t, "one is left", regions[2])
		})
	}
}

func eventually(t *testing.T, what string, so func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !so(); <-time.After(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not within 30 s", what)
		}
	}
}

// A handler that does not return holds its shard's next home up, and no second life of it begins;
// when it has returned, the shards start elsewhere.
func TestCloseWithAStuckHandler(t *testing.T) {
	nodes := byAge(t, 2)
	log := &cartLog{}
	typ := cartType(log)
	typ.HandOff.StopTimeout, typ.HandOff.FinishTimeout = 100*time.Millisecond, 300*time.Millisecond
	typ.HandOff.BeginTimeout = 300 * time.Millisecond
	a, b := begin(t, nodes[0], typ), begin(t, nodes[1], typ)
	var here string
	for i := 0; here == ""; i++ {
		id := fmt.Sprint("e", i)
		if _, err := Ask(within(t, 20*time.Second), a.Ref(id), total{}); err != nil {
			t.Fatal(err)
		}
		if home, ok := homeOf(a, id); ok && home == nodes[1].UID() {
			here = id
		}
	}
	stuck := newGate()
	if err := b.Tell(t.Context(), here, block{stuck}); err != nil {
		t.Fatal(err)
	}
	<-stuck.entered
	made := log.made.Load()
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	if err := b.Close(ctx); err == nil || !strings.Contains(err.Error(), "handlers still run in 1 shards") {
		t.Errorf("closed while a handler runs: %v", err)
	}
	ctx, cancel = context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := Ask(ctx, a.Ref(here), total{}); err == nil || log.made.Load() != made {
		t.Errorf("a second life: %v", err)
	}
	if _, err := Start(nodes[1], typ); !errors.Is(err, ErrAlreadyStarted) {
		t.Errorf("started again: %v", err)
	}
	close(stuck.open)
	eventually(t, "the entity lives elsewhere", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := Ask(ctx, a.Ref(here), total{})
		return err == nil
	})
}

// A type is not started again while anything of it runs. What was closed goes on meanwhile: it
// passes on what comes late, and holds no hand-off up.
func TestStartWhileSomethingHasNotEnded(t *testing.T) {
	nodes := byAge(t, 2)
	typ := cartType(&cartLog{})
	old, young := begin(t, nodes[0], typ), begin(t, nodes[1], typ)
	askThirty(t, "at first", old)
	if err := young.Close(within(t, 20*time.Second)); err != nil {
		t.Fatal(err)
	}
	ends := make(chan struct{})
	young.plane.Entities.Pool.Go(func() { <-ends }) // a worker that does not end
	for range 2 {
		if _, err := Start(nodes[1], typ); !errors.Is(err, ErrAlreadyStarted) ||
			!strings.Contains(err.Error(), "handlers still run") {
			t.Fatalf("started again: %v", err)
		}
		p := &routes.BufferedMessage{ID: "late", Env: mailbox.Envelope{Msg: addItem{"x", 1}}}
		if err := old.plane.Routes.Dispatch(old.plane.Routes.ShardOf("late"),
			&routes.Route{Remote: uint64(nodes[1].UID())}, p); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "both are passed on", func() bool {
		n, err := Ask(within(t, 20*time.Second), old.Ref("late"), total{})
		return err == nil && n == 2
	})
	if err := old.Close(within(t, 20*time.Second)); err != nil {
		t.Fatal(err)
	}
	old = begin(t, nodes[0], typ)
	askThirty(t, "another coordinator has begun", old)
	close(ends)
	askThirty(t, "started again", begin(t, nodes[1], typ))
}

// Each of several Close has its own time: one that is short does not wait for one that is long, and
// says what is left.
func TestCloseTwice(t *testing.T) {
	nodes := byAge(t, 1)
	g := begin(t, nodes[0], cartType(&cartLog{}))
	askThirty(t, "at first", g)
	stuck := newGate()
	if err := g.Tell(t.Context(), "e1", block{stuck}); err != nil {
		t.Fatal(err)
	}
	<-stuck.entered
	long, short := make(chan error, 1), make(chan error, 1)
	go func() { long <- g.Close(context.WithoutCancel(t.Context())) }()
	eventually(t, "it is being closed", g.run.closing.Load)
	go func() { short <- g.Close(canceled(t)) }()
	select {
	case err := <-short:
		if err == nil || !strings.Contains(err.Error(), "handlers still run in 1 shards") {
			t.Errorf("the short one: %v", err)
		}
	case <-time.After(20 * time.Second):
		t.Error("the short one waits for the long one")
	}
	if _, err := Start(nodes[0], cartType(&cartLog{})); !errors.Is(err, ErrAlreadyStarted) {
		t.Errorf("started again: %v", err)
	}
	close(stuck.open)
	if err := <-long; err != nil {
		t.Errorf("the long one: %v", err)
	}
	askThirty(t, "started again", begin(t, nodes[0], cartType(&cartLog{})))
}

func canceled(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

// What a closed region still held is dropped when its type is started again. The hook that hears of
// it may look types up.
func TestHookLooksTypesUpDuringStart(t *testing.T) {
	node := byAge(t, 1)[0]
	typ := cartType(&cartLog{})
	var dropped atomic.Int64
	typ.OnEvent = onEvent(func(d Drop) {
		_, _ = Lookup[message_](node, "Cart")
		if d.Reason == DropStopped && d.ID == "late" && len(Types(node)) == 0 {
			dropped.Add(1)
		}
	})
	g := begin(t, node, typ)
	askThirty(t, "at first", g)
	if err := g.Close(within(t, 20*time.Second)); err != nil {
		t.Fatal(err)
	}
	p := routes.BufferedMessage{
		ID: "late", Env: mailbox.Envelope{Msg: addItem{"x", 1}}, Size: routes.BufferedOverhead,
	}
	eventually(t, "it waits", func() bool {
		return g.plane.Routes.Hold(g.plane.Routes.ShardOf("late"), p) == nil
	})
	again := make(chan error, 1)
	go func() {
		_, err := Start(node, typ)
		again <- err
	}()
	select {
	case err := <-again:
		if err != nil || dropped.Load() != 1 {
			t.Errorf("started again: %v; %d dropped", err, dropped.Load())
		}
	case <-time.After(20 * time.Second):
		t.Fatal("Start waits for the hook, which waits for Start")
	}
}

// What a node has promised for a type before it was started there binds the type: the node answers
// without knowing of it.
func TestPromiseBindsTheTypeThatIsStartedLater(t *testing.T) {
	nodes := byAge(t, 2)
	typ := cartType(&cartLog{})
	ch := dataplane.ChannelOf(typ.Name)
	answers := make(chan protocol.Message, 8)
	nodes[1].Host().Channels.Handle(ch, transport.HandlerFunc(func(_ transport.NodeID, payload []byte) {
		rd := cbor.NewReader(dataplane.FrameOf(payload))
		if kind, _ := codec.OpenFrame(rd); kind == codec.Control {
			m, err := protocol.DecodeMessage(rd.Bytes(cbor.Any))
			if err != nil {
				t.Error(err)
			}
			answers <- m
		}
	}))
	low, high := protocol.Token{Epoch: 1, Up: 1, Seq: 1}, protocol.Token{Epoch: 1, Up: 1, Seq: 2}
	for _, m := range []protocol.Message{
		protocol.Inquire{Floor: high}, protocol.Inquire{Floor: low}, protocol.Register{}, protocol.Compare{},
	} {
		if err := sendRaw(nodes[1], nodes[0], ch, dataplane.AppendQuestion(nil, m)); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []protocol.Message{
		protocol.AbsentReport{Floor: high}, protocol.Absent{}, protocol.Compared{},
	} {
		select {
		case m := <-answers:
			if m.String() != want.String() {
				t.Errorf("%v, want %v", m, want)
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("no %v", want)
		}
	}
	a, err := typesOf(nodes[0].Host()).absence(typ.Name)
	if err != nil || a.start() != (protocol.Predecessor{Floor: high}) {
		t.Errorf("%+v, %v", a, err)
	}
}

// Promises are compared as the tokens are.
func TestPromisesHaveTheOrderOfTokens(t *testing.T) {
	tokens := []protocol.Token{
		{}, {Seq: 1}, {Seq: 256}, {Up: 1}, {Up: 1, Seq: 1}, {Up: 300}, {Epoch: 1}, {Epoch: 1 << 40},
	}
	for i, a := range tokens {
		if back := dataplane.FloorOf(dataplane.AppendFloor(nil, a)); back != a {
			t.Errorf("%v is read as %v", a, back)
		}
		for j, b := range tokens {
			if got := bytes.Compare(dataplane.AppendFloor(nil, a), dataplane.AppendFloor(nil, b)); got != cmp.Compare(i,
				j) || got != a.Compare(b) {
				t.Errorf("%v and %v compare as %d", a, b, got)
			}
		}
	}
	if got := dataplane.FloorOf([]byte("another's")); !got.IsZero() {
		t.Errorf("%v", got)
	}
}
