package delivery

import (
	"context"
	"errors"
	"fmt"

	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/ddata/tracing"
	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/dataplane/spans"
	"github.com/coterie-go/coterie/sharding/delivery/protocol"
)

// Producer delivers messages to the entities of one region until their handlers have confirmed
// them. Its methods may be called from any goroutine.
type Producer[M any] struct {
	s      *sender
	region *sharding.Region[M]
}

// NewProducer starts a producer. It ends with the region, or by Close.
//
// Errors: ErrConfig, ErrQueue, and sharding.ErrBox when a producer of that ID runs on the region.
func NewProducer[M any](region *sharding.Region[M], cfg Config) (*Producer[M], error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	s, err := newSender(cfg.WithDefaults(), sharding.SchedulerOf(region), region.UID(), region.SendRaw)
	if err != nil {
		return nil, err
	}
	s.typ, s.emit = region.Name(), region.Emit
	if s.unbox, err = region.HandleRaw(cfg.ID, s.posted); err != nil {
		return nil, err
	}
	watching, unwatch := context.WithCancel(context.Background())
	s.shardOf, s.unwatch = region.ShardOf, unwatch
	s.unreport = region.ReadMetrics(func(report func(*events.Metric, float64, ...string)) { s.report(report) })
	moves := region.WatchMoves(watching)
	s.loop.Start()
	s.node.Go(func() { s.follow(moves) })
	return &Producer[M]{s, region}, nil
}

// Send gives a message to the producer, and with a Queue returns when it is stored: it will be
// delivered as long as the producer lives or comes back with its queue. While the producer holds
// BufferMax messages Send waits, until ctx ends. It must not be called in a handler with a context
// that does not end: the handler may be what the room depends on.
//
// Errors: sharding.ErrInvalidID, sharding.ErrUnregisteredMessage, sharding.ErrEncoding,
// sharding.ErrMessageTooLarge, ErrBufferFull, ErrQueue, ErrUnconfirmed (ctx ended while the message
// was being stored), ErrSuperseded, ErrBroken, ErrClosed.
func (p *Producer[M]) Send(ctx context.Context, id string, msg M) error {
	return p.take(ctx, id, msg, false)
}

// Deliver is Send that returns when the entity's handler has confirmed the message. With
// ErrUnconfirmed the producer goes on trying.
func (p *Producer[M]) Deliver(ctx context.Context, id string, msg M) error {
	return p.take(ctx, id, msg, true)
}

// take is Send, or with confirm Deliver, within the trace of ctx.
func (p *Producer[M]) take(ctx context.Context, id string, msg M, confirm bool) (err error) {
	if s := sharding.SpansOf(p.region); s != nil {
		var span tracing.Span
		ctx, span = s.Begin(ctx, spans.Deliver, spans.Subject{ID: id, Shard: uint32(p.region.ShardOf(id)), Msg: msg})
		defer func() { span.End(err) }()
	}
	body, err := p.encode(id, msg)
	if err != nil {
		return err
	}
	if header := sharding.HeaderOf(ctx, p.region); header != nil {
		body = withHeader(header, body, p.s.cfg.MessageMax)
	}
	return p.s.submit(ctx, id, body, confirm)
}

func (p *Producer[M]) encode(id string, msg M) ([]byte, error) {
	if err := sharding.CheckID(id); err != nil {
		return nil, err
	}
	body, err := p.region.Messages().Append(nil, msg)
	if err == nil && len(body) > p.s.cfg.MessageMax {
		err = fmt.Errorf("%w: %T has %d bytes, MessageMax is %d",
			sharding.ErrMessageTooLarge, msg, len(body), p.s.cfg.MessageMax)
	}
	return body, err
}

// Flush waits until everything that was sent is confirmed.
//
// Errors: ErrUnconfirmed when ctx ends before, ErrSuperseded, ErrBroken, ErrClosed.
func (p *Producer[M]) Flush(ctx context.Context) error {
	if err := p.s.room.empty(ctx, p.s.closed); err != nil {
		if errors.Is(err, ErrClosed) {
			return p.s.ended()
		}
		return fmt.Errorf("%w: %w", ErrUnconfirmed, err)
	}
	return p.s.ended()
}

// Stats is a snapshot of what the producer counts.
func (p *Producer[M]) Stats() Stats {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	return p.s.stats
}

// Stats is what a producer counts.
type Stats = protocol.ProducerStats

// ID is its name.
func (p *Producer[M]) ID() string { return p.s.cfg.ID }

// Close ends the producer at once; Flush first, or have a Queue, for what is not confirmed. It does
// not close the Queue.
func (p *Producer[M]) Close() { p.s.end() }
