package ddata

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coterie-go/coterie/ddata/transport"
)

// refusals are the connections that failed: what a node that waits names as the cause, and whether
// it waits in vain.
type refusals struct {
	cfg    *Config
	before string // why the incarnation before broke off; empty when it is the first

	last     atomic.Pointer[string] // the last connection that another node refused
	undialed atomic.Pointer[undialed]

	mu sync.Mutex
	by map[string]bool // addresses that refused this node for good
}

// undialed is the last attempt to connect that failed.
type undialed struct {
	at   time.Time
	text string
}

// undialedFresh is how long a failed attempt is of interest. One that goes on failing is made again
// sooner.
const undialedFresh = 10 * time.Second

// refused notes a connection that was refused on either side. It returns what it says, and whether
// the node waits in vain: it is in no cluster yet and all its seeds have refused it for good, so
// its name or its version is wrong.
func (r *refusals) refused(x transport.Refusal, joined bool) (text string, vain bool) {
	text = x.String()
	// discovery may name this node as well
	if x.Inbound && x.Cause.Reason != transport.RefusedTLS || joined || x.Cause.Reason == transport.RefusedSelf {
		return text, false
	}
	asked := slices.Contains(r.cfg.Seeds, x.Addr)
	switch {
	case x.Cause.Reason != transport.RefusedCluster:
	case asked || r.cfg.Discovery != nil:
		text += "; check Config.Name and Config.Seeds or Discovery"
	default:
		text += "; the address was that of a member once, and another cluster uses it now"
	}
	if x.Cause.Reason == transport.RefusedTLS {
		text += "; check Config.TLS on both sides: the certificates, their names and authorities, and that both use it"
	}
	r.last.Store(&text)
	forGood := x.Cause.Reason == transport.RefusedCluster || x.Cause.Reason == transport.RefusedVersion
	if x.Inbound || !asked || !forGood || r.cfg.Discovery != nil { // which may name others next
		return text, false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.by[x.Addr] = true
	for _, seed := range r.cfg.Seeds {
		if !r.by[seed] && seed != r.cfg.Bind && seed != r.cfg.Advertise {
			return text, false
		}
	}
	return text, true
}

// failed notes a connection that could not be made.
func (r *refusals) failed(f transport.ConnectionFault) {
	r.undialed.Store(&undialed{time.Now(), f.String()})
}
