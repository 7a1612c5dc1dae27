package batch

import (
	"context"
	"testing"

	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// instant is a journal that answers at once.
type instant struct{ persistence.Journal }

func (instant) Fence(context.Context, persistence.Hosting) error { return nil }

func (instant) Append(context.Context, persistence.Hosting, []persistence.Write) ([]persistence.Refusal, error) {
	return nil, nil
}

// BenchmarkAppend is the cost of a write through a client over a store that answers at once: one
// entity after another, and 64 at a time.
func BenchmarkAppend(b *testing.B) {
	for name, writers := range map[string]int{"writers=1": 1, "writers=64": 64} {
		b.Run(name, func(b *testing.B) {
			c, err := New(Config{Name: "cart", Journal: instant{}})
			if err != nil {
				b.Fatal(err)
			}
			free := make(chan int, writers)
			var ids []protocol.EntityID
			for i := range writers {
				free <- i
				ids = append(ids, protocol.EntityID(rune('a'+i)))
			}
			h := hostingOn(1, 1)
			w := writeOf("", 0, "some bytes")
			b.ReportAllocs()
			for b.Loop() {
				i := <-free
				w.Entity = ids[i]
				c.Append(h, w, func(error) { free <- i })
			}
			for range writers {
				<-free
			}
			if err := c.Close(context.Background()); err != nil {
				b.Fatal(err)
			}
		})
	}
}
