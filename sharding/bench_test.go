package sharding

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/coterie-go/coterie/sharding/passivation"
)

func benchRegion(b *testing.B) *Region[message_] {
	typ := cartType(&cartLog{})
	g, _ := localRegion(b, typ)
	return g
}

// settle waits until everything that was told is handled.
func settle(b *testing.B, g *Region[message_], id string) {
	if _, err := Ask(context.Background(), g.Ref(id), total{}); err != nil {
		b.Fatal(err)
	}
}

func BenchmarkTellByID(b *testing.B) {
	g := benchRegion(b)
	ctx := context.Background()
	var m message_ = addItem{"apple", 1}
	settle(b, g, "cart-42")
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		if err := g.Tell(ctx, "cart-42", m); err != nil {
			b.Fatal(err)
		}
	}
	settle(b, g, "cart-42")
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds()/1e6, "M/s")
}

func BenchmarkTellByRef(b *testing.B) {
	g := benchRegion(b)
	ctx := context.Background()
	var m message_ = addItem{"apple", 1}
	settle(b, g, "cart-42")
	ref := g.Ref("cart-42")
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		if err := ref.Tell(ctx, m); err != nil {
			b.Fatal(err)
		}
	}
	settle(b, g, "cart-42")
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds()/1e6, "M/s")
}

// BenchmarkTellSpread tells many entities in turn, so that every message is a turn of its own;
// limited, each of these is told to the policy.
func BenchmarkTellSpread(b *testing.B) {
	for name, s := range map[string]passivation.Strategy{
		"idle": {}, "lru": {ActiveEntityLimit: 1 << 20}, "composite": {
			ActiveEntityLimit: 1 << 20, Admission: passivation.DefaultStrategy().Admission,
		},
	} {
		b.Run(name, func(b *testing.B) {
			typ := cartType(&cartLog{})
			typ.Passivation.Strategy = s
			g, _ := localRegion(b, typ)
			tellSpread(b, g)
		})
	}
}

func tellSpread(b *testing.B, g *Region[message_]) {
	ctx := context.Background()
	var m message_ = addItem{"apple", 1}
	ids := make([]string, 1000)
	for i := range ids {
		ids[i] = fmt.Sprint("cart-", i)
		settle(b, g, ids[i])
	}
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		if err := g.Tell(ctx, ids[i%len(ids)], m); err != nil {
			b.Fatal(err)
		}
	}
	for _, id := range ids {
		settle(b, g, id)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds()/1e6, "M/s")
}

func BenchmarkAsk1(b *testing.B) {
	g := benchRegion(b)
	b.ReportAllocs()
	for range b.N {
		settle(b, g, "cart-42")
	}
}

func BenchmarkAsk64(b *testing.B) {
	g := benchRegion(b)
	b.ReportAllocs()
	var wg sync.WaitGroup
	for i := range 64 {
		id := fmt.Sprint("cart-", i)
		wg.Go(func() {
			for range b.N / 64 {
				settle(b, g, id)
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds()/1e6, "M/s")
}
