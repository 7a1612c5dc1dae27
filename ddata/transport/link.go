package transport

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/coterie-go/coterie/ddata/runloop"
	"github.com/coterie-go/coterie/ddata/runloop/timer"
	"github.com/coterie-go/coterie/ddata/transport/receipt"
)

// link is one outgoing direction: a queue, and the goroutine that dials and has a session on each
// connection; see the diagram in design.md.
type link struct {
	*ports
	peer   NodeID // zero: a link of SendAddr, to the process that listens at addr
	lane   Lane
	stripe uint32
	q      *queue
	retire func() bool // of a link of SendAddr: ends it, if nothing waits; nil: of a peer's

	kick chan struct{} // capacity 1: dial now, whatever the backoff
	ctx  context.Context
	stop context.CancelFunc // ends the goroutine, whatever it is doing

	mu       sync.Mutex
	addr     string
	answered NodeID // the node that was there at the last attempt to connect; of a link of SendAddr only
}

// ports is what the links of a node have in common.
type ports struct {
	cfg        *Config
	ctx        context.Context // of all links
	n          *counters
	report     *reporter
	channels   *channels
	dialler    dialler
	generation atomic.Uint64   // of the connection dialled last, by any link
	all        *sync.WaitGroup // every goroutine of the node
	running    sync.WaitGroup  // those of links
}

func newLink(p *ports, peer NodeID, addr string, lane Lane, stripe uint32) *link {
	l := &link{ports: p, peer: peer, addr: addr, lane: lane, stripe: stripe, kick: make(chan struct{}, 1)}
	l.q = newQueue(p.cfg, p.n, peer != 0, lane, l.begin)
	l.ctx, l.stop = context.WithCancel(p.ctx)
	return l
}

// String names the link in logs.
func (l *link) String() string {
	if l.peer == 0 {
		return "the listener at " + l.target()
	}
	return fmt.Sprintf("%v/%v/%d", l.peer, l.lane, l.stripe)
}

// target is the address that is dialled.
func (l *link) target() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.addr
}

// move changes where the link dials.
func (l *link) move(addr string) {
	l.mu.Lock()
	moved := l.addr != addr
	l.addr = addr
	l.mu.Unlock()
	if moved {
		l.q.becomeRefused(nil)
		signal(l.kick)
	}
}

// begin starts the goroutine.
func (l *link) begin() {
	l.all.Add(1)
	l.running.Add(1)
	go l.run()
}

// run is the link's goroutine: it connects, writes until the connection ends, and connects again,
// until the link is closed.
func (l *link) run() {
	defer l.all.Done()
	defer l.running.Done()
	defer l.end()
	idle := time.NewTimer(l.cfg.AddrIdle)
	defer idle.Stop()
	wait := backoff{min: l.cfg.BackoffMin, max: l.cfg.BackoffMax}
	for l.ctx.Err() == nil {
		if l.retire != nil && !l.awaitFrame(idle) {
			return
		}
		gen := l.generation.Add(1)
		conn, welcome, err := l.connect(gen)
		if err == nil {
			since := time.Now()
			if l.lane == Data {
				l.resume(welcome.Received, welcome.Fresh)
			}
			if err = l.serve(conn, gen, idle); err == nil || l.q.isClosed() {
				return
			}
			if time.Since(since) > l.cfg.BackoffMax {
				wait.reset()
			}
		} else {
			l.onConnectError(err)
		}
		l.sleep(wait.pause(), err)
	}
}

// end counts what the link could not write.
func (l *link) end() {
	l.stop()
	l.q.end()
	l.discard(DropRemoved)
}

// awaitFrame waits until a link of SendAddr has a frame; false says that it was retired instead.
func (l *link) awaitFrame(idle *time.Timer) bool {
	for l.q.park() {
		idle.Reset(l.cfg.AddrIdle)
		select {
		case <-l.q.wake:
		case <-idle.C:
			if l.retire() {
				return false
			}
		case <-l.ctx.Done():
			return false
		}
	}
	return true
}

// sleep waits before the next attempt. A refusal is waited out longer: it ends only when a person
// or another process changes something. So does a peer that departs.
func (l *link) sleep(d time.Duration, cause error) {
	r, refused := errors.AsType[ErrRefused](cause)
	if refused && r.Reason != RefusedGeneration || cause == errEndAsked {
		d = max(d, 2*l.cfg.BackoffMax)
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-l.kick:
	case <-l.ctx.Done():
	}
}

// connect dials, says hello and waits for the welcome.
func (l *link) connect(gen uint64) (net.Conn, answer, error) {
	written, acked := l.q.stance()
	h := hello{To: l.peer, Lane: l.lane, Stripe: l.stripe, Generation: gen, Written: written, Acked: acked}
	if l.peer != 0 {
		return l.dialler.dial(l.ctx, l.target(), kindLink, h)
	}
	conn, a, err := l.dialler.dial(l.ctx, l.target(), kindAddr, h)
	l.answeredBy(a.From, err)
	return conn, a, err
}

// answeredBy notes the node that was found at an address.
func (l *link) answeredBy(id NodeID, err error) {
	if cause, refused := errors.AsType[ErrRefused](err); refused && cause.Reason == RefusedSelf {
		id = l.cfg.Self
	} else if err != nil {
		id = 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.answered = id
}

// answering is the node that was there at the last attempt to connect.
func (l *link) answering() (NodeID, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.answered, l.answered != 0
}

// onConnectError takes note of a failed attempt.
func (l *link) onConnectError(err error) {
	cause, refused := errors.AsType[ErrRefused](err)
	refused = refused && cause.Reason != RefusedGeneration && cause.Reason != RefusedTLS // a certificate may be renewed
	fault := ConnectionFault{Kind: FaultDial, Peer: l.peer, Addr: l.target(), Err: err, Refused: l.lane == Control &&
		(cause.Reason == RefusedIncarnation || errors.Is(err, syscall.ECONNREFUSED))}
	if l.peer == 0 {
		if l.ctx.Err() == nil { // no oftener than the pauses between attempts allow
			l.report.tell(fault)
		}
		if refused {
			l.discard(DropRefused)
		} else {
			l.discard(DropUnreachable)
		}
		return
	}
	if refused {
		l.q.becomeRefused(cause)
		l.discard(DropRefused)
	} else {
		l.q.becomeRefused(nil)
	}
	if l.ctx.Err() == nil {
		l.report.tell(fault)
	}
}

// serve writes frames to conn until it ends. Nil says that the link is closed.
func (l *link) serve(conn net.Conn, gen uint64, idle *time.Timer) error {
	stop := context.AfterFunc(l.ctx, func() { abort(conn) })
	s := &session{
		cfg: l.cfg, n: l.n, q: l.q, conn: conn, ctx: l.ctx, idle: idle, retire: l.retire,
		lost: make(chan struct{}), ending: receipt.NewEnding(),
	}
	go s.watch()
	l.becomeUp(gen)
	err := s.run()
	stop()
	conn.Close()
	<-s.lost
	if s.ending.Known() {
		_, received := l.q.stance()
		l.resume(received, false)
	}
	l.becomeDown(gen, err)
	return err
}

// resume has the queue begin with what the other side of a connection has not received. What may
// have arrived or not is lost.
func (l *link) resume(received uint64, fresh bool) {
	again, lost := l.q.resume(received, fresh)
	l.n.resent.Add(uint64(again))
	l.channels.lost(l.peer, DropConnLost, lost, true)
}

func (l *link) becomeUp(gen uint64) {
	l.q.becomeUp(gen)
	l.n.linksUp.Add(1)
	l.tell(LinkEvent{Up: true, Generation: gen})
}

func (l *link) becomeDown(gen uint64, err error) {
	if l.q.becomeDown() {
		err = nil
	}
	l.n.linksUp.Add(-1)
	l.tell(LinkEvent{Generation: gen, Err: err})
}

func (l *link) tell(e LinkEvent) {
	if l.peer != 0 {
		e.Peer, e.Lane, e.Stripe = l.peer, l.lane, l.stripe
		l.report.tell(e)
	}
}

// discard empties the queue, and gives up what is kept. why is for what waits.
func (l *link) discard(why Drop) {
	written, waiting := l.q.empty()
	l.channels.lost(l.peer, DropConnLost, written, true)
	l.channels.lost(l.peer, why, waiting, false)
}

// close lets the link write what it holds for at most Linger, and ends it. A link that has no
// connection ends at once, and what waits is lost before close returns. Its senders get why.
func (l *link) close(why error) {
	waiting, lingers := l.q.close(why)
	if lingers {
		time.AfterFunc(l.cfg.Linger, l.stop)
		return
	}
	l.channels.lost(l.peer, DropRemoved, waiting, false)
	l.stop()
}

// awaitReceived waits until the other side has received all that was appended before the call. It
// gives up when no receipt comes for Linger.
func (l *link) awaitReceived(ctx context.Context) error {
	gone, err := l.q.awaitReceived(ctx, l.cfg.Linger)
	switch {
	case gone:
		return fmt.Errorf("%w: %v has gone", ErrUnreceived, l)
	case errors.Is(err, runloop.ErrSilent):
		return fmt.Errorf("%w: %v is silent", ErrUnreceived, l)
	case err != nil:
		return fmt.Errorf("%w: %v: %w", ErrUnreceived, l, err)
	}
	return nil
}

// backoff is the pause between attempts to connect: it doubles from min to max, and each pause is
// drawn from its upper half so that the links of a cluster do not dial in step.
type backoff struct {
	min, max time.Duration
	tries    int
}

func (b *backoff) pause() time.Duration {
	d := timer.Backoff(b.min, b.max, b.tries)
	b.tries++
	return timer.Jitter(d, rand.N[time.Duration])
}

func (b *backoff) reset() { b.tries = 0 }
