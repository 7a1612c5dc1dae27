package crdt

import (
	"fmt"
	"math/bits"
)

// PNCounter is the view of a counter that goes up and down. Each origin keeps what it has added on
// balance in one item, at kind ‖ origin in eight bytes; the payload is that number, zigzag, in
// eight bytes without leading zeros. The value is the sum of all items. As in GCounter, what
// removed origins have left may be folded. An increment beside the removal of the key leaves the
// whole balance of its origin.
type PNCounter struct{ value int64 }

var _ Value[PNCounter, *PNCounterTx] = PNCounter{}

// Kind returns KindPNCounter.
func (PNCounter) Kind() Kind { return KindPNCounter }

// View reads a counter, in time proportional to the origins that have counted. A key that holds
// another type is ErrTypeClash; a sum that is no int64 is ErrOverflow, and counting back mends it.
func (PNCounter) View(r Reader) (PNCounter, error) {
	if err := r.CheckKind(KindPNCounter); err != nil {
		return PNCounter{}, err
	}
	v, err := readBalance(r, KindPNCounter.Path())
	return PNCounter{value: v}, err
}

// Mutator returns the counter's mutator.
func (PNCounter) Mutator(tx *Tx) *PNCounterTx { return (*PNCounterTx)(tx) }

// Value returns the sum.
func (c PNCounter) Value() int64 { return c.value }

// PNCounterTx changes a counter within an Update. Its reads see its writes.
type PNCounterTx Tx

// Increment adds n, which may be negative; 0 changes nothing. A value, or a balance of this origin
// alone, beyond int64 is ErrOverflow and changes nothing.
func (c *PNCounterTx) Increment(n int64) error {
	if n == 0 {
		return (*Tx)(c).Err()
	}
	return addBalance((*Tx)(c), KindPNCounter.Path(), wideOf(n))
}

// Decrement subtracts n, with the same limits.
func (c *PNCounterTx) Decrement(n int64) error {
	if n == 0 {
		return (*Tx)(c).Err()
	}
	return addBalance((*Tx)(c), KindPNCounter.Path(), wideOf(n).negative())
}

// Value returns the sum.
func (c *PNCounterTx) Value() (int64, error) {
	return readBalance((*Tx)(c).peek(), KindPNCounter.Path())
}

// wide is a signed number of 128 bits: sums on their way to an int64, and -math.MinInt64.
type wide struct {
	high int64
	low  uint64
}

func wideOf(n int64) wide { return wide{high: n >> 63, low: uint64(n)} }

func (w wide) plus(v wide) wide {
	low, carry := bits.Add64(w.low, v.low, 0)
	return wide{w.high + v.high + int64(carry), low}
}

func (w wide) negative() wide { return wide{^w.high, ^w.low}.plus(wide{0, 1}) }

// narrow returns the number as an int64; ok is false when it is none.
func (w wide) narrow() (n int64, ok bool) { return int64(w.low), w.high == int64(w.low)>>63 }

// sumBalances adds up the balances of all origins below prefix.
func sumBalances(r Reader, prefix string) (sum wide, err error) {
	r.each(prefix, func(it *Item) bool {
		n, ok := decodeBalance(it.Payload)
		if !ok || len(r.Rel(it)) != len(prefix)+originBytes {
			err = fmt.Errorf("%w: key %q: not a count: %v", ErrTypeClash, it.Key, it)
			return false
		}
		sum = sum.plus(wideOf(n))
		return true
	})
	if err != nil {
		return wide{}, err
	}
	return sum, nil
}

func readBalance(r Reader, prefix string) (int64, error) {
	sum, err := sumBalances(r, prefix)
	n, ok := sum.narrow()
	if err == nil && !ok {
		return 0, fmt.Errorf("%w: key %q", ErrOverflow, r.Key())
	}
	return n, err
}

// addBalance adds n to the own balance below prefix.
func addBalance(tx *Tx, prefix string, n wide) error {
	sum, err := sumBalances(tx.peek(), prefix)
	if err != nil {
		return err
	}
	path := tx.countPath(prefix)
	own := n
	tx.peek().each(path, func(it *Item) bool {
		old, _ := decodeBalance(it.Payload)
		own = own.plus(wideOf(old))
		return true
	})
	balance, ok := own.narrow()
	back := (sum.high < 0) != (n.high < 0) // towards zero: it may still be far out, and must be let back
	if _, fits := sum.plus(n).narrow(); !ok || !fits && !back {
		return fmt.Errorf("%w: key %q: a counter beyond int64", ErrOverflow, tx.key)
	}
	return tx.Replace(path, encodeBalance(balance))
}

func encodeBalance(n int64) string { return string(appendCount(nil, uint64(n)<<1^uint64(n>>63))) }

func decodeBalance(s string) (int64, bool) {
	n, ok := decodeCount(s)
	return int64(n>>1) ^ -int64(n&1), ok
}
