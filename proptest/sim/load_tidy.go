package sim

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/coterie-go/coterie/crdt"
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
	set, table := l.l.owned(space+"own/set/"+key), l.l.owned(space+"own/map/"+key)
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

func (l tidyLoad) addOwned(r *replicaHost, b *setBook) {
	e := l.newEntry(r, b)
	l.write(r, b.key, e, crdt.Mutate[crdt.NodeSet[string]](func(s *crdt.NodeSetTx[string]) error {
		return s.Add(e.elem)
	}))
}

// fields is how many fields the maps that belong to nodes have.
const fields = 3

// putOwned puts the number of an entry into a field: an owner's numbers rise.
func (l tidyLoad) putOwned(r *replicaHost, b *setBook) {
	e := l.newEntry(r, b)
	e.field, e.n = fmt.Sprintf("f%d", l.rng.IntN(fields)), l.l.nextElem
	l.write(r, b.key, e, crdt.Mutate[crdt.NodeMap[string,
		int]](func(m *crdt.NodeMapTx[string, int]) error { return m.Put(e.field, e.n) }))
}

// removeOwned takes out one of the elements of a process, now and then all.
func (l tidyLoad) removeOwned(r *replicaHost, b *setBook) {
	var own []*entry
	for _, e := range b.entries {
		if e.owner == r.p && !e.removed {
			own = append(own, e)
		}
	}
	if len(own) == 0 {
		return
	}
	change := (*crdt.NodeSetTx[string]).Clear
	if l.rng.IntN(8) > 0 {
		e := own[l.rng.IntN(len(own))]
		own = []*entry{e}
		change = func(s *crdt.NodeSetTx[string]) error { return s.Remove(e.elem) }
	}
	var seen []*entry
	var taken fact
	for _, e := range own {
		e.removed = true
	}
	level, quorum := l.level()
	l.w.counts.Writes++
	update[crdt.NodeSet[string]](r, b.key, level, &taken, func(s *crdt.NodeSetTx[string]) error {
		for _, e := range own {
			if s.Owns(e.elem) {
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
				e.gone, e.taken = l.w.now, taken
			}
		}
		if quorum && len(seen) > 0 {
			l.w.acknowledged(r, b.key, taken)
		}
	})
}

func (l tidyLoad) readOwned(r *replicaHost, b *setBook) {
	l.w.counts.Reads++
	start := l.w.now
	read[crdt.NodeSet[string]](r, b.key, quorum.Majority, func(s crdt.NodeSet[string], err error) {
		if err == nil {
			checkOwned(l.w, r, b, s.Contains, start, l.some(len(b.entries)))
		}
	})
}

func (l tidyLoad) readOwnedMap(r *replicaHost, b *setBook) {
	l.w.counts.Reads++
	start := l.w.now
	read[crdt.NodeMap[string, int]](r, b.key, quorum.Majority, func(m crdt.NodeMap[string, int], err error) {
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
	key := func(n int64) *setBook { return l.l.fleeting(fmt.Sprintf("%sx/%d", space, n%fleetingKeys)) }
	if l.rng.IntN(3) > 0 && !w.healed { // when the world has healed, all of them are left alone
		b := key(phase + l.rng.Int64N(2))
		e := l.newEntry(r, b)
		l.write(r, b.key, e, crdt.Mutate[crdt.ORSet[string]](func(s *crdt.ORSetTx[string]) error {
			return s.Add(e.elem)
		}))
		return
	}
	b, start := key(l.rng.Int64N(fleetingKeys)), w.now
	w.counts.Reads++
	read[crdt.ORSet[string]](r, b.key, quorum.Majority, func(s crdt.ORSet[string], err error) {
		if err == nil {
			checkFleeting(w, r, b, s.Contains, start, l.some(len(b.entries)))
		}
	})
}

const fleetingKeys = 4

// final reads, writes or permanently deletes one of the latest keys, some of which are deleted
// already.
func (l tidyLoad) final(r *replicaHost, space string) {
	b := l.l.final(space, l.rng.IntN(4))
	switch n := l.rng.IntN(20); {
	case n < 7:
		l.readFinal(r, b)
	case n < 9:
		l.deleteForever(r, b)
	default:
		e, start := l.newEntry(r, &b.setBook), l.w.now
		l.writeThen(r, b.key, e, crdt.Mutate[crdt.ORSet[string]](func(s *crdt.ORSetTx[string]) error {
			return s.Add(e.elem)
		}), func(err error) {
			checkTold(l.w, r, b, err, start)
		})
	}
}

func (l tidyLoad) readFinal(r *replicaHost, b *finalBook) {
	l.w.counts.Reads++
	start := l.w.now
	read[crdt.ORSet[string]](r, b.key, quorum.Majority, func(s crdt.ORSet[string], err error) {
		checkTold(l.w, r, b, err, start)
		if err == nil {
			checkFinal(l.w, r, b, start)
			if b.asked == 0 {
				checkSet(l.w, r, &b.setBook, s.Contains, start, l.some(len(b.entries)))
			}
		}
	})
}

func (l tidyLoad) deleteForever(r *replicaHost, b *finalBook) {
	w := l.w
	level, quorum := l.level()
	w.counts.Writes++
	if b.asked == 0 {
		b.asked = w.now
	}
	r.call(func(id uint64) replicator.Input {
		return replicator.DeleteForever{ID: id, Key: b.key, Write: level}
	}, func(res effect.Result) {
		if errors.Is(res.Err, crdt.ErrDeleted) {
			w.violate("deleted forever", "%v: deleting %s again is %v", r, b.key, res.Err)
		}
		if res.Err != nil {
			return
		}
		w.counts.Acked++
		w.counts.Deleted++
		b.tell(r.p, w.now)
		if r.stores(&b.setBook) {
			b.on = append(b.on, r.p.slot.index)
		}
		if quorum && (b.gone == 0 || b.deleted.excused()) {
			b.gone, b.deleted = w.now, r.marker(b.key)
		}
	})
}

// marker is the update that has permanently deleted a key, as a replica has it.
func (r *replicaHost) marker(key string) fact {
	for it := range r.items(key) {
		if it.Path == string(rune(crdt.KindDeleted)) {
			return fact{dot: it.Dot, space: r.m.SpaceOf(key)}
		}
	}
	return fact{}
}

// newEntry is one element that was never added before.
func (l *load) newEntry(r *replicaHost, b *setBook) *entry {
	l.l.nextElem++
	e := b.add(fmt.Sprintf("e%d", l.l.nextElem), r.p.slot.index)
	e.owner, e.asked = r.p, l.w.now
	return e
}

// write changes a key at a drawn level, and notes of the entry how far that came.
func (l *load) write(r *replicaHost, key string, e *entry, mutate func(*crdt.Tx) error) {
	l.writeThen(r, key, e, mutate, func(error) {})
}

func (l *load) writeThen(r *replicaHost, key string, e *entry, mutate func(*crdt.Tx) error, then func(error)) {
	level, quorum := l.level()
	l.w.counts.Writes++
	r.call(func(id uint64) replicator.Input {
		return replicator.Update{ID: id, Key: key, Write: level, Mutate: e.added.noting(r, key, mutate)}
	}, func(res effect.Result) {
		if res.Err == nil {
			l.w.counts.Acked++
			e.local = l.w.now
			if quorum {
				l.acknowledge(r, key, e)
			}
		}
		then(res.Err)
	})
}

// expireRules are the times that a process gives the simulator's own keys. They differ, as during a
// rolling restart that changes them: every second process gives some keys more time.
func (o *Options) expireRules(uid uint64) map[string]time.Duration {
	if o.Fleeting == 0 {
		return nil
	}
	rules := map[string]time.Duration{"v/x/*": o.ExpireAfter, "d/x/*": o.ExpireAfter}
	if uid%2 == 1 {
		rules["v/x/1*"], rules["d/x/*"] = o.ExpireAfter*3/2, o.ExpireAfter*3/2
	}
	return rules
}
