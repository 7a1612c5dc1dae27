package cbor

import (
	"bytes"
	"encoding/hex"
	"math"
	"strings"
	"testing"

	library "github.com/fxamacker/cbor/v2"
)

var majors = []byte{majorUint, majorInt, majorBytes, majorText, majorArray, majorMap}

// What is written is what another encoder of CBOR writes, and is read again. A head that is cut
// off, of another type or longer than needed is not.
func TestHeads(t *testing.T) {
	for _, n := range []uint64{0, 1, 23, 24, math.MaxUint8, math.MaxUint8 + 1, math.MaxUint16,
		math.MaxUint16 + 1, math.MaxUint32,
		math.MaxUint32 + 1, math.MaxUint64} {
		b := AppendUint(nil, n)
		if want, err := library.Marshal(n); err != nil || !bytes.Equal(b, want) || HeadLen(n) != len(b) {
			t.Errorf("%d is %x, want %x", n, b, want)
		}
		for _, major := range majors {
			b := appendHead(nil, major, n)
			r := NewReader(append(b, 0xff))
			if got := r.head(major); got != n || r.Len() != 1 || r.Err() != nil {
				t.Errorf("%x reads as %d, %v", b, got, r.Err())
			}
			if r := NewReader(b); r.head(major^majorBytes) != 0 || r.Err() == nil {
				t.Errorf("%x reads as another type", b)
			}
			if r := NewReader(b[:len(b)-1]); r.head(major) != 0 || r.Err() == nil {
				t.Errorf("%x cut off reads", b)
			}
		}
	}
	for _, long := range []string{"1817", "1900ff", "1a0000ffff", "1b00000000ffffffff", "1c", "1d", "1e", "1f"} {
		if r := NewReader(bytesOf(t, long)); r.Uint() != 0 || r.Err() == nil {
			t.Errorf("%s reads", long)
		}
	}
}

func bytesOf(t testing.TB, digits string) []byte {
	b, err := hex.DecodeString(digits)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestItemsComeBack(t *testing.T) {
	b := AppendArray([]byte{7}, 11)
	b = AppendUints(AppendInt(AppendInt(b, math.MinInt64), math.MaxInt64), 1, math.MaxUint64)
	b = AppendBools(b, true, false)
	b = AppendNull(b)
	b = AppendText(AppendBytes(b, []byte{1, 2}), "\u00e9")
	b = append(AppendBytesHead(AppendMap(b, 0), 1), 5)
	if err := library.Wellformed(b[1:]); err != nil {
		t.Error(err)
	}
	r := NewReader(b)
	if v := r.Byte(); v != 7 {
		t.Error(v)
	}
	r.Tuple(11)
	if a, b, c, d := r.Int(), r.Int(), r.Uint(), r.Uint(); a != math.MinInt64 || b != math.MaxInt64 ||
		c != 1 || d != math.MaxUint64 {
		t.Error(a, b, c, d)
	}
	if a, b, c, d := r.Bool(), r.Bool(), r.Null(), r.Null(); !a || b || !c || d {
		t.Error(a, b, c, d)
	}
	if p, s := r.Bytes(2), r.Text(2); string(p) != "\x01\x02" || cap(p) != 2 || s != "\u00e9" {
		t.Error(p, s)
	}
	if r.Skip([]byte{0xa1}) || !r.Skip([]byte{0xa0}) {
		t.Error("an empty map is not the bytes that it is")
	}
	if len(r.Rest()) != 2 || r.Bytes(Any)[0] != 5 || r.End() != nil {
		t.Error(r.End())
	}
}

// Each fault is one, and what comes after it is zero.
func TestFaults(t *testing.T) {
	for name, c := range map[string]struct {
		digits string
		read   func(*Reader)
	}{
		"no byte":           {"", func(r *Reader) { r.Byte() }},
		"left over":         {"0000", func(r *Reader) { r.Uint(); _ = r.End() }},
		"number above":      {"0b", func(r *Reader) { r.UintMax(10) }},
		"33 bits":           {"1b0000000100000000", func(r *Reader) { r.Uint32() }},
		"65 bits":           {"1b8000000000000000", func(r *Reader) { r.Int() }},
		"65 bits, negative": {"3b8000000000000000", func(r *Reader) { r.Int() }},
		"no integer":        {"40", func(r *Reader) { r.Int() }},
		"no bool":           {"f6", func(r *Reader) { r.Bool() }},
		"bytes above":       {"420102", func(r *Reader) { r.Bytes(1) }},
		"bytes cut":         {"4201", func(r *Reader) { r.Bytes(Any) }},
		"bytes of 2^63":     {"5b800000000000000001", func(r *Reader) { r.Bytes(Any) }},
		"text for bytes":    {"6161", func(r *Reader) { r.Bytes(Any) }},
		"bytes for text":    {"4161", func(r *Reader) { r.RawText(Any) }},
		"no UTF-8":          {"61ff", func(r *Reader) { r.Text(Any) }},
		"array above":       {"820000", func(r *Reader) { r.Array(1) }},
		"array cut":         {"8200", func(r *Reader) { r.Array(Any) }},
		"array of 2^63":     {"9b80000000000000000000", func(r *Reader) { r.Array(Any) }},
		"tuple":             {"8200", func(r *Reader) { r.Tuple(1) }},
		"indefinite":        {"9f00ff", func(r *Reader) { r.Array(Any) }},
		"its user's":        {"00", func(r *Reader) { r.Fail("%d", 1) }},
	} {
		r := NewReader(bytesOf(t, c.digits))
		c.read(r)
		first := r.Err()
		if first == nil {
			t.Errorf("%s: no fault", name)
			continue
		}
		r.Fail("another")
		if r.Uint() != 0 || r.Int() != 0 || r.Bool() || r.Null() || len(r.Bytes(Any)) > 0 || r.Text(Any) != "" ||
			r.Array(Any) != 0 || r.Byte() != 0 ||
			r.Len() != 0 || len(r.Rest()) > 0 || r.Skip([]byte{0}) || r.Err() != first || r.End() != first {
			t.Errorf("%s: more is read, or the fault is another: %v", name, r.Err())
		}
	}
}

// A reader of unbroken bytes allocates nothing but strings.
func TestReadingIsFree(t *testing.T) {
	b := AppendBytes(AppendUints(AppendArray(nil, 3), 1, math.MaxUint64), []byte("bytes"))
	if n := testing.AllocsPerRun(100, func() {
		r := NewReader(b)
		r.Tuple(3)
		_, _, _ = r.Uint(), r.Uint(), r.Bytes(Any)
		if r.End() != nil {
			t.Error(r.End())
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestModes(t *testing.T) {
	type old struct{ A int }
	type newer struct{ A, B int }
	type list struct{ L []int }
	for name, m := range map[string]*Mode{"values": Values, "messages": Messages, "records": Records} {
		b, err := m.Append([]byte{0xff}, newer{1, 2})
		if want := "ffa2614101614202"; err != nil || hex.EncodeToString(b) != want {
			t.Errorf("%s: %x %v", name, b, err)
		}
		var v old
		if err := m.Decode(b[1:], &v); err != nil || v.A != 1 {
			t.Errorf("%s: %v %v", name, v, err)
		}
		if err := m.DecodeExactly(b[1:], &v); err == nil || !strings.Contains(err.Error(), "unknown field") {
			t.Errorf("%s: %v", name, err)
		}
		if b, err := m.Append([]byte{1, 2}, make(chan int)); err == nil || string(b) != "\x01\x02" {
			t.Errorf("%s: %x %v", name, b, err)
		}
		for _, bad := range []string{"", "9fff", "c000", "a2614101614102", "0000", strings.Repeat("81", 100) + "00"} {
			var any any
			if err := m.Decode(bytesOf(t, bad), &any); err == nil {
				t.Errorf("%s: %s decodes", name, bad)
			}
		}
	}
	for m, want := range map[*Mode]string{Values: "a1614c80", Messages: "a1614cf6"} {
		if b, err := m.Append(nil, list{}); err != nil || hex.EncodeToString(b) != want {
			t.Errorf("%x, want %s", b, want)
		}
	}
}

// FuzzReader: what a Reader takes is well-formed, and has one encoding.
func FuzzReader(f *testing.F) {
	for _, digits := range []string{"00", "1817", "1818", "1900ff", "1a0000ffff", "1b00000000ffffffff", "1c",
		"1f", "3b7fffffffffffffff",
		"83820102f6f5", "8443000102" + "6161" + "f4" + "81f6", "5b7fffffffffffffff", "9b7fffffffffffffff"} {
		f.Add(bytesOf(f, digits))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r := NewReader(b)
		again := appendNext(nil, r, 0)
		if r.End() != nil {
			return
		}
		if !bytes.Equal(again, b) {
			t.Errorf("%x has two encodings: %x", b, again)
		}
		if err := library.Wellformed(b); err != nil {
			t.Errorf("%x is read, and %v", b, err)
		}
	})
}

// appendNext reads an item of any form and appends it to dst.
func appendNext(dst []byte, r *Reader, depth int) []byte {
	if r.Len() == 0 || depth > 20 {
		r.Fail("nothing left, or too deep")
		return dst
	}
	switch c := r.Rest()[0]; {
	case c == simpleNull:
		r.Null()
		return AppendNull(dst)
	case c&majorMask == majorUint:
		return AppendUint(dst, r.Uint())
	case c&majorMask == majorInt:
		return AppendInt(dst, r.Int())
	case c&majorMask == majorBytes:
		return AppendBytes(dst, r.Bytes(Any))
	case c&majorMask == majorText:
		return AppendText(dst, r.Text(Any))
	case c&majorMask == majorArray:
		n := r.Array(Any)
		dst = AppendArray(dst, n)
		for range n {
			if r.Err() != nil {
				return dst
			}
			dst = appendNext(dst, r, depth+1)
		}
		return dst
	}
	return AppendBool(dst, r.Bool())
}
