package crdt

import (
	"fmt"
	"iter"
	"reflect"
	"strings"
)

// A map whose entries take several paths puts the key before the rest of each: kind ‖ segment ‖ rest. A segment is an
// element that ends by itself, so that no key's paths begin like another's: elements of fixed width as they are, all
// others with every zero byte followed by 0xff and a zero and a one at the end. Segments sort like their elements.

const (
	segmentZero = 0xff // after a zero byte: the zero byte itself
	segmentEnd  = 0x01 // after a zero byte: the end
)

// AppendSegment appends the segment of k.
func AppendSegment[K comparable](dst []byte, k K) ([]byte, error) {
	if formWidth(formOf[K](), reflect.TypeFor[K]()) > 0 {
		return AppendElement(dst, k)
	}
	var buf [64]byte
	b, err := AppendElement(buf[:0], k)
	if err != nil {
		return dst, err
	}
	for _, c := range b {
		if dst = append(dst, c); c == 0 {
			dst = append(dst, segmentZero)
		}
	}
	return append(dst, 0, segmentEnd), nil
}

// CutSegment decodes the segment that s begins with and returns the rest.
func CutSegment[K comparable](s string) (k K, rest string, err error) {
	elem, n, err := "", 0, error(nil)
	if w := formWidth(formOf[K](), reflect.TypeFor[K]()); w > 0 {
		n = min(w, len(s))
		elem = s[:n]
	} else if elem, n, err = unescape(s); err != nil {
		return k, s, err
	}
	k, err = DecodeElement[K](elem)
	return k, s[n:], err
}

// unescape returns the element of the escaped segment that s begins with, and how many bytes that takes.
func unescape(s string) (elem string, n int, err error) {
	var zeros strings.Builder // what stands up to the last zero byte
	from := 0
	for {
		i := strings.IndexByte(s[from:], 0)
		if i < 0 || from+i+1 == len(s) {
			return "", 0, fmt.Errorf("%w: a key without an end: %q", ErrDecode, s)
		}
		at := from + i
		switch s[at+1] {
		case segmentEnd:
			if zeros.Len() == 0 {
				return s[:at], at + 2, nil
			}
			zeros.WriteString(s[from:at])
			return zeros.String(), at + 2, nil
		case segmentZero:
			zeros.WriteString(s[from : at+1])
			from = at + 2
		default:
			return "", 0, fmt.Errorf("%w: a key with %q in it", ErrDecode, s[at:at+2])
		}
	}
}

// SegmentPath returns the path below which a map of the given kind keeps the entry of k: kind ‖ segment.
func SegmentPath[K comparable](kind Kind, k K) (string, error) {
	var buf [64]byte
	b, err := AppendSegment(append(buf[:0], byte(kind)), k)
	return string(b), err
}

// keysOf yields the keys below which anything lives, each with its path, in the order of their segments. It costs a
// descent for each key, whatever lives there. What cannot be decoded is left out.
func keysOf[K comparable](r Reader, kind Kind) iter.Seq2[K, string] {
	return func(yield func(K, string) bool) {
		it := r.Seek(kind.Path())
		for it != nil {
			rel := r.Rel(it)
			if rel == "" || Kind(rel[0]) != kind {
				return
			}
			k, rest, err := CutSegment[K](rel[1:])
			if err != nil {
				it = r.Seek(rel + "\x00")
				continue
			}
			path := rel[:len(rel)-len(rest)]
			if !yield(k, path) {
				return
			}
			end := pathEnd(path)
			if end == "" {
				return
			}
			it = r.Seek(end)
		}
	}
}

func countKeys[K comparable](r Reader, kind Kind) (n int) {
	for range keysOf[K](r, kind) {
		n++
	}
	return n
}

// checkKeys finds a type clash among paths that begin with SegmentPath: another kind, or a first key that is no K.
// rest is what follows the first key, at whose path first is; first is "" when nothing lives here.
func checkKeys[K comparable](r Reader, kind Kind) (first, rest string, err error) {
	if err := r.CheckKind(kind); err != nil {
		return "", "", err
	}
	it := r.First()
	if it == nil {
		return "", "", nil
	}
	rel := r.Rel(it)
	if _, rest, err = CutSegment[K](rel[1:]); err != nil {
		return "", "", asTypeClash(r, err)
	}
	return rel[:len(rel)-len(rest)], rest, nil
}
