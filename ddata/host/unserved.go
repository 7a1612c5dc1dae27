package host

import (
	"bytes"
	"log/slog"
	"sync"

	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/ddata/transport"
)

// Unserved answers the questions on channels that nothing on the node serves: of extensions that
// the node does not have, or that have not started what a channel is for. It knows nothing of
// them: a question brings the answer along. Other frames are dropped and counted. The node makes
// one.
type Unserved struct {
	cluster  Cluster
	channels Channels
	log      *slog.Logger

	mu       sync.Mutex
	claimed  map[transport.Channel]bool
	promises map[transport.Channel]promise // of channels that are not claimed
	shares   map[transport.NodeID]int      // how many of promises each peer has
	warned   bool
}

// promise is what the node has promised on a channel.
type promise struct {
	bytes []byte
	peer  transport.NodeID // asked first
}

// Bounds of the channels on which a node remembers a promise. Peers choose them, so each has a share
// of its own: one that asks on channels without end takes nothing from the others.
const (
	promisesMax      = 1 << 12 // of one peer
	promisesTotalMax = 1 << 16
)

// NewUnserved returns one for a node that serves nothing yet.
func NewUnserved(cluster Cluster, channels Channels, log *slog.Logger) *Unserved {
	return &Unserved{
		cluster: cluster, channels: channels, log: log,
		claimed: map[transport.Channel]bool{}, promises: map[transport.Channel]promise{},
		shares: map[transport.NodeID]int{},
	}
}

// Handler takes the frames of a channel that has no handler; nil for a claimed one.
func (u *Unserved) Handler(ch transport.Channel) transport.Handler {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.claimed[ch] {
		return nil
	}
	return transport.HandlerFunc(func(from transport.NodeID, payload []byte) { u.receive(ch, from, payload) })
}

// Claim ends the answers on a channel for good, and returns what was promised on it; nil: nothing.
func (u *Unserved) Claim(ch transport.Channel) (promised []byte) {
	u.mu.Lock()
	defer u.mu.Unlock()
	p := u.promises[ch]
	u.forgetLocked(ch)
	u.claimed[ch] = true
	return p.bytes
}

func (u *Unserved) receive(ch transport.Channel, from transport.NodeID, payload []byte) {
	q, _, ok := CutQuestion(payload)
	if !ok {
		u.warn(ch, from)
	}
	if !ok || !u.answer(ch, from, q) {
		u.channels.CountDrop(transport.DropNoHandler, 1)
	}
}

// answer answers a question, and reports whether it was taken: it is not while the channel is
// claimed, and if its promise finds no place. One whose promise is too low is taken in silence.
//
// The answer is queued under the lock, so that none follows the Claim of its channel.
func (u *Unserved) answer(ch transport.Channel, from transport.NodeID, q Question) (taken bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.claimed[ch] {
		return false
	}
	if len(q.Promise) > 0 {
		switch old, kept := u.promises[ch]; {
		case kept && bytes.Compare(q.Promise, old.bytes) < 0:
			return true
		case kept:
			u.promises[ch] = promise{bytes.Clone(q.Promise), old.peer}
		case !u.keepLocked(ch, from, q.Promise):
			return false
		}
	}
	if len(q.Otherwise) > 0 { // what does not fit is lost: the peer asks again, or does without
		_ = u.channels.Append(from, q.Lane, 0, ch, func(dst []byte) []byte { return append(dst, q.Otherwise...) }, nil)
	}
	return true
}

// keepLocked keeps the first promise on a channel. It reports false if the peer is no member, or has
// had its share, or all places are taken. What was promised to nodes that are gone makes room then:
// their successors ask again.
func (u *Unserved) keepLocked(ch transport.Channel, peer transport.NodeID, promised []byte) bool {
	v := u.cluster.View()
	if v == nil || !v.Has(view.UID(peer)) || u.shares[peer] >= promisesMax {
		return false
	}
	if len(u.promises) >= promisesTotalMax {
		for old, p := range u.promises { // order: all are looked at
			if !v.Has(view.UID(p.peer)) {
				u.forgetLocked(old)
			}
		}
	}
	if len(u.promises) >= promisesTotalMax {
		return false
	}
	u.promises[ch] = promise{bytes.Clone(promised), peer}
	u.shares[peer]++
	return true
}

// forgetLocked gives a promise's place back.
func (u *Unserved) forgetLocked(ch transport.Channel) {
	p, kept := u.promises[ch]
	if !kept {
		return
	}
	delete(u.promises, ch)
	if u.shares[p.peer]--; u.shares[p.peer] == 0 {
		delete(u.shares, p.peer)
	}
}

// warn says once that something else than a question came: no peer has a reason to send it.
func (u *Unserved) warn(ch transport.Channel, from transport.NodeID) {
	u.mu.Lock()
	first := !u.warned
	u.warned = true
	u.mu.Unlock()
	if first {
		u.log.Warn("frames come on a channel that nothing on this node serves; they are dropped",
			"channel", ch, "from", from)
	}
}
