package frame

import (
	"container/list"
	"sync"
)

// Room bounds the bytes of the messages that a peer has under way in parts, on all its connections.
// Each message takes what it will need before it keeps a piece. So a message that has begun can
// end, and the next waits in order, unread. A message of MessageMax finds room alone.
type Room struct {
	max int

	mu      sync.Mutex
	taken   int
	waiting list.List // of *place, the oldest first
}

// NewRoom returns a room for max bytes.
func NewRoom(max int) *Room { return &Room{max: max} }

// Load returns the bytes that are taken, and the number of messages that wait.
func (r *Room) Load() (taken, waiting int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.taken, r.waiting.Len()
}

// place is the wait of one message for its room.
type place struct {
	n     int
	taken chan struct{} // closed when it has got its room
}

// take waits for n bytes until the transport is closed or the connection has to end: false then.
func (r *Room) take(n int, closed, drain <-chan struct{}) bool {
	r.mu.Lock()
	if r.waiting.Len() == 0 && r.taken+n <= r.max {
		r.taken += n
		r.mu.Unlock()
		return true
	}
	p := &place{n: n, taken: make(chan struct{})}
	e := r.waiting.PushBack(p)
	r.mu.Unlock()
	select {
	case <-p.taken:
		return true
	case <-closed:
	case <-drain:
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	select {
	case <-p.taken: // in the meantime
		r.taken -= n
	default:
		r.waiting.Remove(e)
	}
	r.serveLocked()
	return false
}

// give returns n bytes.
func (r *Room) give(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.taken -= n
	r.serveLocked()
}

func (r *Room) serveLocked() {
	for e := r.waiting.Front(); e != nil; e = r.waiting.Front() {
		p := e.Value.(*place)
		if r.taken+p.n > r.max {
			return
		}
		r.taken += p.n
		r.waiting.Remove(e)
		close(p.taken)
	}
}
