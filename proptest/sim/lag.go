package sim

import (
	"math/rand/v2"
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

// lags has views and data lanes lag on single links. It draws by a generator of its own, so that a
// world has the same faults with and without lag.
type lags struct {
	w   *World
	rng *rand.Rand
}

// draw draws the slow links anew every few seconds until the world heals. A node gets a view late
// when its links from the proposer are slow, or when its disk is: it installs what it has stored.
func (l lags) draw() {
	w, rng := l.w, l.rng
	w.net.slow = w.net.slow[:0]
	if w.healed {
		return
	}
	for range 1 + rng.IntN(2) {
		slow := slowLink{from: -1, to: rng.IntN(len(w.slots)), views: random.Between(rng, 0, int64(w.opt.Lag))}
		if rng.IntN(2) == 0 {
			slow.from = rng.IntN(len(w.slots))
		}
		if rng.IntN(3) > 0 {
			slow.data = random.Between(rng, int64(100*time.Millisecond), int64(1200*time.Millisecond))
		}
		if rng.IntN(3) == 0 {
			slow.shards = random.Between(rng, 0, int64(w.opt.Lag))
		}
		if rng.IntN(3) == 0 {
			w.slots[slow.to].disk.slowTil = max(w.slots[slow.to].disk.slowTil,
				w.now+random.Between(rng, 0, int64(w.opt.Lag)))
		}
		w.net.slow = append(w.net.slow, slow)
	}
	w.after(time.Duration(random.Between(rng, int64(500*time.Millisecond), int64(4*time.Second))), nil, l.draw)
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
