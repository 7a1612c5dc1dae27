package persistencetest

import (
	"bytes"
	"context"
	"iter"
	"math"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/persistence/memory"
	"github.com/coterie-go/coterie/sharding/protocol"
)

type (
	ctx      = context.Context
	hosting  = persistence.Hosting
	refusals = []persistence.Refusal
	eachOne  = func(int, persistence.Event) error
)

func of(store any) func() *Opened { return func() *Opened { return opened(store) } }

// mistakes are stores in memory that break some laws.
var mistakes = []struct {
	name   string
	open   func() *Opened
	breaks []string
}{
	{"no fence", of(&noFence{}), []string{
		"journal: a later hosting fences", "journal: a fence at one time with writes", "journal: histories",
		"snapshots: a later hosting fences", "states: a later hosting fences",
	}},
	{"the fence is compared before the write", of(&early{}), []string{"journal: a fence at one time with writes"}},
	{"snapshots have a fence of their own", func() *Opened {
		o := opened(&memory.Store{})
		o.A.Snapshots, o.B.Snapshots = &memory.Store{}, &memory.Store{}
		return o
	}, []string{"one fence for all"}},
	{"no sequence number is compared", of(&noSequence{}), []string{
		"journal: histories", "journal: a write is repeated", "journal: refusals leave the other writes",
	}},
	{"a repeated write is stored again", of(&again{}), []string{"journal: a write is repeated", "journal: histories"}},
	{"a conflict passes for a repetition", of(&noConflict{}), []string{
		"journal: a write is repeated", "journal: refusals leave the other writes", "journal: histories",
	}},
	{"half a write", of(&halves{}), []string{"journal: a write is whole"}},
	{"one refusal refuses all", of(&allOrNone{}), []string{"journal: refusals leave the other writes"}},
	{"the number of what was deleted is lost", of(&lostNumber{}), []string{
		"journal: deletions keep the number", "journal: histories",
	}},
	{"bodies are cut", of(&cut{}), []string{"journal: limits", "snapshots: limits", "states: limits"}},
	{"ids end at a zero byte", of(&zeros{}), []string{"journal: strange names", "journal: histories"}},
	{"contexts are ignored", of(&deaf{}), []string{
		"journal: ended contexts", "snapshots: ended contexts", "states: ended contexts",
	}},
	{"long calls are cut", of(&short{}), []string{"journal: large calls"}},
	{"a call beside another one is lost", of(&alone{}), []string{"journal: many shards"}},
	{"writes are kept as they came until the next one", of(&behind{}), []string{"journal: whose memory it is"}},
	{"an error of a function is forgotten", of(&goesOn{}), []string{"journal: whose memory it is"}},
	{"nothing is there after a stop", emptyAfterStop, []string{
		"journal: histories", "journal: a write is repeated", "journal: a later hosting fences", "snapshots: histories",
		"states: histories", "reader: what is asked for", "reader: goes on at each offset",
	}},
	{"the oldest snapshot is loaded", of(&oldest{}), []string{"snapshots: histories"}},
	{"a deleted state is forgotten", of(&forgets{}), []string{"states: histories", "states: deletions keep nothing"}},
	{"a deleted state keeps its body", of(&hoards{}), []string{"states: deletions keep nothing"}},
	{"the reader passes over commits on their way", of(&passes{}), []string{"reader: goes on while writers append"}},
	{"an offset is that before its event", of(&twice{}), []string{
		"reader: goes on at each offset", "reader: goes on while writers append",
	}},
	{"tags are ignored", of(&untagged{}), []string{"reader: what is asked for"}},
	{"slices are ignored", of(&unsliced{}), []string{"reader: what is asked for", "reader: goes on at each offset"}},
	{"no slices are the first one", of(&sliceZero{}), []string{
		"reader: what is asked for", "reader: goes on at each offset",
	}},
	{"any slices do", of(&anySlices{}), []string{"reader: slices that there are not"}},
	{"a live query ends", of(&dead{}), []string{"reader: live"}},
	{"a damaged event ends the query", of(&stuck{}), []string{"reader: a damaged event"}},
	{"a damaged event is passed over", of(&hushed{}), []string{"reader: a damaged event"}},
}

// emptyAfterStop opens a store that is another one after each stop.
func emptyAfterStop() *Opened {
	o := opened(&memory.Store{})
	o.Reopen = func(testing.TB) *Opened { return emptyAfterStop() }
	return o
}

type noFence struct{ memory.Store }

var lowest = tokenOf(0)

func (s *noFence) Fence(c ctx, h hosting) error { h.Token = lowest; return s.Store.Fence(c, h) }

// early holds a write between the comparison and its effect.
type early struct{ memory.Store }

func (s *early) Append(c ctx, h hosting, ws []persistence.Write) (refusals, error) {
	if err := s.Store.Delete(c, h, "", 0); err != nil { // compares the token
		return nil, err
	}
	yield()
	h.Token = tokenOf(math.MaxUint32)
	return s.Store.Append(c, h, ws)
}

type noSequence struct{ memory.Store }

func (s *noSequence) Append(c ctx, h hosting, ws []persistence.Write) (refusals, error) {
	return s.Store.Append(c, h, s.moved(c, h, ws))
}

// moved puts writes to the end of their histories.
func (s *noSequence) moved(c ctx, h hosting, ws []persistence.Write) (out []persistence.Write) {
	for _, w := range ws {
		ends, err := s.Load(c, h, []persistence.Read{{Entity: w.Entity}}, nothing)
		if err == nil {
			w.After = ends[0].Last
		}
		out = append(out, w)
	}
	return out
}

type again struct{ noSequence }

func (s *again) Append(c ctx, h hosting, ws []persistence.Write) (refusals, error) {
	before, _ := s.Load(c, h, []persistence.Read{{Entity: ws[0].Entity}}, nothing)
	refused, err := s.Store.Append(c, h, ws)
	if err != nil || len(refused) > 0 || len(before) == 0 {
		return refused, err
	}
	after, err := s.Load(c, h, []persistence.Read{{Entity: ws[0].Entity}}, nothing)
	if err == nil && after[0] == before[0] {
		return s.Store.Append(c, h, s.moved(c, h, ws[:1]))
	}
	return nil, err
}

func nothing(int, persistence.Event) error { return nil }

type noConflict struct{ memory.Store }

func (s *noConflict) Append(c ctx, h hosting, ws []persistence.Write) (refusals, error) {
	_, err := s.Store.Append(c, h, ws)
	return nil, err
}

// halves stores a write in two parts, with a whole load between them.
type halves struct {
	memory.Store
	loads atomic.Int64 // that have ended
}

func (s *halves) Load(c ctx, h hosting, rs []persistence.Read, each eachOne) ([]persistence.End, error) {
	defer s.loads.Add(1)
	return s.Store.Load(c, h, rs, each)
}

func (s *halves) Append(c ctx, h hosting, ws []persistence.Write) (refusals, error) {
	w := ws[0]
	half := w
	half.Events = w.Events[:len(w.Events)/2]
	if refused, err := s.Store.Append(c, h, []persistence.Write{half}); err != nil || len(refused) > 0 {
		return refused, err
	}
	for before := s.loads.Load(); s.loads.Load() < before+2 && c.Err() == nil; {
		runtime.Gosched()
	}
	w.After, w.Events = w.After+uint64(len(half.Events)), w.Events[len(half.Events):]
	return s.Store.Append(c, h, []persistence.Write{w})
}

type allOrNone struct{ memory.Store }

func (s *allOrNone) Append(c ctx, h hosting, ws []persistence.Write) (refused refusals, err error) {
	for i, w := range ws {
		if err := w.Check(); err != nil {
			refused = append(refused, persistence.Refusal{Index: i, Err: err})
		}
	}
	if len(refused) > 0 {
		return refused, nil
	}
	return s.Store.Append(c, h, ws)
}

type lostNumber struct{ memory.Store }

func (s *lostNumber) Load(c ctx, h hosting, rs []persistence.Read, each eachOne) ([]persistence.End, error) {
	ends, err := s.Store.Load(c, h, rs, each)
	for i, e := range ends {
		if e.Last == e.Deleted {
			ends[i] = persistence.End{}
		}
	}
	return ends, err
}

type cut struct{ memory.Store }

func (s *cut) Append(c ctx, h hosting, ws []persistence.Write) (refusals, error) {
	for i := range ws {
		for j, e := range ws[i].Events {
			ws[i].Events[j].Body = cutBody(e.Body)
		}
	}
	return s.Store.Append(c, h, ws)
}

func (s *cut) SaveSnapshots(c ctx, h hosting, ss []persistence.Snapshot) (refusals, error) {
	for i := range ss {
		ss[i].Body = cutBody(ss[i].Body)
	}
	return s.Store.SaveSnapshots(c, h, ss)
}

func (s *cut) SaveStates(c ctx, h hosting, ws []persistence.StateWrite) (refusals, error) {
	for i := range ws {
		ws[i].State.Body = cutBody(ws[i].State.Body)
	}
	return s.Store.SaveStates(c, h, ws)
}

func cutBody(b []byte) []byte { return b[:min(len(b), persistence.BodyMax)] }

type zeros struct{ memory.Store }

func toZero(id protocol.EntityID) protocol.EntityID {
	before, _, _ := strings.Cut(string(id), "\x00")
	return protocol.EntityID(before)
}

func (s *zeros) Append(c ctx, h hosting, ws []persistence.Write) (refusals, error) {
	var moved []persistence.Write
	for _, w := range ws {
		w.Entity = toZero(w.Entity)
		moved = append(moved, w)
	}
	return s.Store.Append(c, h, moved)
}

func (s *zeros) Load(c ctx, h hosting, rs []persistence.Read, each eachOne) ([]persistence.End, error) {
	var moved []persistence.Read
	for _, r := range rs {
		r.Entity = toZero(r.Entity)
		moved = append(moved, r)
	}
	return s.Store.Load(c, h, moved, each)
}

type deaf struct{ memory.Store }

func (s *deaf) Append(c ctx, h hosting, ws []persistence.Write) (refusals, error) {
	return s.Store.Append(context.WithoutCancel(c), h, ws)
}

func (s *deaf) SaveSnapshots(c ctx, h hosting, ss []persistence.Snapshot) (refusals, error) {
	return s.Store.SaveSnapshots(context.WithoutCancel(c), h, ss)
}

func (s *deaf) SaveStates(c ctx, h hosting, ws []persistence.StateWrite) (refusals, error) {
	return s.Store.SaveStates(context.WithoutCancel(c), h, ws)
}

type short struct{ memory.Store }

func (s *short) Append(c ctx, h hosting, ws []persistence.Write) (refusals, error) {
	return s.Store.Append(c, h, ws[:min(len(ws), 4000)])
}

type alone struct {
	memory.Store
	at atomic.Int32
}

func (s *alone) Append(c ctx, h hosting, ws []persistence.Write) (refusals, error) {
	defer s.at.Add(-1)
	if s.at.Add(1) > 1 {
		return nil, nil
	}
	yield()
	return s.Store.Append(c, h, ws)
}

type behind struct {
	memory.Store
	mu     sync.Mutex
	h      hosting
	writes []persistence.Write
}

func (s *behind) Append(_ ctx, h hosting, ws []persistence.Write) (refusals, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.h, s.writes = h, ws
	return nil, nil
}

func (s *behind) Load(c ctx, h hosting, rs []persistence.Read, each eachOne) ([]persistence.End, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.Store.Append(c, s.h, s.writes); err != nil {
		return nil, err
	}
	return s.Store.Load(c, h, rs, each)
}

type goesOn struct{ memory.Store }

func (s *goesOn) Load(c ctx, h hosting, rs []persistence.Read, each eachOne) ([]persistence.End, error) {
	return s.Store.Load(c, h, rs, func(i int, e persistence.Event) error {
		_ = each(i, e)
		return nil
	})
}

type oldest struct{ memory.Store }

func (s *oldest) LoadSnapshots(
	c ctx, h hosting, rs []persistence.SnapshotRead, each func(int, persistence.Snapshot) error,
) error {
	return s.Store.LoadSnapshots(c, h, rs, func(i int, last persistence.Snapshot) error {
		below := []persistence.SnapshotRead{{Entity: rs[i].Entity, Below: last.Seq}}
		if err := s.Store.LoadSnapshots(c, h, below, func(_ int, before persistence.Snapshot) error {
			last = before
			return nil
		}); err != nil {
			return err
		}
		return each(i, last)
	})
}

// hoards keeps what comes with a deletion.
type hoards struct {
	memory.Store
	mu     sync.Mutex
	bodies map[protocol.EntityID][]byte
}

func (s *hoards) SaveStates(c ctx, h hosting, writes []persistence.StateWrite) ([]persistence.Refusal, error) {
	s.mu.Lock()
	for _, w := range writes {
		if s.bodies == nil {
			s.bodies = map[protocol.EntityID][]byte{}
		}
		if w.State.Deleted {
			s.bodies[w.Entity] = bytes.Clone(w.State.Body)
		}
	}
	s.mu.Unlock()
	return s.Store.SaveStates(c, h, writes)
}

func (s *hoards) LoadStates(
	c ctx, h hosting, ids []protocol.EntityID, each func(int, persistence.State) error,
) error {
	return s.Store.LoadStates(c, h, ids, func(i int, v persistence.State) error {
		if v.Deleted {
			s.mu.Lock()
			v.Body = s.bodies[ids[i]]
			s.mu.Unlock()
		}
		return each(i, v)
	})
}

type forgets struct{ memory.Store }

func (s *forgets) LoadStates(
	c ctx, h hosting, ids []protocol.EntityID, each func(int, persistence.State) error,
) error {
	return s.Store.LoadStates(c, h, ids, func(i int, v persistence.State) error {
		if v.Deleted {
			return nil
		}
		return each(i, v)
	})
}

// passes shows the first event of a write when it is met for the second time, as if its commit had
// been on its way, and shows those behind it at once.
type passes struct {
	memory.Store
	mu  sync.Mutex
	met map[string]bool
}

func (s *passes) meets(r persistence.Recorded) (again bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.met == nil {
		s.met = map[string]bool{}
	}
	key := name(r.Entity, r.Event.Seq)
	defer func() { s.met[key] = true }()
	return s.met[key]
}

func (s *passes) Events(c ctx, q persistence.Query) iter.Seq2[persistence.Recorded, error] {
	return func(yield func(persistence.Recorded, error) bool) {
		for r, err := range s.Store.Events(c, q) {
			shown := r.Event.Seq%2 == 0 || s.meets(r)
			if shown && !yield(r, err) {
				return
			}
		}
	}
}

type twice struct{ memory.Store }

func (s *twice) Events(c ctx, q persistence.Query) iter.Seq2[persistence.Recorded, error] {
	return func(yield func(persistence.Recorded, error) bool) {
		before := q.After
		for r, err := range s.Store.Events(c, q) {
			before, r.Offset = r.Offset, before
			if !yield(r, err) {
				return
			}
		}
	}
}

type untagged struct{ memory.Store }

func (s *untagged) Events(c ctx, q persistence.Query) iter.Seq2[persistence.Recorded, error] {
	q.Tag = ""
	return s.Store.Events(c, q)
}

type unsliced struct{ memory.Store }

func (s *unsliced) Events(c ctx, q persistence.Query) iter.Seq2[persistence.Recorded, error] {
	q.First, q.End = 0, 0
	return s.Store.Events(c, q)
}

type sliceZero struct{ memory.Store }

func (s *sliceZero) Events(c ctx, q persistence.Query) iter.Seq2[persistence.Recorded, error] {
	if q.First == 0 && q.End == 0 {
		q.End = 1
	}
	return s.Store.Events(c, q)
}

type anySlices struct{ memory.Store }

func (s *anySlices) Events(c ctx, q persistence.Query) iter.Seq2[persistence.Recorded, error] {
	if q.Check() != nil {
		return func(func(persistence.Recorded, error) bool) {}
	}
	return s.Store.Events(c, q)
}

type dead struct{ memory.Store }

func (s *dead) Events(c ctx, q persistence.Query) iter.Seq2[persistence.Recorded, error] {
	q.Live = false
	return s.Store.Events(c, q)
}

// stuck ends with a damaged event.
type stuck struct{ memory.Store }

func (s *stuck) Events(c ctx, q persistence.Query) iter.Seq2[persistence.Recorded, error] {
	return func(yield func(persistence.Recorded, error) bool) {
		for r, err := range s.Store.Events(c, q) {
			if err != nil {
				yield(persistence.Recorded{}, err)
				return
			}
			if !yield(r, nil) {
				return
			}
		}
	}
}

// hushed says nothing of a damaged event.
type hushed struct{ memory.Store }

func (s *hushed) Events(c ctx, q persistence.Query) iter.Seq2[persistence.Recorded, error] {
	return func(yield func(persistence.Recorded, error) bool) {
		for r, err := range s.Store.Events(c, q) {
			if err == nil && !yield(r, nil) {
				return
			}
		}
	}
}
