package membership

import (
	"slices"
	"time"

	"github.com/coterie-go/coterie/ddata/format"
	"github.com/coterie-go/coterie/ddata/membership/message"
	"github.com/coterie-go/coterie/ddata/membership/view"
)

// crashes finds out which members have ended, and tells the voters.
type crashes struct {
	*step
	in   *cluster
	beat time.Duration // between heartbeats
	told []view.UID    // in this epoch, sorted
	at   time.Time     // when they are told again
}

// install begins an epoch, in which nothing is told yet.
func (c *crashes) install() { c.told, c.at = nil, time.Time{} }

// dialled takes what an attempt to connect says of a member.
func (c *crashes) dialled(d Dialled) {
	if d.Refused {
		c.in.reach.Refuse(d.UID, c.now)
	} else {
		c.in.reach.Connect(d.UID)
	}
	c.wake = true
}

// hear takes which members another one finds ended.
func (c *crashes) hear(r Receive, msg message.Crashed, current func(Receive, view.ClusterID, view.Epoch) bool) {
	switch {
	case !current(r, msg.Cluster, msg.Epoch):
	case !c.in.reports.Has(r.From):
		c.stats.DroppedBad++
	default:
		c.wakeIf(c.in.reports.HearCrashed(r.From, c.now, msg.Members))
	}
}

// advance tells what is new, and while there is something, all of it again each interval.
func (c *crashes) advance() {
	ended := c.in.reach.Ended(c.in.view.Members)
	news := !slices.Equal(ended, c.told)
	switch {
	case !view.Writes(c.in.view.View, format.Crashes), len(ended) == 0 && !news:
		return
	case !news && c.now.Before(c.at):
		c.dueAt(c.at)
		return
	}
	c.told, c.at = ended, c.now.Add(c.beat)
	msg := message.Crashed{Cluster: c.in.view.Cluster, Epoch: c.in.view.Epoch, Members: ended}
	for _, o := range c.in.view.Voters {
		if o.UID != c.in.uid {
			c.fx.send(o.UID, o.Addr, msg)
		}
	}
	c.dueAt(c.at)
}
