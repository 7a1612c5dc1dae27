package replicator

import (
	"slices"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/wire"
)

// census asks all members, under the installed view, what they hold of one space, until each has
// told enough. What a fold and a move wait for is counted by it.
type census struct {
	*replica
	tries int
}

// all reports whether every member has told enough.
func (c *census) all(enough func(told *crdt.Clock) bool) bool {
	return !slices.ContainsFunc(c.peers, func(p *peer) bool { return !c.told(p, enough) })
}

func (c *census) told(p *peer, enough func(told *crdt.Clock) bool) bool {
	t := p.link(c.id).stated
	return t != nil && enough(t)
}

// ask asks the members that have not told enough, and returns when to ask again.
func (c *census) ask(enough func(told *crdt.Clock) bool) time.Time {
	for _, p := range c.peers {
		if !c.told(p, enough) {
			c.tellClock(p, true)
		}
	}
	at := c.now.Add(c.backoff(c.tries))
	c.tries++
	return at
}

// heed keeps what a member tells under the installed view, and reports whether it does.
func (c *census) heed(p *peer, msg *wire.Clock) bool {
	if msg.Space != c.id || msg.Epoch != c.view.Epoch {
		return false
	}
	p.link(c.id).stated = msg.Content
	return true
}

// forget drops what the members have told.
func (c *census) forget() {
	for _, p := range c.peers {
		p.link(c.id).stated = nil
	}
}
