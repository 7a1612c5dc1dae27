package read

import (
	"fmt"
	"testing"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/effect"
	"github.com/coterie-go/coterie/replicator/replica"
	"github.com/coterie-go/coterie/replicator/wire"
)

// ofMany has a benchmark run for the first of n replicas.
func ofMany(b *testing.B, run func(*testing.B, *replica.Site)) {
	for _, n := range []int{3, 50, 1000} {
		ids := make([]crdt.Origin, n)
		for i := range ids {
			ids[i] = crdt.Origin(i + 1)
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			run(b, newSite(ids...))
		})
	}
}

// BenchmarkRound is a majority read: the others answer that nothing is missing.
func BenchmarkRound(b *testing.B) {
	ofMany(b, func(b *testing.B, site *replica.Site) {
		q := newRounds(site)
		for b.Loop() {
			site.Eff = effect.Effects{}
			q.begin()
			id := q.rounds[0].id
			for _, p := range site.Peers {
				q.OnAnswer(p, &wire.Answer{Epoch: 5, Space: q.r.ID, ID: id})
			}
			if q.Len() > 0 {
				b.Fatal("it is not answered")
			}
		}
	})
}

// BenchmarkCatchUp is the first catching up: the others tell of an event that comes after they all have.
func BenchmarkCatchUp(b *testing.B) {
	ofMany(b, func(b *testing.B, site *replica.Site) {
		q, other := newRounds(site), crdt.NewReplica(9_999, crdt.StoreOptions{})
		for b.Loop() {
			site.Eff = effect.Effects{}
			g, extra := event(b, other)
			q.Leave()
			q.Learn()
			id := q.rounds[0].id
			for _, p := range site.Peers {
				q.OnAnswer(p, &wire.Answer{Epoch: 5, Space: q.r.ID, ID: id, Extra: extra})
			}
			q.gaps.AskAgain()
			q.arrive(b, g)
			if !q.Taught() {
				b.Fatal("it has not caught up")
			}
		}
	})
}

// BenchmarkComparison is a linearizable read: the others say that they hold the same.
func BenchmarkComparison(b *testing.B) {
	ofMany(b, func(b *testing.B, site *replica.Site) {
		x := newLinear(site, all(site))
		for b.Loop() {
			site.Eff = effect.Effects{}
			x.begin()
			id := x.comparing.id
			for _, p := range site.Peers {
				x.OnCompared(p, &wire.Compared{Epoch: 5, Space: x.r.ID, ID: id, Known: true})
			}
			if x.comparing != nil {
				b.Fatal("it is not answered")
			}
		}
	})
}
