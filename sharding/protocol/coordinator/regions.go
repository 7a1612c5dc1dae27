package coordinator

import (
	"slices"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// regions are the regions and proxies of the view that have registered, and which of them can be
// given shards.
type regions struct {
	*env
	peers        map[protocol.UID]*peer
	passed       map[protocol.UID]time.Time // until when regions are passed over that cannot get leases
	leaseBackoff leaseBackoff
	opened       bool // MinRegions have been registered
}

// peer is a registered region or proxy.
type peer struct {
	uid     protocol.UID
	proxy   bool
	leaving bool
	life    uint32    // which region of its node it is
	left    bool      // it hosts nothing and never will
	joined  bool      // it routes already
	acked   bool      // its registration is known to a majority, so the next coordinator will know it too
	sure    bool      // it asks before it leaves, for it has reported or confirmed its registration
	told    uint32    // the tick in which Registered was sent last
	count   int       // shards that count
	drainAt time.Time // when to try again to move its shards away
}

// byUID are the registered regions and proxies in a fixed order.
func (rs *regions) byUID() []*peer {
	ps := make([]*peer, 0, len(rs.peers))
	for _, p := range rs.peers { // order: sorted below
		ps = append(ps, p)
	}
	slices.SortFunc(ps, func(a, b *peer) int {
		if a.uid < b.uid {
			return -1
		}
		return 1
	})
	return ps
}

// mayAllocate reports whether any region can take a shard. The gate of MinRegions stays open once
// it was passed.
func (rs *regions) mayAllocate() bool {
	regions, able := 0, 0
	for _, p := range rs.peers { // order: only counted
		if p.acked && !p.proxy && !rs.refused[p.uid] {
			regions++
		}
		if rs.mayHost(p.uid) {
			able++
		}
	}
	rs.opened = rs.opened || regions >= rs.cfg.Coordination.MinRegions
	return rs.opened && able > 0
}

// mayHost reports whether a member can be given shards.
func (rs *regions) mayHost(u protocol.UID) bool { return rs.eligible(u) && !rs.passes(u) }

// eligible says so too, of one that is passed over as well.
func (rs *regions) eligible(u protocol.UID) bool {
	p := rs.peers[u]
	if p == nil || p.proxy || p.leaving || !p.acked || !p.sure || rs.refused[u] {
		return false
	}
	m, ok := rs.view.Member(u)
	return ok && m.Status == view.Up && m.HasRole(rs.cfg.Role)
}

// audience are all regions and proxies that may have routed a message.
func (rs *regions) audience() []protocol.UID {
	var us []protocol.UID
	for _, p := range rs.byUID() {
		if p.acked {
			us = append(us, p.uid)
		}
	}
	return us
}

// nobodyElse reports whether no member can host that is not leaving, now or when it has joined.
func (rs *regions) nobodyElse() bool {
	return !slices.ContainsFunc(rs.view.Members, func(m view.Member) bool {
		if !m.HasRole(rs.cfg.Role) || m.Status == view.Leaving || rs.refused[m.UID] {
			return false
		}
		p := rs.peers[m.UID]
		return rs.unheard(m.UID) || p != nil && !p.leaving && !p.proxy
	})
}

// unheard reports whether a member has not told yet that it runs the type, or that it does not.
func (rs *regions) unheard(u protocol.UID) bool { return rs.peers[u] == nil && !rs.absent[u] }

// dropGone forgets the regions whose members are gone, and returns them; it notes which others
// leave.
func (rs *regions) dropGone() (gone []protocol.UID) {
	for _, p := range rs.byUID() {
		m, ok := rs.view.Member(p.uid)
		if !ok {
			gone = append(gone, p.uid)
			delete(rs.peers, p.uid)
		} else if m.Status == view.Leaving {
			p.leaving = true
		}
	}
	return gone
}

// mayStillHost reports whether a home that the table names may be told to go on.
func (rs *regions) mayStillHost(u protocol.UID) bool {
	p := rs.peers[u]
	return p != nil && !p.left
}
