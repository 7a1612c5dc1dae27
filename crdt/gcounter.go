package crdt

import (
	"encoding/binary"
	"fmt"
	"math/bits"
)

// GCounter is the view of a counter that only grows. Each origin keeps its own count in one item,
// at kind ‖ origin in eight bytes; the payload is the count in eight bytes without leading zeros.
// The value is the sum of all items: siblings of one origin are counts that it began anew after a
// removal that this replica has not seen. What removed origins have counted may be folded into one
// item more, see Replica.FoldOf.
//
// An increment beside the removal of the key, or of the map's key that holds the counter, leaves
// the whole count of its origin, what it had counted before included.
type GCounter struct{ value uint64 }

var _ Value[GCounter, *GCounterTx] = GCounter{}

// Kind returns KindGCounter.
func (GCounter) Kind() Kind { return KindGCounter }

// View reads a counter, in time proportional to the origins that have counted. A key that holds
// another type is ErrTypeClash; a sum beyond 64 bits is ErrOverflow, and nothing mends it but to
// remove the key.
func (GCounter) View(r Reader) (GCounter, error) {
	if err := r.CheckKind(KindGCounter); err != nil {
		return GCounter{}, err
	}
	v, err := sumCounts(r)
	return GCounter{value: v}, err
}

// Value returns the sum.
func (c GCounter) Value() uint64 { return c.value }

// Mutator returns the counter's mutator.
func (GCounter) Mutator(tx *Tx) *GCounterTx { return (*GCounterTx)(tx) }

// sumCounts adds up the counts.
func sumCounts(r Reader) (sum uint64, err error) {
	r.each("", func(it *Item) bool {
		n, ok := decodeCount(it.Payload)
		if !ok || len(r.Rel(it)) != 1+originBytes {
			err = fmt.Errorf("%w: key %q: not a count: %v", ErrTypeClash, it.Key, it)
			return false
		}
		var carry uint64
		if sum, carry = bits.Add64(sum, n, 0); carry != 0 {
			err = fmt.Errorf("%w: key %q", ErrOverflow, it.Key)
		}
		return err == nil
	})
	if err != nil {
		return 0, err
	}
	return sum, nil
}

func appendCount(dst []byte, n uint64) []byte {
	for shift := (bits.Len64(n) + 7) / 8 * 8; shift > 0; shift -= 8 {
		dst = append(dst, byte(n>>(shift-8)))
	}
	return dst
}

func decodeCount(s string) (n uint64, ok bool) {
	if len(s) > 8 || len(s) > 0 && s[0] == 0 {
		return 0, false
	}
	for i := range len(s) {
		n = n<<8 | uint64(s[i])
	}
	return n, true
}

// GCounterTx changes a counter within an Update. Its reads see its writes.
type GCounterTx Tx

// Increment adds n; 0 changes nothing. A value beyond 64 bits is ErrOverflow and changes nothing;
// two replicas that count at once may still go beyond.
func (c *GCounterTx) Increment(n uint64) error {
	if n == 0 {
		return (*Tx)(c).Err()
	}
	sum, err := c.Value()
	if err != nil {
		return err
	}
	if _, carry := bits.Add64(sum, n, 0); carry != 0 {
		return fmt.Errorf("%w: key %q: %d + %d", ErrOverflow, (*Tx)(c).key, sum, n)
	}
	path := (*Tx)(c).countPath(KindGCounter.Path())
	own := uint64(0)
	(*Tx)(c).peek().each(path, func(it *Item) bool {
		old, _ := decodeCount(it.Payload)
		own += old
		return true
	})
	return (*Tx)(c).Replace(path, string(appendCount(nil, own+n)))
}

// countPath returns the path below prefix at which the own origin keeps its count. Counters share the
// string of it.
func (t *Tx) countPath(prefix string) string {
	var buf [64]byte
	if b := binary.BigEndian.AppendUint64(append(buf[:0], prefix...), uint64(t.origin)); string(b) != t.counted {
		t.counted = string(b)
	}
	return t.counted
}

// Value returns the sum.
func (c *GCounterTx) Value() (uint64, error) { return sumCounts((*Tx)(c).peek()) }
