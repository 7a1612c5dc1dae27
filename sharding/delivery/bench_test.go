package delivery_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/coterie-go/coterie/sharding/delivery"
)

// Messages delivered to 100 entities of this node: Send until everything is confirmed, and Deliver
// one after the other.
func BenchmarkDelivery(b *testing.B) {
	g := single(b, newHistory())
	ids := make([]string, 100)
	for i := range ids {
		ids[i] = fmt.Sprint("e", i)
	}
	for name, run := range map[string]func(*testing.B, *delivery.Producer[message]){
		"send": func(b *testing.B, p *delivery.Producer[message]) {
			for i := range b.N {
				if err := p.Send(b.Context(), ids[i%100], step{p.ID(), i/100 + 1}); err != nil {
					b.Fatal(err)
				}
			}
			if err := p.Flush(b.Context()); err != nil {
				b.Fatal(err)
			}
		},
		"deliver": func(b *testing.B, p *delivery.Producer[message]) {
			for i := range b.N {
				if err := p.Deliver(b.Context(), ids[i%100], step{p.ID(), i/100 + 1}); err != nil {
					b.Fatal(err)
				}
			}
		},
	} {
		b.Run(name, func(b *testing.B) {
			p := producer(b, g, delivery.Config{
				ID: fmt.Sprint(name, b.N, time.Now().UnixNano()), ResendFirst: 10 * time.Second,
			})
			b.ResetTimer()
			run(b, p)
		})
	}
}
