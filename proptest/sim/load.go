package sim

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/proptest/sim/history"
	"github.com/coterie-go/coterie/proptest/sim/options"
	"github.com/coterie-go/coterie/proptest/sim/random"
	"github.com/coterie-go/coterie/proptest/sim/stall"
	"github.com/coterie-go/coterie/replicator"
	"github.com/coterie-go/coterie/replicator/effect"
	"github.com/coterie-go/coterie/replicator/quorum"
)

// load is the clients of one role: they read and write through random live processes, and keep the
// history.
type load struct {
	w      *World
	role   string
	rng    *rand.Rand
	linear *rand.Rand // draws the level of reads
	bulk   *rand.Rand // draws large groups
	l      *history.History
	tidy   tidyLoad
}

func (w *World) startLoad() {
	for _, s := range w.datasets {
		stream := func(concern string) *rand.Rand { return w.rs.Stream(concern+streamOf(s.role), 0) }
		l := &load{
			w: w, role: s.role, rng: stream("load"), linear: stream("linear"), bulk: stream("bulk"), l: s.history,
		}
		l.tidy = tidyLoad{l, stream("tidy")}
		if w.opt.WriteGap > 0 {
			w.after(2*time.Second, nil, l.next)
		}
		w.after(w.opt.Safety+stall.AfterHeal, nil, l.probe)
	}
}

// update runs a typed update through the Replicator of a process; f notes when it happens.
func update[V crdt.Value[V, T], T any](d *replicaHost, key string, level quorum.Level, f *history.Fact,
	fn func(T) error, done func(error)) {
	var v V
	mutate := d.noting(f, key, func(tx *crdt.Tx) error { return fn(v.Mutator(tx)) })
	d.call(func(id uint64) replicator.Input {
		return replicator.Update{ID: id, Key: key, Write: level, Mutate: mutate}
	}, func(r effect.Result) { done(r.Err) })
}

// get reads a key.
func get(d *replicaHost, key string, level quorum.Level, done func(effect.Result)) {
	d.call(func(id uint64) replicator.Input {
		return replicator.Get{ID: id, Key: key, Read: level}
	}, done)
}

// read runs a typed read.
func read[V crdt.Value[V, T], T any](d *replicaHost, key string, level quorum.Level, done func(V, error)) {
	get(d, key, level, func(r effect.Result) {
		var v V
		if r.Err == nil {
			v, r.Err = v.View(r.Reader)
		}
		done(v, r.Err)
	})
}

func (l *load) next() {
	w := l.w
	if w.now > int64(w.opt.Safety+stall.AfterHeal) {
		return
	}
	w.at(w.now+int64(l.rng.ExpFloat64()*float64(w.opt.WriteGap))+1, nil, l.next)
	if len(w.live) == 0 {
		return
	}
	r := w.live[l.rng.IntN(len(w.live))].replica(l.role)
	if r == nil || !r.p.usable() {
		return
	}
	key := strconv.Itoa(l.rng.IntN(w.opt.Keys))
	space := "v/"
	if w.opt.Durable && l.rng.IntN(2) == 0 {
		space = "d/"
	}
	switch {
	case l.tidy.operate(r, space, key):
	case random.Chance(l.rng, w.opt.Reads):
		l.read(r, space, key)
	case l.counting():
		l.count(r, l.l.Sum(space+"sum/"+key))
	case l.rng.IntN(4) == 0:
		l.scribble(r, space+"any/"+key)
	case random.Chance(l.rng, w.opt.Removes):
		l.remove(r, l.l.Set(space+"set/"+key))
	case random.Chance(l.bulk, w.opt.Bulk):
		l.addMany(r, l.l.Set(space+"set/"+key))
	default:
		l.add(r, l.l.Set(space+"set/"+key))
	}
}

// counting draws whether a write counts.
func (l *load) counting() bool {
	if l.w.opt.Sums > 0 {
		return random.Chance(l.rng, l.w.opt.Sums)
	}
	return l.rng.IntN(4) == 0
}

// level draws how many replicas a write asks for, and reports whether that is a quorum.
func (l *load) level() (quorum.Level, bool) {
	switch n := l.rng.IntN(20); {
	case n < 12:
		return quorum.Majority, true
	case n < 13:
		return quorum.All, true
	case n < 14:
		return quorum.MajorityPlus(1, 2), true
	case n < 16:
		return quorum.To(2), false
	}
	return quorum.Local, false
}

func (l *load) add(r *replicaHost, b *history.Set) {
	e := b.Add("e"+strconv.Itoa(l.l.Next()), r.p.slot.index)
	level, quorum := l.level()
	l.w.counts.Writes++
	update[crdt.ORSet[string]](r, b.Key, level, &e.Added,
		func(s *crdt.ORSetTx[string]) error { return s.Add(e.Elem) }, func(err error) {
			if err != nil {
				return
			}
			l.w.counts.Acked++
			if r.stores(b) {
				e.Apply(l.w.now)
			}
			if quorum {
				l.acknowledge(r, b.Key, e)
			}
		})
}

// addMany adds large elements in one update, whose group is larger than a frame.
func (l *load) addMany(r *replicaHost, b *history.Set) {
	group := make([]*history.Entry, 2+l.bulk.IntN(5))
	for i := range group {
		padding := strings.Repeat(".", options.SmallFrame/2+l.bulk.IntN(options.SmallFrame))
		group[i] = b.Add(fmt.Sprintf("e%d%s", l.l.Next(), padding), r.p.slot.index)
		group[i].Group = group
	}
	level, quorum := l.level()
	l.w.counts.Writes++
	update[crdt.ORSet[string]](r, b.Key, level, &group[0].Added, func(s *crdt.ORSetTx[string]) error {
		var err error
		for _, e := range group {
			err = errors.Join(err, s.Add(e.Elem))
			r.happens(&e.Added, b.Key)
		}
		return err
	}, func(err error) {
		if err != nil {
			return
		}
		l.w.counts.Acked++
		l.w.counts.Bulk++
		for _, e := range group {
			if r.stores(b) {
				e.Apply(l.w.now)
			}
			if quorum {
				l.acknowledge(r, b.Key, e)
			}
		}
	})
}

// acknowledge notes that a quorum has an element.
func (l *load) acknowledge(r *replicaHost, key string, e *history.Entry) {
	e.Acknowledge(l.w.now)
	l.w.acknowledged(r, key, e.Added)
}

// remove picks an element that was added, or added and not yet acknowledged, and removes it.
func (l *load) remove(r *replicaHost, b *history.Set) {
	if len(b.Entries) == 0 {
		return
	}
	e := b.Entries[l.rng.IntN(len(b.Entries))]
	if e.Removed {
		return
	}
	e.Remove()
	seen := false
	level, quorum := l.level()
	l.w.counts.Writes++
	update[crdt.ORSet[string]](r, b.Key, level, &e.Taken, func(s *crdt.ORSetTx[string]) error {
		seen = s.Contains(e.Elem)
		return s.Remove(e.Elem)
	}, func(err error) {
		if err == nil {
			l.w.counts.Acked++
			if quorum && seen {
				e.Go(l.w.now)
				l.w.acknowledged(r, b.Key, e.Taken)
			}
		}
	})
}

func (l *load) count(r *replicaHost, b *history.Sum) {
	n := 1 + l.rng.Uint64N(5)
	level, quorum := l.level()
	l.w.counts.Writes++
	i := b.Ask(n)
	update[crdt.GCounter](r, b.Key, level, &i.Added,
		func(c *crdt.GCounterTx) error { return c.Increment(n) }, func(err error) {
			if err == nil {
				l.w.counts.Acked++
				if quorum {
					b.Acknowledge(i, l.w.now)
					l.w.acknowledged(r, b.Key, i.Added)
				}
			}
		})
}

// scribble writes to keys of which only equality is judged: registers and maps whose concurrent
// writes become siblings, and deletes.
func (l *load) scribble(r *replicaHost, key string) {
	level, _ := l.level()
	field, value := "f"+strconv.Itoa(l.rng.IntN(3)), strconv.Itoa(l.rng.IntN(1000))
	ignore, f := func(error) {}, new(history.Fact)
	l.w.counts.Writes++
	switch l.rng.IntN(8) {
	case 0:
		r.call(func(id uint64) replicator.Input {
			return replicator.Delete{ID: id, Key: key, Write: level}
		}, func(effect.Result) {})
	case 1:
		update[crdt.LWWMap[string, string]](r, key, level, f,
			func(m *crdt.LWWMapTx[string, string]) error { return m.Remove(field) }, ignore)
	case 2, 3:
		update[crdt.LWWRegister[string]](r, key+"/r",
			level, f, func(r *crdt.LWWRegisterTx[string]) error { return r.Put(value) }, ignore)
	case 4:
		ts := crdt.Timestamp{High: l.rng.Uint64N(50), Low: l.rng.Uint64N(3)}
		update[crdt.LWWMap[string, string]](r, key, level, f, func(m *crdt.LWWMapTx[string, string]) error {
			_, err := m.PutAt(field, value, ts)
			return err
		}, ignore)
	default:
		update[crdt.LWWMap[string, string]](r, key, level, f,
			func(m *crdt.LWWMapTx[string, string]) error { return m.Put(field, value) }, ignore)
	}
}

// read asks a quorum and holds the answer against the history.
func (l *load) read(r *replicaHost, space, key string) {
	w, start := l.w, l.w.now
	w.counts.Reads++
	level, linear := quorum.Majority, random.Chance(l.linear, w.opt.Linear)
	if linear {
		level = quorum.Linearizable
	}
	if l.rng.IntN(4) == 0 {
		b := l.l.Sum(space + "sum/" + key)
		read[crdt.GCounter](r, b.Key, level, func(c crdt.GCounter, err error) {
			if err == nil {
				b.Check(w.violate, r, c.Value(), start)
				if linear {
					w.counts.Linear++
					b.CheckLinear(w.violate, r.p, c.Value(), start, w.now)
				}
			}
		})
		return
	}
	b := l.l.Set(space + "set/" + key)
	get(r, b.Key, level, func(res effect.Result) {
		if res.Err != nil {
			return
		}
		seen, err := r.sights.Look(b, res.Reader)
		if err != nil {
			w.violate("shown sets", "%v: %v", r, err)
			return
		}
		b.Check(w.violate, r, seen.Has, start, history.Some(l.rng, len(b.Entries)))
		b.CheckGroups(w.violate, r, seen.Has)
		if linear {
			w.counts.Linear++
			b.CheckLinear(w.violate, r.p, seen, start, w.now)
		}
	})
}

// probe demands of every process of the healed world that it writes to a majority and reads it
// back.
func (l *load) probe() {
	w := l.w
	for _, r := range w.replicas(l.role) {
		if r.probed || r.p.slot.leaving {
			continue
		}
		b := l.l.Set("v/set/probe")
		e := b.Add(fmt.Sprintf("e%d", l.l.Next()), r.p.slot.index)
		update[crdt.ORSet[string]](r, b.Key, quorum.Majority, &e.Added,
			func(s *crdt.ORSetTx[string]) error { return s.Add(e.Elem) }, func(err error) {
				if err != nil {
					return
				}
				e.Acknowledge(w.now)
				e.Apply(w.now)
				read[crdt.ORSet[string]](r, b.Key, quorum.Majority, func(s crdt.ORSet[string], err error) {
					r.probed = r.probed || err == nil && s.Contains(e.Elem)
				})
			})
	}
	w.after(stall.ProbeGap, nil, l.probe)
}
