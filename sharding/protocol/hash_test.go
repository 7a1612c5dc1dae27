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
	for name, wrong := range map[string]Register{
		"shards": {Shards: 5}, "hash": {Shards: 4, Hash: HashMurmur2},
	} {
		l := newLone(t, nil, 1, 2)
		l.report(1)
		hosts := Report{Floor: l.c.floor, Parts: 1, Number: wrong.Shards, Hash: wrong.Hash, Shards: []Hosted{{Shard: 1, Phase: PhaseRunning}}}
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

		r, err := NewRegion(Config{Type: "t", Self: 2, Shards: int(wrong.Shards), Hash: wrong.Hash}, rand.New(rand.NewPCG(1, 1)))
		if err != nil {
			t.Fatal(err)
		}
		r.Step(time.Unix(0, 0), Install{View: viewOf(1, 1, 2)})
		for i := range 2 {
			fx := r.Step(time.Unix(0, 0), Receive{From: 1, Msg: Refused{Shards: 4}})
			if told := len(fx.Notify) == 1 && fx.Notify[0].Kind == TypeMismatch && fx.Notify[0].Peer == 1; told != (i == 0) {
				t.Errorf("%s: the region tells %v", name, fx.Notify)
			}
		}
		if now, ever := r.Registered(); now || ever {
			t.Errorf("%s: it counts as registered", name)
		}
	}
}
