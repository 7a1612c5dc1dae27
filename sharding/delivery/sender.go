package delivery

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"sync/atomic"

	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/ddata/runloop"
	"github.com/coterie-go/coterie/ddata/scheduler"
	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/delivery/protocol"
)

// sender is a producer without its message type. Its loop owns the machine.
type sender struct {
	cfg    Config
	node   scheduler.Scheduler
	typ    string // of the entities
	carry  func(id string, body []byte) error
	emit   func(events.Event)
	loop   runloop.Loop[protocol.ProducerInput]
	m      *protocol.Producer
	unsent []protocol.Unsent // of the present step; the loop's
	room   room
	closed chan struct{}
	once   sync.Once
	unbox  func()
	// shardOf is the region's.
	shardOf func(id string) sharding.ShardID
	unwatch func()

	unstored atomic.Uint64 // batches that the queue has failed to store
	panics   atomic.Uint64 // of these, those at which it has panicked
	unreport func()

	mu    sync.Mutex
	op    uint64
	calls map[uint64]*call
	stats protocol.ProducerStats    // as of the last flush
	begun uint64                    // the generation that the next batch stores; 0: none
	gone  bool                      // superseded
	cause error                     // why it has ended; set before closed is closed
	moved map[sharding.ShardID]bool // shards whose entities have moved, until the loop hears of it
}

// call is a caller that waits for the outcome of its message.
type call struct {
	over    chan struct{} // closed when there is one
	outcome protocol.Outcome
}

// inboxMax bounds what waits for the machine: messages are bounded by BufferMax, and acks that find
// no room are made up for by later ones.
const inboxMax = 1 << 16

// newSender makes everything but the box, and lets nothing loose. It runs on node, which has the UID
// uid.
func newSender(cfg Config, node scheduler.Scheduler, uid view.UID, carry func(string, []byte) error) (*sender, error) {
	s := &sender{
		cfg: cfg, node: node, carry: carry, emit: func(events.Event) {}, calls: map[uint64]*call{},
		closed: make(chan struct{}), cause: ErrClosed,
	}
	now := node.Now()
	generation := uint64(now.UnixNano())
	var rows []Row
	if cfg.Queue != nil {
		last, stored, err := cfg.Queue.Load()
		if err != nil {
			return nil, fmt.Errorf("%w: producer %q: %w", ErrQueue, cfg.ID, err)
		}
		generation, rows = max(generation, last+1), stored
		s.begun = generation
	}
	m, err := protocol.NewProducer(now, cfg.machine(uint64(uid), generation), rows)
	if err != nil {
		return nil, fmt.Errorf("%w: producer %q: %w", ErrQueue, cfg.ID, err)
	}
	s.m = m
	s.room = room{node: node, countMax: cfg.BufferMax, bytesMax: cfg.BufferBytes}
	for _, r := range rows {
		s.room.count, s.room.bytes = s.room.count+1, s.room.bytes+len(r.Body)
	}
	s.loop = runloop.New[protocol.ProducerInput](node, &machine{s}, inboxMax)
	s.loop.WhenBroken(s.breaks)
	return s, nil
}

// submit hands a message to the machine and waits for its outcome, if there is something to wait
// for.
func (s *sender) submit(ctx context.Context, id string, body []byte, confirm bool) error {
	if err := s.ended(); err != nil {
		return err
	}
	if err := s.room.take(ctx, s.closed, len(body)); err != nil {
		if errors.Is(err, ErrClosed) {
			return s.ended()
		}
		return fmt.Errorf("%w: producer %q holds %d messages: %w", ErrBufferFull, s.cfg.ID, s.cfg.BufferMax, err)
	}
	if !confirm && s.cfg.Queue == nil {
		if !s.loop.Force(protocol.Submit{Entity: id, Body: body}) {
			return s.endReason()
		}
		return nil
	}
	op, answer := s.open()
	defer s.forget(op)
	if !s.loop.Force(protocol.Submit{Op: op, Entity: id, Body: body, Confirm: confirm}) {
		return s.endReason()
	}
	switch s.node.Await(answer.over, ctx.Done(), s.closed) {
	case 0:
		return s.errorOf(answer.outcome)
	case 1:
		return fmt.Errorf("%w: %w", ErrUnconfirmed, ctx.Err())
	}
	return s.ended()
}

func (s *sender) errorOf(o protocol.Outcome) error {
	switch o.Result {
	case protocol.NotStored:
		return fmt.Errorf("%w: %w", ErrQueue, o.Err)
	case protocol.GivenUp:
		return ErrSuperseded
	case protocol.NoRoom: // the room was counted before
		return ErrBufferFull
	}
	return nil
}

func (s *sender) open() (uint64, *call) {
	answer := &call{over: make(chan struct{})}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.op++
	s.calls[s.op] = answer
	return s.op, answer
}

func (s *sender) forget(op uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.calls, op)
}

// shardMoved has what was under way to the entities of a shard looked at. However many shards have
// moved by then, that is one look.
func (s *sender) shardMoved(shard sharding.ShardID) {
	s.mu.Lock()
	first := len(s.moved) == 0
	if first {
		s.moved = map[sharding.ShardID]bool{}
	}
	s.moved[shard] = true
	s.mu.Unlock()
	if first {
		s.loop.Force(protocol.Moved{})
	}
}

// follow hears of shards that move, and ends the producer when its region has stopped.
func (s *sender) follow(moves iter.Seq2[sharding.ShardID, error]) {
	for shard, err := range moves {
		switch {
		case errors.Is(err, sharding.ErrStopped):
			s.end()
		case err == nil:
			s.shardMoved(shard)
		}
	}
}

// takeMoved is the input for all shards that have moved.
func (s *sender) takeMoved() protocol.Moved {
	s.mu.Lock()
	defer s.mu.Unlock()
	moved := s.moved
	s.moved = nil
	return protocol.Moved{Of: func(entity string) bool { return moved[s.shardOf(entity)] }}
}

// posted takes what entities post to the producer's box.
func (s *sender) posted(_ view.UID, body []byte) {
	if a, err := protocol.DecodeAck(body); err == nil {
		s.loop.Post(a)
	}
}
