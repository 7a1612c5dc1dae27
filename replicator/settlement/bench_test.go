package settlement

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/effect"
	"github.com/coterie-go/coterie/replicator/exchange"
	"github.com/coterie-go/coterie/replicator/keyspace"
	"github.com/coterie-go/coterie/replicator/repair"
	"github.com/coterie-go/coterie/replicator/replica"
	"github.com/coterie-go/coterie/replicator/settings"
	"github.com/coterie-go/coterie/replicator/wire"
)

// BenchmarkSettle is a view in which one of n voters is a new one, and all have written something: the oldest hears
// from the others what they have acknowledged, all the same, until it finds that the view is settled.
func BenchmarkSettle(b *testing.B) {
	for _, n := range []int{3, 50, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			cfg := settings.Config{Self: 1, FrameMax: 1 << 16, GroupMax: 1 << 16}
			site := replica.NewSite(cfg, rand.New(rand.NewPCG(1, 1)))
			site.Serves = true
			v := replica.View{Epoch: 5}
			for i := range n {
				v.Voters = append(v.Voters, replica.Member{ID: crdt.Origin(i + 1), UpNumber: uint32(i + 1)})
			}
			var s Settlement
			site.Install(v, [keyspace.Count]uint64{})
			r := replica.New(&site, keyspace.Volatile, s.Unsettled())
			acks, gaps := exchange.NewPusher(r), exchange.NewGaps(r, repair.NewPuller(repair.Env{}))
			s = New(r, &acks, &gaps, func() {})
			for i := range n {
				if _, err := r.Items.Apply(crdt.Group{{
					Dot: crdt.Dot{Origin: crdt.Origin(i + 2), Seq: 1}, Key: "k", Path: fmt.Sprint("p", i), Puts: true,
				}}, &r.Changes); err != nil {
					b.Fatal(err)
				}
			}
			r.Absorb()
			s.Follow(replica.View{}, v)
			s.Claim(v.Epoch)
			b.ReportAllocs()
			for b.Loop() {
				site.Eff = effect.Effects{}
				prev := v
				v.Epoch++
				v.Voters = slices.Clone(v.Voters)
				age := uint32(n) + uint32(v.Epoch)
				v.Voters[n-1] = replica.Member{ID: crdt.Origin(age), UpNumber: age}
				site.Install(v, [keyspace.Count]uint64{})
				s.Follow(prev, v)
				for _, p := range site.Peers {
					p.Epoch = v.Epoch
					s.OnReport(p, &wire.Report{
						Epoch: v.Epoch, Space: r.ID, Hash: r.ContentHash(), Serves: true, Settled: prev.Epoch,
					})
					s.Settle()
				}
				if s.Unsettled().Unsettled() {
					b.Fatalf("%d of %d is settled", s.Unsettled().Settled(), v.Epoch)
				}
			}
		})
	}
}
