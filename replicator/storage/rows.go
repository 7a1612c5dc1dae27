package storage

import "github.com/coterie-go/coterie/crdt"

// rows is a list of items that is never copied as a whole when it grows. Places of it can be blank.
type rows struct {
	chunks [][]*crdt.Item // all full but the last
	n      int
	blanks int
}

const rowsChunk = 1 << 10

func (r *rows) add(it *crdt.Item) {
	if r.n%rowsChunk == 0 {
		r.chunks = append(r.chunks, nil)
	}
	last := &r.chunks[len(r.chunks)-1]
	*last = append(*last, it)
	r.n++
}

func (r *rows) at(i int) *crdt.Item { return r.chunks[i/rowsChunk][i%rowsChunk] }

// blank blanks a place that is not blank.
func (r *rows) blank(i int) {
	r.chunks[i/rowsChunk][i%rowsChunk] = nil
	r.blanks++
}

// len counts the items.
func (r *rows) len() int { return r.n - r.blanks }

// take returns the items from a place on, at most so many of about so many bytes, at least one if there is any. It
// returns the place behind them, beyond blank ones.
func (r *rows) take(from, most, bytes int) (items []*crdt.Item, next int) {
	for next = from; next < r.n; next++ {
		it := r.at(next)
		if it == nil {
			continue
		}
		if bytes -= Cost(it); len(items) == most || bytes < 0 && len(items) > 0 {
			break
		}
		items = append(items, it)
	}
	return items, next
}

// dots returns what take does, as dots.
func (r *rows) dots(from, most int) (dots []crdt.Dot, next int) {
	for next = from; next < r.n; next++ {
		it := r.at(next)
		if it == nil {
			continue
		}
		if len(dots) == most {
			break
		}
		dots = append(dots, it.Dot)
	}
	return dots, next
}
