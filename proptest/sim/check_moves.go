package sim

import (
	"slices"

	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// begun names a hand-off.
type begun struct {
	typ int
	id  protocol.Token
}

// complaint is a shard that waits for a lease whose store cannot be used where it is.
type complaint struct {
	typ   int
	shard protocol.ShardID
	at    protocol.UID
}

// checkUnable notes which process has complained. From then on a move of the shard away from there
// does not count as balance, and is not too early.
func (d *typeHost) checkUnable(m protocol.Message) {
	u, is := m.(protocol.Unable)
	if !is {
		return
	}
	w := d.p.w
	for _, s := range u.Shards {
		leased := w.operator.leases.Shards(d.p.uid)
		if !leased || d.shards[s] == nil || !d.plane.R.Routes.Hosted[s].Load().Expelled() {
			w.violate("only a waiting shard complains",
				"%v says of shard %v of T%d that it waits for a lease", d.p, s, d.index)
		}
		w.shardChecker.unable[complaint{d.index, s, protocol.UID(d.p.uid)}] = true
	}
}

// checkBegins holds the hand-offs of one step to the budget of the strategy, and each to its time.
func (d *typeHost) checkBegins(sent []protocol.Envelope) {
	balance := 0
	for _, env := range sent {
		if b, ok := env.Msg.(protocol.Begin); ok {
			balance += d.checkBegin(b)
		}
	}
	if w := d.p.w; balance > w.opt.Budget() {
		w.violate("moves stay in the budget", "%v begins to move %d shards of T%d at once, %T allows for %d",
			d.p, balance, d.index, w.opt.Allocation,
			w.opt.Budget())
	}
}

// checkBegin holds a hand-off that begins to: it is for an owner that leaves, or the members have
// been the same for as long as was asked for; and the cluster is not being shut down. It counts
// those that are for the sake of balance.
func (d *typeHost) checkBegin(b protocol.Begin) (balance int) {
	w := d.p.w
	for _, mv := range b.Moves {
		k := begun{d.index, mv.HandOff}
		if w.shardChecker.begun[k] {
			continue // it is said again, or to another
		}
		w.shardChecker.begun[k] = true
		if c := (complaint{d.index, mv.Shard, mv.Owner}); w.shardChecker.unable[c] && !d.view.Closing {
			delete(w.shardChecker.unable, c)
			continue
		}
		owner := w.procs[uint64(mv.Owner)]
		if w.shardChecker.rests[home{d.index, mv.Shard}].mayStop(d.p) {
			continue // an operator stops it for good
		}
		stays := owner.alive && !owner.slot.leaving && !owner.types[d.index].closing
		if stays {
			balance++
		}
		least := int64(float64(w.opt.RebalanceDelay) * (1 - 2*w.opt.ClockDrift))
		switch {
		case d.view.Closing:
			w.violate("a shutdown moves nothing", "%v begins to move shard %v of T%d away from %v in %v",
				d.p, mv.Shard, d.index, owner, d.view)
		case w.now-d.since < least && stays:
			w.violate("nothing moves before its time",
				"%v begins to move shard %v of T%d away from %v %.3f s after the members were %v", d.p, mv.Shard,
				d.index, owner, float64(w.now-d.since)/1e9, d.view)
		}
	}
	return balance
}

// checkStart holds a shard that starts while the cluster is being shut down to: it was at home
// nowhere before, or there, and had lost its lease.
func (d *typeHost) checkStart(s protocol.ShardID) {
	k := d.p.w.closing
	if k == nil {
		return
	}
	if at := k.homes[home{d.index, s}]; at != nil && (at != d.p || !d.p.w.opt.ShardLeases) {
		d.p.w.violate("a shutdown moves nothing",
			"shard %v of T%d, which was at home on %v when all began to leave, starts on %v", s, d.index, at, d.p)
	}
}

// sameMembers reports whether two views have the same members with the same status.
func sameMembers(a, b *view.View) bool {
	return slices.EqualFunc(a.Members, b.Members, func(m, o view.Member) bool {
		return m.UID == o.UID && m.Status == o.Status
	})
}
