package transport

import (
	"fmt"
	"time"
)

// onRefusedBy takes note that another node refused a connection of this one.
func (m *Mesh) onRefusedBy(by, meant NodeID, addr string, cause ErrRefused) {
	m.n.drop(DropRefusedOut, 1)
	m.onRefused(Refusal{Peer: by, Meant: meant, Addr: addr, Cause: cause})
}

func (m *Mesh) onRefused(r Refusal) {
	switch r.Cause.Reason {
	case RefusedCluster, RefusedVersion, RefusedLimit, RefusedHello, RefusedTLS:
		r.Loud = m.maySay(r)
	default: // a node starts, ends or comes back
	}
	if m.cfg.OnRefused != nil {
		m.cfg.OnRefused(r)
	}
}

// maySay reports whether a refusal that only an operator can mend should go to the log: once a
// minute for each address and reason. One that has to wait, because something else was just said,
// is said the next time.
func (m *Mesh) maySay(r Refusal) bool {
	type what struct {
		inbound bool
		addr    string
		reason  Reason
	}
	k := fmt.Sprint(what{r.Inbound, r.Addr, r.Cause.Reason})
	now := time.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	if last, known := m.refusalsSaid[k]; known && now.Sub(last) < refusalSaidAgain || !m.maySpeak() {
		return false
	}
	if len(m.refusalsSaid) >= refusalsSaidMax {
		clear(m.refusalsSaid)
	}
	m.refusalsSaid[k] = now
	return true
}

// maySpeak admits one loud line a second: a hostile peer, or one that repeats itself, must not fill
// the log.
func (m *Mesh) maySpeak() bool {
	now, last := time.Now().UnixNano(), m.warned.Load()
	return now-last >= int64(time.Second) && m.warned.CompareAndSwap(last, now)
}
