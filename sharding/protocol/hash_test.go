package protocol

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// The vectors are those of Kafka's partitioner.
func TestMurmur2(t *testing.T) {
	for id, want := range map[string]int32{"1": -1993445489, "12": 126087238, "123": -267702483, "1234": -1614185708, "12345": -1188365604} {
		if got := int32(murmur2(id)); got != want {
			t.Errorf("murmur2 of %q is %d, want %d", id, got, want)
		}
		if got, want := HashMurmur2.ShardOf(EntityID(id), 10), ShardID((want&0x7fffffff)%10); got != want {
			t.Errorf("%q is in shard %d, want %d", id, got, want)
		}
	}
}

// The vectors are those of xxHash: what is stored and sent depends on them.
func TestXXHash(t *testing.T) {
	if got := ShardOf("", 1<<20); got != ShardID(0xef46db3751d8e999&(1<<20-1)) {
		t.Errorf("shard of nothing: %x", got)
	}
	if got := ShardOf("abc", 1<<20); got != ShardID(0x44bc2cf5ad770999&(1<<20-1)) {
		t.Errorf("shard of abc: %x", got)
	}
}

// A region whose ids go to other shards is not registered, and both sides say why.
func TestMismatchIsRefused(t *testing.T) {
	for name, of := range map[string]Compatibility{ // order: each is a cluster of its own
		"shards": {Shards: 5}, "hash": {Shards: 4, Hash: HashMurmur2},
	} {
		wrong := Register{Compatibility: of}
		l := newLone(t, nil, 1, 2)
		l.report(1)
		hosts := Report{Floor: l.c.floor, Parts: 1, Compatibility: of, Shards: []Hosted{{Shard: 1, Phase: PhaseRunning}}}
		l.expect(l.step(Receive{From: 2, Msg: hosts}), "type-mismatch! peer=2")
		if l.c.mode == active {
			t.Errorf("%s: the coordinator acts while entities run in other shards", name)
		}
		hosts.Shards = nil
		l.expect(l.step(Receive{From: 2, Msg: hosts}), "coordinator-started")
		got := l.step(Receive{From: 2, Msg: wrong})
		l.expect(got, "refused shards=4 hash=xxhash")
		if strings.Contains(got, "registered") {
			t.Errorf("%s: registered all the same:\n%s", name, got)
		}
		if got := l.step(Receive{From: 2, Msg: wrong}); strings.Contains(got, "type-mismatch") || !strings.Contains(got, "refused") {
			t.Errorf("%s: said twice, or not answered:\n%s", name, got)
		}
		if l.c.peers[2] != nil {
			t.Errorf("%s: it is a peer", name)
		}

		r, err := NewRegion(Config{Type: "t", Self: 2, Shards: int(of.Shards), Hash: of.Hash}, rand.New(rand.NewPCG(1, 1)))
		if err != nil {
			t.Fatal(err)
		}
		r.Step(time.Unix(0, 0), Install{View: viewOf(1, 1, 2)})
		for i := range 2 {
			fx := r.Step(time.Unix(0, 0), Receive{From: 1, Msg: Refused{Compatibility: Compatibility{Shards: 4}}})
			if told := len(fx.Notify) == 1 && fx.Notify[0].Kind == TypeMismatch && fx.Notify[0].Peer == 1; told != (i == 0) {
				t.Errorf("%s: the region tells %v", name, fx.Notify)
			}
		}
		if now, ever := r.Registered(); now || ever {
			t.Errorf("%s: it counts as registered", name)
		}
	}
}

// A region is not registered if its store of leases differs from the coordinator's, or if it has
// one and the coordinator has none. Both sides say which store each has. The shards that it hosts
// go on under a coordinator that finds them. A region that hosts nothing, or never coordinates, is
// not affected.
func TestOtherStoresOfLeasesAreRefused(t *testing.T) {
	both := Compatibility{Role: "r", Shards: 4, Remember: true, Lease: "a", CoordinatorLease: "b"}
	for name, c := range map[string]struct { // order: each is a cluster of its own
		theirs        Compatibility
		proxy, noRole bool
		want          []string
	}{
		"the same":                 {theirs: both},
		"another for shards":       {theirs: Compatibility{"r", 4, 0, true, "c", "b"}, want: []string{`Lease is store a here and store c there`}},
		"none for shards":          {theirs: Compatibility{"r", 4, 0, true, "", "b"}, want: []string{`Lease is store a here and not set there`}},
		"another for coordinators": {theirs: Compatibility{"r", 4, 0, true, "a", "c"}, want: []string{`CoordinatorLease is store b here and store c there`}},
		"a proxy, none for shards": {theirs: Compatibility{"r", 4, 0, true, "", "b"}, proxy: true},
		"a proxy, none at all":     {theirs: Compatibility{"r", 4, 0, true, "", ""}, proxy: true, want: []string{`CoordinatorLease is store b here and not set there`}},
		"another role":             {theirs: Compatibility{"r", 4, 0, false, "", ""}, proxy: true, noRole: true},
		"under another role":       {theirs: Compatibility{"q", 4, 0, true, "a", "b"}, want: []string{`Role is r here and q there`}},
		"one that forgets":         {theirs: Compatibility{"r", 4, 0, false, "a", "b"}, want: []string{"RememberEntities is true here and false there"}},
		"a proxy that coordinates": {theirs: Compatibility{"r", 4, 0, false, "a", "b"}, proxy: true, want: []string{"RememberEntities is true here and false there"}},
		"everything": {theirs: Compatibility{"r", 5, HashMurmur2, false, "c", ""}, want: []string{
			"Shards is 4 here and 5 there", "Hash is xxhash here and murmur2 there", "RememberEntities is true", `Lease is store a`, `CoordinatorLease is store b`,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			v := viewOf(1, 1, 2)
			v.Members[0].Roles = []string{"r", "q"}
			if !c.noRole {
				v.Members[1].Roles = []string{"r", "q"}
			}
			cfg := Config{
				Type: "t", Role: "r", Self: 1, Shards: 4, Lease: true, CoordinatorLease: true, LeaseStore: both.Lease, CoordinatorLeaseStore: both.CoordinatorLease,
				Remember: both.Remember,
			}
			m, err := NewCoordinator(cfg, rand.New(rand.NewPCG(1, 1)))
			if err != nil {
				t.Fatal(err)
			}
			l := &lone{t: t, c: m, now: time.Unix(0, 0)}
			for _, in := range []CoordinatorInput{Lease{Held: true}, Install{View: v}, LeaseGranted{Gen: 1}, DidRead{ID: 1}, DidRead{ID: 2}} {
				l.step(in)
			}
			l.step(Receive{From: 2, Msg: Compared{Runs: true, Role: "r", Coordinator: 1}})
			l.report(1)
			if l.c.mode == inquiring { // it runs here already
				l.expect(l.step(Receive{From: 2, Msg: Report{Floor: m.floor, Parts: 1, Compatibility: both, Proxy: c.proxy}}), "coordinator-started")
				delete(m.peers, 2)
			}
			got := l.step(Receive{From: 2, Msg: Register{Compatibility: c.theirs, Proxy: c.proxy}})
			l.expect(got, c.want...)
			if refused := strings.Contains(got, "refused "); refused != (len(c.want) > 0) || refused != (m.peers[2] == nil) {
				t.Errorf("refused: %t, it is %v:\n%s", refused, m.peers[2], got)
			}

			region := Config{
				Type: "t", Role: c.theirs.Role, Self: 2, Shards: int(c.theirs.Shards), Hash: c.theirs.Hash, Proxy: c.proxy,
				Remember: c.theirs.Remember, LeaseStore: c.theirs.Lease, CoordinatorLeaseStore: c.theirs.CoordinatorLease,
			}
			r, err := NewRegion(region, rand.New(rand.NewPCG(1, 1)))
			if err != nil {
				t.Fatal(err)
			}
			r.Step(l.now, Install{View: v})
			if len(c.want) == 0 {
				return
			}
			fx := r.Step(l.now, Receive{From: 1, Msg: Refused{Compatibility: both}})
			if len(fx.Notify) != 1 || strings.Count(fx.Notify[0].Text, ";") != len(c.want)-1 || strings.Contains(fx.Notify[0].Text, `Lease is not set here`) != (c.theirs.Lease == "" || c.theirs.CoordinatorLease == "") {
				t.Errorf("the region tells %v", fx.Notify)
			}
		})
	}
}

// A coordinator that finds regions with another store of leases tells of them, and goes on with
// what they host.
func TestOtherStoresOfLeasesHoldUpNoTakeover(t *testing.T) {
	l := newLoneOf(t, Config{Type: "t", Self: 1, Shards: 4, Lease: true, LeaseStore: "a"}, 1, 2)
	l.report(1)
	tok := Token{Epoch: 1, Up: 1, Seq: 9}
	hosts := Report{Floor: l.c.floor, Parts: 1, Compatibility: Compatibility{Shards: 4, Lease: "b"}, Shards: []Hosted{{Shard: 1, Phase: PhaseRunning, Token: tok}}}
	l.expect(l.step(Receive{From: 2, Msg: hosts}), `type-mismatch! peer=2 "Lease is store a here and store b there"`, "coordinator-started")
	if l.c.shards[1].home != 2 {
		t.Errorf("shard 1 lives on %v", l.c.shards[1].home)
	}
}
