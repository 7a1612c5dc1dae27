package arbitration

import (
	"time"

	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/proptest/defect"
)

// ranksMax bounds how long the youngest wait.
const ranksMax = 3

// Expired reports whether this node still counts as the holder of a lease that has run out. Lost
// then tells it so.
func (c *Carrier) Expired(now time.Time) bool { return c.held && !now.Before(c.until) }

// Advance tries for the arbiter's lease when this node knows no holder, and gives it back to a
// larger side.
func (c *Carrier) Advance(s Scene) {
	if !c.on {
		return
	}
	reached, all, rank := c.census(s)
	if minority := 2*reached < all; minority != c.minority {
		c.minority, c.wantedAt = minority, time.Time{}
	}
	switch {
	case c.held:
		c.out.DueAt(c.until)
		c.maybeYield(s)
	case !c.busy:
		c.maybeAcquire(s, rank)
	}
}

// census counts the voters that make a quorum with the arbiter: those that are reached, all, and
// those that try for the lease before this node.
func (c *Carrier) census(s Scene) (reached, all, rank int) {
	older := true
	for _, v := range c.strategy.Counting(s.View.Voters) {
		all++
		older = older && v.UID != c.cfg.Self
		if s.Reachable(v.UID) {
			reached++
			if older && !s.Reports.Stopped(v.UID) && !s.Verdicts.On(v.UID) {
				rank++
			}
		}
	}
	return reached, all, rank
}

// maybeAcquire asks for the lease when it is this node's turn. The oldest tries first, the others a
// heartbeat later each; a smaller side later than a larger one.
func (c *Carrier) maybeAcquire(s Scene, rank int) {
	if !c.counts(s.View, c.cfg.Self) || s.Reports.Stopped(c.cfg.Self) || s.View.Epoch < c.behind || c.hearsOther(s) {
		c.wantedAt = time.Time{}
		return
	}
	if c.wantedAt.IsZero() {
		c.wantedAt = s.Now
	}
	delay := time.Duration(min(rank, ranksMax)) * c.cfg.Beat
	if c.minority {
		delay += c.minorityDelay()
	}
	at := c.wantedAt.Add(delay)
	if at.Before(c.tryAt) {
		at = c.tryAt
	}
	if s.Now.Before(at) {
		c.out.DueAt(at)
		return
	}
	c.busy = true
	c.out.do(Op{Do: Acquire})
}

func (c *Carrier) minorityDelay() time.Duration {
	if c.strategy.MinorityDelay > 0 {
		return c.strategy.MinorityDelay
	}
	return 2 * c.cfg.Beat
}

// maybeYield releases for the sake of others: this node has stopped, or is on the smaller side. The
// latter it does once and then not for a while: if the larger side is gone it gets the lease back,
// and a network that flaps must not keep it from ever using that.
func (c *Carrier) maybeYield(s Scene) {
	switch {
	case c.busy:
	case s.Reports.Stopped(c.cfg.Self) || !c.counts(s.View, c.cfg.Self):
		c.release()
		c.out.Given = "this node goes"
	case c.minority && !s.Now.Before(c.yieldAt):
		c.yieldAt = s.Now.Add(c.cfg.SelfDownAfter)
		c.wantedAt = s.Now
		c.release()
		c.tryAt = s.Now.Add(c.minorityDelay())
		c.out.DueAt(c.tryAt)
		c.out.Given = "less than half of the voters are here"
	}
}

// release gives the lease back. What it has granted to this node itself counts on like what it
// granted to others: the next holder waits for that.
func (c *Carrier) release() {
	c.vote.withdraw()
	c.held = false
	c.out.do(Op{Do: Release})
	c.out.Tell = true
}

// Acquired makes this node the arbiter's mouth until then, and returns the record under the lease.
// It reports false if the record cannot be read; the lease is given back then. The caller installs
// what the record has decided, and then calls Bound.
func (c *Carrier) Acquired(s Scene, loaded []byte, until time.Time) (Record, bool) {
	c.busy = false
	var r Record
	if len(loaded) > 0 && !c.cfg.Defects.Planted(defect.NoArbiterRecord) {
		var err error
		if r, err = Decode(loaded); err != nil {
			c.release()
			c.fails(s.Now, "load: "+err.Error())
			return r, false
		}
	}
	if r.Cluster != s.View.Cluster { // of a cluster that is no more
		r = Record{}
	}
	c.held, c.since, c.until, c.record, c.wantedAt, c.failing = true, s.Now, until, r, time.Time{}, ""
	return r, true
}

// Bound reports whether this node may carry a record in the epoch of its view. If others have seen
// more than this node, the lease is given back.
func (c *Carrier) Bound(r Record, installed view.Epoch) bool {
	if r.Epoch > installed {
		c.behind = r.Epoch
		c.release()
		return false
	}
	c.out.Tell = true
	return true
}

// Denied notes that this node does not hold the lease; failure is empty if another holds it.
func (c *Carrier) Denied(now time.Time, failure string) {
	c.busy = false
	if failure != "" {
		c.fails(now, "acquire: "+failure)
		return
	}
	c.failing, c.out.Wake = "", true
	c.tryAt = now.Add(c.cfg.Beat)
}

// Lost notes that another node may have the lease, and reports whether this node held it. Nothing
// that is out is said any more, except what was accepted and turns out to be saved.
func (c *Carrier) Lost(now time.Time) bool {
	if !c.held {
		return false
	}
	c.vote.forgetUnsaved()
	c.held = false
	c.tryAt = now.Add(c.cfg.Beat)
	c.out.Tell = true
	return true
}

// Prolong moves the end of the lease that this node holds.
func (c *Carrier) Prolong(until time.Time) { c.until = until }

// fails tells what failed, once, and waits before it tries again.
func (c *Carrier) fails(now time.Time, what string) {
	c.tryAt = now.Add(2 * c.cfg.Beat)
	c.out.Wake = true
	if c.failing != what {
		c.failing, c.out.Failing = what, what
	}
}
