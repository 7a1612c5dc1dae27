package crdt_test

import (
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/coterie-go/coterie/crdt"
)

// Carts of users: a map of maps of counters. One user's cart is removed while the phone of that
// user adds to it: what the phone adds survives.
func ExampleORMap() {
	type (
		cart    = crdt.PNCounterMap[string]
		cartTx  = crdt.PNCounterMapTx[string]
		carts   = crdt.ORMap[string, cart, *cartTx]
		cartsTx = crdt.ORMapTx[string, cart, *cartTx]
	)
	phone, shop := crdt.New[carts](1), crdt.New[carts](2)
	add := func(fruit string, n int64) func(*cartsTx) error {
		return func(m *cartsTx) error {
			return m.Update("alice", func(c *cartTx) error { return c.Increment(fruit, n) })
		}
	}
	first, err := phone.Update(add("apples", 2))
	if err != nil {
		panic(err)
	}
	if _, err := shop.Apply(first); err != nil {
		panic(err)
	}

	added, _ := phone.Update(add("pears", 3))
	gone, _ := shop.Update(func(m *cartsTx) error { return m.Remove("alice") })
	fmt.Println(shop.Apply(added))
	fmt.Println(phone.Apply(gone))

	for _, s := range []*crdt.Standalone[carts, *cartsTx]{phone, shop} {
		v, _ := s.Value()
		for name, c := range v.All() {
			fmt.Println(name, maps.Collect(c.All()))
		}
	}
	// Output:
	// applied <nil>
	// applied <nil>
	// alice map[pears:3]
	// alice map[pears:3]
}

// KindBest is the kind of Best: each type of an application has its own.
const KindBest = crdt.KindUser + 7

// Best is a type of one's own, made of items: the best score of each player. It is one item for a
// player, at kind ‖ name; payload: the score. Concurrent scores of one player stay beside each
// other and the highest counts.
type Best struct{ r crdt.Reader }

var _ crdt.Value[Best, *BestTx] = Best{}

// Kind names the type.
func (Best) Kind() crdt.Kind { return KindBest }

// View refuses what is no Best and else only keeps the Reader, which is immutable: it costs a
// descent.
func (Best) View(r crdt.Reader) (Best, error) {
	return Best{r: r}, crdt.CheckElements[string](r, KindBest)
}

// Mutator returns what changes it.
func (Best) Mutator(tx *crdt.Tx) *BestTx { return &BestTx{tx: tx} }

// highest reads the siblings at a path.
func highest(items []*crdt.Item) (best int, ok bool) {
	for _, it := range items {
		if n, err := crdt.DecodeValue[int](it.Payload); err == nil && (!ok || n > best) {
			best, ok = n, true
		}
	}
	return best, ok
}

// Of returns the best score of a player.
func (b Best) Of(player string) (int, bool) {
	path, err := crdt.ElementPath(KindBest, player)
	if err != nil {
		return 0, false
	}
	return highest(b.r.At(path))
}

// All yields the players and their scores, by name.
func (b Best) All() iter.Seq2[string, int] {
	return func(yield func(string, int) bool) {
		prev := ""
		for it := range b.r.Items(KindBest.Path()) {
			path := b.r.Rel(it)
			if path == prev {
				continue // a sibling
			}
			prev = path
			player, err := crdt.DecodeElement[string](path[1:])
			if n, ok := highest(b.r.At(path)); err == nil && ok && !yield(player, n) {
				return
			}
		}
	}
}

// BestTx changes a Best.
type BestTx struct{ tx *crdt.Tx }

// Score records a score, in the place of all that is observed of the player. One that is not above
// those changes nothing: it must not remove what it loses to.
func (b *BestTx) Score(player string, n int) error {
	path, err := crdt.ElementPath(KindBest, player)
	if err != nil {
		return err
	}
	if old, ok := highest(b.tx.At(path)); ok && n <= old {
		return b.tx.Err()
	}
	payload, err := crdt.AppendValue(nil, n)
	if err != nil {
		return err
	}
	return b.tx.Replace(path, string(payload))
}

// A type of one's own over items: it costs per change what the change costs, however many players
// there are.
func ExampleValue() {
	a, b := crdt.New[Best](1), crdt.New[Best](2)
	score := func(s *crdt.Standalone[Best, *BestTx], player string, n int) {
		if _, err := s.Update(func(tx *BestTx) error { return tx.Score(player, n) }); err != nil {
			panic(err)
		}
	}
	score(a, "ann", 30)
	score(b, "ann", 20)
	score(b, "bob", 50)
	if err := a.Merge(b); err != nil {
		panic(err)
	}
	score(a, "bob", 40)
	v, err := a.Value()
	for player, n := range v.All() {
		fmt.Println(player, n)
	}
	fmt.Println(err)
	// Output:
	// ann 30
	// bob 50
	// <nil>
}

// Deployed is a type of one's own that is kept as a whole: of every service the highest version
// that anybody has seen.
type Deployed map[string]int

var _ crdt.State[Deployed] = Deployed{}

// Kind is one that no other type of the application has.
func (Deployed) Kind() crdt.Kind { return crdt.KindUser + 8 }

// Merge takes of each service the higher version. It leaves both sides as they are.
func (d Deployed) Merge(o Deployed) Deployed {
	all := maps.Clone(d)
	if all == nil {
		all = Deployed{}
	}
	for service, version := range o {
		all[service] = max(all[service], version)
	}
	return all
}

// A type of one's own as one item: concurrent writes are merged on read and collapse on the next
// write.
func ExampleWhole() {
	a, b := crdt.New[crdt.Whole[Deployed]](1), crdt.New[crdt.Whole[Deployed]](2)
	put := func(s *crdt.Standalone[crdt.Whole[Deployed], *crdt.WholeTx[Deployed]], d Deployed) {
		if _, err := s.Update(func(w *crdt.WholeTx[Deployed]) error { return w.Put(d) }); err != nil {
			panic(err)
		}
	}
	put(a, Deployed{"web": 3})
	put(b, Deployed{"web": 2, "db": 9})
	if err := a.Merge(b); err != nil {
		panic(err)
	}
	show := func() {
		v, err := a.Value()
		d, _ := v.Get()
		for _, service := range slices.Sorted(maps.Keys(d)) {
			fmt.Print(service, " ", d[service], "; ")
		}
		fmt.Println(a.Replica().Store().Len(), "items,", err)
	}
	show()
	put(a, Deployed{"web": 4})
	show()
	// Output:
	// db 9; web 3; 2 items, <nil>
	// db 9; web 4; 1 items, <nil>
}
