package sim

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/proptest/sim/history"
	"github.com/coterie-go/coterie/replicator"
	"github.com/coterie-go/coterie/replicator/effect"
	"github.com/coterie-go/coterie/replicator/quorum"
)

// tidyLoad is the clients of what replicas tidy up by themselves: elements that belong to nodes,
// keys that expire, keys that are permanently deleted. It draws from a stream of its own, so that a
// seed without it keeps its story.
type tidyLoad struct {
	*load
	rng *rand.Rand
}

// operate does one operation in the place of the others, if that is drawn.
func (l tidyLoad) operate(r *replicaHost, space, key string) bool {
	o := l.w.opt
	if o.Owned+o.Fleeting+o.Final == 0 {
		return false
	}
	switch x := l.rng.Float64(); {
	case x < o.Owned:
		l.own(r, space, key)
	case x < o.Owned+o.Fleeting:
		l.fleeting(r, space)
	case x < o.Owned+o.Fleeting+o.Final:
		l.final(r, space)
	default:
		return false
	}
	return true
}

// own reads or changes what belongs to nodes.
func (l tidyLoad) own(r *replicaHost, space, key string) {
	set, table := l.l.Owned(space+"own/set/"+key), l.l.Owned(space+"own/map/"+key)
	switch n := l.rng.IntN(100); {
	case n < 25:
		l.readOwned(r, set)
	case n < 40:
		l.readOwnedMap(r, table)
	case n < 60:
		l.putOwned(r, table)
	case n < 70:
		l.removeOwned(r, set)
	default:
		l.addOwned(r, set)
	}
}

func (l tidyLoad) addOwned(r *replicaHost, b *history.Set) {
	e := l.newEntry(r, b)
	l.write(r, b, e, crdt.Mutate[crdt.NodeSet[string]](func(s *crdt.NodeSetTx[string]) error {
		return s.Add(e.Elem)
	}))
}

// fields is how many fields the maps that belong to nodes have.
const fields = 3

// putOwned puts the number of an entry into a field: an owner's numbers rise.
func (l tidyLoad) putOwned(r *replicaHost, b *history.Set) {
	e := l.newEntry(r, b)
	e.Put(fmt.Sprintf("f%d", l.rng.IntN(fields)), l.l.Newest())
	l.write(r, b, e, crdt.Mutate[crdt.NodeMap[string,
		int]](func(m *crdt.NodeMapTx[string, int]) error { return m.Put(e.Field, e.N) }))
}

// removeOwned takes out one of the elements of a process, now and then all.
func (l tidyLoad) removeOwned(r *replicaHost, b *history.Set) {
	var own []*history.Entry
	for _, e := range b.Entries {
		if e.Owner == r.p.uid && !e.Removed {
			own = append(own, e)
		}
	}
	if len(own) == 0 {
		return
	}
	change := (*crdt.NodeSetTx[string]).Clear
	if l.rng.IntN(8) > 0 {
		e := own[l.rng.IntN(len(own))]
		own = []*history.Entry{e}
		change = func(s *crdt.NodeSetTx[string]) error { return s.Remove(e.Elem) }
	}
	var seen []*history.Entry
	var taken history.Fact
	for _, e := range own {
		e.Remove()
	}
	level, quorum := l.level()
	l.w.counts.Writes++
	update[crdt.NodeSet[string]](r, b.Key, level, &taken, func(s *crdt.NodeSetTx[string]) error {
		for _, e := range own {
			if s.Owns(e.Elem) {
				seen = append(seen, e)
			}
		}
		return change(s)
	}, func(err error) {
		if err != nil {
			return
		}
		l.w.counts.Acked++
		for _, e := range seen {
			if quorum {
				e.Take(taken, l.w.now)
			}
		}
		if quorum && len(seen) > 0 {
			l.w.acknowledged(r, b.Key, taken)
		}
	})
}

func (l tidyLoad) readOwned(r *replicaHost, b *history.Set) {
	l.w.counts.Reads++
	start := l.w.now
	read[crdt.NodeSet[string]](r, b.Key, quorum.Majority, func(s crdt.NodeSet[string], err error) {
		if err == nil {
			checkOwned(l.w, r, b, s.Contains, start, history.Some(l.load.rng, len(b.Entries)))
		}
	})
}

func (l tidyLoad) readOwnedMap(r *replicaHost, b *history.Set) {
	l.w.counts.Reads++
	start := l.w.now
	read[crdt.NodeMap[string, int]](r, b.Key, quorum.Majority, func(m crdt.NodeMap[string, int], err error) {
		if err == nil {
			checkOwnedMap(l.w, r, b, m, start)
		}
	})
}

// fleeting reads or writes a key that expires. Clients stay with a key for a while and then leave
// it alone for longer than it lives.
func (l tidyLoad) fleeting(r *replicaHost, space string) {
	w := l.w
	phase := w.now / int64(w.opt.ExpireAfter)
	key := func(n int64) *history.Set { return l.l.Fleeting(fmt.Sprintf("%sx/%d", space, n%fleetingKeys)) }
	if l.rng.IntN(3) > 0 && !w.healed { // when the world has healed, all of them are left alone
		b := key(phase + l.rng.Int64N(2))
		e := l.newEntry(r, b)
		l.write(r, b, e, crdt.Mutate[crdt.ORSet[string]](func(s *crdt.ORSetTx[string]) error {
			return s.Add(e.Elem)
		}))
		return
	}
	b, start := key(l.rng.Int64N(fleetingKeys)), w.now
	w.counts.Reads++
	read[crdt.ORSet[string]](r, b.Key, quorum.Majority, func(s crdt.ORSet[string], err error) {
		if err == nil {
			b.CheckFleeting(w.violate, r, history.Having(s.Contains), start, history.Some(l.load.rng, len(b.Entries)),
				w.opt.ExpireAfter, w.opt.Timeout, w.now)
		}
	})
}

const fleetingKeys = 4

// final reads, writes or permanently deletes one of the latest keys, some of which are deleted
// already.
func (l tidyLoad) final(r *replicaHost, space string) {
	b := l.l.Final(space, l.rng.IntN(4))
	switch n := l.rng.IntN(20); {
	case n < 7:
		l.readFinal(r, b)
	case n < 9:
		l.deleteForever(r, b)
	default:
		e, start := l.newEntry(r, &b.Set), l.w.now
		add := crdt.Mutate[crdt.ORSet[string]](func(s *crdt.ORSetTx[string]) error { return s.Add(e.Elem) })
		l.writeThen(r, &b.Set, e, add, func(err error) { checkTold(l.w, r, b, err, start) })
	}
}

func (l tidyLoad) readFinal(r *replicaHost, b *history.Final) {
	l.w.counts.Reads++
	start := l.w.now
	read[crdt.ORSet[string]](r, b.Key, quorum.Majority, func(s crdt.ORSet[string], err error) {
		checkTold(l.w, r, b, err, start)
		if err == nil {
			checkFinal(l.w, r, b, start)
			if b.Asked == 0 {
				b.Check(l.w.violate, r, history.Having(s.Contains), start, history.Some(l.load.rng, len(b.Entries)))
			}
		}
	})
}

func (l tidyLoad) deleteForever(r *replicaHost, b *history.Final) {
	w := l.w
	level, quorum := l.level()
	w.counts.Writes++
	b.Ask(w.now)
	r.call(func(id uint64) replicator.Input {
		return replicator.DeleteForever{ID: id, Key: b.Key, Write: level}
	}, func(res effect.Result) {
		if errors.Is(res.Err, crdt.ErrDeleted) {
			w.violate("deleted forever", "%v: deleting %s again is %v", r, b.Key, res.Err)
		}
		if res.Err != nil {
			return
		}
		w.counts.Acked++
		w.counts.Deleted++
		b.Tell(r.p.uid, w.now)
		if r.stores(&b.Set) {
			b.Keep(r.p.slot.index)
		}
		if quorum {
			b.Delete(r.marker(b.Key), w.now)
		}
	})
}

// marker is the update that has permanently deleted a key, as a replica has it.
func (r *replicaHost) marker(key string) history.Fact {
	for it := range r.items(key) {
		if it.Path == string(rune(crdt.KindDeleted)) {
			return history.Fact{Dot: it.Dot, Space: r.m.SpaceOf(key)}
		}
	}
	return history.Fact{}
}

// newEntry is one element that was never added before.
func (l *load) newEntry(r *replicaHost, b *history.Set) *history.Entry {
	e := b.Add(fmt.Sprintf("e%d", l.l.Next()), r.p.slot.index)
	e.Own(r.p.uid, l.w.now)
	return e
}

// write changes a key at a drawn level, and notes of the entry how far that came.
func (l *load) write(r *replicaHost, b *history.Set, e *history.Entry, mutate func(*crdt.Tx) error) {
	l.writeThen(r, b, e, mutate, func(error) {})
}

func (l *load) writeThen(r *replicaHost, b *history.Set, e *history.Entry, mutate func(*crdt.Tx) error,
	then func(error)) {
	level, quorum := l.level()
	l.w.counts.Writes++
	r.call(func(id uint64) replicator.Input {
		return replicator.Update{ID: id, Key: b.Key, Write: level, Mutate: r.noting(&e.Added, b.Key, mutate)}
	}, func(res effect.Result) {
		if res.Err == nil {
			l.w.counts.Acked++
			if r.stores(b) {
				e.Apply(l.w.now)
			}
			if quorum {
				l.acknowledge(r, b.Key, e)
			}
		}
		then(res.Err)
	})
}
