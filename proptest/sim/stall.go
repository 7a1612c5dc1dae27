package sim

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/coterie-go/coterie/proptest/sim/options"
)

// wait is one kind of waiting that ends in a healed world.
type wait uint8

const (
	forView      wait = iota // all that run have one view, and are Up in it
	forLease                 // a process acts as the coordinator
	forOperation             // each process writes to a majority and reads it back
	forReplicas              // all replicas hold the same
	forHome                  // each shard with traffic has one home
	forMessages              // each message was handled or reported
	waits
)

var waitNames = [waits]string{"view", "lease", "operation", "replicas", "home", "messages"}

func (k wait) String() string { return waitNames[k] }

// Waits are the longest waits of each kind, and the longest that the settings allowed then.
type Waits [waits]struct{ Took, Limit time.Duration }

func (x Waits) String() string {
	var b strings.Builder
	for k, m := range x {
		fmt.Fprintf(&b, "%v:%.1fs/%.1fs ", wait(k), m.Took.Seconds(), m.Limit.Seconds())
	}
	return "[" + strings.TrimSuffix(b.String(), " ") + "]"
}

// add keeps the waits that came closest to their limits.
func (x *Waits) add(o Waits) {
	for k, m := range o {
		used := func(took, limit time.Duration) float64 { return float64(took) / float64(limit) }
		if m.Limit > 0 && (x[k].Limit == 0 || used(m.Took, m.Limit) > used(x[k].Took, x[k].Limit)) {
			x[k] = m
		}
	}
}

// Times that this package's supervisors, clients and replicators take.
const (
	restartMost   = 5 * time.Second
	probeGap      = 3 * time.Second
	probeShards   = 10 * time.Second
	gossipEach    = time.Second
	operationMost = 5 * time.Second
)

// limits are the longest waits that the settings of a world allow, from the moment from which
// nothing breaks any more and no operator acts.
//
// A view: each node that cannot go on gives up, is started again and locks itself to a founding;
// the founding waits until what was granted has run out; then the dead are dropped, and the others
// join, one decision after the other. All of it is by the slowest clock.
func limits(o *options.Options) (most [waits]time.Duration) {
	c, nodes := o.Times(), time.Duration(o.Nodes+o.Spare)
	drop := c.UnreachableAfter + c.StableAfter + c.LeaseDuration
	found := c.SelfDownAfter + restartMost + c.BootstrapTimeout + c.LeaseDuration
	slow := func(d time.Duration) time.Duration { return d + d*3/100 }
	operation := cmp.Or(o.Timeout, operationMost)

	most[forView] = slow(found + drop + 2*nodes*c.HeartbeatInterval)
	most[forLease] = most[forView] + slow(c.LeaseDuration)
	most[forOperation] = most[forLease] + afterHeal + probeGap + slow(2*operation) + 2*o.WriteBehind
	most[forReplicas] = most[forOperation] + slow(nodes*gossipEach)
	handOff := 5*o.StopTimeout + 3*o.StopTimeout + o.StopTimeout
	most[forHome] = most[forLease] + probeShards + probeGap + slow(handOff+o.LeaseTTL+2*o.LeaseRetry)
	most[forMessages] = most[forHome] + slow(handOff)
	return most
}

// stalls judges how long a healed world waits. A wait begins with the last fault, or the last time
// that an operator acted.
type stalls struct {
	since int64
	over  [waits]bool
}

// begin begins all waits anew.
func (s *stalls) begin(w *World) { *s = stalls{since: w.now} }

// look notes what has come, and complains about what has not come in time.
func (s *stalls) look(w *World) {
	for k, most := range limits(&w.opt) {
		if s.over[k] {
			continue
		}
		missing, took := awaited(w, wait(k)), time.Duration(w.now-s.since)
		switch {
		case missing == "":
			s.over[k] = true
			w.counts.Longest.add(only(wait(k), took, most))
		case took > most:
			w.violate("no stall", "%v took %v since the last fault, the settings allow %v: %s",
				wait(k), took, most, missing)
		}
	}
}

func only(k wait, took, most time.Duration) (x Waits) {
	x[k].Took, x[k].Limit = took, most
	return x
}

// awaited is what is missing of something that is waited for; empty: nothing.
func awaited(w *World, k wait) string {
	switch k {
	case forView:
		return w.divided()
	case forLease:
		return w.unled()
	case forOperation:
		return w.unprobed()
	case forReplicas:
		for _, j := range w.checkers {
			if e, ok := j.(*equalChecker); ok {
				return e.differing(w)
			}
		}
	case forHome:
		return w.shardChecker.homeless(w)
	case forMessages:
		return w.shardChecker.open(w)
	}
	return ""
}
