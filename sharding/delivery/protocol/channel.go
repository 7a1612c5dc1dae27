package protocol

import (
	"container/heap"
	"time"

	"github.com/coterie-go/coterie/ddata/runloop/timer"
)

// channel is what a producer knows of one entity.
//
//	         Submit                    all confirmed
//	idle ──────────────► waiting ────────────────────► idle ── CleanupUnused ──► gone
//	                     │      ▲
//	                     └──────┘ nothing heard for ResendFirst: send the first again
//
// confirmed ≤ sent ≤ top ≤ ready ≤ last. Messages confirmed+1 … last stand in queue, in order.
type channel struct {
	entity  string
	session Session

	confirmed uint64 // all up to here
	sent      uint64 // all up to here in this round
	top       uint64 // the highest that was ever sent
	waited    uint64 // all from top up to here are known to wait for the window
	ready     uint64 // all up to here may be sent: they are stored
	last      uint64 // the highest that has a number
	queue     []message

	window    uint64 // how many may be under way beyond confirmed; 1 until the consumer has said more
	round     uint32
	fruitless uint8 // rounds since something was last confirmed
	dirty     bool  // in Producer.dirty

	deadline time.Time // to send the first again, or to be forgotten
	in       *schedule
	pos      int
}

// message is one that is not confirmed.
type message struct {
	op      uint64 // 0: no caller waits for the confirmation
	body    []byte
	confirm bool
}

// schedule orders channels by deadline.
type schedule []*channel

// Len implements heap.Interface.
func (s schedule) Len() int { return len(s) }

// Less implements heap.Interface.
func (s schedule) Less(i, j int) bool {
	if s[i].deadline.Equal(s[j].deadline) {
		return s[i].session.Compare(s[j].session) < 0
	}
	return s[i].deadline.Before(s[j].deadline)
}

// Swap implements heap.Interface.
func (s schedule) Swap(i, j int) {
	s[i], s[j] = s[j], s[i]
	s[i].pos, s[j].pos = i, j
}

// Push implements heap.Interface.
func (s *schedule) Push(x any) {
	c := x.(*channel)
	c.pos = len(*s)
	*s = append(*s, c)
}

// Pop implements heap.Interface.
func (s *schedule) Pop() any {
	last := len(*s) - 1
	c := (*s)[last]
	(*s)[last] = nil
	*s = (*s)[:last]
	return c
}

// due takes the first channel whose deadline has come; nil: none.
func (s *schedule) due(now time.Time) *channel {
	if len(*s) == 0 || (*s)[0].deadline.After(now) {
		return nil
	}
	return (*s)[0]
}

// schedule puts the channel into s, or with nil nowhere, for this deadline.
func (c *channel) schedule(s *schedule, deadline time.Time) {
	if c.in == s && s != nil {
		c.deadline = deadline
		heap.Fix(s, c.pos)
		return
	}
	if c.in != nil {
		heap.Remove(c.in, c.pos)
	}
	c.in, c.deadline = s, deadline
	if s != nil {
		heap.Push(s, c)
	}
}

// settled reports whether nothing is unconfirmed.
func (c *channel) settled() bool { return c.confirmed == c.last }

// goBack starts a new round behind seq.
func (c *channel) goBack(seq uint64) {
	c.round++
	c.sent = seq
	if c.fruitless < 255 {
		c.fruitless++
	}
}

// pause is how long to wait after so many rounds in vain.
func (c *channel) pause(most time.Duration) time.Duration {
	return timer.Backoff(max(most/100, time.Millisecond), most, int(c.fruitless))
}
