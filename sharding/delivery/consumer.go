package delivery

import (
	"fmt"
	"log/slog"
	"sync/atomic"

	"github.com/coterie-go/coterie/ddata/config"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/dataplane/spans"
	"github.com/coterie-go/coterie/sharding/delivery/protocol"
)

// Consume makes an entity type take what producers deliver, beside what is told and asked. To a
// handler a delivered message looks like any other: returning nil confirms it, and an error or a
// panic, which meets the type's supervision, has it delivered again. One whose handler waits for a
// result (sharding.Context.Await) is confirmed when the rest returns nil. Entities that are a Receiver
// can tell the two apart. Those that are a sharding.Stopper or a sharding.Carrier remain so; a
// Carrier gets what is not delivery's own.
//
// Every node that hosts the type starts it so; producers may be made on all that start it, proxies
// too.
func Consume[M any](t sharding.EntityType[M], cfg ConsumerConfig) (sharding.EntityType[M], error) {
	if err := cfg.Validate(); err != nil {
		return t, config.Named(err).Wrap(fmt.Errorf("%w: consumer %q", ErrConfig, t.Name))
	}
	if made := t.New; made != nil {
		t.New = func(c *sharding.Context[M]) sharding.Entity[M] {
			user := made(c)
			k := &consumer[M]{user: user, cfg: &cfg}
			k.receiver, _ = user.(Receiver[M])
			return k
		}
	}
	return t, nil
}

// Receiver is implemented by entities that want to know what was delivered, or to confirm it later.
// Receive is then called for the rest only.
type Receiver[M any] interface {
	// Deliver handles one message. Nil confirms it, unless Later was called.
	Deliver(c *sharding.Context[M], d *Delivery[M]) error
}

// Delivery is one delivered message.
type Delivery[M any] struct {
	Message  M
	Producer string
	// Session and Seq name the message: the same ones come again only with the same message.
	// Sessions of a producer are ordered, and numbers in a session. An entity that keeps the last
	// that it has handled with its state does everything once over its incarnations, too.
	Session Session
	Seq     uint64

	region      *sharding.Region[M]
	id          string
	incarnation uint64
	held        bool
}

// Session names what a producer sends to one entity until it has forgotten it.
type Session = protocol.Session

// Later takes the duty to confirm out of the handler. Until it is done nothing else of this
// producer is delivered to this incarnation, though what others send, tell and ask is. An
// incarnation that ends gives the duty back: the message is delivered again.
func (d *Delivery[M]) Later() *Confirmation {
	d.held = true
	h := protocol.Handled{Incarnation: d.incarnation, Producer: d.Producer, Session: d.Session, Seq: d.Seq}
	return &Confirmation{handled: h, carry: func(b []byte) error { return d.region.SendRaw(d.id, b) }}
}

// Confirmation is the duty to confirm one message. Its methods may be called from any goroutine;
// one of them, once.
type Confirmation struct {
	handled protocol.Handled
	carry   func([]byte) error
	done    atomic.Bool
}

// Confirm says that the message was handled. It never waits; after an error but ErrConfirmed it may
// be called again.
func (c *Confirmation) Confirm() error { return c.say(protocol.AppendHandled(nil, &c.handled)) }

// Reject says that it was not: it is delivered again.
func (c *Confirmation) Reject() error {
	return c.say(protocol.AppendFailed(nil, (*protocol.Failed)(&c.handled)))
}

func (c *Confirmation) say(b []byte) error {
	if !c.done.CompareAndSwap(false, true) {
		return ErrConfirmed
	}
	err := c.carry(b)
	if err != nil {
		c.done.Store(false)
	}
	return err
}

// consumer stands before the user's entity.
type consumer[M any] struct {
	user     sharding.Entity[M]
	receiver Receiver[M] // nil: it is none
	cfg      *ConsumerConfig
	m        *protocol.Consumer // nil until something is delivered
	intake   *intake

	unfinished *handling[M] // its handler waits for a result; nil: none
}

var _ sharding.Continuer[int] = (*consumer[int])(nil)

// Receive implements sharding.Entity.
func (k *consumer[M]) Receive(c *sharding.Context[M], msg M) error { return k.user.Receive(c, msg) }

// Stop implements sharding.Stopper.
func (k *consumer[M]) Stop(c *sharding.Context[M]) error {
	if s, ok := k.user.(sharding.Stopper[M]); ok {
		return s.Stop(c)
	}
	return nil
}

// Carried implements sharding.Carrier. What no producer has written is for the user's entity, if
// that is a Carrier, too.
func (k *consumer[M]) Carried(c *sharding.Context[M], body []byte) error {
	in, err := protocol.DecodeForConsumer(body)
	if err != nil {
		if other, ok := k.user.(sharding.Carrier[M]); ok {
			return other.Carried(c, body)
		}
		return sharding.Undecodable{Cause: err}
	}
	if k.m == nil {
		k.intake = intakeOf(c.Region())
		k.m = protocol.NewConsumer(*k.cfg, c.ID(), k.intake.node.Uint64())
	}
	return k.goOn(c, in)
}

// goOn steps until the machine has nothing more for the handler.
func (k *consumer[M]) goOn(c *sharding.Context[M], in protocol.ConsumerInput) (err error) {
	for in != nil && err == nil {
		in, err = k.step(c, in)
	}
	return err
}

// hear is the machine's step, counted.
func (k *consumer[M]) hear(in protocol.ConsumerInput) *protocol.ConsumerEffects {
	before := k.m.Stats()
	fx := k.m.Step(k.intake.node.Now(), in)
	k.intake.add(before, k.m.Stats())
	if look := k.intake.watch; look != nil {
		look(Step{Entity: k.m.Entity(), Incarnation: k.m.Incarnation(), In: in, Fx: fx})
	}
	return fx
}

// step takes one input, carries out what comes of it, and returns the handler's word, if it was
// called.
func (k *consumer[M]) step(c *sharding.Context[M], in protocol.ConsumerInput) (protocol.ConsumerInput, error) {
	fx := k.hear(in)
	for i := range fx.Send {
		s := &fx.Send[i]
		_ = c.Post(view.UID(s.To), s.Box, protocol.AppendAck(nil, &s.Ack)) // counted, and made up for by the next
	}
	if fx.Deliver == nil {
		return nil, nil
	}
	return k.deliver(c, fx.Deliver)
}

// handling is a message that the handler has.
type handling[M any] struct {
	word     protocol.Handled
	delivery *Delivery[M] // as a Receiver has it; nil: it is none
}

// deliver calls the handler. However it ends, the machine hears of it.
func (k *consumer[M]) deliver(c *sharding.Context[M], p *protocol.Packet) (in protocol.ConsumerInput, err error) {
	h, returned := handling[M]{word: protocol.Handled{
		Incarnation: k.m.Incarnation(), Producer: p.Producer, Session: p.Session, Seq: p.Seq,
	}}, false
	defer func() { k.failedUnless(returned, h.word) }()
	header, body, err := openBody(p.Body)
	if err != nil {
		return nil, sharding.Undecodable{Cause: err}
	}
	msg, err := c.Region().Messages().Decode(body)
	if err != nil {
		return nil, sharding.Undecodable{Cause: err}
	}
	if s := sharding.BeginSpan(c, spans.Confirm, header, msg); s != nil && s.Records() {
		s.Add(slog.String("coterie.producer", p.Producer), slog.String("coterie.session", p.Session.String()),
			slog.Uint64("coterie.seq", p.Seq), slog.Uint64("coterie.round", uint64(p.Round)))
	}
	if k.receiver == nil {
		err = k.user.Receive(c, msg)
	} else {
		h.delivery = &Delivery[M]{Message: msg, Producer: p.Producer, Session: p.Session, Seq: p.Seq,
			region: c.Region(), id: c.ID(), incarnation: h.word.Incarnation}
		err = k.receiver.Deliver(c, h.delivery)
	}
	if err != nil {
		return nil, err
	}
	returned = true
	return k.judge(c, h), nil
}

// failedUnless says that the handler has not handled a message, unless it has returned in order.
func (k *consumer[M]) failedUnless(returned bool, word protocol.Handled) {
	if !returned {
		k.hear(protocol.Failed(word))
	}
}

// judge returns the word of a handler that has returned in order. One that waits for a result has none
// yet, and nothing else comes meanwhile.
func (k *consumer[M]) judge(c *sharding.Context[M], h handling[M]) protocol.ConsumerInput {
	switch {
	case c.Awaits():
		k.unfinished = &h
		return nil
	case h.delivery != nil && h.delivery.held:
		return protocol.Held{Producer: h.word.Producer}
	}
	return h.word
}

// Continue implements sharding.Continuer: what was delivered is confirmed when the rest has run.
func (k *consumer[M]) Continue(c *sharding.Context[M], rest func(*sharding.Context[M]) error) error {
	if k.unfinished == nil {
		return k.runRest(c, rest)
	}
	h, returned := *k.unfinished, false
	k.unfinished = nil
	defer func() { k.failedUnless(returned, h.word) }()
	if err := k.runRest(c, rest); err != nil {
		return err
	}
	returned = true
	return k.goOn(c, k.judge(c, h))
}

// runRest runs the rest of the user's handler.
func (k *consumer[M]) runRest(c *sharding.Context[M], rest func(*sharding.Context[M]) error) error {
	if other, is := k.user.(sharding.Continuer[M]); is {
		return other.Continue(c, rest)
	}
	return rest(c)
}
