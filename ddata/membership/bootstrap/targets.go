package bootstrap

import (
	"slices"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/ddata/runloop/timer"
)

// targets are the addresses that a node probes, and when it does so next.
//
// Invariant: there are at most 2*ContactsMax+hintsMax, each once, and the seeds come first.
type targets struct {
	cfg     *Config
	addrs   []string // in the order in which they became known
	probeAt time.Time
	rounds  int // the pause between two doubles: nodes that start together do not listen at once
	turn    int // which target that is no seed was asked last
}

// add has an address probed soon, unless it is this node's own, or is known. It counts one for which
// there is no room.
func (t *targets) add(now time.Time, addr string, out *Output) {
	switch {
	case addr == "" || len(addr) > view.AddrMax || addr == t.cfg.Self.Addr || t.has(addr):
	case len(t.addrs) >= 2*ContactsMax+hintsMax:
		out.Dropped.Full++
	default:
		t.addrs = append(t.addrs, addr)
		t.soon(now.Add(t.cfg.Beat / 8))
		out.Wake = true
	}
}

// remove has an address not probed any more.
func (t *targets) remove(addr string) {
	t.addrs = slices.DeleteFunc(t.addrs, func(a string) bool { return a == addr })
}

func (t *targets) has(addr string) bool { return slices.Contains(t.addrs, addr) }

// soon has the next round begin at a time at the latest.
func (t *targets) soon(at time.Time) {
	if at.Before(t.probeAt) {
		t.probeAt = at
	}
}

// begin begins a round, and reports whether it is time for one.
func (t *targets) begin(now time.Time) bool {
	if now.Before(t.probeAt) {
		return false
	}
	t.probeAt = now.Add(timer.Backoff(t.cfg.Beat/8, t.cfg.Beat, t.rounds))
	t.rounds++
	return true
}

// AskedMax is how many of the addresses that it was not given a node that only joins asks in one
// round.
const AskedMax = 8

// asked are the targets of one round. A node that only joins needs to hear of a cluster from one of
// them. So it asks its seeds, and the others in turn: hundreds that start together do not all ask
// each other. A founder has to hear all other founders.
func (t *targets) asked() []string {
	given := min(len(t.addrs), len(t.cfg.Seeds))
	others := t.addrs[given:]
	if t.cfg.Expect > 0 || len(others) <= AskedMax {
		return t.addrs
	}
	asked := slices.Clone(t.addrs[:given])
	for range AskedMax {
		t.turn = (t.turn + 1) % len(others)
		asked = append(asked, others[t.turn])
	}
	return asked
}
