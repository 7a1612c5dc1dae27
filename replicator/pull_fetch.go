package replicator

import (
	"slices"

	"github.com/coterie-go/coterie/crdt"
)

// fetch brings the items that are alive at the donor and whose dots only the donor's clock has. The
// donor gives the first items without being asked. If there are more, it names them, and they are
// fetched in parts. If they are many, other replicas help, because an item is the same wherever its
// dot is alive. What a helper has not got comes from the donor.
type fetch struct {
	first   bool        // the first gift has come
	rest    *crdt.Clock // dots that have neither been named nor asked for
	names   crdt.Clock  // dots that are alive there
	queue   []part      // named dots that no peer has been asked for
	batches []batchOf
	sum     crdt.Digest // of all batches
	got     uint64      // items in all batches
	pool    []crdt.Item // from a donor that was replaced, by dot
	pooled  crdt.Clock  // its dots
	helpers []*peer
	called  bool // helpers were looked for
}

// part is what one question asks for.
type part struct {
	dots *crdt.Clock
	only bool // only the donor is sure to have them
}

// batchOf is what one answer brought, in order of dots.
type batchOf struct {
	from  *peer
	items []crdt.Item
}

// Sizes of what is fetched.
const (
	partDots    = 1 << 10 // dots of a part
	helpersFrom = 4       // parts that wait before helpers are called
)

func (f *fetch) begin(p *pull) { f.rest = p.clock.Minus(p.asked) }

// complete reports whether every item that was named is here.
func (f *fetch) complete(p *pull) bool {
	return f.first && f.rest.Empty() && len(f.queue) == 0 && !p.asking(aimItems, aimSpares, aimNames)
}

// driveFetch asks for names and for items.
func (s *space) driveFetch() {
	p := s.pull
	f := &p.fetch
	if !f.first {
		return
	}
	if !f.rest.Empty() && !p.asking(aimNames) {
		var dots *crdt.Clock
		dots, f.rest = f.rest.CutBytes(s.m.cfg.FrameMax / 2)
		s.sendAsk(s.ask(p.from, aimNames, dots))
	}
	if len(f.queue) >= helpersFrom && !f.called {
		s.callHelpers()
	}
	for i := 0; i < len(f.queue); {
		to := s.helperFor(f.queue[i])
		if to == nil {
			i++
			continue
		}
		aim := aimSpares
		if to == p.from {
			aim = aimItems
		}
		s.sendAsk(s.ask(to, aim, f.queue[i].dots))
		f.queue = slices.Delete(f.queue, i, i+1)
	}
}

// callHelpers chooses the other peers that may be asked for items.
func (s *space) callHelpers() {
	p := s.pull
	p.fetch.called = true
	for _, h := range s.m.favoured(s.m.peers, false) {
		if len(p.fetch.helpers)+1 >= s.m.cfg.SuppliersMax {
			return
		}
		if h.voter && h.reachable && h != p.from && !slices.Contains(p.lost, h) {
			p.fetch.helpers = append(p.fetch.helpers, h)
		}
	}
}

// helperFor returns the least busy of the peers that may be asked for a part, nil if it can take no
// more.
func (s *space) helperFor(q part) *peer {
	p := s.pull
	best := p.from
	if !q.only {
		for _, h := range p.fetch.helpers {
			if p.out(h) < p.out(best) {
				best = h
			}
		}
	}
	if !s.mayPull(best) {
		return nil
	}
	return best
}

// dropHelper asks other peers for what a helper was asked for.
func (s *space) dropHelper(h *peer) {
	p := s.pull
	p.fetch.helpers = slices.DeleteFunc(p.fetch.helpers, func(x *peer) bool { return x == h })
	p.asks = slices.DeleteFunc(p.asks, func(a *ask) bool {
		if a.to == h && h != p.from {
			p.fetch.queue = append(p.fetch.queue, part{dots: a.dots})
		}
		return a.to == h && h != p.from
	})
}

// dropHelpers drops the helpers that owe an answer when nothing has come for a while.
func (s *space) dropHelpers() {
	for _, h := range slices.Clone(s.pull.fetch.helpers) {
		if s.pull.out(h) > 0 {
			s.dropHelper(h)
		}
	}
}

// named takes which of the new dots are alive, cuts them into parts, and leaves out what is here
// from an earlier donor.
func (f *fetch) named(s *space, names, rest *crdt.Clock) {
	f.names.Join(names)
	if rest != nil {
		rest.Join(f.rest)
		f.rest = rest
	}
	f.takePooled(s, names)
	f.enqueue(names.Minus(&f.pooled), false)
}

func orEmpty(c *crdt.Clock) *crdt.Clock {
	if c == nil {
		return &crdt.Clock{}
	}
	return c
}

// enqueue cuts dots into parts.
func (f *fetch) enqueue(dots *crdt.Clock, only bool) {
	n := int(dots.Len() / partDots)
	for _, run := range dots.Split(slices.Repeat([]uint64{partDots}, n)) {
		if !run.Empty() {
			f.queue = append(f.queue, part{dots: run, only: only})
		}
	}
}

// takeItems stages what has come for a question about dots, of which rest was not looked at.
func (p *pull) takeItems(s *space, a *ask, dots, rest *crdt.Clock, items []*crdt.Item) bool {
	var got crdt.Clock
	batch := batchOf{from: a.to, items: make([]crdt.Item, len(items))}
	for i, it := range items {
		if !dots.Has(it.Dot) || i > 0 && items[i-1].Dot.Compare(it.Dot) >= 0 {
			return false
		}
		batch.items[i] = *it
		got.Add(it.Dot)
	}
	f := &p.fetch
	if f.got+uint64(len(items)) > p.items {
		return false // more than the donor has
	}
	missing := dots.Minus(&got)
	switch {
	case a.id == 0:
		f.first = true
		f.names.Join(&got)
		f.rest = orEmpty(rest)
	case a.aim == aimItems && !missing.Empty():
		return false // the donor has named them
	case a.aim == aimSpares:
		f.enqueue(missing, true)
		fallthrough
	default:
		if rest != nil {
			f.queue = slices.Insert(f.queue, 0, part{dots: rest, only: a.aim == aimItems})
		}
	}
	f.stage(s, batch)
	if len(items) == 0 && a.aim == aimSpares {
		s.dropHelper(a.to)
	}
	return true
}

// stage keeps items for the flip.
func (f *fetch) stage(s *space, b batchOf) {
	if len(b.items) == 0 {
		return
	}
	for i := range b.items {
		f.sum = f.sum.Plus(s.store.Hash(&b.items[i]))
	}
	f.got += uint64(len(b.items))
	f.batches = append(f.batches, b)
}

// keep takes over what was fetched from a donor that is replaced.
func (f *fetch) keep(old *fetch) {
	f.pool = old.pool
	for _, b := range old.batches {
		f.pool = append(f.pool, b.items...)
	}
	slices.SortFunc(f.pool, func(a, b crdt.Item) int { return a.Dot.Compare(b.Dot) })
	f.pool = slices.CompactFunc(f.pool, func(a, b crdt.Item) bool { return a.Dot == b.Dot })
	for i := range f.pool {
		f.pooled.Add(f.pool[i].Dot)
	}
}

// takePooled stages what is here already of the named dots.
func (f *fetch) takePooled(s *space, names *crdt.Clock) {
	var b batchOf
	for r := range names.And(&f.pooled).Ranges() {
		i, _ := slices.BinarySearchFunc(f.pool, crdt.Dot{Origin: r.Origin, Seq: r.First}, func(it crdt.Item, d crdt.Dot) int { return it.Dot.Compare(d) })
		b.items = append(b.items, f.pool[i:i+int(r.Last-r.First)+1]...)
	}
	f.stage(s, b)
}

// distrust fetches from the donor what others have brought, and reports whether there was any.
func (f *fetch) distrust(s *space, donor *peer) bool {
	batches := f.batches
	f.batches, f.sum, f.got = nil, crdt.Digest{}, 0
	again := &crdt.Clock{}
	for _, b := range batches {
		if b.from == donor {
			f.stage(s, b)
			continue
		}
		for i := range b.items {
			again.Add(b.items[i].Dot)
		}
	}
	f.enqueue(again, true)
	return !again.Empty()
}

// all returns what was fetched, as a merge takes it.
func (f *fetch) all() []crdt.Item {
	items := make([]crdt.Item, 0, f.got)
	for _, b := range f.batches {
		items = append(items, b.items...)
	}
	return items
}
