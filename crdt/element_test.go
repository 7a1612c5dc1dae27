package crdt

import (
	"errors"
	"math"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// lowered is a type with a codec of its own: what it keeps is not what it is encoded as.
type lowered struct{ name string }

func (l lowered) MarshalBinary() ([]byte, error) { return []byte(strings.ToUpper(l.name)), nil }

func (l *lowered) UnmarshalBinary(b []byte) error {
	if len(b) == 0 {
		return errors.New("no name")
	}
	l.name = strings.ToLower(string(b))
	return nil
}

type hashed [4]byte

func TestElementsOfFixedWidthAndOwnCodecs(t *testing.T) {
	roundTrip(t, []hashed{{}, {0, 0, 0, 1}, {1}, {255, 255, 255, 255}})
	roundTrip(t, [][0]byte{{}})
	roundTrip(t, []lowered{{"a"}, {"b"}})
	roundTrip(t, []netip.Addr{netip.MustParseAddr("1.2.3.4"), netip.MustParseAddr("2001::1")})
	refuse(t, lowered{"Mixed"}) // comes back as mixed
	for _, s := range []string{"", "\x02", "ab"} {
		if b, err := DecodeElement[bool](s); !errors.Is(err, ErrDecode) {
			t.Errorf("%q is %v", s, b)
		}
	}
	if d, err := DecodeElement[hashed]("12345"); !errors.Is(err, ErrDecode) {
		t.Error(d)
	}
	for what, size := range map[string]func() (string, error){
		"four bytes": func() (string, error) { return ElementPath(KindORSet, hashed{1, 2, 3, 4}) },
		"own codec":  func() (string, error) { return ElementPath(KindORSet, lowered{"name"}) },
	} {
		if path, err := size(); err != nil || len(path) != 5 {
			t.Errorf("%s: path %q, %v", what, path, err)
		}
	}
}

// Segments come back, sort as their elements do, and none begins like another: or the entries of
// one key would be taken for those of another.
func TestSegments(t *testing.T) {
	segmentsSort(t, []string{
		"", "\x00", "\x00\x00", "\x00\x01", "\x00\xff", "a", "a\x00", "a\x00b", "a\x01", "ab", "\xff",
	})
	segmentsSort(t, []int{math.MinInt, -256, -1, 0, 1, 256, math.MaxInt})
	segmentsSort(t, []uint16{0, 1, 256, math.MaxUint16})
	segmentsSort(t, []bool{false, true})
	segmentsSort(t, []hashed{{}, {0, 0, 1}, {1}})
	segmentsSort(t, []lowered{{"a"}, {"ab"}})
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringOf(rapid.SampledFrom([]rune{0, 1, 'a'}))
		a, b := word.Draw(t, "a"), word.Draw(t, "b")
		sa, _ := AppendSegment(nil, a)
		sb, _ := AppendSegment(nil, b)
		if strings.Compare(a, b) != strings.Compare(string(sa), string(sb)) ||
			a != b && strings.HasPrefix(string(sa), string(sb)) {
			t.Fatalf("%q is %q, %q is %q", a, sa, b, sb)
		}
	})
}

func segmentsSort[K comparable](t *testing.T, ks []K) {
	t.Helper()
	prev := ""
	for i, k := range ks {
		b, err := AppendSegment(nil, k)
		if err != nil {
			t.Fatal(err)
		}
		s := string(b)
		if i > 0 && (s <= prev || strings.HasPrefix(s, prev)) {
			t.Errorf("%v: %q stands behind %q", k, s, prev)
		}
		prev = s
		back, rest, err := CutSegment[K](s + "\x00rest")
		if err != nil || back != k || rest != "\x00rest" {
			t.Errorf("%v: %v, %q, %v", k, back, rest, err)
		}
		if back, _, err := CutSegment[K](s[:len(s)-1]); err == nil {
			t.Errorf("%v cut off is %v", k, back)
		}
	}
	if !slices.IsSortedFunc(ks, func(a, b K) int {
		x, _ := AppendSegment(nil, a)
		y, _ := AppendSegment(nil, b)
		return slices.Compare(x, y)
	}) {
		t.Error("not in order")
	}
}

func FuzzElement(f *testing.F) {
	for _, s := range []string{"", "a\x00\x01", "\x00\xff\x00\x01x", "\x80\x00\x00\x00\x00\x00\x00\x05", "\xa2"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		fuzzElement[string](t, s)
		fuzzElement[int16](t, s)
		fuzzElement[bool](t, s)
		fuzzElement[hashed](t, s)
		fuzzElement[lowered](t, s)
		fuzzElement[[2]string](t, s)
		fuzzElement[point](t, s)
	})
}

// fuzzElement decodes an element and a segment, which must come back when they can be encoded
// again, and a segment in the same bytes.
func fuzzElement[E comparable](t *testing.T, s string) {
	if e, err := DecodeElement[E](s); err == nil {
		if b, err := AppendElement(nil, e); err == nil {
			if back, err := DecodeElement[E](string(b)); err != nil || back != e {
				t.Fatalf("%q is %v, which is %q, which is %v: %v", s, e, b, back, err)
			}
		}
	}
	e, rest, err := CutSegment[E](s)
	if err != nil {
		return
	}
	if !strings.HasSuffix(s, rest) {
		t.Fatalf("%q is %v and %q", s, e, rest)
	}
	if _, ok := any(e).(string); ok {
		if b, err := AppendSegment(nil, e); err != nil || string(b)+rest != s {
			t.Fatalf("%q is %v and %q, and that %q: %v", s, e, rest, b, err)
		}
	}
}

// An error of reading names both what is there and what was asked for, and does not speak of
// encoding.
func TestWhatCannotBeReadIsNamed(t *testing.T) {
	r := NewReplica(1, StoreOptions{})
	mustUpdate(t, r, "names", Mutate[ORSet[string]](func(s *ORSetTx[string]) error { return s.Add("a") }))
	_, err := ViewOf[ORSet[int]](r.Store().View("names"))
	if !errors.Is(err, ErrTypeClash) || !errors.Is(err, ErrDecode) ||
		!strings.Contains(err.Error(), `"a" (1 bytes) is no int (8)`) {
		t.Error(err)
	}
	if errors.Is(err, ErrElement) {
		t.Error("nothing was encoded:", err)
	}
}
