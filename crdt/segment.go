package crdt

import (
	"fmt"
	"iter"
	"reflect"

	"github.com/coterie-go/coterie/crdt/escaped"
	"github.com/coterie-go/coterie/crdt/form"
)

// A map whose entries take several paths puts the key before the rest of each: kind ‖ segment ‖ rest. A segment is an
// element that ends by itself, so that no key's paths begin like another's: elements of fixed width as they are, all
// others escaped. Segments sort like their elements.

// AppendSegment appends the segment of k.
func AppendSegment[K comparable](dst []byte, k K) ([]byte, error) {
	if form.Of[K]().Width(reflect.TypeFor[K]()) > 0 {
		return AppendElement(dst, k)
	}
	var buf [64]byte
	b, err := AppendElement(buf[:0], k)
	if err != nil {
		return dst, err
	}
	return escaped.Append(dst, b), nil
}

// CutSegment decodes the segment that s begins with and returns the rest.
func CutSegment[K comparable](s string) (k K, rest string, err error) {
	elem, n, err := "", 0, error(nil)
	if w := form.Of[K]().Width(reflect.TypeFor[K]()); w > 0 {
		n = min(w, len(s))
		elem = s[:n]
	} else if elem, n, err = escaped.Cut(s); err != nil {
		return k, s, fmt.Errorf("%w: %w", ErrDecode, err)
	}
	k, err = DecodeElement[K](elem)
	return k, s[n:], err
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
