package ddata

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/ddata/format"
	"github.com/coterie-go/coterie/ddata/host"
	"github.com/coterie-go/coterie/ddata/membership"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/ddata/transport"
)

// connections hear of every connection of a node that was refused, has failed, has come up or gone
// down. They tell the listeners, know what a node that waits names as the cause, and end a node that
// waits in vain.
type connections struct {
	cfg      *Config
	reports  *reports
	watchers *host.Watchers
	joined   func() bool            // reports whether the node is in a cluster
	give     func(error)            // ends the node
	post     func(membership.Input) // steps the membership
	before   string                 // why the incarnation before broke off; empty when it is the first

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

// settings are those of the transport of a node, whose connections c hears of.
func (c *connections) settings(uid view.UID) transport.Config {
	t := c.cfg.Transport
	t.Cluster, t.Self, t.Formats = c.cfg.Name, transport.NodeID(uid), c.cfg.formats()
	t.Bind, t.Advertise, t.TLS, t.Network = c.cfg.Bind, c.cfg.Advertise, c.cfg.TLS, c.cfg.Network
	t.OnEvent = c.hear
	return t
}

// hear hears of everything that happens to a connection.
func (c *connections) hear(e transport.Event) {
	switch e := e.(type) {
	case transport.Refusal:
		c.refused(e)
	case transport.ConnectionFault:
		c.failed(e)
	case transport.LinkEvent:
		c.changed(e)
	}
}

// refused hears of a connection that was refused on either side.
func (c *connections) refused(r transport.Refusal) {
	c.reports.emit(events.ConnectionRefused{Refusal: r})
	if text, vain := c.inVain(r); vain {
		c.give(fmt.Errorf("%w: %s", ErrRefused, text))
	}
}

// failed hears of a connection that broke or could not be made.
func (c *connections) failed(f transport.ConnectionFault) {
	if f.Kind == transport.FaultDial {
		c.undialed.Store(&undialed{time.Now(), f.String()})
		if f.Refused && f.Peer != 0 {
			c.post(membership.Dialled{UID: view.UID(f.Peer), Refused: true})
		}
	}
	c.reports.emit(events.ConnectionFault{Fault: f})
}

// changed hears of a link that went up or down.
func (c *connections) changed(e transport.LinkEvent) {
	if e.Up {
		if e.Lane == transport.Control {
			c.post(membership.Dialled{UID: view.UID(e.Peer)})
		}
		c.reports.emit(events.LinkUp{Link: e})
	} else {
		c.reports.emit(events.LinkDown{Link: e})
	}
	c.watchers.TellLink(e)
}

// causes adds to the reason for which a node waits what its connections may have to do with it.
func (c *connections) causes(reason string) string {
	if !c.joined() {
		if u := c.undialed.Load(); u != nil && time.Since(u.at) < undialedFresh {
			reason += "; " + u.text
		}
		if c.before != "" {
			reason += "; " + c.before
		}
	}
	if s := c.last.Load(); s != nil {
		reason += "; " + *s
	}
	return reason
}

// inVain notes a connection that was refused on either side. It returns what it says, and whether
// the node waits in vain: it is in no cluster yet and all its seeds have refused it for good, so
// its name or its version is wrong.
func (c *connections) inVain(x transport.Refusal) (text string, vain bool) {
	text = x.String()
	// discovery may name this node as well
	if x.Inbound && x.Cause.Reason != transport.RefusedTLS || c.joined() || x.Cause.Reason == transport.RefusedSelf {
		return text, false
	}
	asked := slices.Contains(c.cfg.Seeds, x.Addr)
	switch {
	case x.Cause.Reason != transport.RefusedCluster:
	case asked || c.cfg.Discovery != nil:
		text += "; check Config.Name and Config.Seeds or Discovery"
	default:
		text += "; the address was that of a member once, and another cluster uses it now"
	}
	if x.Cause.Reason == transport.RefusedVersion {
		text += fmt.Sprintf("; check the builds of both sides, Config.FormatMax, and the durable keys of "+
			"Config.PerRole, which need level %d of all nodes", format.RolePatterns)
	}
	if x.Cause.Reason == transport.RefusedTLS {
		text += "; check Config.TLS on both sides: the certificates, their names and authorities, and that both use it"
	}
	c.last.Store(&text)
	forGood := x.Cause.Reason == transport.RefusedCluster || x.Cause.Reason == transport.RefusedVersion
	if x.Inbound || !asked || !forGood || c.cfg.Discovery != nil { // which may name others next
		return text, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.by[x.Addr] = true
	for _, seed := range c.cfg.Seeds {
		if !c.by[seed] && seed != c.cfg.Bind && seed != c.cfg.Advertise {
			return text, false
		}
	}
	return text, true
}
