package dataplane

import (
	"context"
	"testing"
)

// A reply that is larger than all that may wait for a peer leaves nothing behind that the end of
// the region would wait for.
func TestOverflowRefusesWithoutAQueue(t *testing.T) {
	o := replyQueueOverflow{ctx: context.Background(), Peers: map[uint64]*replyQueue{}}
	if q, first := o.put(1, lateFrame{bytes: make([]byte, overflowMax+1)}); q != nil || first ||
		o.has(1) || o.count.Load() != 0 {
		t.Fatalf("%v %v, %d queues", q, first, o.count.Load())
	}
	o.Ended.Wait() // nothing was begun
	if q, first := o.put(1, lateFrame{bytes: []byte{1}}); q == nil || !first {
		t.Error("a frame that fits finds no queue, or is not the first of it")
	}
}
