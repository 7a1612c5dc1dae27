package sharding

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coterie-go/coterie/crdt/cbor"
	"github.com/coterie-go/coterie/ddata/format"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/ddata/tracing"
	"github.com/coterie-go/coterie/ddata/tracing/tracingtest"
	"github.com/coterie-go/coterie/sharding/codec"
	"github.com/coterie-go/coterie/sharding/dataplane"
	"github.com/coterie-go/coterie/sharding/dataplane/routes"
	"github.com/coterie-go/coterie/sharding/failure"
)

// tracedPorts has a region traced.
func tracedPorts(r *tracingtest.Recorder, headers bool) func(*Ports) {
	return func(p *Ports) {
		p.Tracer = r
		p.ReadHeaders = func() bool { return headers }
	}
}

// telling is a type whose entities answer an echo by telling the entity that it names.
func telling() EntityType[message_] {
	typ := cartType(&cartLog{})
	typ.New = func(*Context[message_]) Entity[message_] {
		return receiveFunc(func(c *Context[message_], m message_) error {
			e, is := m.(echo)
			if !is {
				return nil
			}
			if err := c.Tell(e.Text, addItem{"from " + c.ID(), 1}); err != nil {
				return err
			}
			return c.Reply(tracingtest.Baggage(c))
		})
	}
	return typ
}

// startTraced starts a traced type on a node, to be closed with the test.
func startTraced(n *fakeNode, typ EntityType[message_], r *tracingtest.Recorder, headers bool) *Region[message_] {
	p := n.ports()
	tracedPorts(r, headers)(&p)
	g, err := StartOn(p, typ)
	if err != nil {
		n.w.t.Fatal(err)
	}
	n.w.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := g.Close(ctx); err != nil {
			n.w.t.Error(err)
		}
	})
	return g
}

// A question, its handler, what that tells, and the handler of that are one trace, which crosses two nodes
// and back; the baggage goes with it. Where not all members read headers, each node has a trace of its own.
func TestTraceOverNodes(t *testing.T) {
	for _, headers := range []bool{true, false} {
		t.Run(fmt.Sprint(headers), func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world) { traceOverNodes(t, w, headers) })
		})
	}
}

func traceOverNodes(t *testing.T, w *world, headers bool) {
	recorders := []*tracingtest.Recorder{tracingtest.New(), tracingtest.New()}
	var gs []*Region[message_]
	for _, r := range recorders {
		gs = append(gs, startTraced(w.join("backend"), telling(), r, headers))
	}
	w.install()
	var there, here string
	for i := 0; there == "" || here == ""; i++ {
		id := fmt.Sprint("e", i)
		loc, err := gs[0].StartEntity(within(t, time.Minute), id)
		if err != nil {
			t.Fatal(err)
		}
		if loc.Node == view.UID(gs[0].plane.Self) {
			here = id
		} else {
			there = id
		}
	}
	ctx := tracingtest.WithBaggage(within(t, time.Minute), "gold")
	got, err := Ask(ctx, gs[0].Ref(there), echo{Text: here})
	if err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
	all := append(recorders[0].Spans(), recorders[1].Spans()...)
	tree := tracingtest.Tree(all)
	if !headers {
		traces := regexp.MustCompile(`(?m)^\w.*\n( .*\n)*`).FindAllString(tree, -1)
		slices.Sort(traces) // what ends first is not said
		if got != "" || !slices.Equal(traces, []string{"answer Cart\n  tell Cart\n", "ask Cart\n", "receive Cart\n"}) {
			t.Errorf("baggage %q, traces\n%s", got, tree)
		}
		return
	}
	if got != "gold" || tree != "ask Cart\n  answer Cart\n    tell Cart\n      receive Cart\n" {
		t.Errorf("baggage %q, trace\n%s", got, tree)
	}
	if n := len(recorders[1].Spans()); n != 2 { // what runs there
		t.Errorf("the other node has ended %d spans", n)
	}
	for _, s := range all {
		if s.Baggage != "gold" || s.Attrs["messaging.destination.name"] != "Cart" || s.Err != nil {
			t.Errorf("%+v", s)
		}
	}
}

// What waits for a home is in the trace: sent along a route in the end, or lost with a reason.
func TestTraceOfABuffer(t *testing.T) {
	r := tracingtest.New()
	g, _ := localRegion(t, cartType(&cartLog{}), tracedPorts(r, true))
	table, number := g.plane.Routes, uint32(g.ShardOf("a"))
	home := table.Slots[number].Load()
	table.Buffering(number)
	table.Lanes[number].Store(nil)
	if err := g.Tell(t.Context(), "a", addItem{"x", 1}); err != nil {
		t.Fatal(err)
	}
	g.plane.Receive(7, frameOf(t, g, headerOf(r), addItem{"y", 1}, "a"))
	if waiting := table.Limit.Bytes.Load(); waiting <= 2*routes.BufferedOverhead+int64(len(headerOf(r))) {
		t.Errorf("%d bytes are counted, and none of a header", waiting)
	}
	if !table.SetRoute(number, home) {
		t.Fatal("it is not flushed")
	}
	if _, err := Ask(within(t, time.Minute), g.Ref("a"), total{}); err != nil {
		t.Fatal(err)
	}
	var of []string
	for _, s := range r.Spans() {
		if s.Name == "buffer Cart" && s.Err == nil && s.Parent != 0 {
			of = append(of, s.Attrs["coterie.entity.id"])
		}
	}
	if !slices.Equal(of, []string{"a", "a"}) {
		t.Errorf("%q have waited in\n%s", of, tracingtest.Tree(r.Spans()))
	}
	table.Buffering(number)
	if err := g.Tell(t.Context(), "a", addItem{"z", 1}); err != nil {
		t.Fatal(err)
	}
	table.DropBuffer(number, failure.DropStopped)
	all := r.Spans()
	if last := all[len(all)-1]; last.Name != "buffer Cart" || !errors.Is(last.Err, ErrStopped) {
		t.Errorf("what was dropped has waited as %+v", last)
	}
}

// headerOf is a header of a trace.
func headerOf(r *tracingtest.Recorder) []byte {
	ctx, _ := r.Start(context.Background(), tracing.Internal, "elsewhere")
	return r.Inject(ctx, nil)
}

// frameOf is a message with a header as another node sends it.
func frameOf(t *testing.T, g *Region[message_], header []byte, msg message_, id string) []byte {
	t.Helper()
	mt, err := g.plane.Registry.Of(msg)
	if err != nil {
		t.Fatal(err)
	}
	m := codec.Message{Kind: codec.Tell, Shard: uint32(g.ShardOf(id)), Type: mt.ID, Header: header}
	b, err := mt.Append(codec.AppendMessageHead(nil, &m, id), msg)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// A node that passes a message on shows it in the trace, and hands the header on; if not all members read
// it, the message goes without.
func TestTraceOfAForward(t *testing.T) {
	for _, headers := range []bool{true, false} {
		r, net, typ := tracingtest.New(), &scriptNet{}, cartType(&cartLog{})
		p := fakePorts(1, net, &fakeLease{})
		tracedPorts(r, headers)(&p)
		g := &Region[message_]{plane: dataplane.New(settingsOf(p, typ))}
		g.plane.SteeredBy(&fakeControl{r: g.plane})
		for i := range g.plane.Routes.Slots {
			g.plane.Routes.Slots[i].Store(&routes.Route{Remote: 2})
		}
		closing(t, g, nil)
		header := headerOf(r)
		g.plane.Receive(7, frameOf(t, g, header, addItem{"x", 1}, "a"))
		all := r.Spans()
		if len(net.frames) != 1 || len(all) != 1 || all[0].Name != "forward Cart" || all[0].Parent == 0 {
			t.Fatalf("%d frames, spans %+v", len(net.frames), all)
		}
		if bytes.Contains(net.frames[0], header) != headers {
			t.Errorf("headers %t: the frame is %x, the header %x", headers, net.frames[0], header)
		}
	}
}

// Bytes that are no header are counted, and the message is handled all the same. A header of a message for
// the shard, and one on a node that traces nothing, is passed over.
func TestHeadersOfOthers(t *testing.T) {
	r := tracingtest.New()
	g, _ := localRegion(t, cartType(&cartLog{}), tracedPorts(r, true))
	g.plane.Receive(7, frameOf(t, g, []byte{0xff}, addItem{"x", 2}, "a"))
	if n, err := Ask(within(t, time.Minute), g.Ref("a"), total{}); n != 2 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if n := SpansOf(g).Dropped(); n != 1 {
		t.Errorf("%d headers are dropped", n)
	}
	g.plane.Receive(7, append(codec.AppendMessageHead(nil, &codec.Message{
		Kind: codec.Tell, Shard: uint32(g.ShardOf("a")), Type: codec.PassivateWireID, Header: headerOf(r),
	}, "a"), 0xa0))
	g.plane.Receive(7, append(codec.AppendMessageHead(nil, &codec.Message{
		Kind: codec.Tell, Shard: uint32(g.ShardOf("a")), Type: 0xdead, Header: make([]byte, tracing.HeaderMax+1),
	}, "a"), 0xa0))
	if drops := g.Stats().Drops; !slices.Equal(drops, []DropCount{{Reason: DropUndecodable, Count: 1}}) {
		t.Errorf("%v", drops)
	}
	plain, _ := localRegion(t, cartType(&cartLog{}))
	plain.plane.Receive(7, frameOf(t, plain, headerOf(r), addItem{"x", 3}, "a"))
	if n, err := Ask(within(t, time.Minute), plain.Ref("a"), total{}); n != 3 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
}

// The span of a handler ends with its error, or when the rest has run that it waits for. Meanwhile its
// context is in the trace, and afterwards it is not.
func TestSpanOfAHandler(t *testing.T) {
	inBubble(t, func(t *testing.T, _ *world) {
		r := tracingtest.New()
		d := &desk{waits: make(chan *Awaited[message_], 1)}
		typ := cartType(&cartLog{})
		var kept *Context[message_]
		typ.New = func(c *Context[message_]) Entity[message_] {
			kept = c
			return &clerk{desk: d}
		}
		typ.Supervision.Decide = func(error) Directive { return Resume }
		g, _ := localRegion(t, typ, tracedPorts(r, true))
		ctx := tracingtest.WithBaggage(within(t, time.Minute), "gold")
		asked := make(chan error, 1)
		go func() {
			_, err := Ask(ctx, g.Ref("a"), echo{Text: "x"})
			asked <- err
		}()
		synctest.Wait()
		if n := len(r.Spans()); n != 0 || tracingtest.Baggage(kept) != "gold" {
			t.Errorf("while it waits %d spans have ended, and the baggage is %q", n, tracingtest.Baggage(kept))
		}
		d.result(func(c *Context[message_]) error { return c.Reply(tracingtest.Baggage(c)) })
		if err := <-asked; err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		tree := tracingtest.Tree(r.Spans())
		if tree != "ask Cart\n  answer Cart\n" || tracingtest.Baggage(kept) != "" {
			t.Errorf("afterwards the baggage is %q, and the trace\n%s", tracingtest.Baggage(kept), tree)
		}
		for range 2 { // the second one is not held up by the first
			if _, err := Ask(ctx, g.Ref("a"), failing{}); !errors.Is(err, ErrHandler) {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		failed := 0
		for _, s := range r.Spans() {
			if s.Err != nil {
				failed++
			}
		}
		if failed != 4 {
			t.Errorf("%d spans have failed, want 2 questions and 2 handlers, in\n%s", failed,
				tracingtest.Tree(r.Spans()))
		}
	})
}

// A reminder has a span, and begins a trace.
func TestSpanOfAReminder(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		var d diary
		r := tracingtest.New()
		g := startTraced(w.join("backend"), reminding(&d, setting(t, func(c *Context[message_]) error {
			return c.Remind("tea", in(time.Hour), echo{Text: "x"})
		})), r, true)
		w.install()
		if _, err := g.StartEntity(within(t, time.Minute), "a"); err != nil {
			t.Fatal(err)
		}
		tell(t, g, addItem{})
		<-time.After(2 * time.Hour)
		synctest.Wait()
		if tree := tracingtest.Tree(r.Spans()); tree != "tell Cart\n  receive Cart\nremind Cart\n" {
			t.Errorf("traces\n%s", tree)
		}
	})
}

// viewed is a cluster with a view.
type viewed struct {
	fakeCluster
	v *view.View
}

func (c viewed) View() *view.View { return c.v }

// Headers leave a node from the view on in which all members read them.
func TestHeadersFromTheirLevelOn(t *testing.T) {
	for _, c := range []struct {
		v    *view.View
		want bool
	}{
		{nil, false}, {&view.View{Format: format.Headers - 1}, false}, {&view.View{Format: format.Headers}, true},
		{&view.View{Format: format.Headers + 1}, true},
	} {
		if got := readHeaders(viewed{v: c.v})(); got != c.want {
			t.Errorf("with the view %v headers are sent: %t", c.v, got)
		}
	}
}

// Without a Tracer a Tell allocates nothing, and its frame is what it was before there were headers.
func TestUntracedIsFree(t *testing.T) {
	g, _ := localRegion(t, cartType(&cartLog{}))
	ref, ctx := g.Ref("a"), context.Background()
	var m message_ = addItem{"apple", 1}
	if n := testing.AllocsPerRun(1000, func() {
		if err := ref.Tell(ctx, m); err != nil {
			t.Fatal(err)
		}
	}); n >= 1 {
		t.Errorf("a Tell allocates %v times", n)
	}
	far, net := scripted(t)
	if err := far.Tell(ctx, "a", m); err != nil {
		t.Fatal(err)
	}
	mt, _ := far.plane.Registry.Of(m)
	body, _ := mt.Append(nil, m)
	want := cbor.AppendUint(cbor.AppendArray([]byte{1}, 6), uint64(codec.Tell))
	want = cbor.AppendUint(cbor.AppendUint(want, uint64(0)), uint64(far.ShardOf("a")))
	want = append(cbor.AppendUint(cbor.AppendText(want, "a"), mt.ID), body...)
	if !bytes.Equal(net.frames[0], want) {
		t.Errorf("the frame is\n%x, want\n%x", net.frames[0], want)
	}
}
