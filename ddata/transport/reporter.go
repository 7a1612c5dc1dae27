package transport

import (
	"sync"
	"sync/atomic"
	"time"
)

// reporter counts refusals and tells what happens to the connections of a node.
type reporter struct {
	n    *counters
	tell func(Event) // Config.OnEvent

	warned atomic.Int64 // when something was last told as loud, in ns
	mu     sync.Mutex
	said   map[complaint]time.Time // when a refusal was told as loud; at most refusalsSaidMax
}

// complaint is a refusal that needs to be said once in a while.
type complaint struct {
	inbound bool
	addr    string
	reason  Reason
}

func (r *reporter) init(cfg *Config, n *counters) {
	r.n, r.said = n, map[complaint]time.Time{}
	if r.tell = cfg.OnEvent; r.tell == nil {
		r.tell = func(Event) {}
	}
}

// protocol tells of what no node of this cluster sends.
func (r *reporter) protocol(f ConnectionFault) {
	r.n.drop(DropProtocol, 1)
	f.Loud = r.maySpeak()
	r.tell(f)
}

// refusedBy takes note that another node refused a connection of this one.
func (r *reporter) refusedBy(by, meant NodeID, addr string, cause ErrRefused) {
	r.n.drop(DropRefusedOut, 1)
	r.refused(Refusal{Peer: by, Meant: meant, Addr: addr, Cause: cause})
}

func (r *reporter) refused(f Refusal) {
	switch f.Cause.Reason {
	case RefusedCluster, RefusedVersion, RefusedLimit, RefusedHello, RefusedTLS:
		f.Loud = r.maySay(f)
	default: // a node starts, ends or comes back
	}
	r.tell(f)
}

// maySay reports whether a refusal that only an operator can mend should go to the log: once a
// minute for each address and reason. One that has to wait, because something else was just said,
// is said the next time.
func (r *reporter) maySay(f Refusal) bool {
	c := complaint{f.Inbound, f.Addr, f.Cause.Reason}
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	if last, known := r.said[c]; known && now.Sub(last) < refusalSaidAgain || !r.maySpeak() {
		return false
	}
	if len(r.said) >= refusalsSaidMax {
		clear(r.said)
	}
	r.said[c] = now
	return true
}

// maySpeak admits one loud line a second: a hostile peer, or one that repeats itself, must not fill
// the log.
func (r *reporter) maySpeak() bool {
	now, last := time.Now().UnixNano(), r.warned.Load()
	return now-last >= int64(time.Second) && r.warned.CompareAndSwap(last, now)
}
