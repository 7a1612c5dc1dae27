package sharding

import (
	"context"
	"fmt"
	"reflect"
	"sync"
	"time"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/sharding/codec"
	"github.com/coterie-go/coterie/sharding/dataplane"
	"github.com/coterie-go/coterie/sharding/dataplane/asks"
	"github.com/coterie-go/coterie/sharding/dataplane/entities"
	"github.com/coterie-go/coterie/sharding/dataplane/mailbox"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// FencingToken orders the hostings of a shard: each has a higher one than all before it, on whatever
// node. An outside store that keeps the highest with each row, and refuses a write with a lower one,
// is safe from handlers that outlive their lease. See ddata.FencingToken for its order, and for what
// happens to it when a cluster is founded without the directories of the former one.
type FencingToken = ddata.FencingToken

// Context is what a handler (New, Receive, Stop) sees of the world. Use the one that the handler is
// given, and do not keep it: an incarnation gets another one when its node has lost its lease and
// has it back.
//
// It is a context.Context, which goes on when the handler returns. It ends when the incarnation
// ends, when it must be stopped by force, and when the lease is lost; context.Cause says why. It has
// no deadline. As such, and for what it says of the entity, any goroutine may use it at any time. Its
// Value is that of the trace of the message at hand, if there is one (ddata.Config.Tracer): spans that
// are begun with it, and what is told and asked with it, belong to that trace. A goroutine that outlives
// the handler takes its span from the Context before. A
// Tell or an Ask that is given it, or a context derived from it, sees that it is inside a handler.
// Tell then never waits. Ask fails with ErrMoving rather than wait for a move that waits for this
// handler.
//
// Its effects (Reply, Fail, Responder, Tell, Post, Passivate, SetReceiveTimeout, After, Remind and
// what else Reminding has) are for the handler's goroutine. All but SetReceiveTimeout and After
// happen only while the node holds its lease; without it they return ErrNoLease. After the handler
// has returned they return ErrHandlerReturned, unless the entity is at work with another message:
// then they are a data race, and act on that message.
type Context[M any] struct {
	Reminding[M]
	user Entity[M]
	open openQuestion // that is being handled
}

// question is one that waits for its answer.
type question struct {
	call, origin uint64
	typ          *codec.Type // nil: it is not registered
}

// envelope is the question without its message.
func (q question) envelope() mailbox.Envelope {
	return mailbox.Envelope{Call: q.call, Origin: q.origin}
}

// openQuestion is the one that a handler has to answer, if there is one. It is the handler's.
type openQuestion struct {
	at *question // nil: the message was told, or is answered
}

// questions are those that have been answered, so that an idle entity keeps none.
var questions = sync.Pool{New: func() any { return new(question) }}

// is reports whether there is one.
func (o *openQuestion) is() bool { return o.at != nil }

// begin takes one over. There is none yet.
func (o *openQuestion) begin(q question) {
	o.at = questions.Get().(*question)
	*o.at = q
}

// end gives it up; the zero one: there is none.
func (o *openQuestion) end() (q question) {
	if o.at != nil {
		q, *o.at = *o.at, question{}
		questions.Put(o.at)
		o.at = nil
	}
	return q
}

var _ context.Context = (*Context[int])(nil)

// Deadline implements context.Context: there is none.
func (c *Context[M]) Deadline() (deadline time.Time, ok bool) { return c.handler.Deadline() }

// Done implements context.Context.
func (c *Context[M]) Done() <-chan struct{} { return c.handler.Done() }

// Err implements context.Context.
func (c *Context[M]) Err() error { return c.handler.Err() }

// Value implements context.Context.
func (c *Context[M]) Value(key any) any { return c.handler.Value(key) }

// ID is the entity's id.
func (c *Context[M]) ID() string { return c.handler.Entity.ID }

// Shard is the number of the entity's shard.
func (c *Context[M]) Shard() ShardID { return ShardID(c.handler.Entity.Shard.Number) }

// Region is the region that runs the entity.
func (c *Context[M]) Region() *Region[M] { return c.r }

// Self is a reference to this entity, to be given to others on this node.
func (c *Context[M]) Self() *EntityRef[M] { return c.r.Ref(c.handler.Entity.ID) }

// Fence is the token of this hosting of the shard, for writes to an outside store.
func (c *Context[M]) Fence() (FencingToken, error) {
	if !c.handler.Entity.Shard.Holds() {
		return FencingToken{}, ErrNoLease
	}
	return c.handler.Entity.Shard.Fence(), nil
}

// Asked reports whether a caller waits for a reply to the message being handled.
func (c *Context[M]) Asked() bool { return c.open.is() }

// Reply answers the question being handled. v must be of the request's reply type, or an error,
// which is as Fail.
func (c *Context[M]) Reply(v any) error {
	l, err := c.take()
	if err != nil {
		return err
	}
	return l.reply(v)
}

// Fail answers the question being handled with an error: the caller gets ErrHandler with its text,
// and what EntityType.Errors has of it. The entity goes on.
func (c *Context[M]) Fail(cause error) error {
	l, err := c.take()
	if err != nil {
		return err
	}
	return l.Fail(cause)
}

// Responder takes the duty to reply out of the handler: the result may be used by any goroutine,
// once, also after the handler has returned, and after the entity has stopped or its shard has
// moved in order. An entity that ends does not answer for it.
//
// A node that leaves waits for the answer, but not longer than EntityType.Timeouts.Ask after the
// question was taken: then its asker gets ErrNodeGone.
//
// A region keeps 65,536 such questions. One more takes the place of the oldest, if that is older
// than Timeouts.Ask: its asker gets ErrBufferFull, which is counted as DropUnanswered. Otherwise
// Responder is ErrBufferFull, and the question is still the handler's to answer.
func (c *Context[M]) Responder() (Responder, error) {
	l, err := c.take()
	if err != nil {
		return l, err
	}
	l.owed = true
	if !l.r.Out.Owe(asks.Duty{Call: l.call, Origin: l.origin}) {
		c.open.begin(l.question)
		return Responder{}, fmt.Errorf("%w: %d questions are open that handlers have taken by Context.Responder",
			ErrBufferFull, asks.DutiesMax)
	}
	return l, nil
}

func (c *Context[M]) take() (Responder, error) {
	switch err := c.handler.Refused(); {
	case err == ErrHandlerReturned:
		return Responder{}, err
	case !c.open.is():
		return Responder{}, ErrNotAsked
	case err != nil:
		return Responder{}, err
	}
	return Responder{r: c.r.plane, s: c.handler.Entity.Shard, question: c.open.end()}, nil
}

// Tell sends a message to an entity of the same type. It never waits: what does not fit is
// ErrBufferFull. For other types use their Region.Tell with this Context.
func (c *Context[M]) Tell(id string, msg M) error {
	if err := c.handler.Refused(); err != nil {
		return err
	}
	return c.r.plane.Tell(entities.InHandler, c, id, msg)
}

// Passivate asks for the end of this incarnation, and for a remembered entity to be forgotten. What
// the mailbox holds is handled first; what comes later is for a new incarnation. The entity is forgotten when
// that is written, a little after its end: if its node crashes before, the entity starts again.
func (c *Context[M]) Passivate() error {
	if err := c.handler.Refused(); err != nil {
		return err
	}
	e := c.handler.Entity
	e.Shard.Passivate(e.ID, protocol.CauseRequest)
	return nil
}

// SetReceiveTimeout arranges for msg to be handled whenever no other message was for d; d ≤ 0 ends
// that. It does not keep an entity from being passivated.
func (c *Context[M]) SetReceiveTimeout(d time.Duration, msg M) error {
	if err := c.handler.Refused(); err == ErrHandlerReturned {
		return err
	}
	c.handler.Entity.SetReceiveTimeout(d, msg)
	return nil
}

// Timer is a message that Context.After has sent. Any goroutine may use it. Timer.Stop takes the
// message back, and reports whether it did: false says that it was handled, or is at hand, or that
// the incarnation has ended.
type Timer = entities.Timer

// After has this incarnation handle msg when d has passed, behind what waits in its mailbox then. If
// the incarnation ends before, by passivation, a restart or a move, msg goes with it. While the
// mailbox is full msg waits.
//
// The message is no activity: it does not keep the entity from being passivated. It puts a receive
// timeout off.
//
// Errors: ErrHandlerReturned; ErrBufferFull when 65,536 of the incarnation wait.
func (c *Context[M]) After(d time.Duration, msg M) (*Timer, error) {
	if err := c.handler.Refused(); err == ErrHandlerReturned {
		return nil, err
	}
	t := entities.NewTimer(c.handler.Entity, d, msg)
	if t == nil {
		return nil, fmt.Errorf("%w: %d messages of this entity wait for their time (Context.After)",
			ErrBufferFull, entities.TimersMax)
	}
	return t, nil
}

// Responder is the duty to answer one question. While the node does not hold its lease it answers
// with nothing but ErrNoLease, and may be used again when the lease is back. If the shard's own
// lease was lost nothing that its entities say counts any more: the asker is told so in place of
// the answer.
type Responder struct {
	r *dataplane.Plane
	s *entities.Shard
	question
	owed bool // it is among the region's duties
}

// settle ends the duty: the answer is on its way.
func (l Responder) settle() {
	if l.owed {
		l.r.Out.Duties.Settle(asks.Duty{Call: l.call, Origin: l.origin})
	}
}

// allowed reports whether the question may be answered.
func (l Responder) allowed() error {
	switch {
	case l.r == nil:
		return ErrNotAsked
	case !l.r.Entities.Lease.Holds():
		return ErrNoLease
	case l.s.Expelled() && !l.s.Lease.Returned():
		l.r.Out.ReplyError(l.envelope(), codec.StatusNoLease,
			"the shard's was lost before the answer came")
		l.settle()
		return ErrNoLease
	}
	return nil
}

// Reply answers. v must be of the request's reply type. A second answer is counted as late.
func (l Responder) Reply(v any) error {
	if err := l.allowed(); err != nil {
		return err
	}
	return l.reply(v)
}

// reply is Reply of a question that may be answered.
func (l Responder) reply(v any) error {
	defer l.settle()
	if wrong := l.checkType(v); wrong != "" {
		if cause, is := v.(error); is {
			l.r.Out.Fail(l.envelope(), cause)
			return nil
		}
		l.r.Out.ReplyError(l.envelope(), codec.StatusReplyType, wrong)
		return fmt.Errorf("%w: %s", ErrReplyType, wrong)
	}
	return l.r.Out.Reply(l.call, l.origin, v, l.typ)
}

// Fail answers with an error.
func (l Responder) Fail(cause error) error {
	if err := l.allowed(); err != nil {
		return err
	}
	defer l.settle()
	l.r.Out.Fail(l.envelope(), cause)
	return nil
}

// checkType says what is wrong with the type of a reply.
func (l Responder) checkType(v any) string {
	if l.typ == nil || l.typ.Answer == nil {
		return ""
	}
	want, got := l.typ.Answer, reflect.TypeOf(v)
	if got == want || want.Kind() == reflect.Interface && (got == nil || got.Implements(want)) {
		return ""
	}
	return fmt.Sprintf("%s is answered with %v, not %T", l.typ.Name, want, v)
}

// body is the incarnation of the user's entity that a Context belongs to.
type body[M any] struct{ c *Context[M] }

var _ entities.Incarnation = body[int]{}

// Receive implements incarnation.
func (b body[M]) Receive(env mailbox.Envelope) error { return b.c.receive(env) }

// Fail implements incarnation.
func (b body[M]) Fail(err error) { b.c.fail(err) }

// Stop implements incarnation.
func (b body[M]) Stop() error { return b.c.stop() }

// End implements incarnation.
func (b body[M]) End() { b.c.handler.End() }

// Renewed implements incarnation.
func (b body[M]) Renewed() entities.Incarnation {
	b.c.handler.End()
	c := newContext(b.c.r, b.c.handler.Entity)
	c.user = b.c.user
	c.open, b.c.open = b.c.open, openQuestion{}
	return body[M]{c}
}

func newContext[M any](g *Region[M], e *entities.Entity) *Context[M] {
	return &Context[M]{Reminding: Reminding[M]{handler: entities.Handler{Entity: e}, r: g}}
}

// receive hands an envelope to the user's entity.
func (c *Context[M]) receive(env mailbox.Envelope) error {
	msg, ok := env.Msg.(M)
	if b, is := env.Msg.(codec.Raw); is {
		return c.carry(b.Body)
	}
	if !ok {
		c.r.plane.Out.ReplyError(env, codec.StatusUnregistered, fmt.Sprintf("%T", env.Msg))
		return fmt.Errorf("%w: %T", ErrUnregisteredMessage, env.Msg)
	}
	if env.Call == 0 || env.Call == mailbox.TimerCall {
		return c.user.Receive(c, msg)
	}
	c.open.begin(question{env.Call, env.Origin, c.r.plane.Registry.Like(env.Msg)})
	return c.settle(c.user.Receive(c, msg), reflect.TypeOf(env.Msg))
}

// settle answers the question that is being handled, of a type, if its handler has ended and left it
// open.
func (c *Context[M]) settle(err error, asked reflect.Type) error {
	switch {
	case !c.open.is():
	case err != nil:
		c.fail(err)
	case !c.handler.Awaits():
		c.unanswered(codec.StatusNoReply, fmt.Sprintf("%s %q to %v", c.r.plane.Name, c.handler.Entity.ID, asked))
	}
	return err
}

// fail answers the question that is being handled, if it still waits.
func (c *Context[M]) fail(err error) {
	if !c.handler.Entity.Shard.Holds() {
		c.unanswered(codec.StatusHandler, "")
		return
	}
	c.r.plane.Out.Fail(c.open.end().envelope(), err)
}

// unanswered ends the question that the handler left open. Without the lease nothing that the
// handler said may be passed on.
func (c *Context[M]) unanswered(status codec.ReplyStatus, text string) {
	env := c.open.end().envelope()
	if !c.handler.Entity.Shard.Holds() {
		status, text = codec.StatusNoLease, "it ended while the handler ran"
	}
	c.r.plane.Out.ReplyError(env, status, text)
}

// stop calls the user's Stop, if there is one.
func (c *Context[M]) stop() error {
	if s, ok := c.user.(Stopper[M]); ok {
		return s.Stop(c)
	}
	return nil
}
