package sharding

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coterie-go/coterie/crdt/cbor"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/sharding/codec"
	"github.com/coterie-go/coterie/sharding/dataplane"
)

// Any region, proxies too, answers for the cluster. A member that does not answer is named, and
// asking starts no entity.
func TestInspection(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		log := &cartLog{}
		a, b := w.join("backend"), w.join("backend")
		ra := start(a, cartType(log))
		start(b, cartType(log))
		p := w.join("frontend")
		proxy := start(p, cartType(log))
		w.install()
		ctx := within(t, time.Hour)
		for i := range 40 {
			if _, err := Ask(ctx, proxy.Ref(fmt.Sprint("cart-", i)), total{}); err != nil {
				t.Fatal(err)
			}
		}
		made := log.made.Load()
		for name, g := range map[string]*Region[message_]{"region": ra, "proxy": proxy} {
			s := g.ClusterStats(ctx)
			if len(s.Regions) != 2 || len(s.Failed) > 0 || s.Active() != 40 || s.Regions[0].Active == 0 ||
				s.Regions[0].Active == 40 {
				t.Errorf("%s: %v", name, s)
			}
			if n, failed := g.TotalActive(ctx); n != 40 || len(failed) > 0 {
				t.Errorf("%s: %d active, %v", name, n, failed)
			}
			if at, _ := g.CurrentRegions(ctx); !slices.Equal(at, []string{a.member.Addr, b.member.Addr}) {
				t.Errorf("%s: current %v", name, at)
			}
			var ids []string
			for _, n := range []*fakeNode{a, b} {
				s, err := g.State(ctx, n.UID())
				if err != nil || s.Proxy || !s.Registered || s.Cut || s.Addr != n.member.Addr {
					t.Errorf("%s: %v %v", name, s, err)
				}
				for _, sh := range s.Shards {
					if len(sh.IDs) != sh.Active {
						t.Errorf("%s: %v", name, s)
					}
					for _, id := range sh.IDs {
						if loc, err := g.Where(ctx, id); err != nil ||
							loc != (Location{sh.Shard, n.UID(), n.member.Addr, true}) {
							t.Errorf("%s: %s is %v %v", name, id, loc, err)
						}
						here := g.UID() == n.UID() // elsewhere the home may be unknown, and Active is
						loc, err := g.Where(ctx, id, LookHere)
						if err != nil || loc.Active != here || loc.Node != n.UID() && (here || loc.Node != 0) {
							t.Errorf("%s: %s is known as %v %v", name, id, loc, err)
						}
					}
					ids = append(ids, sh.IDs...)
				}
			}
			if slices.Sort(ids); len(slices.Compact(ids)) != 40 {
				t.Errorf("%s: ids %q", name, ids)
			}
			if loc, err := g.Where(ctx, "absent"); err != nil || loc.Active || loc.Node == 0 {
				t.Errorf("%s: %v %v", name, loc, err)
			}
		}
		if s, err := ra.State(ctx, p.UID()); err != nil || !s.Proxy || !s.Registered {
			t.Errorf("the proxy: %v %v", s, err)
		}
		if n := log.made.Load(); n != made {
			t.Errorf("asking made %d entities", n-made)
		}
		mute := w.join("backend") // the type is not started there, so no coordinator knows it
		w.install()
		began := time.Now()
		s := proxy.ClusterStats(ctx)
		if len(s.Regions) != 2 || s.Active() != 40 || len(s.Failed) != 1 || s.Failed[0].Node != mute.UID() ||
			!errors.Is(s.Failed[0].Err, ErrTimeout) {
			t.Errorf("with one that is silent: %v", s)
		}
		if d := time.Since(began); d != (Timeouts{}).WithDefaults().Query {
			t.Errorf("it took %v", d)
		}
		if _, err := ra.State(ctx, mute.UID()+100); !errors.Is(err, ErrNodeGone) {
			t.Errorf("a node that is none: %v", err)
		}
		if !strings.Contains(s.String(), "40 active entities in 2 regions, 1 members did not answer") {
			t.Error(s)
		}
	})
}

// A shard that runs here is known to, though the messages of this node wait for its route.
func TestWhereWhileTheRouteWaits(t *testing.T) {
	g, _ := localRegion(t, cartType(&cartLog{}))
	if _, err := Ask(t.Context(), g.Ref("cart"), total{}); err != nil {
		t.Fatal(err)
	}
	number := g.plane.Routes.ShardOf("cart")
	g.plane.Routes.Buffering(number)
	loc, err := g.Where(t.Context(), "cart", LookHere)
	if err != nil || loc.Node != g.UID() || !loc.Active {
		t.Errorf("%v %v", loc, err)
	}
}

// More ids than an answer takes are cut, which it says; the counts are whole.
func TestInspectionIsBounded(t *testing.T) {
	g, _ := localRegion(t, cartType(&cartLog{}))
	const n = 3000
	for i := range n {
		if err := g.Tell(t.Context(), fmt.Sprintf("%0500d", i), addItem{}); err != nil {
			t.Fatal(err)
		}
	}
	s, err := g.State(t.Context(), view.UID(g.plane.Self))
	ids := 0
	for _, sh := range s.Shards {
		ids += len(sh.IDs)
	}
	if err != nil || !s.Cut || s.Active != n || ids != dataplane.InspectIDBytes/500 {
		t.Errorf("cut %v, %d active, %d ids, %v", s.Cut, s.Active, ids, err)
	}
}

// FuzzInspect: whatever comes as a question or as an answer does no harm.
func FuzzInspect(f *testing.F) {
	g, _ := localRegion(f, cartType(&cartLog{}))
	f.Add(codec.AppendInspect(nil, 7, codec.InspectIDs, "cart"))
	f.Add(codec.AppendInspect(nil, 7, codec.InspectEnd, ""))
	body, err := cbor.Messages.Append(nil, g.plane.Inspect(codec.InspectCounts, ""))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(body)
	f.Fuzz(func(t *testing.T, b []byte) {
		g.plane.Receive(2, b)
		q := dataplane.Question[codec.State]{R: g.plane, Plain: true}
		_ = q.Decode(b)
	})
}

// A proxy on the oldest node of the role coordinates and hosts nothing (A10).
func TestProxyCoordinates(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		oldest, b := w.join("backend"), w.join("backend")
		typ := cartType(&cartLog{})
		ports := oldest.ports()
		ports.Proxy = true
		idle := typ
		idle.New = nil
		proxy, err := StartOn(ports, idle)
		if err != nil {
			t.Fatal(err)
		}
		defer proxy.Close(context.Background())
		start(b, typ)
		w.install()
		ctx := within(t, time.Hour)
		for i := range 20 {
			if _, err := Ask(ctx, proxy.Ref(fmt.Sprint("cart-", i)), total{}); err != nil {
				t.Fatal(err)
			}
		}
		s := proxy.ClusterStats(ctx)
		if len(s.Regions) != 2 || !s.Regions[0].Proxy || s.Regions[0].Entities != 0 || s.Regions[1].Active != 20 {
			t.Error(s)
		}
		if at := s.Current(); !slices.Equal(at, []string{b.member.Addr}) {
			t.Errorf("current %v", at)
		}
	})
}
