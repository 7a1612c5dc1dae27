package transport

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"sync"
	"time"

	"github.com/coterie-go/coterie/ddata/runloop"
)

// A connection of the Data lane ends in order where it can: then its link knows which frames were
// received, and that no other was.
//
//	link                                      receiver
//	   │ frame frame frame … ─────────────────► │
//	   │ ◄─────────────────────────── endAsked  │   the receiver departs, and takes nothing that is not written yet
//	   │ … frame, end of writing ─────────────► │   the link ends what it has begun to write
//	   │ ◄─────────────── receipt, allReceived  │   it says how many frames came; the connection ends
//
// The link may begin as well, because its peer was removed or its transport closes. Then there is
// no endAsked.
//
// Both words stand in place of a receipt.
const (
	endAsked    uint64 = math.MaxUint64
	allReceived uint64 = math.MaxUint64 - 1
)

// errEndAsked ends the writing of a link whose peer departs.
var errEndAsked = errors.New("transport: the other side takes nothing more")

// ending is what a link hears of the end of one connection.
type ending struct {
	asked chan struct{} // closed when the receiver wants the end
	known bool          // the last receipt says all that was received; read it when the connection has ended
}

// hear takes a word that is no receipt. It reports whether another one may follow.
func (e *ending) hear(word uint64) bool {
	if word == allReceived {
		e.known = true
		return false
	}
	if e.isAsked() {
		return false
	}
	close(e.asked)
	return true
}

func (e *ending) isAsked() bool {
	select {
	case <-e.asked:
		return true
	default:
		return false
	}
}

// halfClose tells the other side that nothing more comes. False: a connection of this kind cannot.
func (l *link) halfClose(conn net.Conn) bool {
	c, ok := conn.(interface{ CloseWrite() error })
	return ok && l.lane == Data && c.CloseWrite() == nil
}

// settle ends a connection whose link has nothing more to write: it tells the other side so, and
// waits for the last receipt, so that nothing is called lost that has arrived.
func (l *link) settle(conn net.Conn, lost <-chan struct{}) {
	if l.halfClose(conn) {
		l.awaitReceipts(lost, 0)
	}
}

// obey ends a connection as the receiver wants it, which then says what it has received.
func (l *link) obey(conn net.Conn, lost <-chan struct{}) {
	l.mu.Lock()
	l.departed = true
	l.progress.Made()
	l.mu.Unlock()
	if !l.halfClose(conn) {
		return
	}
	t := time.NewTimer(l.m.cfg.WriteTimeout)
	defer t.Stop()
	select {
	case <-lost:
	case <-t.C:
	case <-l.ctx.Done():
	}
}

// watch reads what the other side sends on a link's connection: receipts and the end in the Data
// lane, nothing else.
func (l *link) watch(conn net.Conn, lost chan<- struct{}, e *ending) {
	b := make([]byte, receiptSize)
	for more := true; more; {
		_, err := io.ReadFull(conn, b)
		word := binary.LittleEndian.Uint64(b)
		switch {
		case err != nil || l.lane != Data:
			more = false
		case word >= allReceived:
			more = e.hear(word)
		default:
			more = l.receipt(word)
		}
	}
	abort(conn)
	close(lost)
}

// awaitReceived waits until the other side has received all that was appended before the call. It
// gives up when no receipt comes for patience.
func (l *link) awaitReceived(ctx context.Context, patience time.Duration) error {
	l.mu.Lock()
	goal := l.kept.written + uint64(l.inHand+l.frames)
	lost := l.kept.lost
	l.mu.Unlock()
	gone := false
	err := l.progress.Await(ctx, &l.mu, patience, func() bool {
		if l.kept.acked >= goal && l.kept.lost == lost {
			return true
		}
		gone = l.phase == phaseClosing || l.refused != nil || l.departed || l.kept.lost != lost
		return gone
	})
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

// Flush waits until the peers have received what was queued in the Data lane. It waits for all
// connections side by side: a dead peer has one on each stripe.
func (m *Mesh) Flush(ctx context.Context) error {
	var links []*link
	for _, p := range *m.peers.Load() { // order: the errors of one call
		links = append(links, p.data...)
	}
	errs := make([]error, len(links))
	var wg sync.WaitGroup
	for i, l := range links {
		wg.Go(func() { errs[i] = l.awaitReceived(ctx, m.cfg.Linger) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// Depart has other nodes send nothing more in the Data lane.
func (m *Mesh) Depart(ctx context.Context) error {
	select {
	case <-m.askToEnd():
		return nil
	case <-ctx.Done():
		return fmt.Errorf("transport: depart: %w", context.Cause(ctx))
	}
}

// askToEnd asks for the end of all connections of the Data lane, and of each that comes later. The
// result is closed as soon as none is there.
func (m *Mesh) askToEnd() <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.quiet == nil {
		m.quiet = make(chan struct{})
		for _, g := range m.gates { // order: each is asked on its own
			if g.active != nil && g.active.receipts != nil {
				m.wg.Go(g.active.receipts.askEnd) // a write may take long
			}
		}
		m.quietLocked()
	}
	return m.quiet
}

// quietLocked closes quiet once this node departs and no connection of the Data lane is there.
func (m *Mesh) quietLocked() {
	if m.quiet == nil || m.isQuiet {
		return
	}
	for key, g := range m.gates { // order: whether there is any
		if key.lane == Data && (g.active != nil || g.waiting != nil) {
			return
		}
	}
	m.isQuiet = true
	close(m.quiet)
}

// open lets receipts out: the welcome has been written.
func (r *receipts) open() {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.opened = true; r.ends {
		r.writeLocked(endAsked)
	}
}

// askEnd asks the sender to end the connection.
func (r *receipts) askEnd() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ends = true; r.opened {
		r.writeLocked(endAsked)
	}
}

// end sends the last receipt. whole: the sender has said that nothing more comes, and all of it was
// received. On a connection that broke, it goes nowhere.
func (r *receipts) end(whole bool) {
	if r == nil {
		return
	}
	r.timer.Stop()
	if !whole {
		r.send()
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.told = r.received.Load()
	r.writeLocked(r.told, allReceived)
}

// writeLocked writes receipts, or words in their place. A connection that does not take them is
// broken.
func (r *receipts) writeLocked(words ...uint64) {
	b := make([]byte, 0, 2*receiptSize)
	for _, w := range words {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	if r.conn.SetWriteDeadline(time.Now().Add(r.timeout)) == nil {
		if _, err := r.conn.Write(b); err == nil {
			return
		}
	}
	abort(r.conn)
}
