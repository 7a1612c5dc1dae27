package repair

import (
	"slices"

	"github.com/coterie-go/coterie/crdt"
)

// fetch brings the items that are alive at the donor and whose dots only the donor's clock has. The
// donor gives the first items without being asked. If there are more, it names them, and they are
// fetched in parts. If they are many, other replicas help, because an item is the same wherever its
// dot is alive. What a helper has not got comes from the donor.
type fetch struct {
	env   *Env
	q     *questions
	donor crdt.Origin
	most  uint64 // items that the donor has

	first   bool        // the first gift has come
	rest    *crdt.Clock // dots that have neither been named nor asked for
	names   crdt.Clock  // dots that are alive there
	queue   []part      // named dots that no peer has been asked for
	batches []batch
	sum     crdt.Digest  // of all batches
	got     uint64       // items in all batches
	pool    []*crdt.Item // from a donor that was replaced, by dot
	pooled  crdt.Clock   // its dots
	helpers []crdt.Origin
	called  bool // helpers were looked for
}

// part is what one question asks for.
type part struct {
	dots *crdt.Clock
	only bool // only the donor is sure to have them
}

// batch is what one answer brought, in order of dots.
type batch struct {
	from  crdt.Origin // 0: from a donor that was replaced
	items []*crdt.Item
}

// Sizes of what is fetched.
const (
	partDots    = 1 << 10 // dots of a part
	helpersFrom = 4       // parts that wait before helpers are called
)

// complete reports whether every item that was named is here.
func (f *fetch) complete() bool {
	return f.first && f.rest.Empty() && len(f.queue) == 0 && !f.q.asking(aimItems, aimSpares, aimNames)
}

// drive asks for names and for items. It calls none of lost for help.
func (f *fetch) drive(lost []crdt.Origin) {
	if !f.first {
		return
	}
	if !f.rest.Empty() && !f.q.asking(aimNames) {
		var dots *crdt.Clock
		dots, f.rest = f.rest.CutBytes(f.env.FrameMax / 2)
		f.q.ask(f.donor, aimNames, dots, nil, nil)
	}
	if len(f.queue) >= helpersFrom && !f.called {
		f.callHelpers(lost)
	}
	for i := 0; i < len(f.queue); {
		to, ok := f.helperFor(f.queue[i])
		if !ok {
			i++
			continue
		}
		aim := aimSpares
		if to == f.donor {
			aim = aimItems
		}
		f.q.ask(to, aim, f.queue[i].dots, nil, nil)
		f.queue = slices.Delete(f.queue, i, i+1)
	}
}

// callHelpers chooses the other peers that may be asked for items.
func (f *fetch) callHelpers(lost []crdt.Origin) {
	f.called = true
	for _, h := range f.env.Host.Suppliers() {
		if len(f.helpers)+1 >= f.env.SuppliersMax {
			return
		}
		if h.Reachable && h.ID != f.donor && !slices.Contains(lost, h.ID) {
			f.helpers = append(f.helpers, h.ID)
		}
	}
}

// helperFor returns the least busy of the peers that may be asked for a part, if it can take more.
func (f *fetch) helperFor(q part) (crdt.Origin, bool) {
	best := f.donor
	if !q.only {
		for _, h := range f.helpers {
			if f.q.out(h) < f.q.out(best) {
				best = h
			}
		}
	}
	return best, f.q.room(best)
}

// dropHelper asks other peers for what a helper was asked for.
func (f *fetch) dropHelper(h crdt.Origin) {
	f.helpers = slices.DeleteFunc(f.helpers, func(x crdt.Origin) bool { return x == h })
	if h != f.donor {
		f.q.withdraw(h, func(dots *crdt.Clock) { f.queue = append(f.queue, part{dots: dots}) })
	}
}

// dropHelpers drops the helpers that are gone.
func (f *fetch) dropHelpers(gone func(crdt.Origin) bool) {
	for _, h := range slices.Clone(f.helpers) {
		if gone(h) {
			f.dropHelper(h)
		}
	}
}

// dropSilent drops the helpers that owe an answer when nothing has come for a while.
func (f *fetch) dropSilent() {
	f.dropHelpers(func(h crdt.Origin) bool { return f.q.out(h) > 0 })
}

// named takes which of the new dots are alive, cuts them into parts, and leaves out what is here
// from an earlier donor.
func (f *fetch) named(names, rest *crdt.Clock) {
	f.names.Join(names)
	if rest != nil {
		rest.Join(f.rest)
		f.rest = rest
	}
	f.takePooled(names)
	f.enqueue(names.Minus(&f.pooled), false)
}

// enqueue cuts dots into parts, each of which fits into a message.
func (f *fetch) enqueue(dots *crdt.Clock, only bool) {
	n := int(dots.Len() / partDots)
	for _, run := range dots.Split(slices.Repeat([]uint64{partDots}, n)) {
		for !run.Empty() {
			var first *crdt.Clock
			first, run = run.CutBytes(f.env.FrameMax / 2)
			f.queue = append(f.queue, part{dots: first, only: only})
		}
	}
}

// take stages what has come for a question about dots, of which rest was not looked at, nil: none.
// It reports whether that makes sense.
func (f *fetch) take(x *question, dots, rest *crdt.Clock, items []*crdt.Item) bool {
	var got crdt.Clock
	b := batch{from: x.to, items: make([]*crdt.Item, len(items))}
	for i, it := range items {
		if !dots.Has(it.Dot) || i > 0 && items[i-1].Dot.Compare(it.Dot) >= 0 {
			return false
		}
		b.items[i] = new(*it)
		got.Add(it.Dot)
	}
	if f.got+uint64(len(items)) > f.most {
		return false // more than the donor has
	}
	missing := dots.Minus(&got)
	switch {
	case x.id == 0:
		f.first = true
		f.names.Join(&got)
		if f.rest = rest; rest == nil {
			f.rest = &crdt.Clock{}
		}
	case x.aim == aimItems && !missing.Empty():
		return false // the donor has named them
	case x.aim == aimSpares:
		f.enqueue(missing, true)
		fallthrough
	default:
		if rest != nil {
			f.queue = slices.Insert(f.queue, 0, part{dots: rest, only: x.aim == aimItems})
		}
	}
	f.stage(b)
	if len(items) == 0 && x.aim == aimSpares {
		f.dropHelper(x.to)
	}
	return true
}

// stage keeps items for the end.
func (f *fetch) stage(b batch) {
	if len(b.items) == 0 {
		return
	}
	for _, it := range b.items {
		f.sum = f.sum.Plus(f.env.Store.Hash(it))
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
	slices.SortFunc(f.pool, func(a, b *crdt.Item) int { return a.Dot.Compare(b.Dot) })
	f.pool = slices.CompactFunc(f.pool, func(a, b *crdt.Item) bool { return a.Dot == b.Dot })
	for _, it := range f.pool {
		f.pooled.Add(it.Dot)
	}
}

// takePooled stages what is here already of the named dots.
func (f *fetch) takePooled(names *crdt.Clock) {
	var b batch
	for r := range names.And(&f.pooled).Ranges() {
		i, _ := slices.BinarySearchFunc(f.pool, crdt.Dot{Origin: r.Origin, Seq: r.First},
			func(it *crdt.Item, d crdt.Dot) int { return it.Dot.Compare(d) })
		b.items = append(b.items, f.pool[i:i+int(r.Last-r.First)+1]...)
	}
	f.stage(b)
}

// distrust fetches from the donor what others have brought, and reports whether there was any.
func (f *fetch) distrust() bool {
	batches := f.batches
	f.batches, f.sum, f.got = nil, crdt.Digest{}, 0
	again := &crdt.Clock{}
	for _, b := range batches {
		if b.from == f.donor {
			f.stage(b)
			continue
		}
		for _, it := range b.items {
			again.Add(it.Dot)
		}
	}
	f.enqueue(again, true)
	return !again.Empty()
}
