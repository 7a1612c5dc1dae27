package disk

import "iter"

const (
	aheadBatch   = 512 // values that are handed over at a time
	aheadBatches = 4   // that are there: one is filled, one is used, the others wait
)

// ahead reads a sequence on a goroutine of its own, so that reading goes on while the caller makes
// something of what was read. An error ends the sequence. Once that has ended, nothing is read any
// more.
func ahead[T any](values iter.Seq2[T, error]) iter.Seq2[T, error] {
	if values == nil {
		return nil
	}
	return func(yield func(T, error) bool) {
		var failed error // the goroutine's, until full is closed
		full, empty := make(chan []T, aheadBatches), make(chan []T, aheadBatches)
		for range aheadBatches {
			empty <- make([]T, 0, aheadBatch)
		}
		go func() {
			defer close(full)
			failed = fill(values, full, empty)
		}()
		defer func() { // if the caller has enough: the goroutine ends once no batch comes back
			close(empty)
			for range full {
			}
		}()
		for batch := range full {
			for _, v := range batch {
				if !yield(v, nil) {
					return
				}
			}
			empty <- batch
		}
		if failed != nil {
			var none T
			yield(none, failed)
		}
	}
}

// fill fills empty batches with values and returns the error that ends these. It stops when empty is
// closed and used up.
func fill[T any](values iter.Seq2[T, error], full chan<- []T, empty <-chan []T) error {
	batch := <-empty
	for v, err := range values {
		if err != nil {
			full <- batch
			return err
		}
		if batch = append(batch, v); len(batch) < aheadBatch {
			continue
		}
		full <- batch
		next, ok := <-empty
		if !ok {
			return nil
		}
		batch = next[:0]
	}
	full <- batch
	return nil
}
