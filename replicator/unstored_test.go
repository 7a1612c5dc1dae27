package replicator

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/operation"
	"github.com/coterie-go/coterie/replicator/quorum"
	"github.com/coterie-go/coterie/replicator/wire"
	"github.com/coterie-go/coterie/replicator/write"
)

// storeError takes what a write was refused with. The write must not have waited for its time-out.
func (n *node) storeError(id uint64) *operation.StoreError {
	n.w.t.Helper()
	var e *operation.StoreError
	if r := n.want(id, operation.ErrStoreFailure); !errors.As(r.Err, &e) || errors.Is(r.Err, operation.ErrTimeout) {
		n.w.t.Fatalf("it ended with %v", r.Err)
	}
	return e
}

// A write that the disks of too many others refuse ends before its time-out, and says whose and
// why.
func TestRefusalsOfOtherDisksEndAWrite(t *testing.T) {
	w := cluster(t, 3, durableD)
	a, b, c := w.nodes[0], w.nodes[1], w.nodes[2]
	b.disk.bad, c.disk.bad = true, true
	most, none := a.put("d/s", "x", quorum.Majority), a.take("d/s", "nothing", quorum.Majority)
	local, volatile := a.put("d/s", "y", quorum.Local), a.put("s", "x", quorum.All)
	w.advance(time.Second)
	a.want(local, nil)
	a.want(volatile, nil)
	e := a.storeError(most)
	if e.Need != 2 || e.Have != 1 || e.Epoch != 1 || e.Cause != nil ||
		!reflect.DeepEqual(e.Refused, []operation.Refusal{
			{Replica: 2, Why: errDisk.Error()}, {Replica: 3, Why: errDisk.Error()},
		}) {
		t.Errorf("%+v", *e)
	}
	for _, says := range []string{
		"1 of the 2 replicas needed of view 1 have committed it", "the disk of 2: disk full",
		"the disk of 3: disk full", "not rolled back",
	} {
		if !strings.Contains(e.Error(), says) {
			t.Errorf("%v\nlacks %q", e, says)
		}
	}
	if e := a.storeError(none); len(e.Refused) != 2 {
		t.Errorf("a write that changed nothing: %+v", *e)
	}
	b.disk.bad = false
	again := a.put("d/s", "z", quorum.Majority)
	w.advance(time.Second)
	a.want(again, nil) // by the disks of 1 and 2
	all := a.put("d/s", "u", quorum.All)
	w.advance(time.Second)
	if e := a.storeError(all); e.Have != 2 || len(e.Refused) != 1 {
		t.Errorf("%+v", *e)
	}
	c.disk.bad = false
	w.advance(3 * time.Second)
	c.wantSet("d/s", "x", "y", "z", "u")
	if len(c.disk.items) != 4 {
		t.Errorf("%d rows", len(c.disk.items))
	}
}

// The own disk and one other are too many of three; both are named.
func TestTheOwnRefusalCountsWithThoseOfOthers(t *testing.T) {
	w := cluster(t, 3, durableD)
	a, b := w.nodes[0], w.nodes[1]
	a.disk.bad, b.disk.bad = true, true
	id := a.put("d/s", "x", quorum.Majority)
	w.advance(time.Second)
	e := a.storeError(id)
	if !errors.Is(e, errDisk) || !reflect.DeepEqual(e.Refused,
		[]operation.Refusal{{Replica: 2, Why: errDisk.Error()}}) {
		t.Errorf("%+v", *e)
	}
}

// If the disks that have not refused could still reach the level, the write waits. Its time-out
// then names the members whose disks have refused.
func TestATimeOutTellsOfRefusals(t *testing.T) {
	w := cluster(t, 3, durableD)
	a, b := w.nodes[0], w.nodes[1]
	b.disk.bad = true
	w.isolate(3)
	id := a.put("d/s", "x", quorum.Majority)
	w.advance(4 * time.Second)
	a.wantOpen(id)
	w.advance(2 * time.Second)
	var e *operation.TimeoutError
	if r := a.want(id, operation.ErrTimeout); !errors.As(r.Err, &e) || !errors.Is(r.Err, operation.ErrStoreFailure) ||
		!reflect.DeepEqual(e.Refused, []operation.Refusal{{Replica: 2, Why: errDisk.Error()}}) {
		t.Fatalf("%v", r.Err)
	}
	if !strings.Contains(e.Error(), "missing 2 3") || !strings.Contains(e.Error(), "the disk of 2: disk full") {
		t.Error(e)
	}
}

// A write that was committed, and whose ack was lost, is not taken for refused when a later batch
// is.
func TestALostAckIsNoRefusal(t *testing.T) {
	w := cluster(t, 2, durableD)
	a, b := w.nodes[0], w.nodes[1]
	w.drop = func(p packet) bool { _, ack := p.msg.(*wire.Ack); return ack && p.from == 2 }
	id := a.put("d/s", "x", quorum.All)
	w.quiet()
	a.wantOpen(id)
	b.disk.bad = true
	b.put("d/s", "y", quorum.Local)
	w.quiet()
	a.want(id, nil)
}

// A refusal of events that this replica has not made is malformed.
func TestRefusalsOfTheFutureAreMalformed(t *testing.T) {
	w := cluster(t, 2, durableD)
	a := w.nodes[0]
	id := a.put("d/s", "x", quorum.All)
	for _, m := range []*wire.Unstored{
		{Epoch: 1, UpTo: 2}, {Epoch: 1, Acked: 2}, {Epoch: 1, UpTo: 1, Why: strings.Repeat("x", write.WhyMax+1)},
	} {
		was := a.m.site.Counters.Malformed
		a.step(&Receive{From: crdt.Origin(2), Msg: m})
		if a.m.site.Counters.Malformed == was {
			t.Errorf("%v was taken", m)
		}
	}
	w.quiet()
	a.want(id, nil)
}
