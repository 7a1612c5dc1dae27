package disk

import (
	"errors"
	"iter"
	"testing"
)

// numbers yields the numbers from 0 up to n, and then err, if there is one. It counts what it has yielded.
func numbers(n int, err error, yielded *int) iter.Seq2[int, error] {
	return func(yield func(int, error) bool) {
		for i := range n {
			*yielded++
			if !yield(i, nil) {
				return
			}
		}
		if err != nil {
			yield(0, err)
		}
	}
}

// All values come in their order, and then the error.
func TestAhead(t *testing.T) {
	cause := errors.New("the disk is gone")
	for _, n := range []int{0, 1, aheadBatch - 1, aheadBatch, 10*aheadBatch + 1} {
		for _, end := range []error{nil, cause} {
			next, yielded, got := 0, 0, error(nil)
			for v, err := range ahead(numbers(n, end, &yielded)) {
				if got = err; err != nil {
					continue
				}
				if v != next {
					t.Fatalf("%d comes after %d", v, next-1)
				}
				next++
			}
			if next != n || yielded != n || got != end {
				t.Errorf("%d of %d values came, and %v", next, n, got)
			}
		}
	}
	if ahead[int](nil) != nil {
		t.Error("nothing has become a sequence")
	}
}

// A caller that has enough leaves nothing behind that reads.
func TestAheadEnough(t *testing.T) {
	for _, enough := range []int{1, aheadBatch, aheadBatch + 1, 5 * aheadBatch} {
		yielded, seen := 0, 0
		for range ahead(numbers(100*aheadBatch, nil, &yielded)) {
			if seen++; seen == enough {
				break
			}
		}
		if most := enough + (aheadBatches+1)*aheadBatch; yielded < enough || yielded > most {
			t.Errorf("%d were read for %d, at most %d", yielded, enough, most)
		}
	}
}
