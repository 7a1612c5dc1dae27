package entities

import (
	"sync/atomic"
	"time"
)

// work is what a shard has done since it was last measured. It is noted once per turn of a worker,
// not per message.
type work struct {
	Messages, Nanos atomic.Int64
	Whole           bool // it has been here all of that time; the control loop's
}

// measured is handle, with what it costs noted for the shard if it counts its work. The time is
// that of the clock: a handler that waits is busy too.
func (e *Entity) measured(r *Runtime, t *turn) (o outcome, err error) {
	w := e.Shard.Work
	if w == nil && r.Meters == nil {
		return e.handle(r, t)
	}
	n, began := t.Taken(), time.Duration(0)
	if w != nil {
		began = r.Clock()
	}
	o, err = e.handle(r, t)
	n -= t.Taken()
	r.Meters.handledBy(e.Shard.Number, n)
	if w != nil {
		took := r.Clock() - began
		w.Messages.Add(int64(n))
		w.Nanos.Add(int64(took))
		r.Meters.sliced(took)
	}
	return o, err
}
