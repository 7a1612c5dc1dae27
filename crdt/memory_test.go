package crdt_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/crdt/cbor"
)

// smallKeys is how many keys the tests of memory count.
const smallKeys = 100_000

func smallKey(i int) string { return fmt.Sprintf("counter-%d", i%smallKeys) }

func count(t *testing.T, r *crdt.Replica, key string) crdt.Group {
	t.Helper()
	add := crdt.Mutate[crdt.GCounter](func(c *crdt.GCounterTx) error { return c.Increment(1) })
	g, err := r.Update(key, 0, add, nil)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// A key of one item costs the item and its name, and its share of the path, of the tree and of the
// index. The log costs a place per event, and no object.
func TestSmallKeysAreSmall(t *testing.T) {
	before := heap()
	r := crdt.NewReplica(1, crdt.StoreOptions{}) // whose log has room for two thirds of the keys
	for i := range smallKeys {
		count(t, r, smallKey(i))
	}
	logged := heap()
	r.Trim(r.Store().Clock().Clone())
	trimmed := heap()
	for what, c := range map[string]struct{ got, most float64 }{
		"bytes":              {perKey(before.HeapAlloc, trimmed.HeapAlloc), 145},
		"bytes with the log": {perKey(before.HeapAlloc, logged.HeapAlloc), 180},
		"objects":            {perKey(before.HeapObjects, trimmed.HeapObjects), 2.2},
		"objects with a log": {perKey(before.HeapObjects, logged.HeapObjects), 2.2},
	} {
		if t.Logf("%s: %.2f a key", what, c.got); c.got > c.most {
			t.Errorf("%s: %.2f a key, at most %v", what, c.got, c.most)
		}
	}
	runtime.KeepAlive(r)
}

func perKey(before, after uint64) float64 { return float64(int64(after-before)) / smallKeys }

func heap() (m runtime.MemStats) {
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m
}

// A count of another replica that comes in a message allocates its item, its key, and its share of what
// the events of a message have together; a larger payload is one more. Applying it allocates the item,
// also if it takes the place of one.
func TestAppliedEventsAllocateLittle(t *testing.T) {
	const frame, frames = 100, 200
	from, to := crdt.NewReplica(2, crdt.StoreOptions{}), crdt.NewStore(crdt.StoreOptions{})
	var raw [][]byte
	for f := range 3 * frames {
		var b []byte
		for i := range frame {
			b = crdt.AppendGroup(b, count(t, from, smallKey((f*frame+i)%(frames*frame))))
		}
		raw = append(raw, b)
	}
	next := 0
	read := func() []crdt.Group {
		r := cbor.NewReader(raw[next])
		next++
		gs := crdt.ReadGroups(r, frame)
		if err := r.End(); err != nil {
			t.Fatal(err)
		}
		return gs
	}
	apply := func(gs []crdt.Group) {
		for _, g := range gs {
			if out, err := to.Apply(g, nil); out != crdt.Applied || err != nil {
				t.Fatal(out, err)
			}
		}
	}
	for range frames {
		apply(read())
	}
	all := testing.AllocsPerRun(frames-1, func() { apply(read()) }) / frame
	var gs [][]crdt.Group
	for next < len(raw) {
		gs = append(gs, read())
	}
	applying := testing.AllocsPerRun(frames-1, func() { apply(gs[0]); gs = gs[1:] }) / frame
	if t.Logf("%.2f allocations an event, %.2f of them to apply it", all, applying); all > 2.4 || applying > 1.2 {
		t.Errorf("%.2f allocations an event, at most 2.4; %.2f of them to apply it, at most 1.2", all, applying)
	}
}

// A row that is loaded allocates its item, and its share of full nodes. Nothing grows with what comes, and is copied.
func TestLoadedRowsAllocateLittle(t *testing.T) {
	const rows = 64 << 10
	items, clock := make([]crdt.Item, rows), crdt.Clock{}
	for i := range items {
		d := crdt.Dot{Origin: 1, Seq: uint64(i + 1)}
		clock.Add(d)
		path := fmt.Sprintf("%c%016x", crdt.KindORSet, uint64(i)*0x9E3779B97F4A7C15)
		items[i] = crdt.Item{Dot: d, Key: "set", Path: path}
	}
	var sum crdt.Digest
	for i := range items {
		sum = sum.Plus(crdt.HashItem(0, &items[i]))
	}
	all := func(yield func(crdt.Item, error) bool) {
		for _, it := range items {
			if !yield(it, nil) {
				return
			}
		}
	}
	before := heap()
	s := crdt.NewStore(crdt.StoreOptions{})
	if err := s.Load(&clock, sum, all); err != nil {
		t.Fatal(err)
	}
	after := heap()
	made := float64(after.Mallocs-before.Mallocs) / rows
	bytes := float64(after.HeapAlloc-before.HeapAlloc) / rows
	if t.Logf("%.3f allocations a row, %.1f bytes", made, bytes); made > 1.1 || bytes > 95 {
		t.Errorf("%.3f allocations a row, at most 1.1; %.1f bytes, at most 95", made, bytes)
	}
	runtime.KeepAlive(items)
	runtime.KeepAlive(s)
}
