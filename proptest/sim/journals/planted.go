package journals

import (
	"context"
	"slices"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/singleton"
	"github.com/coterie-go/coterie/proptest/sim/random"
	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// Defects are errors that a store can be told to have.
type Defects struct {
	AnyToken     bool // a hosting that is over may write
	AnySequence  bool // a write that does not fit is appended all the same
	RepeatsTwice bool // a write that is repeated is stored again
	AnswersFirst bool // a write is answered before it is stored
	AnyHosting   bool // of remembered ids, and reminders: a hosting that is over may write them
	AnyOrder     bool // of reminders: a change of a hosting that was overtaken takes effect
}

// planting carries out the defects. Without any it changes nothing.
type planting struct {
	Defects
	top  map[place]singleton.FencingToken // of each shard; only looked up
	last map[entity]written               // the last write of each entity that came; only looked up
}

type place struct {
	typ   string
	shard protocol.ShardID
}

type entity struct {
	typ string
	id  protocol.EntityID
}

type written struct {
	by persistence.Hosting
	id uint64
}

// fences notes a hosting that begins.
func (p *planting) fences(h persistence.Hosting) {
	if at := (place{h.Type, h.Shard}); p.top[at].Less(h.Token) {
		p.top[at] = h.Token
	}
}

// hosting is that by which a call is made.
func (p *planting) hosting(h persistence.Hosting) persistence.Hosting {
	if p.AnyToken {
		h.Token = p.top[place{h.Type, h.Shard}]
	}
	return h
}

// again reports whether the last write of an entity comes once more, and notes a write.
func (p *planting) again(h persistence.Hosting, id protocol.EntityID, number uint64) bool {
	at, now := entity{h.Type, id}, written{h, number}
	was := p.last[at]
	p.last[at] = now
	return was == now
}

// fits decides about a write after a number, when the store is at end: whether it goes on from
// there, whatever it says.
func (p *planting) fits(h persistence.Hosting, id protocol.EntityID, number, after, end uint64) (renumbered bool) {
	again := p.again(h, id, number)
	return p.RepeatsTwice && again && after != end || p.AnySequence && !again && after != end
}

// repeated marks the ID of a write that is stored twice.
const repeated = 1 << 62

// writes are those that the store carries out.
func (p *planting) writes(s *Store, h persistence.Hosting, all []persistence.Write) []persistence.Write {
	if !p.RepeatsTwice && !p.AnySequence {
		return all
	}
	all = slices.Clone(all)
	for i, w := range all {
		end, err := s.Contents(h.Type, w.Entity, func(persistence.Event) {})
		if err == nil && p.fits(h, w.Entity, w.ID, w.After, end.Last) {
			all[i].After, all[i].ID = end.Last, w.ID|repeated
		}
	}
	return all
}

// states are those that the store carries out.
func (p *planting) states(s *Store, h persistence.Hosting, all []persistence.StateWrite) []persistence.StateWrite {
	if !p.RepeatsTwice && !p.AnySequence {
		return all
	}
	all = slices.Clone(all)
	for i, w := range all {
		if v, _ := s.Value(h.Type, w.Entity); p.fits(h, w.Entity, w.ID, w.After, v.Revision) {
			all[i].After, all[i].ID = v.Revision, w.ID|repeated
		}
	}
	return all
}

// answerFirst answers a call, and carries it out later.
func (d *Door) answerFirst(ctx context.Context, h persistence.Hosting, effect func(part bool) error) error {
	return d.call(ctx, "answer", h, func(part bool) error {
		d.s.w.After(time.Duration(random.Between(d.s.rng, 0, int64(100*time.Millisecond))), nil, func() {
			_ = effect(part) // the caller has its answer
		})
		return nil
	}, nil)
}
