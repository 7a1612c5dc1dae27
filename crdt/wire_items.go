package crdt

import (
	"slices"

	"github.com/coterie-go/coterie/crdt/cbor"
	"github.com/coterie-go/coterie/crdt/dots"
)

// AppendItems appends the encoding of a batch of items, best in the order of a snapshot. An element
// of a set costs its bytes and about six more.
func AppendItems(dst []byte, items []*Item) []byte {
	t := dots.OriginTable{}
	blocks := 0
	for i, it := range items {
		t.Add(it.Dot.Origin)
		if i == 0 || it.Key != items[i-1].Key {
			blocks++
		}
	}
	dst = cbor.AppendArray(dst, 1+2*blocks)
	dst = t.Append(dst)
	last := make([]uint64, t.N)
	for len(items) > 0 {
		n, words := 1, itemWords(items[0])
		for n < len(items) && items[n].Key == items[0].Key {
			words += itemWords(items[n])
			n++
		}
		dst = cbor.AppendBytes(dst, items[0].Key)
		dst = cbor.AppendArray(dst, words)
		for _, it := range items[:n] {
			k := t.Index(it.Dot.Origin)
			dst = appendBatched(dst, it, uint64(k), &last[k])
		}
		items = items[n:]
	}
	return dst
}

// itemWords is how many array elements an item takes.
func itemWords(it *Item) int {
	if it.Payload == "" {
		return 3
	}
	return 4
}

func appendBatched(dst []byte, it *Item, k uint64, last *uint64) []byte {
	k *= 2
	if it.Payload != "" {
		k++
	}
	dst = cbor.AppendUint(dst, k)
	dst = cbor.AppendInt(dst, int64(it.Dot.Seq-*last))
	*last = it.Dot.Seq
	dst = cbor.AppendBytes(dst, it.Path)
	if it.Payload != "" {
		dst = cbor.AppendBytes(dst, it.Payload)
	}
	return dst
}

// DecodeItems decodes a batch that fills b.
func DecodeItems(b []byte) ([]Item, error) {
	r := cbor.NewReader(b)
	items := ReadItems(r)
	if err := r.End(); err != nil {
		return nil, malformed(err)
	}
	return items, nil
}

// ReadItems reads a batch. It returns nil after a fault.
func ReadItems(r *cbor.Reader) []Item {
	n := r.Array(1+2*ItemsMax) - 1
	if n < 0 || n%2 != 0 {
		r.Fail("batch of %d parts", n)
		return nil
	}
	t := &dots.OriginTable{}
	t.Read(r)
	last := make([]uint64, t.N)
	var items []Item
	for range n / 2 {
		key := string(r.Bytes(KeyMax))
		if len(items) > 0 && items[len(items)-1].Key == key {
			r.Fail("key %q in two blocks", key)
		}
		words := r.Array(4 * ItemsMax)
		if words == 0 {
			r.Fail("empty block")
		}
		items = slices.Grow(items, words/4)
		for words > 0 && r.Err() == nil {
			items = append(items, readBatched(r, key, t, last))
			words -= itemWords(&items[len(items)-1])
		}
		if words < 0 || len(items) > ItemsMax {
			r.Fail("block of key %q runs over", key)
		}
		if r.Err() != nil {
			return nil
		}
	}
	if t.Used != t.N {
		r.Fail("batch's table names %d origins, it uses %d", t.N, t.Used)
		return nil
	}
	return items
}

// readBatched reads an item of a block. last holds the seq of the last item of each origin.
func readBatched(r *cbor.Reader, key string, t *dots.OriginTable, last []uint64) Item {
	k := r.Uint()
	o := t.Use(r, k/2)
	step := r.Int()
	if r.Err() != nil {
		return Item{}
	}
	last[k/2] += uint64(step)
	it := Item{Dot: Dot{Origin: o, Seq: last[k/2]}, Key: key}
	start := r.Rest()
	path := r.Bytes(PathMax)
	var payload []byte
	if k%2 == 1 {
		if payload = r.Bytes(PayloadMax); len(payload) == 0 {
			r.Fail("item with an empty payload")
		}
	}
	if it.Dot.Seq == 0 {
		r.Fail("item without a dot")
	}
	if r.Err() == nil {
		it.Path, it.Payload = twoStrings(start[:len(start)-r.Len()], path, payload)
	}
	return it
}
