package sharding

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/coterie-go/coterie/bench/measure"
	"github.com/coterie-go/coterie/crdt/cbor"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/ddata/transport"
	"github.com/coterie-go/coterie/proptest/bubble"
	"github.com/coterie-go/coterie/sharding/codec"
)

// arrivalIDs are those of entities that handle their first message while the others come, and of one that is
// not there yet.
var arrivalIDs = []string{"a", "b", "c", "d", "new"}

// newArrivals is a crowd whose entities, but the new one, are busy.
func newArrivals(t *testing.T) *crowd {
	k := newCrowd(t, 6000, 1<<20)
	for _, id := range arrivalIDs[:4] {
		k.brings(id, 200, aBlob)
	}
	synctest.Wait()
	_, err := k.g.HandleRaw("box", func(view.UID, []byte) {
		k.handled["posts"] = append(k.handled["posts"], k.g.Stats().Held)
	})
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// randomFrame is a message, or something else that may come.
func (c *crowd) randomFrame(rng *rand.Rand) []byte {
	id, size := arrivalIDs[rng.IntN(4)], 150+rng.IntN(600)
	switch rng.IntN(20) {
	case 0:
		return []byte("broken")
	case 1:
		return c.frame("new", 200, aBlob)
	case 2:
		return codec.AppendMessageHead(nil, &codec.Message{Kind: codec.Tell, Shard: c.g.plane.Routes.ShardOf(id)}, id)
	case 3:
		m := codec.Message{Kind: codec.Tell, Shard: c.g.plane.Routes.ShardOf(id), Type: 4711}
		return cbor.AppendNull(codec.AppendMessageHead(nil, &m, id))
	case 4:
		return cbor.AppendBool(codec.AppendReplyHead(nil, 1<<32, codec.StatusOK), true)
	case 5:
		mt, _ := c.g.plane.Registry.Of(codec.Passivate{})
		m := codec.Message{Kind: codec.Tell, Shard: c.g.plane.Routes.ShardOf(id), Type: mt.ID}
		body, _ := mt.Append(nil, codec.Passivate{})
		return append(codec.AppendMessageHead(nil, &m, id), body...)
	case 6:
		return codec.AppendPost(nil, "box", []byte("b"))
	case 7:
		return c.frame(id, size, anAsk)
	}
	return c.frame(id, size, aBlob)
}

// What comes together fares as what comes frame by frame: each entity handles the same messages in the same
// order, the same are dropped for the same reasons, and what is posted behind messages comes behind them.
func TestFramesThatComeTogether(t *testing.T) {
	for seed := range uint64(40) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				rng := rand.New(rand.NewPCG(seed, 1))
				single, together := newArrivals(t), newArrivals(t)
				frames := make([][]byte, 1+rng.IntN(200))
				for i := range frames {
					frames[i] = single.randomFrame(rng)
					single.g.plane.Receive(7, slices.Clone(frames[i]))
				}
				for rest := frames; len(rest) > 0; {
					n := min(len(rest), 1+rng.IntN(transport.BatchMax))
					together.g.plane.ReceiveAll(7, rest[:n])
					for _, lent := range rest[:n] {
						clear(lent)
					}
					rest = rest[n:]
				}
				for _, k := range []*crowd{single, together} {
					k.goOn()
					synctest.Wait()
					if n := k.g.Stats().Held; n != 0 {
						t.Errorf("%d bytes are still held", n)
					}
				}
				if !maps.EqualFunc(single.handled, together.handled, slices.Equal) {
					t.Errorf("handled together %v, one by one %v", together.handled, single.handled)
				}
				if a, b := counted(single.g.plane), counted(together.g.plane); !slices.Equal(a, b) {
					t.Errorf("dropped together %v, one by one %v", b, a)
				}
				if a, b := len(single.net.frames), len(together.net.frames); a != b {
					t.Errorf("%d answers together, %d one by one", b, a)
				}
			})
		})
	}
}

// noteFrames are frames of messages with 100 bytes, in turn for 64 entities of a region that are there.
func noteFrames(tb testing.TB, n int) (*Region[message_], [][]byte) {
	typ := cartType(&cartLog{})
	typ.Messages = CBOR[message_](blob{}, total{})
	typ.New = func(*Context[message_]) Entity[message_] {
		return receiveFunc(func(c *Context[message_], _ message_) error {
			if c.Asked() {
				return c.Reply(1)
			}
			return nil
		})
	}
	g, _ := localRegion(tb, typ)
	mt, err := g.plane.Registry.Of(blob{})
	if err != nil {
		tb.Fatal(err)
	}
	body, err := mt.Append(nil, blob{make([]byte, 100)})
	if err != nil {
		tb.Fatal(err)
	}
	frames := make([][]byte, n)
	for i := range frames {
		id := fmt.Sprint("entity-", i%64)
		if i < 64 {
			if _, err := Ask(tb.Context(), g.Ref(id), total{}); err != nil {
				tb.Fatal(err)
			}
		}
		m := codec.Message{Kind: codec.Tell, Shard: g.plane.Routes.ShardOf(id), Type: mt.ID}
		frames[i] = append(codec.AppendMessageHead(nil, &m, id), body...)
	}
	return g, frames
}

// handled waits until the entities of noteFrames have handled what has come.
func handled(tb testing.TB, g *Region[message_]) {
	for i := range 64 {
		if _, err := Ask(tb.Context(), g.Ref(fmt.Sprint("entity-", i)), total{}); err != nil {
			tb.Fatal(err)
		}
	}
}

// BenchmarkReceive is what a node does for a message of another one behind the read of its frame.
func BenchmarkReceive(b *testing.B) {
	for name, receive := range map[string]func(*Region[message_], [][]byte){
		"one by one": func(g *Region[message_], frames [][]byte) {
			for _, f := range frames {
				g.plane.Receive(7, f)
			}
		},
		"together": func(g *Region[message_], frames [][]byte) { g.plane.ReceiveAll(7, frames) },
	} {
		b.Run(name, func(b *testing.B) {
			g, frames := noteFrames(b, transport.BatchMax)
			b.ReportAllocs()
			b.ResetTimer()
			cpu := measure.CPUTime()
			for n := 0; n < b.N; n += len(frames) {
				receive(g, frames)
				if n%(64*len(frames)) == 0 { // or the mailboxes would be full
					handled(b, g)
				}
			}
			handled(b, g)
			b.ReportMetric(float64(measure.CPUTime()-cpu)/float64(b.N), "cpu-ns/op")
		})
	}
}

// A message of another node costs two allocations: itself, and its bytes.
func TestReceiveAllocatesTheMessage(t *testing.T) {
	g, frames := noteFrames(t, transport.BatchMax)
	most := 2.2 * float64(len(frames)) // and some for the questions that say that all was handled
	n := testing.AllocsPerRun(20, func() {
		g.plane.ReceiveAll(7, frames)
		handled(t, g)
	})
	perAsk := testing.AllocsPerRun(20, func() { handled(t, g) })
	if n-perAsk > most {
		t.Errorf("%v allocations for %d messages, at most %v", n-perAsk, len(frames), most)
	}
}
