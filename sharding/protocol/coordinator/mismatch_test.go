package coordinator

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/coterie-go/coterie/sharding/allocation"
	"github.com/coterie-go/coterie/sharding/protocol"
	"github.com/coterie-go/coterie/sharding/protocol/region"
)

// A region whose ids go to other shards is not registered, and both sides say why.
func TestMismatchIsRefused(t *testing.T) {
	for name, of := range map[string]protocol.Compatibility{ // order: each is a cluster of its own
		"shards": {Shards: 5, ShardOf: "xxhash"}, "shard function": {Shards: 4, ShardOf: "murmur2"},
	} {
		wrong := protocol.Register{Compatibility: of}
		l := newLone(t, nil, 1, 2)
		l.report(1)
		hosts := protocol.Report{
			Floor: l.c.term.registrar.floor, Parts: 1, Compatibility: of, Shards: []protocol.Hosted{
				{Shard: 1, Phase: protocol.PhaseRunning},
			},
		}
		l.expect(l.step(protocol.Receive{From: 2, Msg: hosts}), "type-mismatch! peer=2")
		if l.c.term.mode == active {
			t.Errorf("%s: the coordinator acts while entities run in other shards", name)
		}
		hosts.Shards = nil
		l.expect(l.step(protocol.Receive{From: 2, Msg: hosts}), "coordinator-started")
		got := l.step(protocol.Receive{From: 2, Msg: wrong})
		l.expect(got, "refused shards=4 by xxhash")
		if strings.Contains(got, "registered") {
			t.Errorf("%s: registered all the same:\n%s", name, got)
		}
		if got := l.step(protocol.Receive{From: 2, Msg: wrong}); strings.Contains(got, "type-mismatch") ||
			!strings.Contains(got, "refused") {
			t.Errorf("%s: said twice, or not answered:\n%s", name, got)
		}
		if l.c.term.homes.regions.peers[2] != nil {
			t.Errorf("%s: it is a peer", name)
		}

		r, err := region.New(protocol.Config{
			Identity: protocol.Identity{
				Name: "t", Shards: int(of.Shards), ShardOf: protocol.ShardFunc{Name: of.ShardOf},
			},
			Self: 2,
		},
			rand.New(rand.NewPCG(1, 1)))
		if err != nil {
			t.Fatal(err)
		}
		r.Step(time.Unix(0, 0), protocol.Install{View: viewOf(1, 1, 2)})
		for i := range 2 {
			fx := r.Step(time.Unix(0, 0), protocol.Receive{
				From: 1, Msg: protocol.Refused{Compatibility: protocol.Compatibility{Shards: 4, ShardOf: "xxhash"}},
			})
			if told := len(fx.Notify) == 1 && fx.Notify[0].Kind == protocol.TypeMismatch &&
				fx.Notify[0].Peer == 1; told != (i == 0) {
				t.Errorf("%s: the region tells %v", name, fx.Notify)
			}
		}
		if now, ever := r.Registered(); now || ever {
			t.Errorf("%s: it counts as registered", name)
		}
	}
}

// A region is not registered if a store of it differs from the coordinator's, or if it has
// one and the coordinator has none. Both sides say which store each has. The shards that it hosts
// go on under a coordinator that finds them. A region that hosts nothing, or never coordinates, is
// not affected.
func TestOtherStoresAreRefused(t *testing.T) {
	both := protocol.Compatibility{
		Role: "r", Shards: 4, ShardOf: "xxhash", Remember: true, Lease: "a", CoordinatorLease: "b",
		Strategy: "allocation.LeastShard",
	}
	for name, c := range map[string]struct { // order: each is a cluster of its own
		theirs        protocol.Compatibility
		proxy, noRole bool
		want          []string
	}{
		"the same": {theirs: both},
		"another for shards": {
			theirs: protocol.Compatibility{Role: "r", Shards: 4, ShardOf: "xxhash", Remember: true, Lease: "c",
				CoordinatorLease: "b"}, want: []string{`Leases.Shards is store a here and store c there`},
		},
		"none for shards": {
			theirs: protocol.Compatibility{Role: "r", Shards: 4, ShardOf: "xxhash", Remember: true, Lease: "",
				CoordinatorLease: "b"}, want: []string{`Leases.Shards is store a here and not set there`},
		},
		"another for coordinators": {
			theirs: protocol.Compatibility{Role: "r", Shards: 4, ShardOf: "xxhash", Remember: true, Lease: "a",
				CoordinatorLease: "c"}, want: []string{`Leases.Coordinator is store b here and store c there`},
		},
		"another for ids": {
			theirs: protocol.Compatibility{Role: "r", Shards: 4, ShardOf: "xxhash", Remember: true, Lease: "a",
				CoordinatorLease: "b", RememberStore: "c"}, want: []string{`Remember.Store is not set here and store c there`},
		},
		"another for reminders": {
			theirs: protocol.Compatibility{Role: "r", Shards: 4, ShardOf: "xxhash", Remember: true, Lease: "a",
				CoordinatorLease: "b", ReminderStore: "c"},
			want: []string{`Reminders.Store is not set here and store c there`},
		},
		"another strategy": {
			theirs: protocol.Compatibility{Role: "r", Shards: 4, ShardOf: "xxhash", Remember: true, Lease: "a",
				CoordinatorLease: "b", Strategy: "own"},
			want: []string{`Allocation.Strategy is allocation.LeastShard here and own there: to change it by a rolling ` +
				`restart set Allocation.Changing`},
		},
		"another strategy, which is new": {
			theirs: protocol.Compatibility{Role: "r", Shards: 4, ShardOf: "xxhash", Remember: true, Lease: "a",
				CoordinatorLease: "b", Strategy: "own", Changing: true},
		},
		"another strategy, on a proxy that coordinates": {
			theirs: protocol.Compatibility{Role: "r", Shards: 4, ShardOf: "xxhash", Remember: true, Lease: "a",
				CoordinatorLease: "b", Strategy: "own"}, proxy: true,
			want: []string{`Allocation.Strategy is allocation.LeastShard here and own there`},
		},
		"another for states": {
			theirs: protocol.Compatibility{Role: "r", Shards: 4, ShardOf: "xxhash", Remember: true, Lease: "a",
				CoordinatorLease: "b", Strategy: "allocation.LeastShard", StateStore: "c"},
			want: []string{`StateStores is not set here and store c there: stop all nodes to change the store`},
		},
		"another for states, on a proxy": {
			theirs: protocol.Compatibility{Role: "r", Shards: 4, ShardOf: "xxhash", Remember: true, Lease: "a",
				CoordinatorLease: "b", Strategy: "allocation.LeastShard", StateStore: "c"}, proxy: true,
		},
		"another role, another strategy": {
			theirs: protocol.Compatibility{
				Role: "r", Shards: 4, ShardOf: "xxhash", Strategy: "own", StateStore: "c",
			}, proxy: true, noRole: true,
		},
		"another role, another for ids": {
			theirs: protocol.Compatibility{
				Role: "r", Shards: 4, ShardOf: "xxhash", RememberStore: "c", ReminderStore: "d",
			}, proxy: true, noRole: true,
		},
		"a proxy, none for shards": {
			theirs: protocol.Compatibility{
				Role: "r", Shards: 4, ShardOf: "xxhash", Remember: true, Lease: "", CoordinatorLease: "b",
			}, proxy: true,
		},
		"a proxy, none at all": {
			theirs: protocol.Compatibility{Role: "r", Shards: 4, ShardOf: "xxhash", Remember: true, Lease: "",
				CoordinatorLease: ""}, proxy: true, want: []string{
				`Leases.Coordinator is store b here and not set there`,
			},
		},
		"another role": {
			theirs: protocol.Compatibility{Role: "r", Shards: 4, ShardOf: "xxhash", Remember: false, Lease: "",
				CoordinatorLease: ""}, proxy: true, noRole: true,
		},
		"under another role": {
			theirs: protocol.Compatibility{Role: "q", Shards: 4, ShardOf: "xxhash", Remember: true, Lease: "a",
				CoordinatorLease: "b"}, want: []string{`Role is r here and q there`},
		},
		"one that forgets": {
			theirs: protocol.Compatibility{Role: "r", Shards: 4, ShardOf: "xxhash", Remember: false, Lease: "a",
				CoordinatorLease: "b"}, want: []string{"Remember.Entities is true here and false there"},
		},
		"one with a ledger": {
			theirs: protocol.Compatibility{
				Role: "r", Shards: 4, ShardOf: "xxhash", Remember: true, Lease: "a", CoordinatorLease: "b",
				Ledger: true,
			}, want: []string{"Coordination.Ledger is not given here and given there"},
		},
		"one with reminders": {
			theirs: protocol.Compatibility{
				Role: "r", Shards: 4, ShardOf: "xxhash", Remember: true, Lease: "a", CoordinatorLease: "b",
				Reminders: true,
			}, want: []string{"Reminders.Enabled is false here and true there"},
		},
		"another role, with a ledger": {
			theirs: protocol.Compatibility{
				Role: "r", Shards: 4, ShardOf: "xxhash", Remember: true, Lease: "a", CoordinatorLease: "b",
				Ledger: true, Reminders: true,
			}, proxy: true, noRole: true,
		},
		"a proxy that coordinates": {
			theirs: protocol.Compatibility{Role: "r", Shards: 4, ShardOf: "xxhash", Remember: false, Lease: "a",
				CoordinatorLease: "b"}, proxy: true, want: []string{"Remember.Entities is true here and false there"},
		},
		"everything": {theirs: protocol.Compatibility{
			Role: "r", Shards: 5, ShardOf: "murmur2", Remember: false, Lease: "c", CoordinatorLease: "",
		}, want: []string{
			"Shards is 4 here and 5 there", `ShardOf is \"xxhash\" here and \"murmur2\" there`, "Remember.Entities is true",
			`Leases.Shards is store a`, `Leases.Coordinator is store b`,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			v := viewOf(1, 1, 2)
			v.Members[0].Roles = []string{"r", "q"}
			if !c.noRole {
				v.Members[1].Roles = []string{"r", "q"}
			}
			for _, role := range []string{"r", "q"} {
				offering(v, protocol.Identity{Name: "t", Role: role})
			}
			cfg := protocol.Config{
				Identity: protocol.Identity{Name: "t", Role: "r", Shards: 4},
				Self:     1, Leases: protocol.Leases[protocol.StoreID]{
					Shards: both.Lease, Coordinator: both.CoordinatorLease,
				},
				Remember: protocol.Remember[protocol.StoreID]{Entities: both.Remember},
			}
			m, err := New(cfg, rand.New(rand.NewPCG(1, 1)))
			if err != nil {
				t.Fatal(err)
			}
			l := &lone{t: t, c: m, now: time.Unix(0, 0)}
			for _, in := range []protocol.CoordinatorInput{
				protocol.LeaseChanged{Held: true}, protocol.Install{View: v}, protocol.LeaseGranted{Gen: 1},
				protocol.DidRead{ID: 1}, protocol.DidRead{ID: 2},
			} {
				l.step(in)
			}
			l.step(protocol.Receive{From: 2, Msg: protocol.Compared{Runs: true, Role: "r", Coordinator: 1}})
			l.report(1)
			if l.c.term.mode == inquiring { // it runs here already
				l.expect(l.step(protocol.Receive{From: 2, Msg: protocol.Report{Floor: m.term.registrar.floor, Parts: 1,
					Compatibility: both, Proxy: c.proxy}}), "coordinator-started")
				delete(m.term.homes.regions.peers, 2)
			}
			got := l.step(protocol.Receive{From: 2, Msg: protocol.Register{Compatibility: c.theirs, Proxy: c.proxy}})
			l.expect(got, c.want...)
			if refused := strings.Contains(got, "refused "); refused != (len(c.want) > 0) ||
				refused != (m.term.homes.regions.peers[2] == nil) {
				t.Errorf("refused: %t, it is %v:\n%s", refused, m.term.homes.regions.peers[2], got)
			}

			cfg = protocol.Config{
				Identity: protocol.Identity{
					Name: "t", Role: c.theirs.Role, Shards: int(c.theirs.Shards),
					ShardOf: protocol.ShardFunc{Name: c.theirs.ShardOf},
				},
				Self: 2, Proxy: c.proxy,
				Remember: protocol.Remember[protocol.StoreID]{
					Entities: c.theirs.Remember, Store: c.theirs.RememberStore,
				},
				Coordination: protocol.Coordination[bool]{Ledger: c.theirs.Ledger},
				Reminders:    c.theirs.Reminders, ReminderStore: c.theirs.ReminderStore,
				Leases: protocol.Leases[protocol.StoreID]{
					Shards: c.theirs.Lease, Coordinator: c.theirs.CoordinatorLease,
				},
				StateStore: c.theirs.StateStore,
			}
			if c.theirs.Strategy != "" {
				cfg.Allocation.Strategy = called(c.theirs.Strategy)
			}
			r, err := region.New(cfg, rand.New(rand.NewPCG(1, 1)))
			if err != nil {
				t.Fatal(err)
			}
			r.Step(l.now, protocol.Install{View: v})
			if len(c.want) == 0 {
				return
			}
			fx := r.Step(l.now, protocol.Receive{From: 1, Msg: protocol.Refused{Compatibility: both}})
			if len(fx.Notify) != 1 || strings.Count(fx.Notify[0].Text, ";") != len(c.want)-1 ||
				fx.Notify[0].Text == "" ||
				strings.Contains(fx.Notify[0].Text,
					` is not set here`) != (c.theirs.Lease == "" || c.theirs.CoordinatorLease == "") {
				t.Errorf("the region tells %v", fx.Notify)
			}
		})
	}
}

// called is a strategy with a name.
type called string

func (c called) Name() string { return string(c) }

func (called) Allocate(protocol.UID, protocol.ShardID, *allocation.Allocations) (protocol.UID, bool) {
	return 0, false
}

func (called) Rebalance(*allocation.Allocations, []protocol.ShardID) []protocol.ShardID { return nil }

// A coordinator on a proxy, which knows no store of states, lets the regions have theirs.
func TestProxyThatCoordinatesKnowsNoStates(t *testing.T) {
	for _, proxy := range []bool{true, false} {
		l := newLoneOf(t, protocol.Config{
			Identity: protocol.Identity{Name: "t", Shards: 4}, Self: 1, Proxy: proxy,
		}, 1, 2)
		l.report(1)
		theirs := l.c.cfg.Compatibility()
		theirs.StateStore = "c"
		got := l.step(protocol.Receive{From: 2, Msg: protocol.Report{
			Floor: l.c.term.registrar.floor, Parts: 1, Compatibility: theirs,
		}})
		if strings.Contains(got, "type-mismatch") == proxy {
			t.Errorf("on a proxy: %t:\n%s", proxy, got)
		}
	}
}

// A coordinator that finds regions with another store of leases tells of them, and goes on with
// what they host.
func TestOtherStoresOfLeasesHoldUpNoTakeover(t *testing.T) {
	l := newLoneOf(t, protocol.Config{
		Identity: protocol.Identity{Name: "t", Shards: 4},
		Self:     1, Leases: protocol.Leases[protocol.StoreID]{Shards: "a"},
	}, 1, 2)
	l.report(1)
	tok := protocol.Token{Epoch: 1, Up: 1, Seq: 9}
	hosts := protocol.Report{
		Floor: l.c.term.registrar.floor, Parts: 1,
		Compatibility: protocol.Compatibility{Shards: 4, ShardOf: "xxhash", Lease: "b"},
		Shards:        []protocol.Hosted{{Shard: 1, Phase: protocol.PhaseRunning, Token: tok}},
	}
	l.expect(l.step(protocol.Receive{From: 2, Msg: hosts}),
		`type-mismatch! peer=2 "Leases.Shards is store a here and store b there"`, "coordinator-started")
	if l.c.term.homes.shards[1].home != 2 {
		t.Errorf("shard 1 lives on %v", l.c.term.homes.shards[1].home)
	}
}
