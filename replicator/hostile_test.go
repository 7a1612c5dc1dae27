package replicator

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	library "github.com/fxamacker/cbor/v2"

	"github.com/coterie-go/coterie/replicator/quorum"
	"github.com/coterie-go/coterie/replicator/settings"
	"github.com/coterie-go/coterie/replicator/wire"
	"github.com/coterie-go/coterie/replicator/wire/wiretest"
)

// Hazard 13, beyond the decoder: valid messages of each kind, taken from a run and each with one
// field made extreme, reach a machine whose operations are open. It keeps its invariants, comes to
// rest, and spends no more on any of them than a small multiple of a frame.
func TestExtremeFieldsCostLittle(t *testing.T) {
	const spentMax = 1 << 20
	enc, err := library.CoreDetEncOptions().EncMode()
	if err != nil {
		t.Fatal(err)
	}
	w, a, taken := hostileWorld(t), (*node)(nil), 0
	for _, m := range append(recorded(t), wiretest.Samples()...) {
		var tree any
		if err := library.Unmarshal(wire.Append(nil, m)[1:], &tree); err != nil {
			t.Fatal(err)
		}
		extremes(tree, func(x any) {
			body, err := enc.Marshal(x)
			if err != nil {
				t.Fatal(err)
			}
			hostile, err := wire.Decode(append([]byte{wire.Version}, body...))
			if err != nil {
				return
			}
			if taken%40 == 0 {
				w = hostileWorld(t)
				a = w.nodes[0]
			}
			taken++
			before := allocated()
			a.step(&Receive{2, hostile})
			a.step(&Receive{3, hostile})
			a.rest(3 * time.Second)
			if spent := allocated() - before; spent > spentMax {
				t.Fatalf("%d bytes for %.300v", spent, hostile)
			}
		})
	}
	if taken < 5000 {
		t.Fatalf("only %d messages were decoded", taken)
	}
}

// hostileWorld is a small cluster whose first node has operations open and gets no honest message
// any more.
func hostileWorld(t *testing.T) *world {
	w := cluster(t, 3, hostileConfig)
	for i := range 10 {
		w.nodes[i%3].put("s", fmt.Sprint(i), quorum.Majority)
		w.nodes[i%3].put("d/s", fmt.Sprint(i), quorum.All)
	}
	w.quiet()
	w.drop = func(packet) bool { return true }
	w.nodes[0].get("s", quorum.Linearizable)
	w.nodes[0].get("s", quorum.Majority)
	w.nodes[0].put("s", "open", quorum.All)
	return w
}

var hostileConfig = settings.Config{
	DurableKeys: durableD.DurableKeys, LogMax: 8, FrameMax: 512, PushWindow: 512, SketchFrom: 1, SketchCells: 70,
}

// recorded are a few messages of each kind of a run with reads, large groups, a cut, repairs and a
// joiner.
func recorded(t *testing.T) (all []wire.Message) {
	w := cluster(t, 3, hostileConfig)
	seen := map[string]int{}
	w.drop = func(p packet) bool {
		kind := fmt.Sprintf("%T", p.msg)
		if seen[kind]++; seen[kind] <= 6 {
			all = append(all, p.msg)
		}
		return false
	}
	for i := range 30 {
		w.nodes[i%3].put("s", fmt.Sprint(i), quorum.Majority)
		w.nodes[i%3].put("d/s", fmt.Sprint(i), quorum.All)
		w.nodes[i%3].take("s", fmt.Sprint(i-7), quorum.All)
		w.nodes[i%2].get("s", quorum.Linearizable)
		w.nodes[i%2].get("s", quorum.Majority)
		if i%5 == 0 {
			w.quiet()
		}
	}
	w.nodes[0].put("s", string(make([]byte, 3000)), quorum.All)
	w.quiet()
	w.isolate(1)
	for i := range 100 {
		w.nodes[1].put("s", fmt.Sprint("x", i), quorum.Local)
		w.nodes[0].put("s", fmt.Sprint("y", i), quorum.Local)
		w.nodes[0].take("s", fmt.Sprint(i), quorum.Local)
	}
	w.mendAll()
	w.advance(20 * time.Second)
	w.start(4, nil, 4)
	w.install(with(viewOf(2, 1, 2, 3), 4))
	w.advance(20 * time.Second)
	return all
}

// rest lets time pass for one node and commits what it wants to have committed.
func (n *node) rest(d time.Duration) {
	end := n.w.now.Add(d)
	for ticks := 0; ; ticks++ {
		if ticks > 20_000 {
			n.w.t.Fatalf("it never rests:\n%v", n.m)
		}
		for len(n.batches) > 0 {
			n.persist()
		}
		at := n.m.Deadline()
		if at.IsZero() || at.After(end) {
			return
		}
		if at.After(n.w.now) {
			n.w.now = at
		}
		n.step(Tick{})
	}
}

// extremes yields v again and again, each time with one leaf or list of it changed.
func extremes(v any, yield func(any)) {
	switch v := v.(type) {
	case uint64:
		for _, x := range []uint64{
			0, 1, v - 1, v + 1, 1 << 20, math.MaxUint32, 1 << 40, math.MaxInt64, math.MaxUint64 - 1, math.MaxUint64,
		} {
			yield(x)
		}
	case bool:
		yield(!v)
	case nil:
		yield([]any{})
	case []byte:
		yield([]byte{})
		yield(make([]byte, len(v)))
		yield(append(slices.Clone(v), make([]byte, 5000)...))
		if len(v) > 0 {
			yield(v[:len(v)-1])
		}
	case []any:
		for i := range v {
			extremes(v[i], func(x any) {
				c := slices.Clone(v)
				c[i] = x
				yield(c)
			})
		}
		yield([]any{})
		yield(nil)
		if len(v) > 0 {
			yield(v[:len(v)-1])
			yield(append(slices.Clone(v), v[len(v)-1]))
		}
	}
}

// A machine takes whatever decodes.
func FuzzReceive(f *testing.F) {
	for _, m := range wiretest.Samples() {
		f.Add(wire.Append(nil, m))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := wire.Decode(b)
		if err != nil {
			return
		}
		w := cluster(t, 2, durableD)
		w.nodes[0].put("s", "x", quorum.Local)
		w.nodes[0].step(&Receive{2, m})
		w.nodes[0].step(&Receive{3, m})
	})
}
