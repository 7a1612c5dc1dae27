package crdt

import (
	"errors"
	"fmt"
	"math/big"
	"testing"
	"time"

	"github.com/coterie-go/coterie/proptest/golden"
)

// written puts v into a register and a map and returns what a view then reads; ok is false when the
// put was refused with ErrElement. A value that is accepted and cannot be read would make the whole
// key unreadable, and every later write to it fail.
func written[V any](t *testing.T, v V) (got V, ok bool) {
	t.Helper()
	reg, m := New[LWWRegister[V]](1), New[LWWMap[string, V]](1)
	_, err := reg.Update(func(tx *LWWRegisterTx[V]) error { return tx.Put(v) })
	_, errMap := m.Update(func(tx *LWWMapTx[string, V]) error { return tx.Put("k", v) })
	if errors.Is(err, ErrElement) != errors.Is(errMap, ErrElement) || (err != nil) != errors.Is(err, ErrElement) {
		t.Fatalf("%T: %v, %v", v, err, errMap)
	}
	if err != nil {
		return got, false
	}
	view, err := reg.Value()
	if err != nil {
		t.Fatalf("%T was written and cannot be read: %v", v, err)
	}
	got, ok = view.Get()
	if values, err := m.Value(); err != nil || !ok {
		t.Fatalf("%T: %v, %v", v, ok, err)
	} else if _, ok := values.Get("k"); !ok || values.Len() != 1 {
		t.Fatalf("%T was written to a map and cannot be read", v)
	}
	return got, true
}

func TestValuesAreReadAsTheyWereWritten(t *testing.T) {
	same := func(got, want any, ok bool) {
		t.Helper()
		if !ok || got != want {
			t.Errorf("got %v of %T, wrote %v of %T", got, got, want, want)
		}
	}
	s, ok := written[any](t, "hello")
	same(s, "hello", ok)
	s, ok = written[any](t, "\x05") // which is CBOR for 5
	same(s, "\x05", ok)
	id, ok := written(t, userID("u"))
	same(id, userID("u"), ok)
	p, ok := written(t, point{1, 2})
	same(p, point{1, 2}, ok)
	at := time.Date(2026, 2, 3, 4, 5, 6, 7, time.FixedZone("", 3600))
	moment, ok := written(t, struct{ At time.Time }{at})
	same(moment.At.Equal(at), true, ok)
}

func TestValuesThatCouldNotBeReadAreRefused(t *testing.T) {
	huge := new(big.Int).Lsh(big.NewInt(1), 80)
	var deep any
	for range 40 {
		deep = []any{deep}
	}
	for name, refused := range map[string]func() bool{
		"not UTF-8":         func() bool { _, ok := written(t, userID("\xff")); return !ok },
		"a field not UTF-8": func() bool { _, ok := written(t, struct{ Name string }{"\xff"}); return !ok },
		"a tagged number":   func() bool { _, ok := written(t, huge); return !ok },
		"nested too deep":   func() bool { _, ok := written(t, deep); return !ok },
		"a channel":         func() bool { _, ok := written(t, make(chan int)); return !ok },
		"a method set": func() bool {
			_, ok := written[interface{ String() string }](t, big.NewInt(1))
			return !ok
		},
		"one way marshalled": func() bool { _, ok := written(t, oneWay{}); return !ok },
		"no field exported":  func() bool { _, ok := written(t, opaque{n: 1}); return !ok },
		"a field of those":   func() bool { _, ok := written(t, struct{ A, B any }{A: 1, B: &opaque{1}}); return !ok },
		"an element of them": func() bool { _, ok := written(t, map[string][]opaque{"x": {{0}, {1}}}); return !ok },
		"one kept back":      func() bool { _, ok := written(t, hidden{A: 1, n: 2}); return !ok },
		"two embedded":       func() bool { _, ok := written(t, struct{ *opaque }{&opaque{1}}); return !ok },
	} {
		if !refused() {
			t.Errorf("%s: accepted", name)
		}
	}
}

// oneWay encodes as an array and decodes as a struct without one.
type oneWay struct{ N int }

func (oneWay) MarshalCBOR() ([]byte, error) { return []byte{0x81, 0x01}, nil }

type opaque struct{ n int }

type hidden struct {
	A int `cbor:"-"`
	n int
}

type embedding struct {
	opaque
	N int
}

// A struct that has lost nothing is accepted, and so are fields that CBOR leaves out beside others.
func TestStructsWithHiddenFields(t *testing.T) {
	if got, ok := written(t, opaque{}); !ok || got != (opaque{}) {
		t.Errorf("zero: %+v, %t", got, ok)
	}
	if got, ok := written(t, struct{}{}); !ok || got != struct{}{} {
		t.Errorf("no field: %+v, %t", got, ok)
	}
	if got, ok := written(t, embedding{opaque{1}, 2}); !ok || got.N != 2 {
		t.Errorf("embedded: %+v, %t", got, ok)
	}
	if got, ok := written(t, []any{map[string]int{}, big.NewInt(5), time.Unix(5, 0), point{1, 2}}); !ok ||
		len(got) != 4 {
		t.Errorf("with codecs: %+v, %t", got, ok)
	}
	if got, ok := written(t, struct{ M map[string]*big.Int }{map[string]*big.Int{"": big.NewInt(5)}}); !ok ||
		got.M[""].Int64() != 5 {
		t.Errorf("a known type: %+v, %t", got, ok)
	}
}

// The bytes are a promise to peers of other versions and to disks.
func TestGoldenValues(t *testing.T) {
	type inner struct {
		A int `cbor:"1,keyasint"`
		B []string
	}
	type outer struct {
		_  struct{} `cbor:",toarray"`
		At time.Time
		F  float64
		In inner
		P  *int
		M  map[string]uint16
		N  []byte
	}
	at := time.Date(2026, 2, 3, 4, 5, 6, 7, time.UTC)
	full := outer{
		At: at, F: 1.5, In: inner{A: -300, B: []string{"x", ""}},
		M: map[string]uint16{"bb": 2, "a": 70, "c": 3}, N: []byte{9},
	}
	samples := wireSamples()
	for _, v := range []any{
		nil, true, -1, uint64(1 << 63), 1e300, "text",
		[]int(nil), map[string]int(nil), []any{1, "a", nil}, outer{At: at}, full,
	} {
		b, err := AppendValue(nil, v)
		if err != nil {
			t.Fatal(v, err)
		}
		s := golden.Sample{Name: fmt.Sprintf("%T", v), Bytes: b, Want: v}
		switch v := v.(type) {
		case bool:
			s.Read = readValue[bool]
		case int:
			s.Read = readValue[int]
		case uint64:
			s.Read = readValue[uint64]
		case float64:
			s.Read = readValue[float64]
		case string:
			s.Read = readValue[any]
		case outer:
			if len(v.N) > 0 { // what is nil comes back as empty
				s.Read = readValue[outer]
			}
		}
		samples = append(samples, s)
	}
	golden.Formats(t, samples)
}

func readValue[V any](b []byte) (any, error) { return DecodeValue[V](string(b)) }
