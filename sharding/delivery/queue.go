package delivery

import (
	"errors"
	"sync"

	"github.com/coterie-go/coterie/sharding/delivery/protocol"
)

// Row is one message in a Queue, as the producer encoded it.
type Row = protocol.Row

// RowKey names one: sessions and numbers never come twice.
type RowKey = protocol.RowKey

// Batch is one change of a Queue: rows to add and to remove, and with the first one of each start
// its Generation, 0 with the others.
type Batch struct {
	Generation uint64
	Add        []Row
	Remove     []RowKey
}

// Queue keeps what one producer has not heard confirmed. Load is called once, before any Commit;
// then one Commit at a time.
type Queue interface {
	// Load returns all rows, in any order, and the highest Generation that was committed.
	Load() (generation uint64, rows []Row, err error)
	// Commit makes a batch durable, whole or not at all, and then calls done once, on any
	// goroutine. It does not wait. The batch belongs to the Queue until done is called. A row to
	// remove may be missing. A panic is a failure of the batch, unless done was called before.
	Commit(b Batch, done func(error))
}

// MemoryQueue is a Queue that outlives its producers and not its process: for tests, and for
// producers that are closed and made again.
type MemoryQueue struct {
	mu         sync.Mutex
	generation uint64
	rows       map[RowKey]Row
	fail       int
}

// NewMemoryQueue makes an empty one.
func NewMemoryQueue() *MemoryQueue { return &MemoryQueue{rows: map[RowKey]Row{}} }

var _ Queue = (*MemoryQueue)(nil)

// Len is the number of rows.
func (q *MemoryQueue) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.rows)
}

// FailNext makes the next n commits fail.
func (q *MemoryQueue) FailNext(n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.fail = n
}

// Load implements Queue.
func (q *MemoryQueue) Load() (uint64, []Row, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	var rows []Row
	for _, r := range q.rows { // order: any will do
		rows = append(rows, r)
	}
	return q.generation, rows, nil
}

// Commit implements Queue.
func (q *MemoryQueue) Commit(b Batch, done func(error)) { done(q.commit(b)) }

func (q *MemoryQueue) commit(b Batch) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.fail > 0 {
		q.fail--
		return errors.New("the queue was told to fail")
	}
	q.generation = max(q.generation, b.Generation)
	for _, r := range b.Add {
		q.rows[r.RowKey] = r
	}
	for _, k := range b.Remove {
		delete(q.rows, k)
	}
	return nil
}
