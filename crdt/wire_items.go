package crdt

import (
	"slices"

	"github.com/coterie-go/coterie/crdt/head"
)

// AppendItems appends the encoding of a batch of items, best in the order of a snapshot. An element
// of a set costs its bytes and about six more.
func AppendItems(dst []byte, items []*Item) []byte {
	t := originTable{}
	blocks := 0
	for i, it := range items {
		t.add(it.Dot.Origin)
		if i == 0 || it.Key != items[i-1].Key {
			blocks++
		}
	}
	dst = head.Append(dst, head.Array, uint64(1+2*blocks))
	dst = t.append(dst)
	last := make([]uint64, t.n)
	for len(items) > 0 {
		n, words := 1, itemWords(items[0])
		for n < len(items) && items[n].Key == items[0].Key {
			words += itemWords(items[n])
			n++
		}
		dst = appendBytes(dst, items[0].Key)
		dst = head.Append(dst, head.Array, uint64(words))
		for _, it := range items[:n] {
			k := t.index(it.Dot.Origin)
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
	dst = head.Append(dst, head.Uint, k)
	dst = appendInt(dst, int64(it.Dot.Seq-*last))
	*last = it.Dot.Seq
	dst = appendBytes(dst, it.Path)
	if it.Payload != "" {
		dst = appendBytes(dst, it.Payload)
	}
	return dst
}

// DecodeItems decodes a batch that fills b.
func DecodeItems(b []byte) ([]Item, error) {
	r := cborReader{b: b}
	items := readItems(&r)
	if err := r.end(); err != nil {
		return nil, err
	}
	return items, nil
}

// CutItems decodes a batch from the front of b and returns what follows it.
func CutItems(b []byte) (items []Item, rest []byte, err error) {
	r := cborReader{b: b}
	items = readItems(&r)
	return items, r.b, r.err
}

func readItems(r *cborReader) []Item {
	n := r.array(1+2*ItemsMax, 1) - 1
	if n < 0 || n%2 != 0 {
		r.fail("batch of %d parts", n)
		return nil
	}
	t := &originTable{}
	readTable(r, t)
	last := make([]uint64, t.n)
	var items []Item
	for range n / 2 {
		key := string(r.bytes(KeyMax))
		if len(items) > 0 && items[len(items)-1].Key == key {
			r.fail("key %q in two blocks", key)
		}
		words := r.array(4*ItemsMax, 1)
		if words == 0 {
			r.fail("empty block")
		}
		items = slices.Grow(items, words/4)
		for words > 0 && r.err == nil {
			items = append(items, r.batched(key, t, last))
			words -= itemWords(&items[len(items)-1])
		}
		if words < 0 || len(items) > ItemsMax {
			r.fail("block of key %q runs over", key)
		}
		if r.err != nil {
			return nil
		}
	}
	if t.used != t.n {
		r.fail("batch's table names %d origins, it uses %d", t.n, t.used)
		return nil
	}
	return items
}

func (r *cborReader) batched(key string, t *originTable, last []uint64) Item {
	head := r.uint()
	o := t.use(r, head/2)
	step := r.int()
	if r.err != nil {
		return Item{}
	}
	last[head/2] += uint64(step)
	it := Item{Dot: Dot{o, last[head/2]}, Key: key}
	start := r.b
	path := r.bytes(PathMax)
	var payload []byte
	if head%2 == 1 {
		if payload = r.bytes(PayloadMax); len(payload) == 0 {
			r.fail("item with an empty payload")
		}
	}
	if it.Dot.Seq == 0 {
		r.fail("item without a dot")
	}
	if r.err == nil {
		it.Path, it.Payload = twoStrings(start, r.b, path, payload)
	}
	return it
}
