package control

import (
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/ddata/runloop/timer"
	"github.com/coterie-go/coterie/ddata/transport"
	"github.com/coterie-go/coterie/sharding/codec"
	"github.com/coterie-go/coterie/sharding/dataplane"
	"github.com/coterie-go/coterie/sharding/dataplane/routes"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// retryPause is the time until a full lane or mailbox is tried again.
const retryPause = 5 * time.Millisecond

// retries are the fences and the buffers that found no room.
type retries struct {
	routes *routes.Table
	out    *dataplane.Outbox

	at      time.Time // of the next try; zero: there is none
	Flushes map[uint32]bool
	Fences  map[protocol.ShardID]protocol.SendFence // the latest of each shard counts
}

// NewRetries makes those of a data plane.
func NewRetries(r *dataplane.Plane) retries {
	return retries{
		routes: r.Routes, out: &r.Out, Flushes: map[uint32]bool{}, Fences: map[protocol.ShardID]protocol.SendFence{},
	}
}

// Empty reports whether nothing waits for room.
func (t *retries) Empty() bool { return len(t.Flushes) == 0 && len(t.Fences) == 0 }

// clear forgets what waits.
func (t *retries) clear() {
	clear(t.Flushes)
	clear(t.Fences)
	t.at = time.Time{}
}

// later has the buffer of a shard flushed again after a pause.
func (t *retries) later(now time.Time, number uint32) {
	t.Flushes[number] = true
	t.at = timer.Earliest(t.at, now.Add(retryPause))
}

// flush sends what waits for a shard.
func (t *retries) flush(now time.Time, number uint32) {
	if !t.routes.Flush(number) {
		t.later(now, number)
	}
}

// Open publishes a route that does not buffer.
func (t *retries) Open(now time.Time, number uint32, rt *routes.Route) {
	if !t.routes.SetRoute(number, rt) {
		t.later(now, number)
	}
}

// Fence appends a fence to the data lane of its shard. One that finds no room is tried again: it
// may be late, but not before a message that was appended earlier. v is the view; nil: none.
func (t *retries) Fence(now time.Time, v *view.View, f protocol.SendFence) {
	delete(t.Fences, f.Shard)
	frame := codec.AppendControl(nil, protocol.AppendMessage(nil, protocol.Fence{Shard: f.Shard, HandOff: f.HandOff}))
	err := t.out.SendControl(f.To, transport.Data, uint32(f.Shard), frame)
	notYet := errors.Is(err, transport.ErrNoPeer) && v != nil && v.Has(f.To)
	if notYet || errors.Is(err, transport.ErrQueueFull) {
		t.Fences[f.Shard] = f
		t.at = timer.Earliest(t.at, now.Add(retryPause))
	}
}

// Retry tries what found no room.
func (t *retries) Retry(now time.Time, v *view.View) {
	t.at = time.Time{}
	for _, number := range slices.Sorted(maps.Keys(t.Fences)) {
		t.Fence(now, v, t.Fences[number])
	}
	for _, number := range slices.Sorted(maps.Keys(t.Flushes)) {
		if t.routes.Flush(number) {
			delete(t.Flushes, number)
		}
	}
	if len(t.Flushes) > 0 {
		t.at = timer.Earliest(t.at, now.Add(retryPause))
	}
}

// Departure says when nothing of a region is left on its node.
type Departure struct {
	wanted bool          // the region has handed everything over
	Left   chan struct{} // closed when nothing is left here
}

// MaybeEnd ends the departure once the region has left and nothing waits for room any more.
func (d *Departure) MaybeEnd(empty bool) {
	if d.wanted && empty && !dataplane.IsDone(d.Left) {
		close(d.Left)
	}
}
