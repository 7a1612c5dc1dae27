package sharding

import (
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/coterie-go/coterie/sharding/codec"

	"github.com/coterie-go/coterie/ddata/membership"
	"github.com/coterie-go/coterie/ddata/runloop"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// shard is one hosted shard: its entities by id. What happens to them is decided by a
// shard.Shard of package protocol; this is what runs them.
type shard struct {
	region     *core
	number     uint32
	era        membership.Era // of the cluster
	token      protocol.Token // of the command by which it is hosted
	passivator *passivator    // nil: no limit on active entities
	active     atomic.Int64   // entities that the machine counts as active, or that have not stopped yet

	entities index // changed under mu; empty once dead

	mu     sync.RWMutex
	sealed bool  // draining: refuses new messages, what is there is handled
	dead   bool  // closed or killed: refuses everything
	out    taker // once dead: takes what was left

	work *work // nil: not asked for

	lease *shardLease // nil: the shard has no lease of its own
}

// taker takes what a mailbox held, and what that counted of the bounds in bytes.
type taker func(e *entity, env envelope, size uint32)

// drain is one attempt to let the mailboxes of a shard run empty. It ends with a call of done, or
// it is taken back, and then another may begin while a worker is still about to say that its
// mailbox rests: each says so to the drain that asked.
type drain struct {
	busy atomic.Int64 // entities that still have to rest, plus one while they are counted
	done func()
}

// settled is called for each entity that was busy when the shard was sealed and rests now. d is nil
// if no caller asked.
func (d *drain) settled() {
	if d != nil && d.busy.Add(-1) == 0 {
		d.done()
	}
}

func newShard(r *core, number uint32, token protocol.Token) *shard {
	s := &shard{region: r, number: number, token: token}
	if r.passivations.strategy.Limited() {
		s.passivator = newPassivator(r.passivations.strategy, int(r.passivations.share.Load()))
	}
	if r.measures {
		s.work = &work{}
	}
	if r.leases.shards != nil {
		s.lease = &shardLease{}
	}
	return s
}

// find looks an entity up; nil when there is none.
func (s *shard) find(id string) *entity {
	if e := s.entities.find(id); e != nil {
		return e
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.entities.find(id)
}

// deliver puts an envelope into the mailbox of an entity, which is made when there is none. It
// returns the entity for senders that wait for room.
func (s *shard) deliver(id string, env envelope, size uint32) (verdict, *entity) {
	if v, ok := s.administer(id, env, runloop.Permit{}); ok {
		return v, nil
	}
	for {
		e, made := s.entities.find(id), false
		if e == nil {
			if e, made = s.admit(id); e == nil {
				return refused, nil
			}
		}
		v := e.accept(env, size)
		// Only now is it started: a start that found no message would count as a use beside the
		// message's. One whose message found no room is not, unless another message came meanwhile.
		if made && (v == accepted || !s.remove(e)) {
			s.region.wake(s, e.id)
		}
		if v != gone {
			return v, e
		}
		runtime.Gosched() // it is being taken out of the map
	}
}

// deliverBytes is deliver for an id that was read from a frame.
func (s *shard) deliverBytes(id []byte, env envelope, size uint32) (verdict, *entity) {
	if e := s.entities.findBytes(id); e != nil && !codec.Administrative(env.msg) {
		if v := e.accept(env, size); v != gone {
			return v, e
		}
	}
	return s.deliver(string(id), env, size)
}

// admit makes the entity, held until the shard's machine starts it. nil: the shard takes no new
// ones. made: it did, and the caller has to wake the entity, or to remove it if it is empty.
func (s *shard) admit(id string) (e *entity, made bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.entities.find(id); e != nil {
		return e, false
	}
	if s.sealed || s.dead {
		return nil, false
	}
	return s.addLocked(strings.Clone(id)), true
}

func (s *shard) addLocked(id string) *entity {
	e := &entity{shard: s, id: id}
	e.phase = held
	s.entities.add(e)
	return e
}

// start opens the mailboxes of entities, and makes those that are remembered without a message.
func (s *shard) start(ids []protocol.EntityID) {
	p := s.region.pool
	for _, id := range ids {
		s.mu.Lock()
		e := s.entities.find(string(id))
		if s.dead {
			s.mu.Unlock()
			return
		}
		if e == nil {
			e = s.addLocked(string(id))
		}
		scheduled := e.begin() // under the lock, or the entity might be taken out of the shard before
		s.mu.Unlock()
		if scheduled {
			s.active.Add(1)
			p.submit(e)
		}
	}
}

// remove takes an entity that has ended out of the shard, unless messages wait for its next
// incarnation (then false).
func (s *shard) remove(e *entity) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !e.closeEmpty() {
		return false
	}
	s.entities.remove(e)
	return true
}

// snapshot lists the entities, in no order.
func (s *shard) snapshot() []*entity {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.listLocked()
}

func (s *shard) listLocked() []*entity {
	return slices.AppendSeq(make([]*entity, 0, s.entities.len), s.entities.all())
}

// drain refuses new messages from now on and calls done when no message waits and no handler runs.
func (s *shard) drain(done func()) {
	s.mu.Lock()
	s.sealed = true
	s.mu.Unlock()
	d := &drain{done: done}
	d.busy.Store(1)
	for _, e := range s.snapshot() {
		d.busy.Add(1)
		if e.seal(d) {
			d.busy.Add(-1)
		}
	}
	d.settled()
}

// each calls fn for the entities that run.
func (s *shard) each(fn func(*entity)) {
	for _, e := range s.snapshot() {
		if e.isStarted() {
			fn(e)
		}
	}
}

func (s *shard) isDead() bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.dead
}

func (s *shard) isSealed() bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.sealed
}

// resume takes drain back.
func (s *shard) resume() {
	s.mu.Lock()
	s.sealed = false
	s.mu.Unlock()
	for _, e := range s.snapshot() {
		e.unseal()
	}
}

// command gives the entity a control envelope.
func (s *shard) command(e *entity, c command) {
	if e.command(c) {
		s.region.pool.submit(e)
	}
}

// endOthers ends the incarnations of all entities but one, whatever waits in their mailboxes.
func (s *shard) endOthers(but *entity) {
	for _, e := range s.snapshot() {
		if e != but {
			e.force()
		}
	}
}

// shut closes every mailbox and hands what was in them to out, in order per entity. Handlers that
// run cannot be stopped: their contexts are cancelled, and what their mailboxes hold is handed to
// out when they return.
func (s *shard) shut(out taker) {
	s.mu.Lock()
	all := s.listLocked()
	s.dead, s.out = true, out
	s.entities.clear() // found no more, or senders would look without end for one that is not closed
	s.mu.Unlock()
	for _, e := range all {
		e.force()
		e.bury()
	}
}
