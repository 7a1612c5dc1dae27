package sharding

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/ddata/transport"
	"github.com/coterie-go/coterie/sharding/dataplane"
	"github.com/coterie-go/coterie/sharding/dataplane/routes"
)

// meshNet is a transport with the callback of links that no test of the data plane needs.
type meshNet struct{ *transport.Mesh }

func (meshNet) Claim(transport.Channel) []byte                   { return nil }
func (meshNet) OnLink(func(transport.LinkEvent)) (cancel func()) { return func() {} }

// meshPair is two nodes that know each other, over TCP.
func meshPair(tb testing.TB) [2]*transport.Mesh {
	tb.Helper()
	var meshes [2]*transport.Mesh
	for i := range meshes {
		m, err := transport.Listen(context.Background(), transport.Config{
			Cluster: "test", Self: transport.NodeID(i + 1), Bind: "127.0.0.1:0",
		})
		if err != nil {
			tb.Fatal(err)
		}
		meshes[i] = m
		tb.Cleanup(func() { _ = m.Close() })
	}
	for i, m := range meshes {
		if err := m.AddPeer(transport.NodeID(2-i), meshes[1-i].Addr()); err != nil {
			tb.Fatal(err)
		}
	}
	return meshes
}

// regionOn is a region on a node.
func regionOn(m *transport.Mesh, typ EntityType[message_]) *Region[message_] {
	ports := fakePorts(view.UID(m.Self()), meshNet{m}, &fakeLease{})
	return &Region[message_]{plane: dataplane.New(settingsOf(ports, typ))}
}

// sendingTo makes a region one that hosts nothing: everything goes to another node.
func sendingTo(node uint64, g *Region[message_]) {
	g.plane.SteeredBy(&fakeControl{r: g.plane})
	for n := range g.plane.Routes.Slots {
		g.plane.Routes.Slots[n].Store(&routes.Route{Remote: node})
	}
}

// remotePair is a region that hosts everything and one on another node that knows so, over TCP.
func remotePair(tb testing.TB, typ EntityType[message_]) (near, far *Region[message_]) {
	tb.Helper()
	meshes := meshPair(tb)
	near, far = regionOn(meshes[0], typ), regionOn(meshes[1], typ)
	sendingTo(2, near)
	hosted := hostAll(tb, far, typ)
	for i, g := range []*Region[message_]{near, far} {
		meshes[i].Handle(g.plane.Out.Channel, g.plane)
	}
	closing(tb, near, nil)
	closing(tb, far, hosted)
	return near, far
}

// A message to another node costs its sender one allocation: the message.
func TestRemoteTellAllocatesTheMessage(t *testing.T) {
	typ := cartType(&cartLog{})
	typ.Messages = CBOR[message_](payload{})
	g := regionOn(meshPair(t)[0], typ) // nothing takes the frames on the other node: it allocates nothing
	sendingTo(2, g)
	closing(t, g, nil)
	ctx, data := t.Context(), make([]byte, 90)
	tell := func() {
		for i := range 1000 {
			if err := g.Tell(ctx, "cart-42", payload{Seq: uint64(i), Data: data}); err != nil {
				t.Fatal(err)
			}
		}
	}
	tell()            // the connection, and its buffers
	const most = 1200 // and some for receipts and for buffers that grow
	if n := testing.AllocsPerRun(50, tell); n > most {
		t.Errorf("%v allocations for 1000 messages, at most %v", n, most)
	} else {
		t.Logf("%v allocations for 1000 messages", n)
	}
}

func TestRemote(t *testing.T) {
	near, _ := remotePair(t, cartType(&cartLog{}))
	ctx := t.Context()
	for i := range 100 {
		if err := near.Tell(ctx, fmt.Sprint("cart-", i%7), addItem{"x", i}); err != nil {
			t.Fatal(err)
		}
	}
	sum := 0
	for i := range 7 {
		n, err := Ask(ctx, near.Ref(fmt.Sprint("cart-", i)), total{})
		if err != nil {
			t.Fatal(err)
		}
		sum += n
	}
	if sum != 4950 {
		t.Errorf("sum %d", sum)
	}
	if _, err := Ask(ctx, near.Ref("a"), crash{}); !errors.Is(err, ErrHandler) {
		t.Errorf("crash: %v", err)
	}
	if err := near.Tell(ctx, "a", unknown{}); !errors.Is(err, ErrUnregisteredMessage) {
		t.Errorf("unregistered: %v", err)
	}
}

func TestRemoteRepliesAreNotLost(t *testing.T) {
	near, _ := remotePair(t, cartType(&cartLog{}))
	checkReplies(t, near, 100, func(caller int) string { return fmt.Sprint(caller % 8) })
}

// payload is the message of the benchmarks: 100 bytes.
type payload struct {
	_    struct{} `cbor:",toarray"`
	Seq  uint64
	Data []byte
}

func (payload) command() {}

type ping struct {
	_ struct{} `cbor:",toarray"`
	Returns[message_, int]
}

func (ping) command() {}

func remoteBench(b *testing.B) (near *Region[message_], seen *atomic.Int64) {
	seen = new(atomic.Int64)
	typ := cartType(&cartLog{})
	typ.Messages = CBOR[message_](payload{}, ping{})
	typ.New = func(*Context[message_]) Entity[message_] {
		return receiveFunc(func(c *Context[message_], m message_) error {
			if _, ok := m.(ping); ok {
				return c.Reply(1)
			}
			seen.Add(1)
			return nil
		})
	}
	near, far := remotePair(b, typ)
	b.Cleanup(func() {
		for reason, n := range far.plane.Drops.All() {
			if n > 0 {
				b.Log(reason, n)
			}
		}
	})
	return near, seen
}

func BenchmarkRemoteTell(b *testing.B) {
	near, seen := remoteBench(b)
	ctx := context.Background()
	var m message_ = payload{Seq: 1, Data: make([]byte, 90)}
	ask := func() {
		if _, err := Ask(ctx, near.Ref("cart-42"), ping{}); err != nil {
			b.Fatal(err)
		}
	}
	ask()
	b.SetBytes(100)
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		if err := near.Tell(ctx, "cart-42", m); err != nil {
			b.Fatal(err)
		}
	}
	ask()
	b.ReportMetric(float64(seen.Load())/b.Elapsed().Seconds()/1e6, "M/s")
	b.ReportMetric(float64(int64(b.N)-seen.Load()), "lost")
}

func BenchmarkRemoteAsk1(b *testing.B) {
	near, _ := remoteBench(b)
	b.ReportAllocs()
	for range b.N {
		if _, err := Ask(context.Background(), near.Ref("cart-42"), ping{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRemoteAsk64(b *testing.B) {
	near, _ := remoteBench(b)
	b.ReportAllocs()
	b.ResetTimer()
	var wg sync.WaitGroup
	for i := range 64 {
		id := fmt.Sprint("cart-", i)
		wg.Go(func() {
			for range b.N/64 + 1 {
				if _, err := Ask(context.Background(), near.Ref(id), ping{}); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds()/1e3, "k/s")
}

// lostNode is a region that sends all it has to a node without a connection.
func lostNode(t *testing.T, typ EntityType[message_]) (near *Region[message_], mesh *transport.Mesh,
	node transport.NodeID) {
	t.Helper()
	near, _ = remotePair(t, typ)
	mesh, node = near.plane.Out.Net.(meshNet).Mesh, 9
	if err := mesh.AddPeer(node, "127.0.0.1:1"); err != nil {
		t.Fatal(err)
	}
	for n := range near.plane.Routes.Slots {
		near.plane.Routes.Slots[n].Store(&routes.Route{Remote: uint64(node)})
	}
	return near, mesh, node
}

// TestUnsentWaitsForTheNextHome: what had not left for a node that is removed is neither lost nor
// overtaken, and a question is not over.
func TestUnsentWaitsForTheNextHome(t *testing.T) {
	rec := newRecorder()
	near, mesh, nobody := lostNode(t, rec.entityType())
	const each = 50
	tell := func(from, to int) {
		for n := from; n <= to; n++ {
			for i := range 7 {
				if err := near.Tell(t.Context(), fmt.Sprint("cart-", i), numbered{N: n}); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	tell(1, each)
	q := &dataplane.Question[int]{R: near.plane}
	c, env, err := q.Open(t.Context(), total{})
	if err != nil {
		t.Fatal(err)
	}
	sent := near.plane.Send(t.Context(), "cart-0", env)
	mesh.RemovePeer(nobody)
	near.plane.Asks.Sweep(func(n uint64) bool { return n == uint64(nobody) }) // as with the view
	tell(each+1, 2*each)
	for n := range near.plane.Routes.Slots {
		near.plane.Routes.SetRoute(uint32(n), &routes.Route{Remote: 2})
	}
	if err := q.Wait(t.Context(), c, sent); err != nil {
		t.Errorf("the question ended with %v", err)
	}
	for i := range 7 {
		if _, err := Ask(t.Context(), near.Ref(fmt.Sprint("cart-", i)), total{}); err != nil {
			t.Fatal(err)
		}
	}
	if n := rec.count(); n != 7*2*each {
		t.Errorf("%d of %d messages arrived", n, 7*2*each)
	}
	for _, f := range rec.faults() {
		t.Error(f)
	}
	if n, lost := near.plane.Routes.Limit.Count.Load(),
		near.plane.Drops.Count(DropUnsent)+near.plane.Drops.Count(DropNodeLost); n != 0 || lost != 0 {
		t.Errorf("%d messages still wait, %d were lost", n, lost)
	}
}

// TestLostWithTheNode: what comes back too late, because what was told after it has gone elsewhere,
// is counted and reported.
func TestLostWithTheNode(t *testing.T) {
	drops := make(chan Drop, 10)
	typ := cartType(&cartLog{})
	typ.OnEvent = onEvent(func(d Drop) { drops <- d })
	near, mesh, nobody := lostNode(t, typ)
	for i := range 3 {
		if err := near.Tell(t.Context(), fmt.Sprint("cart-", i), addItem{"x", i}); err != nil {
			t.Fatal(err)
		}
	}
	for n := range near.plane.Routes.Slots {
		near.plane.Routes.Slots[n].Store(&routes.Route{Remote: 2})
	}
	mesh.RemovePeer(nobody)
	for i := range 3 {
		if d := <-drops; d.Reason != DropUnsent || d.ID != fmt.Sprint("cart-", i) {
			t.Errorf("reported: %v", d)
		}
	}
}

// TestLostQuestion: the asker learns that the question was lost, before its deadline, and whether
// it was ever sent. The counter of drops learns both, too.
func TestLostQuestion(t *testing.T) {
	for sent, want := range map[bool]error{true: ErrNodeGone, false: ErrUnsent} { // order: each is a pair of its own
		loseQuestion(t, sent, want)
	}
}

func loseQuestion(t *testing.T, sent bool, want error) {
	drops := make(chan Drop, 10)
	typ := cartType(&cartLog{})
	typ.OnEvent = onEvent(func(d Drop) { drops <- d })
	near, far := remotePair(t, typ)
	frames := make(chan []byte, 1)
	far.plane.Out.Net.(meshNet).Handle(far.plane.Out.Channel,
		transport.HandlerFunc(func(_ transport.NodeID, b []byte) { frames <- bytes.Clone(b) }))
	asked := make(chan error, 1)
	go func() {
		_, err := Ask(t.Context(), near.Ref("cart"), total{})
		asked <- err
	}()
	frame := <-frames
	if !sent { // what was told later has found the next home
		for n := range near.plane.Routes.Slots {
			near.plane.Routes.Slots[n].Store(&routes.Route{Remote: 3})
		}
	}
	near.plane.Lost(2, frame, sent)
	if err := <-asked; !errors.Is(err, ErrNodeGone) || errors.Is(err, ErrUnsent) != (want == ErrUnsent) {
		t.Errorf("the question ended with %v, want %v", err, want)
	}
	reason := map[bool]DropReason{true: DropNodeLost, false: DropUnsent}[sent]
	if d := <-drops; d.Reason != reason {
		t.Errorf("dropped with %v, want %v", d.Reason, reason)
	}
}
