package sharding

import (
	"errors"
	"maps"
	"time"

	"github.com/coterie-go/coterie/sharding/dataplane"

	"github.com/coterie-go/coterie/sharding/codec"

	"github.com/coterie-go/coterie/ddata/membership"
	"github.com/coterie-go/coterie/ddata/transport"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// retryPause is the time until a full lane or mailbox is tried again.
const retryPause = 5 * time.Millisecond

// retries are the fences and the buffers that found no room.
type retries struct {
	routes *dataplane.Routes
	out    *dataplane.Outbox

	at      time.Time // of the next try; zero: there is none
	flushes map[uint32]bool
	fences  map[protocol.ShardID]protocol.SendFence // the latest of each shard counts
}

func newRetries(r *dataplane.Plane) retries {
	return retries{routes: r.Routes, out: &r.Out, flushes: map[uint32]bool{}, fences: map[protocol.ShardID]protocol.SendFence{}}
}

// empty reports whether nothing waits for room.
func (t *retries) empty() bool { return len(t.flushes) == 0 && len(t.fences) == 0 }

// clear forgets what waits.
func (t *retries) clear() {
	clear(t.flushes)
	clear(t.fences)
	t.at = time.Time{}
}

// later has the buffer of a shard flushed again after a pause.
func (t *retries) later(now time.Time, number uint32) {
	t.flushes[number] = true
	t.at = earlier(t.at, now.Add(retryPause))
}

// flush sends what waits for a shard.
func (t *retries) flush(now time.Time, number uint32) {
	if !t.routes.Flush(number) {
		t.later(now, number)
	}
}

// open publishes a route that does not buffer.
func (t *retries) open(now time.Time, number uint32, rt *dataplane.Route) {
	if !t.routes.SetRoute(number, rt) {
		t.later(now, number)
	}
}

// fence appends a fence to the data lane of its shard. One that finds no room is tried again: it
// may be late, but not before a message that was appended earlier. v is the view; nil: none.
func (t *retries) fence(now time.Time, v *membership.View, f protocol.SendFence) {
	delete(t.fences, f.Shard)
	frame := codec.AppendControl(nil, protocol.AppendMessage(nil, protocol.Fence{Shard: f.Shard, HandOff: f.HandOff}))
	err := t.out.SendControl(f.To, transport.Data, uint32(f.Shard), frame)
	notYet := errors.Is(err, transport.ErrNoPeer) && v != nil && v.Has(f.To)
	if notYet || errors.Is(err, transport.ErrQueueFull) {
		t.fences[f.Shard] = f
		t.at = earlier(t.at, now.Add(retryPause))
	}
}

// retry tries what found no room.
func (t *retries) retry(now time.Time, v *membership.View) {
	t.at = time.Time{}
	for _, f := range maps.Clone(t.fences) {
		t.fence(now, v, f)
	}
	for number := range t.flushes {
		if t.routes.Flush(number) {
			delete(t.flushes, number)
		}
	}
	if len(t.flushes) > 0 {
		t.at = earlier(t.at, now.Add(retryPause))
	}
}

// departure says when nothing of a region is left on its node.
type departure struct {
	wanted bool          // the region has handed everything over
	left   chan struct{} // closed when nothing is left here
}

// maybeEnd ends the departure once the region has left and nothing waits for room any more.
func (d *departure) maybeEnd(empty bool) {
	if d.wanted && empty && !dataplane.IsDone(d.left) {
		close(d.left)
	}
}
