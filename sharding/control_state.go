package sharding

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// errNoState answers reads and writes of a region without a Replicator; no machine of a proxy asks
// for any.
var errNoState = errors.New("sharding: this node has no replica of the role's data")

// dueNever is the deadline of a hosting that is over; it equals none in the heap.
var dueNever = time.Unix(1, 0)

func (c *control) write(w protocol.StateWrite, done func(error)) {
	if c.remembered.of(w.Kind) {
		if !c.aside(func() { done(c.remembered.write(c.ctx, c.quorums.writeLimit(w.Failed), w)) }) {
			done(ErrStopped)
		}
		return
	}
	if c.state == nil {
		done(errNoState)
		return
	}
	c.state.Update(w.Key(c.cfg.Type), c.quorums.write(), c.quorums.writeLimit(w.Failed), w.Mutate, done)
}

// writeUnder writes for a shard, under its lease if it has one.
func (c *control) writeUnder(s *shard, w protocol.StateWrite) {
	if s.lease != nil {
		s.lease.enter()
	}
	c.write(w, func(err error) {
		if s.lease != nil {
			s.lease.exit()
		}
		c.post(ctlInput{s: s, shard: protocol.Wrote{ID: w.ID, Err: err}})
	})
}

// read decodes what was read on a goroutine of its own: a set may be large, and done comes on the
// Replicator's.
func (c *control) read(r protocol.StateRead, done func(crdt.Reader, protocol.DidRead)) {
	if c.remembered.of(r.Kind) {
		if !c.aside(func() { done(crdt.Reader{}, c.remembered.read(c.ctx, c.quorums.readLimit(r.Failed), r)) }) {
			done(crdt.Reader{}, r.Result(crdt.Reader{}, ErrStopped))
		}
		return
	}
	if c.state == nil {
		done(crdt.Reader{}, r.Result(crdt.Reader{}, errNoState))
		return
	}
	c.state.Get(r.Key(c.cfg.Type), c.quorums.read(), c.quorums.readLimit(r.Failed), func(v crdt.Reader, err error) {
		c.aside(func() { done(v, r.Result(v, err)) })
	})
}

// aside implements controller.
func (c *control) aside(fn func()) (runs bool) {
	c.asideMu.Lock()
	defer c.asideMu.Unlock()
	if c.ctx.Err() != nil {
		return false
	}
	c.asides.Go(fn)
	return true
}

// follow passes changes of the replicated state on to the machines.
func (c *control) follow() (cancel func()) {
	if c.state == nil {
		return func() {}
	}
	homes := protocol.StateKey(c.cfg.Type, protocol.StateHomes, 0)
	locations := protocol.StateKey(c.cfg.Type, protocol.StateLocations, 0)
	remembered := protocol.StateKey(c.cfg.Type, protocol.StateRemembered, 0)
	ids := protocol.DurablePrefix(c.cfg.Type)
	return c.state.Subscribe("sharding/"+c.cfg.Type+"/", func(key string, v crdt.Reader) {
		switch {
		case key == homes:
			if c.latest.Swap(&v) == nil { // else the loop is about to look
				c.post(ctlInput{do: func(time.Time) { c.tableChanged(*c.latest.Swap(nil)) }})
			}
		case key == locations:
			c.coord.locationsChanged(v)
		case c.remembered != nil:
		case key == remembered:
			c.coord.rememberedChanged(v)
		case strings.HasPrefix(key, ids):
			if n, err := strconv.ParseUint(key[len(ids):], 10, 32); err == nil {
				c.post(ctlInput{do: func(time.Time) { c.idsChanged(uint32(n), v) }})
			}
		}
	})
}

func (c *control) tableChanged(v crdt.Reader) {
	entries := c.table.Changed(v)
	if len(entries) == 0 {
		return
	}
	in := protocol.TableChanged{Entries: entries}
	c.toRegion(in)
	c.coord.post(in)
}

// idsRead takes what the machine has read of its remembered ids as what it knows.
func (c *control) idsRead(h *hosting, v crdt.Reader) {
	h.ids, h.idsKnown = v, true
	c.compareIDs(h)
}

// idsChanged has the remembered ids of a hosted shard compared with what its machine knows. That
// costs as much as what has changed, which after a partition may be much, so it runs beside the
// loop, one at a time per shard, and only the latest value counts.
func (c *control) idsChanged(number uint32, v crdt.Reader) {
	if h := c.shards[number]; h != nil {
		h.idsNext = &v
		c.compareIDs(h)
	}
}

func (c *control) compareIDs(h *hosting) {
	if h.idsBusy || !h.idsKnown || h.idsNext == nil || c.shards[h.s.number] != h {
		return
	}
	before, now := h.ids, *h.idsNext
	h.ids, h.idsNext, h.idsBusy = now, nil, true
	c.aside(func() {
		in := protocol.DiffIDs(before, now)
		c.post(ctlInput{do: func(time.Time) {
			if len(in.Added)+len(in.Removed) > 0 {
				c.toShard(h.s, in)
			}
			h.idsBusy = false
			c.compareIDs(h)
		}})
	})
}
