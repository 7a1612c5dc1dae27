package crdt

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	library "github.com/fxamacker/cbor/v2"

	"github.com/coterie-go/coterie/crdt/cbor"
	"github.com/coterie-go/coterie/crdt/dots"
	"github.com/coterie-go/coterie/proptest/golden"
)

func goldenGroup() Group {
	return Group{
		{Dot: Dot{Origin: 0xa1, Seq: 7}, Key: "cart", Path: "\x02apple", Puts: true,
			Removes: []Dot{{Origin: 0xa1, Seq: 3}, {Origin: 0xb2, Seq: 300}}},
		{Dot: Dot{Origin: 0xa1, Seq: 8}, Key: "cart", Path: "\x02pear", Removes: []Dot{{Origin: 0xb2, Seq: 1}}},
		{Dot: Dot{Origin: 0xa1, Seq: 9}, Key: "total", Path: "\x01", Puts: true, Payload: "\x05"},
	}
}

func goldenItems() []*Item {
	return []*Item{
		{Dot: Dot{Origin: 0xa1, Seq: 7}, Key: "cart", Path: "\x02apple"},
		{Dot: Dot{Origin: 0xb2, Seq: 1000}, Key: "cart", Path: "\x02pear", Payload: "ripe"},
		{Dot: Dot{Origin: 0xb2, Seq: 990}, Key: "total", Path: "\x01", Payload: "\x05"},
	}
}

func goldenClock() *Clock {
	c := &Clock{}
	c.AddRange(0xa1, 1, 9)
	c.AddRange(0xb2, 1, 1)
	c.AddRange(0xb2, 300, 310)
	c.AddRange(0xb2, 1000, 1000)
	return c
}

// wireSamples are what travels between replicas, and lies on disks.
func wireSamples() []golden.Sample {
	item := *goldenItems()[1]
	var items []Item
	for _, it := range goldenItems() {
		items = append(items, *it)
	}
	return []golden.Sample{
		{Name: "clock", Bytes: goldenClock().Append(nil), Want: goldenClock().String(),
			Read: func(b []byte) (any, error) {
				c, err := DecodeClock(b)
				if err != nil {
					return nil, err
				}
				return c.String(), nil
			}},
		{Name: "group", Bytes: AppendGroup(nil, goldenGroup()), Read: golden.Reads(DecodeGroup), Want: goldenGroup()},
		{Name: "item", Bytes: AppendItem(nil, &item), Read: golden.Reads(decodeItem), Want: item},
		{Name: "items", Bytes: AppendItems(nil, goldenItems()), Read: golden.Reads(DecodeItems), Want: items},
	}
}

func TestWireIsCBOR(t *testing.T) {
	for _, s := range wireSamples() {
		if err := library.Wellformed(s.Bytes); err != nil {
			t.Errorf("%s is no CBOR: %v", s.Name, err)
		}
	}
}

func TestGoldenWireComesBack(t *testing.T) {
	raw := AppendGroup(nil, goldenGroup())
	r := cbor.NewReader(append(append(raw, raw...), 0xff))
	if gs := ReadGroups(r, 2); r.Err() != nil || r.Len() != 1 ||
		fmt.Sprint(gs) != fmt.Sprint([]Group{goldenGroup(), goldenGroup()}) {
		t.Fatal(gs, r.Len(), r.Err())
	}
	r = cbor.NewReader(raw)
	if gs := ReadGroups(r, 2); gs != nil || r.Err() == nil {
		t.Fatal("two groups in the bytes of one")
	}
	r = cbor.NewReader(append(goldenClock().Append(nil), 0xff))
	if c := dots.Read(r); r.Err() != nil || r.Len() != 1 || !c.Equal(goldenClock()) {
		t.Fatal(c, r.Len(), r.Err())
	}
	r = cbor.NewReader(append(AppendItems(nil, goldenItems()), 0xff))
	if items := ReadItems(r); r.Err() != nil || r.Len() != 1 || len(items) != 3 || items[2] != *goldenItems()[2] {
		t.Fatal(items, r.Len(), r.Err())
	}
	for i := range raw {
		if g, err := DecodeGroup(raw[:i]); !errors.Is(err, ErrMalformed) || g != nil {
			t.Fatalf("cut at %d: %v, %v", i, g, err)
		}
	}
}

// An Update that changed nothing returns a group that travels like another, and does nothing.
func TestEmptyGroupTravels(t *testing.T) {
	raw := AppendGroup([]byte{0xff}, nil)
	if got := hex.EncodeToString(raw); got != "ff80" || !bytes.Equal(AppendGroup(nil, Group{}), raw[1:]) {
		t.Fatal(got)
	}
	g, err := DecodeGroup(raw[1:])
	if g != nil || err != nil {
		t.Fatal(g, err)
	}
	if out, err := New[GCounter, *GCounterTx](1).Apply(g); out != Duplicate || err != nil {
		t.Fatal(out, err)
	}
	r := cbor.NewReader(raw[1:])
	if gs := ReadGroups(r, 1); gs != nil || r.Err() == nil {
		t.Fatal(gs)
	}
}

// Other encodings of the same value are refused, so that equal bytes mean equal values.
func TestNonCanonicalWireIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		decode func([]byte) error
		hex    string
	}{
		"long head":          {clockErr, "81821801" + "01"},
		"rows out of order":  {clockErr, "82" + "820201" + "820101"},
		"row twice":          {clockErr, "82" + "820101" + "820102"},
		"empty row":          {clockErr, "81" + "820100"},
		"gap zero":           {clockErr, "81" + "8401010001"},
		"run zero":           {clockErr, "81" + "8401010100"},
		"run overflows":      {clockErr, "81" + "840101011bffffffffffffffff"},
		"gap overflows":      {clockErr, "81" + "840105" + "1bfffffffffffffffd" + "01"},
		"odd row":            {clockErr, "81" + "83010101"},
		"false length":       {clockErr, "9b00ffffffffffffff"},
		"left over":          {clockErr, "8000"},
		"key again":          {groupErr, "84" + "8101" + "01" + "84416b404080" + "84416b404080"},
		"unused origin":      {groupErr, "83" + "820102" + "01" + "84416b404080"},
		"origin out of turn": {groupErr, "83" + "83010203" + "01" + "84416b4040" + "8402010101"},
		"origin twice":       {groupErr, "83" + "820101" + "01" + "84416b4040" + "820101"},
		"no origin":          {groupErr, "83" + "80" + "01" + "84416b404080"},
		"no events":          {groupErr, "82" + "8101" + "01"},
		"seq zero":           {groupErr, "83" + "8101" + "00" + "84416b404080"},
		"indefinite":         {groupErr, "9f"},
		"empty block":        {itemsErr, "83" + "8101" + "416b" + "80"},
		"empty payload":      {itemsErr, "83" + "8101" + "416b" + "84" + "01014040"},
		"block runs over":    {itemsErr, "83" + "8101" + "416b" + "82" + "000140"},
		"key in two blocks":  {itemsErr, "85" + "8101" + "416b" + "83000140" + "416b" + "83000140"},
		"item of seq 0":      {itemsErr, "83" + "8101" + "416b" + "83000040"},
		"single of seq 0":    {itemErr, "8501" + "00" + "404040"},
	} {
		b, err := hex.DecodeString(c.hex)
		if err != nil {
			t.Fatal(name, err)
		}
		if err := c.decode(b); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func clockErr(b []byte) error { _, err := DecodeClock(b); return err }
func groupErr(b []byte) error { _, err := DecodeGroup(b); return err }
func itemsErr(b []byte) error { _, err := DecodeItems(b); return err }
func itemErr(b []byte) error  { _, err := decodeItem(b); return err }

// An ORSet of 10,000 strings of 16 bytes takes at most 24 bytes an element.
func TestEncodedSetIsSmall(t *testing.T) {
	r := NewReplica(0x1122334455667788, StoreOptions{})
	rng := rand.New(rand.NewPCG(1, 2))
	for _, i := range rng.Perm(10_000) {
		addAll(t, r, "set", fmt.Sprintf("session-%08d", i))
	}
	var items []*Item
	for it := range r.Store().Snapshot().Items() {
		items = append(items, it)
	}
	n := len(AppendItems(nil, items))
	t.Logf("%.2f bytes per element", float64(n)/10_000)
	if n > 24*10_000 {
		t.Fatal(n)
	}
}

// Decoders allocate in proportion to what they are given, whatever lengths it claims.
func TestDecodersDoNotOverAllocate(t *testing.T) {
	claims := []string{"9a00010000", "9b0000000100000000", "9a7fffffff"}
	for _, decode := range []func([]byte) error{clockErr, groupErr, itemsErr, itemErr} {
		for _, head := range claims {
			b, _ := hex.DecodeString(head)
			b = append(b, bytes.Repeat([]byte{0x01}, 4000)...)
			if n := allocated(func() { _ = decode(b) }); n > 256<<10 {
				t.Errorf("%s: %d bytes allocated for %d", head, n, len(b))
			}
		}
	}
	// As many events as there are bytes, of which none follows.
	b := append([]byte{0x99, 0x0f, 0xa0, 0x81, 0x01, 0x01}, make([]byte, 4096)...)
	if n := allocated(func() { _ = groupErr(b) }); n > 32*len(b) {
		t.Errorf("%d bytes allocated for %d", n, len(b))
	}
	// The worst legal input: events as short as they can be.
	var g Group
	for i := range 4000 {
		g = append(g, Event{Dot: Dot{Origin: 1, Seq: uint64(i + 1)}, Key: "k", Path: "", Puts: true})
	}
	b = AppendGroup(nil, g)
	if n := allocated(func() { _ = groupErr(b) }); n > 64*len(b) {
		t.Errorf("%d bytes allocated for %d", n, len(b))
	}
}

func allocated(fn func()) int {
	var a, b runtime.MemStats
	runtime.ReadMemStats(&a)
	fn()
	runtime.ReadMemStats(&b)
	return int(b.TotalAlloc - a.TotalAlloc)
}

func FuzzDecodeGroup(f *testing.F) {
	f.Add(AppendGroup(nil, goldenGroup()))
	f.Add(AppendGroup(nil, nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		g, err := DecodeGroup(b)
		if err != nil {
			return
		}
		if !bytes.Equal(AppendGroup(nil, g), b) {
			t.Fatalf("%v has two encodings", g)
		}
		s := NewStore(StoreOptions{})
		if _, err := s.Apply(g, &Changes{}); err == nil {
			if err := s.Check(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func FuzzDecodeItems(f *testing.F) {
	f.Add(AppendItems(nil, goldenItems()))
	f.Fuzz(func(t *testing.T, b []byte) {
		items, err := DecodeItems(b)
		if err != nil {
			return
		}
		ptrs := make([]*Item, len(items))
		for i := range items {
			ptrs[i] = &items[i]
		}
		if !bytes.Equal(AppendItems(nil, ptrs), b) {
			t.Fatalf("%v has two encodings", items)
		}
	})
}

func decodeItem(b []byte) (Item, error) { return DecodeItem(b, "") }

func FuzzDecodeItem(f *testing.F) {
	f.Add(AppendItem(nil, goldenItems()[1]))
	f.Fuzz(func(t *testing.T, b []byte) {
		it, err := DecodeItem(b, "k")
		if err == nil && !bytes.Equal(AppendItem(nil, &it), b) {
			t.Fatalf("%v has two encodings", &it)
		}
	})
}
