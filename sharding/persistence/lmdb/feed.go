package lmdb

import (
	"sync"

	"github.com/coterie-go/coterie/durable"
)

// feed numbers the events of all entities in the order of their commits, for readers.
type feed struct {
	table durable.Table // set once

	mu    sync.Mutex
	last  uint64        // the last number that was used
	grown chan struct{} // closed when there are more events; nil: nothing waits
}

// pending is an event of a batch that has no number yet.
type pending struct {
	typ   string
	row   int    // of the event in the batch
	entry []byte // what a reader meets; see entryValue
}

// commit numbers the events of a batch, and queues it. Batches are queued in the order of their
// numbers: a reader that has met a number never meets a lower one later.
func (f *feed) commit(b *batch, done func(error)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(b.events) > 0 {
		for _, p := range b.events {
			f.last++
			setNumber(b.rows[p.row], f.last)
			key := entryKey(p.typ, f.last)
			b.put(key, sealed(key, p.entry))
		}
		b.put(numberKey, numberValue(f.last))
	}
	appends := len(b.events) > 0
	f.table.Commit(b.rows, func(err error) {
		if appends && err == nil {
			f.announce()
		}
		done(err)
	})
}

// announce wakes what waits for more.
func (f *feed) announce() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.grown != nil {
		close(f.grown)
		f.grown = nil
	}
}

// more returns a channel that is closed when there are more events.
func (f *feed) more() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.grown == nil {
		f.grown = make(chan struct{})
	}
	return f.grown
}
