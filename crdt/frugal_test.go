package crdt_test

import (
	"testing"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/proptest"
)

// Hazard 13: broken or hostile bytes cost no more than their own size, on the wire and in the
// values of items.
func TestDecodingIsFrugal(t *testing.T) {
	r := crdt.NewReplica(0xa1, crdt.StoreOptions{})
	put := crdt.Mutate[crdt.LWWMap[[2]string,
		map[string][]int]](func(m *crdt.LWWMapTx[[2]string, map[string][]int]) error {
		return m.Put([2]string{"a", "b"}, map[string][]int{"c": {1, 2}, "d": nil})
	})
	g, err := r.Update("k", 1000, put, nil)
	if err != nil {
		t.Fatal(err)
	}
	var items []*crdt.Item
	for it := range r.Store().Snapshot().Items() {
		items = append(items, it)
	}
	proptest.Frugal(t, 100, func(b []byte) { _, _ = crdt.DecodeClock(b) }, r.Store().Clock().Append(nil))
	proptest.Frugal(t, 100, func(b []byte) { _, _ = crdt.DecodeGroup(b) }, crdt.AppendGroup(nil, g))
	proptest.Frugal(t, 100, func(b []byte) { _, _ = crdt.DecodeItems(b) }, crdt.AppendItems(nil, items))
	proptest.Frugal(t, 100, func(b []byte) { _, _ = crdt.DecodeItem(b, "") }, crdt.AppendItem(nil, items[0]))
	for _, paths := range []bool{true, false} {
		seed := items[0].Payload
		if paths {
			seed = items[0].Path
		}
		proptest.Frugal(t, 200, func(b []byte) {
			e := g[0]
			if e.Payload = string(b); paths {
				e.Path, e.Payload = string(b), items[0].Payload
			}
			s := crdt.NewStore(crdt.StoreOptions{})
			_, _ = s.Apply(crdt.Group{e}, nil)
			if m, err := crdt.ViewOf[crdt.LWWMap[[2]string, map[string][]int]](s.View("k")); err == nil {
				for range m.All() {
					m.Len()
				}
			}
		}, []byte(seed))
	}
}
