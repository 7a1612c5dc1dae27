package control

import (
	"container/heap"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/sharding/dataplane/entities"
	"github.com/coterie-go/coterie/sharding/dataplane/mailbox"
	"github.com/coterie-go/coterie/sharding/dataplane/routes"
	"github.com/coterie-go/coterie/sharding/protocol"
	shardmachine "github.com/coterie-go/coterie/sharding/protocol/shard"
)

// Hosting is one Shard machine and what it steers.
type Hosting struct {
	S       *entities.Shard
	m       *shardmachine.Shard
	ids     knownIDs
	starts  map[uint64]routes.BufferedMessage // StartEntity that wait, by request
	lastReq uint64

	// deadline is the one in due; zero: there is none. That of a hosting that is over is dueNever.
	deadline time.Time
}

// ask notes a StartEntity that waits for its answer, and returns the request's number.
func (h *Hosting) ask(id string, env mailbox.Envelope) uint64 {
	h.lastReq++
	h.starts[h.lastReq] = routes.BufferedMessage{ID: id, Env: env, Size: routes.BufferedOverhead}
	return h.lastReq
}

// answered returns the StartEntity of a request, which waits no more.
func (h *Hosting) answered(req uint64) (p routes.BufferedMessage, ok bool) {
	p, ok = h.starts[req]
	delete(h.starts, req)
	return p, ok
}

// waiting lists the StartEntity that wait, in order.
func (h *Hosting) waiting() (starts []routes.BufferedMessage) {
	for _, req := range slices.Sorted(maps.Keys(h.starts)) {
		starts = append(starts, h.starts[req])
	}
	return starts
}

// Hostings are the shards that run here, and the times at which their machines want to be stepped.
type Hostings struct {
	ByShard map[uint32]*Hosting
	due     dueHeap
	// unshared: shards, or the limit on active entities, have changed since that was divided
	unshared bool
}

// dueNever is the deadline of a hosting that is over; it equals none in the heap.
var dueNever = time.Unix(1, 0)

// printedMax is how many shards String prints.
const printedMax = 256

func (t *Hostings) add(h *Hosting) {
	t.ByShard[h.S.Number] = h
	t.unshared = true
}

func (t *Hostings) remove(h *Hosting) {
	delete(t.ByShard, h.S.Number)
	t.unshared = true
	h.deadline = dueNever
}

// Of finds the hosting of a shard; nil: it does not run here.
func (t *Hostings) Of(n protocol.ShardID) *Hosting { return t.ByShard[uint32(n)] }

// at finds the hosting that runs s; nil: it is over, and perhaps there is another of its number.
func (t *Hostings) at(s *entities.Shard) *Hosting {
	if h := t.ByShard[s.Number]; h != nil && h.S == s {
		return h
	}
	return nil
}

// inOrder lists the hostings by the numbers of their shards. The one at hand may end meanwhile.
func (t *Hostings) inOrder() iter.Seq[*Hosting] {
	return func(yield func(*Hosting) bool) {
		for _, number := range slices.Sorted(maps.Keys(t.ByShard)) {
			if !yield(t.ByShard[number]) {
				return
			}
		}
	}
}

// all lists the shards, in order.
func (t *Hostings) all() iter.Seq[*entities.Shard] {
	return func(yield func(*entities.Shard) bool) {
		for h := range t.inOrder() {
			if !yield(h.S) {
				return
			}
		}
	}
}

// reshare divides the limit on active entities anew if that is needed: once, however many shards
// have come and gone.
func (t *Hostings) reshare(p *entities.Passivations) {
	if t.unshared {
		t.unshared = false
		p.Reshare(len(t.ByShard), t.all())
	}
}

// schedule takes the deadline of a machine that was stepped.
func (t *Hostings) schedule(h *Hosting) {
	if d := h.m.Deadline(); !d.Equal(h.deadline) {
		h.deadline = d
		if !d.IsZero() {
			heap.Push(&t.due, dueShard{d, h})
		}
	}
}

// next is the earliest deadline; zero: there is none.
func (t *Hostings) next() time.Time {
	if len(t.due) == 0 {
		return time.Time{}
	}
	return t.due[0].at
}

// expired takes the hostings whose deadlines have come.
func (t *Hostings) expired(now time.Time) (all []*Hosting) {
	for len(t.due) > 0 && !now.Before(t.due[0].at) {
		d := heap.Pop(&t.due).(dueShard)
		if d.h.deadline.Equal(d.at) {
			d.h.deadline = time.Time{}
			all = append(all, d.h)
		}
	}
	return all
}

// lines print the machines, each in a line.
func (t *Hostings) lines() (lines []string) {
	for h := range t.inOrder() {
		if len(lines) == printedMax {
			return append(lines, fmt.Sprintf("and %d shards more", len(t.ByShard)-printedMax))
		}
		lines = append(lines, h.m.String())
	}
	return lines
}

// dueShard is a deadline of a Shard machine; it counts only while it is the hosting's latest.
type dueShard struct {
	at time.Time
	h  *Hosting
}

type dueHeap []dueShard

func (d dueHeap) Len() int           { return len(d) }
func (d dueHeap) Less(i, j int) bool { return d[i].at.Before(d[j].at) }
func (d dueHeap) Swap(i, j int)      { d[i], d[j] = d[j], d[i] }

// Push implements heap.Interface.
func (d *dueHeap) Push(x any) { *d = append(*d, x.(dueShard)) }

// Pop implements heap.Interface.
func (d *dueHeap) Pop() any {
	old := *d
	x := old[len(old)-1]
	old[len(old)-1] = dueShard{}
	*d = old[:len(old)-1]
	return x
}

// knownIDs are the remembered ids of a hosted shard that its machine knows of. Newer ones are
// compared with them beside the loop: that costs as much as what has changed, which after a
// partition may be much. There is one comparison at a time, and only the latest ids count.
type knownIDs struct {
	at    crdt.Reader
	known bool         // the machine has read them
	next  *crdt.Reader // newer ones; nil: none
	busy  bool         // they are being compared
}

// read takes what the machine has read.
func (k *knownIDs) read(v crdt.Reader) { k.at, k.known = v, true }

// changed takes newer ids.
func (k *knownIDs) changed(v crdt.Reader) { k.next = &v }

// begin returns what has to be compared, if there is anything and no comparison is under way.
func (k *knownIDs) begin() (before, now crdt.Reader, ok bool) {
	if k.busy || !k.known || k.next == nil {
		return before, now, false
	}
	before, now = k.at, *k.next
	k.at, k.next, k.busy = now, nil, true
	return before, now, true
}

// end ends the comparison.
func (k *knownIDs) end() { k.busy = false }
