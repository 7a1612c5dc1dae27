package delivered

import (
	"cmp"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/coterie-go/coterie/proptest/sim/options"
	"github.com/coterie-go/coterie/proptest/sim/random"
	"github.com/coterie-go/coterie/sharding/delivery"
)

// Queues are those of the producers of a world, one per ID. They survive the processes.
type Queues struct {
	w      World
	rng    *rand.Rand
	judge  *Judge
	faults options.QueueFaults
	byID   map[string]*queue // only looked up
}

// NewQueues makes queues that are empty.
func NewQueues(f options.QueueFaults, w World, rng *rand.Rand, j *Judge) *Queues {
	return &Queues{w: w, rng: rng, judge: j, faults: f, byID: map[string]*queue{}}
}

// queue is what one producer keeps.
type queue struct {
	generation uint64
	rows       map[delivery.RowKey]delivery.Row // read in order
	pending    *delivery.Batch                  // of the last incarnation of the producer; nil: none
}

// Of is the queue of a producer, as one process uses it. What the process before had under way when it
// ended has taken effect, or never does.
func (qs *Queues) Of(id string, p Process) delivery.Queue {
	q := qs.byID[id]
	if q == nil {
		q = &queue{rows: map[delivery.RowKey]delivery.Row{}}
		qs.byID[id] = q
	}
	d := &door{qs, q, id, p}
	if q.pending != nil && qs.rng.IntN(2) == 0 {
		d.apply()
	}
	q.pending = nil
	return d
}

// Lost is how many messages of a producer its queue has that no incarnation of their entity has handled.
func (qs *Queues) Lost(id string) (n int) {
	if q := qs.byID[id]; q != nil {
		for key := range q.rows { // order: a sum
			if !qs.judge.Handled(id, key) {
				n++
			}
		}
	}
	return n
}

// door is a queue as one process uses it.
type door struct {
	qs *Queues
	q  *queue
	id string
	p  Process
}

var (
	_          delivery.Queue = (*door)(nil)
	errRefused                = errors.New("the queue has failed")
)

// Load implements delivery.Queue.
func (d *door) Load() (generation uint64, rows []delivery.Row, err error) {
	for _, r := range d.q.rows { // order: sorted below
		rows = append(rows, r)
	}
	slices.SortFunc(rows, func(a, b delivery.Row) int {
		return cmp.Or(a.Session.Compare(b.Session), cmp.Compare(a.Seq, b.Seq))
	})
	return d.q.generation, rows, nil
}

// Commit implements delivery.Queue.
func (d *door) Commit(b delivery.Batch, done func(error)) {
	qs := d.qs
	answer := func(err error) {
		qs.w.After(qs.while(), d.p, func() { d.p.Enter(func() { done(err) }) })
	}
	if !qs.w.Healed() && random.Chance(qs.rng, qs.faults.Fails) {
		answer(errRefused)
		return
	}
	d.q.pending = &b
	qs.w.After(qs.while(), d.p, func() {
		d.apply()
		answer(nil)
	})
}

func (qs *Queues) while() time.Duration {
	return time.Duration(random.Between(qs.rng, 1, int64(qs.faults.Delay)))
}

// apply has what is pending take effect.
func (d *door) apply() {
	b := d.q.pending
	d.q.pending = nil
	d.q.generation = max(d.q.generation, b.Generation)
	for _, r := range b.Add {
		d.q.rows[r.RowKey] = r
	}
	for _, key := range b.Remove {
		if _, has := d.q.rows[key]; has {
			d.qs.judge.removed(d.id, key)
		}
		delete(d.q.rows, key)
	}
}
