package region

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// Rows keep what a plain map of homes and tokens keeps, and know the shards of each home.
func TestRows(t *testing.T) {
	const shards = 40
	rng := rand.New(rand.NewPCG(1, 1))
	rs, want := newRows(shards), make([]place, shards)
	for range 5000 {
		s := protocol.ShardID(rng.IntN(shards))
		p := place{home: protocol.UID(rng.IntN(6))}
		p.token = protocol.Token{Epoch: rng.Uint64N(9), Up: 3, Seq: rng.Uint64N(9)}
		switch rng.IntN(4) {
		case 0:
			rs.clear(s)
			want[s] = place{}
			continue
		case 1:
			p.doubt = true
		case 2:
			if p.home != 0 {
				p.route = remoteRoute(p.home, p.token)
			}
		}
		rs.put(s, &p)
		want[s] = p
		home, of := protocol.UID(1+rng.IntN(5)), []protocol.ShardID(nil)
		for s, p := range want {
			if got := rs.place(protocol.ShardID(s)); got != p {
				t.Fatalf("shard %d: %+v, want %+v", s, got, p)
			}
			if p.home == home {
				of = append(of, protocol.ShardID(s))
			}
		}
		if got := rs.shardsOf(home); !slices.Equal(slices.Sorted(slices.Values(got)), of) {
			t.Fatalf("shards %v of %v, want %v", got, home, of)
		}
	}
}

// A view costs a region as much as what has changed, and not a look at all shards.
func TestAViewCostsWhatHasChanged(t *testing.T) {
	cost := func(shards int) time.Duration {
		r := registered(t, shards)
		least := time.Hour
		v := *r.view
		for range 200 {
			next := v
			next.Epoch++
			v = next
			began := time.Now()
			r.Step(time.Unix(100, 0), protocol.Install{View: &next})
			least = min(least, time.Since(began))
		}
		if err := r.Check(); err != nil {
			t.Fatal(err)
		}
		return least
	}
	few, many := cost(1000), cost(100_000)
	if many > 10*few {
		t.Errorf("a view takes %v with 1,000 shards, %v with 100,000", few, many)
	}
}

// What visits the shards of which anything is known passes none of them over, nor looks at the others.
func TestVisitKnown(t *testing.T) {
	const shards = 40
	rng := rand.New(rand.NewPCG(2, 1))
	for range 200 {
		tb := newTable(shards)
		tb.plain = func(_ protocol.ShardID, p *place) bool { return p.phase == protocol.PhaseNone }
		var want, got []protocol.ShardID
		for s := range protocol.ShardID(shards) {
			switch rng.IntN(3) {
			case 0:
				tb.visit(s, func(_ protocol.ShardID, p *place) { p.home, p.token = 2, protocol.Token{Epoch: 1} })
			case 1:
				tb.change(s).phase = protocol.PhaseRunning
			default:
				continue
			}
			want = append(want, s)
		}
		tb.settle()
		tb.visitKnown(func(s protocol.ShardID, p *place) {
			got = append(got, s)
			if p.phase = protocol.PhaseNone; rng.IntN(2) == 0 {
				p.phase = protocol.PhaseRunning // what is visited may change its side
			}
		})
		if !slices.Equal(got, want) {
			t.Fatalf("visited %v, want %v", got, want)
		}
	}
}

// registered returns a region of node 1 that routes so many shards to node 2.
func registered(t *testing.T, shards int) *Region {
	t.Helper()
	cfg := protocol.Config{Identity: protocol.Identity{Name: "t", Shards: shards}, Self: 1}
	r, err := New(cfg, rand.New(rand.NewPCG(1, 1)))
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(100, 0)
	v := &view.View{Epoch: 1}
	for u := range protocol.UID(3) {
		v.Members = append(v.Members, view.Member{UID: u + 1, Status: view.Up, UpNumber: uint32(u + 1)})
	}
	v.Lines = view.Lines{{Service: cfg.Service(), Members: []view.UID{3}}}
	r.Step(now, protocol.LeaseChanged{Held: true})
	r.Step(now, protocol.Install{View: v})
	r.Step(now, protocol.Receive{From: 3, Msg: protocol.Registered{Floor: protocol.Token{Epoch: 1, Up: 3, Seq: 1}}})
	es := make([]protocol.Entry, shards)
	for s := range es {
		es[s] = protocol.Entry{
			Shard: protocol.ShardID(s), Home: 2, Token: protocol.Token{Epoch: 1, Up: 3, Seq: uint64(s) + 2},
		}
	}
	r.Step(now, protocol.TableChanged{Entries: es})
	if p := r.places.peek(0); p.route.State != protocol.RouteRemote {
		t.Fatalf("the route of shard 0 is %v", p.route)
	}
	return r
}
