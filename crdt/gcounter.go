package crdt

import (
	"encoding/binary"
	"fmt"
	"math/bits"
)

// GCounter is the view of a counter that only grows. Each origin keeps its own count in one item, at kind ‖ origin in eight bytes; the payload is
// the count in eight bytes without leading zeros. The value is the sum. What removed origins have counted may be folded into one item more, see
// Replica.Fold.
type GCounter struct{ value uint64 }

var _ Value[GCounter, *GCounterTx] = GCounter{}

// Kind returns KindGCounter.
func (GCounter) Kind() Kind { return KindGCounter }

// View reads a counter, in time proportional to the origins that have counted. A key that holds another type is ErrTypeClash; a sum beyond
// 64 bits is ErrOverflow.
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
func (GCounter) Mutator(tx *Tx) *GCounterTx { return &GCounterTx{tx: tx} }

// sumCounts adds up the counts, of siblings the highest: counts of one origin only grow.
func sumCounts(r Reader) (uint64, error) {
	var sum, top uint64
	var path string
	var failed error
	r.ks.ascend(r.prefix, func(it *Item) bool {
		if len(it.Path) < len(r.prefix) || it.Path[:len(r.prefix)] != r.prefix {
			return false
		}
		n, ok := decodeCount(it.Payload)
		if rel := r.Rel(it); !ok || len(rel) != 9 && len(rel) != 9+8 {
			failed = fmt.Errorf("%w: key %q: not a count: %v", ErrTypeClash, it.Key, it)
			return false
		}
		if r.ks.marks != nil && isFold(it.Path) && r.ks.orphan(it) {
			return true
		}
		if it.Path != path {
			path, top = it.Path, 0
		}
		if n > top {
			var carry uint64
			if sum, carry = bits.Add64(sum, n-top, 0); carry != 0 {
				failed = fmt.Errorf("%w: key %q", ErrOverflow, it.Key)
			}
			top = n
		}
		return failed == nil
	})
	return sum, failed
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
type GCounterTx struct{ tx *Tx }

// Increment adds n; 0 changes nothing. A value beyond 64 bits is ErrOverflow and changes nothing.
func (c *GCounterTx) Increment(n uint64) error {
	if n == 0 {
		return c.tx.usable()
	}
	sum, err := c.Value()
	if err != nil {
		return err
	}
	if _, carry := bits.Add64(sum, n, 0); carry != 0 {
		return fmt.Errorf("%w: key %q: %d + %d", ErrOverflow, c.tx.key, sum, n)
	}
	var buf [9]byte
	buf[0] = byte(KindGCounter)
	binary.BigEndian.PutUint64(buf[1:], uint64(c.tx.origin))
	path := string(buf[:])
	own := uint64(0)
	for _, it := range c.tx.peek().At(path) {
		if old, ok := decodeCount(it.Payload); ok {
			own = max(own, old)
		}
	}
	return c.tx.Replace(path, string(appendCount(buf[:0], own+n)))
}

// Value returns the sum.
func (c *GCounterTx) Value() (uint64, error) { return sumCounts(c.tx.peek()) }
