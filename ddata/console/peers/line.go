package peers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/coterie-go/coterie/ddata/host"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/ddata/transport"
)

// AnswersMax is how many questions of other nodes a node answers at one time.
const AnswersMax = 4

// Errors of an Ask; match them with errors.Is.
var (
	// ErrAbsent: the node has no console. Usual cause: neither Handler nor Answer was called there.
	ErrAbsent = errors.New("console: no console there")
	// ErrBusy: the node answers as many questions as it may.
	ErrBusy = errors.New("console: the node is busy")
	// ErrFailed: the node could not answer. The error says why.
	ErrFailed = errors.New("console: failed there")
	// ErrSilent: no answer came in time. Usual causes: the node hangs, or the network is cut.
	ErrSilent = errors.New("console: no answer in time")
)

// An Answerer answers a question of another node, until ctx ends. The question is its own. Several
// calls run at one time.
type Answerer func(ctx context.Context, from view.UID, question []byte) ([]byte, error)

// Line is one node's end of the channel. It may be used from any goroutine.
type Line struct {
	channels host.Channels
	ch       transport.Channel
	answerer Answerer
	permits  chan struct{} // each is taken by a question that is being answered
	ended    context.Context

	mu     sync.Mutex
	closed bool // the node ends: no question is answered any more
	work   sync.WaitGroup
	next   uint64
	open   map[uint64]*call
}

// call is a question that waits for its answer.
type call struct {
	node view.UID
	got  chan frame // room for one
}

// New opens a node's end of a channel. It ends with the node.
func New(h host.Host, name string, answerer Answerer) *Line {
	ended, end := context.WithCancel(context.Background())
	l := &Line{
		channels: h.Channels, ch: transport.ChannelOf(name), answerer: answerer,
		permits: make(chan struct{}, AnswersMax), ended: ended, next: rand.Uint64(), open: map[uint64]*call{},
	}
	h.Channels.Claim(l.ch)
	h.Channels.Handle(l.ch, transport.HandlerFunc(l.receive))
	h.Lifecycle.OnEnd(func(error) {
		l.close()
		end()
		l.work.Wait()
	})
	return l
}

func (l *Line) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
}

// Ask asks a node and waits for its answer until ctx ends.
//
// Errors: ErrAbsent, ErrBusy, ErrFailed, ErrSilent, and those of transport.Sender.
func (l *Line) Ask(ctx context.Context, node view.UID, body []byte) ([]byte, error) {
	if len(body) > BytesMax {
		return nil, fmt.Errorf("%w: a question of %d bytes, at most %d", ErrFailed, len(body), BytesMax)
	}
	c := &call{node: node, got: make(chan frame, 1)}
	id := l.begin(c)
	defer l.end(id)
	f := frame{kind: question, id: id, number: millisLeft(ctx), body: body}
	err := l.channels.Append(transport.NodeID(node), transport.Bulk, 0, l.ch, f.appendQuestion, nil)
	if err != nil {
		return nil, err
	}
	select {
	case a := <-c.got:
		return a.body, a.fault()
	case <-ctx.Done():
		if why := context.Cause(ctx); !errors.Is(why, context.DeadlineExceeded) {
			return nil, fmt.Errorf("%w: %w", ErrSilent, why)
		}
		return nil, ErrSilent
	case <-l.ended.Done():
		return nil, fmt.Errorf("%w: this node has ended", ErrSilent)
	}
}

// fault is the error that an answer stands for; nil: none.
func (f frame) fault() error {
	switch f.number {
	case good:
		return nil
	case busy:
		return ErrBusy
	case absent:
		return fmt.Errorf("%w: %s", ErrAbsent, f.body)
	}
	return fmt.Errorf("%w: %s", ErrFailed, f.body)
}

func millisLeft(ctx context.Context) uint64 {
	at, ok := ctx.Deadline()
	if !ok {
		return millisMax
	}
	return uint64(min(max(1, time.Until(at).Milliseconds()), millisMax))
}

func (l *Line) begin(c *call) (id uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.next++
	l.open[l.next] = c
	return l.next
}

func (l *Line) end(id uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.open, id)
}

// receive takes a frame of another node. It waits for nothing.
func (l *Line) receive(from transport.NodeID, payload []byte) {
	f, err := parse(payload)
	if err != nil {
		l.channels.CountDrop(transport.DropNoHandler, 1)
		return
	}
	f.body = bytes.Clone(f.body)
	if f.kind == answer {
		l.answered(view.UID(from), f)
		return
	}
	if !l.enter() {
		l.reply(from, frame{kind: answer, id: f.id, number: busy})
		return
	}
	go func() {
		defer l.leave()
		l.reply(from, l.answer(view.UID(from), f))
	}()
}

// answered hands an answer to the call that waits for it. One that comes late, twice, or from
// another node than was asked is for none.
func (l *Line) answered(from view.UID, f frame) {
	l.mu.Lock()
	c := l.open[f.id]
	if c != nil && c.node == from {
		delete(l.open, f.id)
	}
	l.mu.Unlock()
	if c != nil && c.node == from {
		c.got <- f
	}
}

// enter takes a permit for a question; leave gives it back.
func (l *Line) enter() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	select {
	case l.permits <- struct{}{}:
		l.work.Add(1)
		return true
	default:
		return false
	}
}

func (l *Line) leave() {
	<-l.permits
	l.work.Done()
}

// wayBack is what an answerer has less than its asker waits, so that the answer that it ran out of time arrives: a
// tenth of that, and this at most.
const wayBack = 500 * time.Millisecond

// answer has a question answered, for a little less than its asker waits. What panics is an answer that says so.
func (l *Line) answer(from view.UID, f frame) (a frame) {
	a = frame{kind: answer, id: f.id, number: failed}
	limit := time.Duration(f.number) * time.Millisecond
	ctx, cancel := context.WithTimeout(l.ended, limit-min(limit/10, wayBack))
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			a.number, a.body = failed, fmt.Appendf(nil, "it has panicked: %v", p)
		}
	}()
	body, err := l.answerer(ctx, from, f.body)
	switch {
	case err != nil:
		a.body = []byte(err.Error())
	case len(body) > BytesMax:
		a.body = fmt.Appendf(nil, "an answer of %d bytes, at most %d", len(body), BytesMax)
	default:
		a.number, a.body = good, body
	}
	return a
}

// reply sends an answer. What finds no room is lost: the asker waits no longer than it said.
func (l *Line) reply(to transport.NodeID, a frame) {
	send := func(a frame) error { return l.channels.Append(to, transport.Bulk, 0, l.ch, a.append, nil) }
	if err := send(a); errors.Is(err, transport.ErrFrameTooLarge) {
		_ = send(frame{kind: answer, id: a.id, number: failed, body: []byte(err.Error())})
	}
}
