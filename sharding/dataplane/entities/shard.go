package entities

import (
	"strings"
	"sync"
	"sync/atomic"

	"github.com/coterie-go/coterie/ddata/membership/singleton"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/ddata/runloop"
	"github.com/coterie-go/coterie/sharding/codec"
	"github.com/coterie-go/coterie/sharding/dataplane/lease"
	"github.com/coterie-go/coterie/sharding/dataplane/mailbox"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// Shard is one hosted shard: its entities by id. A machine of
// package protocol/shard decides what happens to them; this is what runs them.
type Shard struct {
	runtime    *Runtime
	Number     uint32
	Era        view.Era       // of the cluster
	Token      protocol.Token // of the command by which it is hosted
	Passivator *passivator    // nil: no limit on active entities
	active     atomic.Int64   // entities that the machine counts as active, or that have not stopped yet

	Entities index // changed under mu; empty once dead

	Mu     sync.RWMutex
	sealed bool  // draining: refuses new messages, what is there is handled
	dead   bool  // closed or killed: refuses everything
	out    taker // once dead: takes what was left

	Work *work // nil: not asked for

	Lease *lease.Shard // nil: the shard has no lease of its own
}

// taker takes what a mailbox held, and what that counted of the bounds in bytes.
type taker func(e *Entity, env mailbox.Envelope, size uint32)

// NewShard makes a shard without entities.
func NewShard(r *Runtime, number uint32, token protocol.Token) *Shard {
	s := &Shard{runtime: r, Number: number, Token: token, Entities: index{seed: r.seed}}
	if r.Passivations.Strategy.Limited() {
		s.Passivator = newPassivator(r.Passivations.Strategy, int(r.Passivations.Share.Load()))
	}
	if r.Measures {
		s.Work = &work{}
	}
	if r.set.ShardLeases {
		s.Lease = &lease.Shard{}
	}
	return s
}

// Fence is the token of the hosting for outside stores. Within the cluster the era is the same for
// all, and protocol tokens go without it.
func (s *Shard) Fence() singleton.FencingToken {
	return singleton.FencingToken{Era: s.Era, Epoch: view.Epoch(s.Token.Epoch), Up: s.Token.Up, Seq: s.Token.Seq}
}

// Find looks an entity up; nil when there is none.
func (s *Shard) Find(id string) *Entity {
	if e := s.Entities.Find(id); e != nil {
		return e
	}
	s.Mu.RLock()
	defer s.Mu.RUnlock()
	return s.Entities.Find(id)
}

// Deliver puts an envelope into the mailbox of an entity, which is made when there is none. It
// returns the entity for senders that wait for room.
func (s *Shard) Deliver(id string, env mailbox.Envelope, size uint32) (mailbox.Verdict, *Entity) {
	if v, ok := s.Administer(id, env, runloop.Permit{}); ok {
		return v, nil
	}
	for {
		e, made := s.Entities.Find(id), false
		if e == nil {
			if e, made = s.admit(id); e == nil {
				return mailbox.Refused, nil
			}
		}
		v := e.Accept(env, size)
		// Only now is it started: a start that found no message would count as a use beside the
		// message's. One whose message found no room is not, unless another message came meanwhile.
		if made && (v == mailbox.Accepted || !s.remove(e)) {
			s.runtime.control.Wake(s, e.ID)
		}
		if v != mailbox.Gone {
			return v, e
		}
		s.runtime.set.Scheduler.Yield() // it is being taken out of the map
	}
}

// DeliverBytes is deliver for an id that was read from a frame.
func (s *Shard) DeliverBytes(id []byte, env mailbox.Envelope, size uint32) (mailbox.Verdict, *Entity) {
	if e := s.PeekBytes(s.runtime.HashOf(id), id); e != nil && !codec.Administrative(env.Msg) {
		if v := e.Accept(env, size); v != mailbox.Gone {
			return v, e
		}
	}
	return s.Deliver(string(id), env, size)
}

// admit makes the entity, held until the shard's machine starts it. nil: the shard takes no new
// ones. made: it did, and the caller has to wake the entity, or to remove it if it is empty.
func (s *Shard) admit(id string) (e *Entity, made bool) {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	if e := s.Entities.Find(id); e != nil {
		return e, false
	}
	if s.sealed || s.dead {
		return nil, false
	}
	return s.AddLocked(strings.Clone(id)), true
}

// AddLocked makes an entity, held until the shard's machine starts it. The shard's lock is held.
func (s *Shard) AddLocked(id string) *Entity {
	e := &Entity{Shard: s, ID: id}
	e.HoldNew()
	s.Entities.add(e)
	return e
}

// Start opens the mailboxes of entities, and makes those that are remembered without a message. It makes room for as
// many as will follow, if these are the first.
func (s *Shard) Start(ids []protocol.EntityID, follow int) {
	p := s.runtime.Pool
	if follow > 0 {
		s.Mu.Lock()
		s.Entities.expect(len(ids) + follow)
		s.Mu.Unlock()
	}
	for _, id := range ids {
		s.Mu.Lock()
		e := s.Entities.Find(string(id))
		if s.dead {
			s.Mu.Unlock()
			return
		}
		if e == nil {
			e = s.AddLocked(string(id))
		}
		scheduled := e.Begin() // under the lock, or the entity might be taken out of the shard before
		s.Mu.Unlock()
		if scheduled {
			s.active.Add(1)
			p.Submit(e)
		}
	}
}

// remove takes an entity that has ended out of the shard, unless messages wait for its next
// incarnation (then false).
func (s *Shard) remove(e *Entity) bool {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	if !e.CloseEmpty() {
		return false
	}
	s.Entities.remove(e)
	return true
}

// All lists the entities, in no order.
func (s *Shard) All() []*Entity {
	s.Mu.RLock()
	defer s.Mu.RUnlock()
	return s.Entities.list()
}

// Drain refuses new messages from now on and calls done when no message waits and no handler runs.
func (s *Shard) Drain(done func()) {
	s.Mu.Lock()
	s.sealed = true
	s.Mu.Unlock()
	d := mailbox.NewDrain(done)
	for _, e := range s.All() {
		if d.Seal(&e.Mailbox) {
			s.runtime.Pool.Submit(e)
		}
	}
	d.Settled()
}

// Each calls fn for the entities that run.
func (s *Shard) Each(fn func(*Entity)) {
	for _, e := range s.All() {
		if e.State().Started {
			fn(e)
		}
	}
}

func (s *Shard) isDead() bool {
	s.Mu.RLock()
	defer s.Mu.RUnlock()
	return s.dead
}

// IsSealed reports whether the shard drains: it refuses new messages.
func (s *Shard) IsSealed() bool {
	s.Mu.RLock()
	defer s.Mu.RUnlock()
	return s.sealed
}

// Resume takes drain back.
func (s *Shard) Resume() {
	s.Mu.Lock()
	s.sealed = false
	s.Mu.Unlock()
	for _, e := range s.All() {
		e.Unseal()
	}
}

// Command gives the entity a control envelope.
func (s *Shard) Command(e *Entity, c mailbox.Command) {
	if e.Mailbox.Command(c) {
		s.runtime.Pool.Submit(e)
	}
}

// endOthers ends the incarnations of all entities but one, whatever waits in their mailboxes.
func (s *Shard) endOthers(but *Entity) {
	for _, e := range s.All() {
		if e != but {
			e.Force()
		}
	}
}

// Shut closes every mailbox and hands what was in them to out, in order per entity. Handlers that
// run cannot be stopped: their contexts are cancelled, and what their mailboxes hold is handed to
// out when they return.
func (s *Shard) Shut(out taker) {
	s.Mu.Lock()
	all := s.Entities.list()
	s.dead, s.out = true, out
	s.Entities.clear() // found no more, or senders would look without end for one that is not closed
	s.Mu.Unlock()
	for _, e := range all {
		e.Force()
		e.bury()
	}
}

// Count is how many entities the shard has.
func (s *Shard) Count() int {
	s.Mu.RLock()
	defer s.Mu.RUnlock()
	return s.Entities.len
}

// Active is how many entities the shard's machine counts as active, or have not stopped yet.
func (s *Shard) Active() int { return int(s.active.Load()) }

// Peek looks an entity up without a lock. It may miss one while the shard makes others.
func (s *Shard) Peek(id string) *Entity { return s.Entities.Find(id) }

// PeekBytes is Peek for an id that was read from a frame, with the hash that Runtime.HashOf gives it.
func (s *Shard) PeekBytes(hashed uint64, id []byte) *Entity {
	return s.Entities.findBytes(hash(hashed), id)
}
