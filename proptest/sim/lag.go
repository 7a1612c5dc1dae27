package sim

import (
	"time"

	"github.com/coterie-go/coterie/ddata/membership/message"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/proptest/sim/random"
)

// slowLink delays on one way, or on all ways to one slot, what the network otherwise brings soon.
type slowLink struct {
	from, to int   // slots; from -1: any
	views    int64 // for views that were committed
	shards   int64 // for what machines of sharding say on the control lane
	data     int64 // for the FIFO lanes
}

// commitKind is the second byte of a message that brings a view which was committed.
var commitKind = message.Append(nil, message.Commit{View: &view.View{}})[1]

// lagging sums the delays that meet a packet from slot a to slot b.
func (n *network) lagging(a, b int, pk *packet) (d int64) {
	for _, l := range n.slow {
		switch {
		case a == b || l.to != b || l.from >= 0 && l.from != a:
		case pk.lane != control:
			d += l.data
		case pk.ch == toMember && len(pk.payload) > 1 && pk.payload[1] == commitKind:
			d += l.views
		case pk.ch == toShard:
			d += l.shards
		}
	}
	return d
}

// lag has views and data lanes lag on single links, drawn anew every few seconds until the world
// heals. A node gets a view late when its links from the proposer are slow, or when its disk is: it
// installs what it has stored.
func (c *chaos) lag() {
	w := c.w
	w.net.slow = w.net.slow[:0]
	if w.healed {
		return
	}
	for range 1 + c.rngLag.IntN(2) {
		l := slowLink{from: -1, to: c.rngLag.IntN(len(w.slots)), views: random.Between(c.rngLag, 0, int64(w.opt.Lag))}
		if c.rngLag.IntN(2) == 0 {
			l.from = c.rngLag.IntN(len(w.slots))
		}
		if c.rngLag.IntN(3) > 0 {
			l.data = random.Between(c.rngLag, int64(100*time.Millisecond), int64(1200*time.Millisecond))
		}
		if c.rngLag.IntN(3) == 0 {
			l.shards = random.Between(c.rngLag, 0, int64(w.opt.Lag))
		}
		if c.rngLag.IntN(3) == 0 {
			w.slots[l.to].disk.slowTil = max(w.slots[l.to].disk.slowTil,
				w.now+random.Between(c.rngLag, 0, int64(w.opt.Lag)))
		}
		w.net.slow = append(w.net.slow, l)
	}
	w.after(time.Duration(random.Between(c.rngLag, int64(500*time.Millisecond), int64(4*time.Second))), nil, c.lag)
}

// drawLag draws how late views come on single links at most, from a stream of its own.
func (o *Options) drawLag(rs random.Streams) {
	lag := random.Pick(rs.Stream("lag", 0), 0, time.Second, 4*time.Second)
	switch o.Scenario {
	case inserts: // a story of its own, told with a watch
	case laggingViews:
		o.Lag = max(lag, time.Second)
	default:
		o.Lag = lag
	}
}

// drawLagging makes some of the worlds of plain chaos ones of lagging views, from a stream of its
// own.
func (o *Options) drawLagging(rs random.Streams) {
	if o.Scenario == plainChaos && rs.Stream("lagging", 0).IntN(6) == 0 {
		o.Scenario = laggingViews
	}
}
