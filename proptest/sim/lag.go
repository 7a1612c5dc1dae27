package sim

import (
	"math/rand/v2"
	"time"

	"github.com/coterie-go/coterie/proptest/sim/network"
	"github.com/coterie-go/coterie/proptest/sim/random"
)

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
	if w.healed {
		w.net.SlowBy(nil)
		return
	}
	var all []network.SlowLink
	for range 1 + rng.IntN(2) {
		slow := network.SlowLink{From: -1, To: rng.IntN(len(w.slots)), Views: random.Between(rng, 0, int64(w.opt.Lag))}
		if rng.IntN(2) == 0 {
			slow.From = rng.IntN(len(w.slots))
		}
		if rng.IntN(3) > 0 {
			slow.Data = random.Between(rng, int64(100*time.Millisecond), int64(1200*time.Millisecond))
		}
		if rng.IntN(3) == 0 {
			slow.Shards = random.Between(rng, 0, int64(w.opt.Lag))
		}
		if rng.IntN(3) == 0 {
			w.slots[slow.To].disk.StallAtLeast(w.now + random.Between(rng, 0, int64(w.opt.Lag)))
		}
		all = append(all, slow)
	}
	w.net.SlowBy(all)
	w.after(time.Duration(random.Between(rng, int64(500*time.Millisecond), int64(4*time.Second))), nil, l.draw)
}
