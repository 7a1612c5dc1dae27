package replicator

import (
	"slices"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/replica"
	"github.com/coterie-go/coterie/replicator/wire"
)

// census asks all members, under the installed view, what they hold of one space, until each has
// told enough. What a fold and a move wait for is counted by it.
type census struct {
	*replica.Replica
	tries int
}

// all reports whether every member has told enough.
func (c *census) all(enough func(told *crdt.Clock) bool) bool {
	return !slices.ContainsFunc(c.Peers, func(p *replica.Peer) bool { return !c.told(p, enough) })
}

func (c *census) told(p *replica.Peer, enough func(told *crdt.Clock) bool) bool {
	t := p.Link(c.ID).Stated
	return t != nil && enough(t)
}

// ask asks the members that have not told enough, and returns when to ask again.
func (c *census) ask(enough func(told *crdt.Clock) bool) time.Time {
	for _, p := range c.Peers {
		if !c.told(p, enough) {
			c.TellClock(p, true)
		}
	}
	at := c.Now.Add(c.Backoff(c.tries))
	c.tries++
	return at
}

// heed keeps what a member tells under the installed view, and reports whether it does.
func (c *census) heed(p *replica.Peer, msg *wire.Clock) bool {
	if msg.Space != c.ID || msg.Epoch != c.View.Epoch {
		return false
	}
	p.Link(c.ID).Stated = msg.Content
	return true
}

// forget drops what the members have told.
func (c *census) forget() {
	for _, p := range c.Peers {
		p.Link(c.ID).Stated = nil
	}
}
