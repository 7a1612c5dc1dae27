package dataplane

import (
	"context"
	"testing"

	"github.com/coterie-go/coterie/ddata/scheduler"
)

// A reply that is larger than all that may wait for a peer leaves nothing behind that the end of
// the region would wait for.
func TestOverflowRefusesWithoutAQueue(t *testing.T) {
	o := replyQueueOverflow{
		ctx: context.Background(), Peers: map[uint64]*replyQueue{}, Ended: scheduler.NewGroup(scheduler.Goroutines{}),
	}
	drained := make(chan uint64, 2)
	drain := func(to uint64, _ *replyQueue) { drained <- to }
	if o.put(1, lateFrame{bytes: make([]byte, overflowMax+1)}, drain) || o.has(1) || o.count.Load() != 0 {
		t.Fatalf("%d queues", o.count.Load())
	}
	o.Ended.Wait() // nothing was begun
	for range 2 {
		if !o.put(1, lateFrame{bytes: []byte{1}}, drain) {
			t.Error("a frame that fits finds no queue")
		}
	}
	o.Ended.Wait()
	if len(drained) != 1 {
		t.Errorf("%d drain one queue", len(drained))
	}
}
