package rows

import (
	"fmt"
	"maps"
	"slices"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/durable"
)

// digestSeed is what the replicators of a node hash with.
const digestSeed = 0

// Summary says what a table holds.
type Summary struct {
	Clock  *crdt.Clock // nil: the table is empty
	Digest crdt.Digest
	Items  int
	Bytes  int64 // of the rows: keys and values, without what the file adds
	Keys   []Key // by name
}

// Key says what a table holds under one key.
type Key struct {
	Name  string
	Kinds []crdt.Kind // of its items, ascending; more than one is a type clash
	Items int
	Bytes int64
}

// Inspect reads a table and counts. It looks at nothing twice and checks no digest; see Verify. Its
// memory grows with the number of keys.
func Inspect(t durable.Table) (Summary, error) {
	s, _, err := scan(t)
	return s, err
}

// Verify reads a table and checks what the start of a node checks: that every item is in the clock
// and that all of them sum to the digest. The error wraps crdt.ErrDigest or crdt.ErrMalformed, or
// names the row that can not be read.
func Verify(t durable.Table) (Summary, error) {
	s, sum, err := scan(t)
	if err == nil && s.Clock != nil && sum != s.Digest {
		err = fmt.Errorf("%w: %d rows sum to %v, their commit said %v", crdt.ErrDigest, s.Items, sum, s.Digest)
	}
	return s, err
}

// scan counts the items and sums their hashes.
func scan(t durable.Table) (s Summary, sum crdt.Digest, err error) {
	h, err := loadHead(t)
	if err != nil || h.clock == nil {
		return s, sum, err
	}
	s = Summary{Clock: h.clock, Digest: h.digest}
	keys := map[string]*Key{}
	err = eachItem(t, h, func(it crdt.Item, r durable.Row) error {
		if err := checkItem(&it, h.clock); err != nil {
			return fmt.Errorf("row %x: %w", r.Key, err)
		}
		k := keys[it.Key]
		if k == nil {
			k = &Key{Name: it.Key}
			keys[it.Key] = k
		}
		k.add(&it, r)
		s.Items++
		s.Bytes += rowBytes(r)
		sum = sum.Plus(crdt.HashItem(digestSeed, &it))
		return nil
	})
	for _, name := range slices.Sorted(maps.Keys(keys)) {
		s.Keys = append(s.Keys, *keys[name])
	}
	return s, sum, err
}

func (k *Key) add(it *crdt.Item, r durable.Row) {
	k.Items++
	k.Bytes += rowBytes(r)
	var kind crdt.Kind
	if it.Path != "" {
		kind = crdt.Kind(it.Path[0])
	}
	if i, found := slices.BinarySearch(k.Kinds, kind); !found {
		k.Kinds = slices.Insert(k.Kinds, i, kind)
	}
}

func rowBytes(r durable.Row) int64 { return int64(len(r.Key) + len(r.Value)) }

// checkItem finds what no replica has written; the sizes were checked when it was decoded.
func checkItem(it *crdt.Item, clock *crdt.Clock) error {
	if err := crdt.CheckKey(it.Key); err != nil {
		return err
	}
	if !clock.Has(it.Dot) {
		return fmt.Errorf("%w: key %q: item %v is not in its table's clock", crdt.ErrMalformed, it.Key, it.Dot)
	}
	return nil
}
