package persistencetest

import (
	"fmt"
	"slices"

	"pgregory.net/rapid"

	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// model is what a journal must hold: a list per entity, and a token per shard.
type model struct {
	*rapid.T
	l      *law
	tokens [2]uint64 // of each shard
	of     map[protocol.EntityID]*modelHistory
	ids    uint64 // of writes
}

type modelHistory struct {
	deleted uint64
	events  []persistence.Event // all that ever were
	last    persistence.Write
	token   uint64 // of last
}

// modelIDs are the entities of the histories; the shard of each is its index modulo 2.
var modelIDs = []protocol.EntityID{"a", "A", "a\x00", "b/c", "é"}

func journalHistories(l *law) {
	rapid.Check(l.tb, func(rt *rapid.T) {
		l.next()
		m := &model{T: rt, l: l, tokens: [2]uint64{1, 1}, of: map[protocol.EntityID]*modelHistory{}}
		for _, id := range modelIDs {
			m.of[id] = &modelHistory{}
		}
		for shard := range m.tokens {
			must(rt, l.store.A.Journal.Fence(rt.Context(), m.hosting(shard)))
		}
		actions := []func(){m.append, m.append, m.append, m.delete, m.fence, m.stale, m.compare}
		for range rapid.IntRange(1, 30).Draw(rt, "calls") {
			rapid.SampledFrom(actions).Draw(rt, "call")()
		}
		if rapid.IntRange(0, 4).Draw(rt, "stop") == 0 {
			l.again()
		}
		m.compare()
	})
}

func (m *model) hosting(shard int) persistence.Hosting {
	return m.l.hosting(protocol.ShardID(shard), m.tokens[shard])
}

func (m *model) door() Door { return rapid.SampledFrom(m.l.doors()).Draw(m.T, "door") }

func (m *model) shard() int { return rapid.IntRange(0, 1).Draw(m.T, "shard") }

// append makes one call with a write for some entities of a shard: some fit, others do not.
func (m *model) append() {
	shard := m.shard()
	var writes []persistence.Write
	conflicts := map[int]bool{}
	for i, id := range modelIDs {
		if i%2 != shard || rapid.IntRange(0, 2).Draw(m.T, "spare") == 0 {
			continue
		}
		w, conflict := m.draw(m.of[id], id, m.tokens[shard])
		conflicts[len(writes)] = conflict
		writes = append(writes, w)
	}
	refused, err := m.door().Journal.Append(m.Context(), m.hosting(shard), writes)
	must(m, err)
	for _, r := range refused {
		is(m, "refusal", r.Err, persistence.ErrConflict)
		if !conflicts[r.Index] {
			m.Fatalf("write %d was refused: %v", r.Index, r.Err)
		}
		delete(conflicts, r.Index)
	}
	for i, w := range writes {
		if conflicts[i] {
			m.Fatalf("a write of %v after %d was stored, and is in conflict", w.Entity, w.After)
		}
	}
}

// draw draws a write, and puts it into the model if it fits.
func (m *model) draw(h *modelHistory, id protocol.EntityID, token uint64) (w persistence.Write, conflict bool) {
	end := uint64(len(h.events))
	m.ids++
	var bodies []string
	for i := range rapid.IntRange(1, 3).Draw(m.T, "events") {
		bodies = append(bodies, fmt.Sprintf("%d %d", m.ids, i))
	}
	w = write(id, end, m.ids<<40|1<<63, bodies...)
	switch rapid.IntRange(0, 6).Draw(m.T, "kind") {
	case 0: // repeated
		if h.last.Events == nil {
			break
		}
		return h.last, h.token != token
	case 1: // another one in the place of the last
		if h.last.Events == nil {
			break
		}
		return write(id, h.last.After, w.ID, bodies...), true
	case 2:
		return write(id, end+1+rapid.Uint64Range(0, 1<<40).Draw(m.T, "gap"), w.ID, bodies...), true
	case 3:
		if end == 0 {
			break
		}
		return write(id, rapid.Uint64Range(0, end-1).Draw(m.T, "behind"), w.ID, bodies...), true
	}
	h.events = append(h.events, w.Events...)
	h.last, h.token = w, token
	return w, false
}

func (m *model) delete() {
	i := rapid.IntRange(0, len(modelIDs)-1).Draw(m.T, "entity")
	h := m.of[modelIDs[i]]
	upTo := rapid.Uint64Range(0, uint64(len(h.events))+2).Draw(m.T, "up to")
	must(m, m.door().Journal.Delete(m.Context(), m.hosting(i%2), modelIDs[i], upTo))
	h.deleted = max(h.deleted, min(upTo, uint64(len(h.events))))
}

func (m *model) fence() {
	shard := m.shard()
	m.tokens[shard] += rapid.Uint64Range(0, 9).Draw(m.T, "later")
	must(m, m.door().Journal.Fence(m.Context(), m.hosting(shard)))
}

// stale makes each call with a token that is too low.
func (m *model) stale() {
	i := rapid.IntRange(0, len(modelIDs)-1).Draw(m.T, "entity")
	h, id, door := m.hosting(i%2), modelIDs[i], m.door()
	h.Token = tokenOf(rapid.Uint64Range(0, m.tokens[i%2]-1).Draw(m.T, "token"))
	fencedCalls(m, door, h, write(id, uint64(len(m.of[id].events)), 1, "stale"))
}

// compare loads everything, and each entity from any place.
func (m *model) compare() {
	for i, id := range modelIDs {
		h := m.of[id]
		after := rapid.Uint64Range(0, uint64(len(h.events))+1).Draw(m.T, "after")
		events, end := load(m, m.door(), m.hosting(i%2), id, after)
		if w := (persistence.End{Deleted: h.deleted, Last: uint64(len(h.events))}); end != w {
			m.Fatalf("entity %v ends with %+v, want %+v", id, end, w)
		}
		want := h.events[min(max(after, h.deleted), end.Last):]
		if !slices.EqualFunc(events, want, sameEvent) {
			m.Fatalf("entity %v after %d:\n%v\nwant\n%v", id, after, events, want)
		}
	}
}
