package crdt_test

import (
	"cmp"
	"errors"
	"fmt"
	"maps"

	"pgregory.net/rapid"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/proptest"
)

// writeOp is an operation on a map, or with Key 0 throughout on a register.
type writeOp struct {
	What  what
	Key   int64
	Value string
	At    stamp // of putAt
}

type (
	stamp struct{ High, Low uint64 }
	write = proptest.Event[writeOp]
)

func (a stamp) compare(b stamp) int {
	return cmp.Or(cmp.Compare(a.High, b.High), cmp.Compare(a.Low, b.Low))
}

// drawWrites draws few values and timestamps, so that there are ties, and some timestamps that a
// wall clock has reached.
func drawWrites(keys int64, kinds ...what) *rapid.Generator[writeOp] {
	return rapid.Custom(func(t *rapid.T) writeOp {
		op := writeOp{What: rapid.SampledFrom(kinds).Draw(t, "what")}
		if op.What != clearAll {
			op.Key = rapid.Int64Range(0, keys-1).Draw(t, "key")
		}
		if op.What == put || op.What == putAt {
			op.Value = fmt.Sprint("v", rapid.IntRange(0, 2).Draw(t, "value"))
		}
		if op.What == putAt {
			op.At = stamp{
				rapid.SampledFrom([]uint64{0, 1, 1000, 1010, 1020}).Draw(t, "high"),
				rapid.Uint64Range(0, 1).Draw(t, "low"),
			}
		}
		return op
	})
}

// lastWriter is the specification of last-writer places. A write with a timestamp of its own that
// loses to one that was there is none.
type lastWriter struct {
	own    bool // writers take away only what is their own
	first  bool // the other way round: the lowest wins, and a replica that finds one there does not write
	stamps map[*write]stamp
	none   map[*write]bool
}

func newLastWriter() *lastWriter {
	return &lastWriter{stamps: map[*write]stamp{}, none: map[*write]bool{}}
}

// winner returns the write that a place shows.
func (l *lastWriter) winner(h proptest.History[writeOp], key int64) (win *write) {
	for _, e := range h.Live(l.takes) {
		if (e.Op.What == put || e.Op.What == putAt) && e.Op.Key == key && !l.isNone(e) &&
			(win == nil || l.beats(e, win)) {
			win = e
		}
	}
	return win
}

func (l *lastWriter) takes(later, earlier *write) bool {
	if l.own && later.Origin != earlier.Origin {
		return false
	}
	return (later.Op.What == clearAll || later.Op.Key == earlier.Op.Key) && !l.isNone(later)
}

// beats orders by timestamp, then by origin, then by value.
func (l *lastWriter) beats(a, b *write) bool {
	c := cmp.Or(l.stamp(a).compare(l.stamp(b)), cmp.Compare(a.Origin, b.Origin), cmp.Compare(a.Op.Value, b.Op.Value))
	if l.first {
		return c < 0
	}
	return c > 0
}

// isNone reports whether a write lost at once: one with a timestamp of its own, or where the first
// wins any that found one there.
func (l *lastWriter) isNone(e *write) bool {
	if e.Op.What != putAt && !(l.first && e.Op.What == put) {
		return false
	}
	none, known := l.none[e]
	if !known {
		win := l.winner(e.Seen, e.Op.Key)
		none = win != nil && (e.Op.What == put || !l.beats(e, win))
		l.none[e] = none
	}
	return none
}

// stamp returns the timestamp of a write: the caller's, or one above what was there, and not below
// the clock on the wall.
func (l *lastWriter) stamp(e *write) stamp {
	if e.Op.What == putAt {
		return e.Op.At
	}
	s, known := l.stamps[e]
	if !known {
		if win := l.winner(e.Seen, e.Op.Key); win != nil {
			s = l.stamp(win)
		}
		if e.Wall > 0 && uint64(e.Wall) > s.High {
			s = stamp{High: uint64(e.Wall)}
		} else {
			s.Low++
		}
		l.stamps[e] = s
	}
	return s
}

// shown is what a place shows.
type shown struct {
	Value string
	At    stamp
	OK    bool
}

func (l *lastWriter) shows(h proptest.History[writeOp], key int64) (s shown) {
	if win := l.winner(h, key); win != nil {
		s = shown{win.Op.Value, l.stamp(win), true}
	}
	return s
}

// answered holds the answer of a putAt against what the transaction reads afterwards: a put that
// won is seen, and a put that lost did so to something that is not below it.
func answered(won bool, op writeOp, now shown) error {
	if own := (shown{op.Value, op.At, true}); won && now != own || !won && (!now.OK || now.At.compare(op.At) < 0) {
		return fmt.Errorf("it answered %v, and the transaction reads %+v", won, now)
	}
	return nil
}

func lwwRegisterLaws() proptest.Laws[crdt.LWWRegister[[]byte], *crdt.LWWRegisterTx[[]byte], writeOp] {
	spec := newLastWriter()
	return proptest.Laws[crdt.LWWRegister[[]byte], *crdt.LWWRegisterTx[[]byte], writeOp]{
		Op: drawWrites(1, put, put, putAt, putAt, remove),
		Do: func(r *crdt.LWWRegisterTx[[]byte], op writeOp) error {
			switch op.What {
			case put:
				return r.Put([]byte(op.Value))
			case putAt:
				won, err := r.PutAt([]byte(op.Value), crdt.Timestamp(op.At))
				v, ts, ok := r.At()
				return errors.Join(err, answered(won, op, shown{string(v), stamp(ts), ok}))
			}
			return r.Remove()
		},
		Value: func(r crdt.LWWRegister[[]byte]) any {
			v, ts, ok := r.At()
			return shown{string(v), stamp(ts), ok}
		},
		Model: func(h proptest.History[writeOp]) any { return spec.shows(h, 0) },
	}
}

func fwwRegisterLaws() proptest.Laws[crdt.FWWRegister[string], *crdt.FWWRegisterTx[string], writeOp] {
	spec := newLastWriter()
	spec.first = true
	return proptest.Laws[crdt.FWWRegister[string], *crdt.FWWRegisterTx[string], writeOp]{
		Op: drawWrites(1, put, put, putAt, putAt, remove),
		Do: func(r *crdt.FWWRegisterTx[string], op writeOp) error {
			_, was, there := r.At()
			switch op.What {
			case put:
				won, err := r.Put(op.Value)
				if now, _ := r.Get(); err == nil && (won == there || won && now != op.Value) {
					return fmt.Errorf("Put answered %v where %v stood", won, was)
				}
				return err
			case putAt:
				won, err := r.PutAt(op.Value, crdt.Timestamp(op.At))
				v, ts, _ := r.At()
				if now := (shown{v, stamp(ts), true}); won && now != (shown{op.Value, op.At, true}) ||
					!won && stamp(ts).compare(op.At) > 0 {
					return errors.Join(err, fmt.Errorf("PutAt answered %v, and the transaction reads %+v", won, now))
				}
				return err
			}
			return r.Remove()
		},
		Value: func(r crdt.FWWRegister[string]) any {
			v, ts, ok := r.At()
			if again, same := r.Get(); again != v || same != ok {
				return "Get differs from At"
			}
			return shown{v, stamp(ts), ok}
		},
		Model: func(h proptest.History[writeOp]) any { return spec.shows(h, 0) },
	}
}

const mapKeys = 3

// entries is all that a map shows.
type entries struct {
	At  [mapKeys + 1]shown
	All map[int64]string
	Len int
}

func lwwMapLaws() proptest.Laws[crdt.LWWMap[int64, string], *crdt.LWWMapTx[int64, string], writeOp] {
	spec := newLastWriter()
	return proptest.Laws[crdt.LWWMap[int64, string], *crdt.LWWMapTx[int64, string], writeOp]{
		Op: drawWrites(mapKeys, put, put, putAt, putAt, remove, remove, clearAll),
		Do: func(m *crdt.LWWMapTx[int64, string], op writeOp) error {
			switch op.What {
			case put:
				return m.Put(op.Key, op.Value)
			case putAt:
				won, err := m.PutAt(op.Key, op.Value, crdt.Timestamp(op.At))
				v, ts, ok := m.At(op.Key)
				return errors.Join(err, answered(won, op, shown{v, stamp(ts), ok}))
			case remove:
				return m.Remove(op.Key)
			}
			return m.Clear()
		},
		Value: func(m crdt.LWWMap[int64, string]) any {
			es := entries{All: maps.Collect(m.All()), Len: m.Len()}
			for k := range es.At {
				v, ts, ok := m.At(int64(k))
				es.At[k] = shown{v, stamp(ts), ok}
			}
			return es
		},
		Model: func(h proptest.History[writeOp]) any {
			es := entries{All: map[int64]string{}}
			for k := range es.At {
				if es.At[k] = spec.shows(h, int64(k)); es.At[k].OK {
					es.All[int64(k)] = es.At[k].Value
				}
			}
			es.Len = len(es.All)
			return es
		},
	}
}
