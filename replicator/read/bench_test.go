package read

import (
	"fmt"
	"testing"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/effect"
	"github.com/coterie-go/coterie/replicator/exchange"
	"github.com/coterie-go/coterie/replicator/keyspace"
	"github.com/coterie-go/coterie/replicator/operation"
	"github.com/coterie-go/coterie/replicator/quorum"
	"github.com/coterie-go/coterie/replicator/repair"
	"github.com/coterie-go/coterie/replicator/replica"
	"github.com/coterie-go/coterie/replicator/wire"
)

// of returns n replicas, of which this is the first, and the set of them all.
func of(n int) (*replica.Site, *quorum.Joint[*replica.Peer]) {
	ids := make([]crdt.Origin, n)
	for i := range ids {
		ids[i] = crdt.Origin(i + 1)
	}
	site, sets := newSite(ids...), &quorum.Joint[*replica.Peer]{}
	sets.Replace(true, []quorum.Set[*replica.Peer]{{Epoch: 5, Size: n, Self: true, Peers: site.Peers, Newest: true}})
	return site, sets
}

// BenchmarkRound is a majority read: the others of n replicas answer that nothing is missing.
func BenchmarkRound(b *testing.B) {
	for _, n := range []int{3, 50, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			site, sets := of(n)
			ops, r := operation.NewInflight(site), replica.New(site, keyspace.Volatile, &quorum.Chain{})
			gaps := exchange.NewGaps(r, repair.NewPuller(repair.Env{}))
			q := NewRounds(r, &ops, sets, &gaps, func() bool { return true })
			b.ReportAllocs()
			for b.Loop() {
				site.Eff = effect.Effects{}
				o := ops.NewOp(1, "k", quorum.Majority)
				o.Read = true
				q.Begin(o, time.Minute)
				id := q.rounds[0].id
				for _, p := range site.Peers {
					q.OnAnswer(p, &wire.Answer{Epoch: 5, Space: r.ID, ID: id})
				}
				if q.Len() > 0 {
					b.Fatal("it is not answered")
				}
			}
		})
	}
}

// BenchmarkComparison is a linearizable read: the others of n replicas say that they hold the same.
func BenchmarkComparison(b *testing.B) {
	for _, n := range []int{3, 50, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			site, sets := of(n)
			ops, r := operation.NewInflight(site), replica.New(site, keyspace.Volatile, &quorum.Chain{})
			gaps := exchange.NewGaps(r, nil)
			x := NewLinear(r, &ops, sets, &gaps, func(string, time.Duration) {})
			b.ReportAllocs()
			for b.Loop() {
				site.Eff = effect.Effects{}
				o := ops.NewOp(1, "k", quorum.Linearizable)
				o.Read = true
				ops.Begin(o, time.Minute)
				x.Add(o)
				id := x.comparing.id
				for _, p := range site.Peers {
					x.OnCompared(p, &wire.Compared{Epoch: 5, Space: r.ID, ID: id, Known: true})
				}
				if x.comparing != nil {
					b.Fatal("it is not answered")
				}
			}
		})
	}
}
