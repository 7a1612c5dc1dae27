package bootstrap

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/proptest/defect"
)

// candidates are the other nodes that seek and were heard lately, and what this one could found
// with them.
//
// Invariant: of has at most ContactsMax nodes, each address once.
type candidates struct {
	cfg    *Config
	memory *Memory
	of     map[view.UID]founder
}

// founder is another seeking node, as it last described itself.
type founder struct {
	probe  Probe
	since  time.Time // when it was first heard
	until  time.Time
	direct bool // it reaches this node at the address that this node advertises
}

// hears reports whether the founder counts a node as heard, which it does when that node reaches it
// at its own address.
func (f founder) hears(u view.UID) bool {
	return slices.ContainsFunc(f.probe.Peers, func(c Contact) bool { return c.UID == u })
}

// hear takes the last probe of a node. news says that it shows something new; ok is false if there
// is no room for the node.
func (c *candidates) hear(now time.Time, p Probe) (news, ok bool) {
	for _, u := range sortedKeys(c.of) {
		if u != p.Self.UID && c.of[u].probe.Self.Addr == p.Self.Addr {
			delete(c.of, u)
		}
	}
	before, known := c.of[p.Self.UID]
	if !known && (len(c.of) >= ContactsMax || p.Expect == 0 && len(c.of) >= ContactsMax/2) { // founders must find room
		return false, false
	}
	if !known {
		before.since = now
	}
	f := founder{
		probe: p, since: before.since, until: now.Add(c.cfg.TTL), direct: before.direct || p.At == c.cfg.Self.Addr,
	}
	c.of[p.Self.UID] = f
	self := c.cfg.Self.UID
	return !known || f.direct != before.direct || f.hears(self) != before.hears(self) ||
		!slices.Equal(before.probe.Choice, p.Choice), true
}

// contacts are the founders that reach this node at its own address: only these help to find a
// cluster.
func (c *candidates) contacts() (cs []Contact) {
	for _, u := range sortedKeys(c.of) {
		f := c.of[u]
		if len(cs) < ContactsMax && f.direct && f.probe.Expect > 0 {
			cs = append(cs, Contact{UID: u, Addr: f.probe.Self.Addr})
		}
	}
	return cs
}

// dropSilent drops the nodes that were not heard lately.
func (c *candidates) dropSilent(now time.Time) {
	for _, u := range sortedKeys(c.of) {
		if !now.Before(c.of[u].until) {
			delete(c.of, u)
		}
	}
}

// probes returns the last probes of the nodes that were heard lately, by uid.
func (c *candidates) probes(now time.Time) (probes []Probe) {
	for _, u := range sortedKeys(c.of) {
		if f := c.of[u]; now.Before(f.until) {
			probes = append(probes, f.probe)
		}
	}
	return probes
}

// heardAt reports whether a contact is this node, or another that seeks and was heard lately.
func (c *candidates) heardAt(at Contact) bool {
	if at.Addr == c.cfg.Self.Addr || at.UID == c.cfg.Self.UID {
		return true
	}
	if _, ok := c.of[at.UID]; ok {
		return true
	}
	for _, u := range sortedKeys(c.of) {
		if c.of[u].probe.Self.Addr == at.Addr {
			return true
		}
	}
	return false
}

// eligible returns the present nodes that do not belong to another cluster than this node.
func (c *candidates) eligible() []Probe { return c.kin(c.present()) }

// present are this node and the candidates that may found, by uid.
func (c *candidates) present() []Probe {
	probes := []Probe{{
		Self: c.cfg.Self, Expect: uint32(c.cfg.Expect), Knows: c.memory.Knows(),
		AnyDisks: c.cfg.AnyDisks, Durable: c.cfg.Durable, Ended: c.cfg.DiskEnded, Clean: c.memory.Clean,
	}}
	for _, u := range sortedKeys(c.of) {
		if p := c.of[u].probe; p.Expect > 0 {
			probes = append(probes, p)
		}
	}
	slices.SortFunc(probes, func(a, b Probe) int { return cmp.Compare(a.Self.UID, b.Self.UID) })
	return probes
}

// kin leaves out the nodes whose disks belong to another cluster than this node's, so that they do
// not stand in the way.
func (c *candidates) kin(probes []Probe) []Probe {
	binds := func(k Known) bool { return !void(k, probes) }
	knows := c.memory.Knows()
	own := slices.IndexFunc(knows, binds)
	if own < 0 {
		return probes
	}
	cluster := knows[own].Cluster
	return slices.DeleteFunc(slices.Clone(probes), func(p Probe) bool {
		return slices.ContainsFunc(p.Knows, func(k Known) bool { return k.Cluster != cluster && binds(k) })
	})
}

// needs are the views of which a quorum of disks must take part: the last one that was installed,
// and those that were accepted since and may have been decided. The epochs go on above all of them.
// Their sets are those that no node knows to be history.
//
// The last view's sets are enough, and all that have it list the same. Whatever a role has
// acknowledged was on a majority of the disks of the view in which that happened. So the views from
// a settled one to the last name all that is needed. In a view that was only accepted nothing
// was acknowledged: a quorum of its disks would have installed it before, and one of those would be
// here.
func (c *candidates) needs(probes []Probe) ([]Known, error) {
	var all []Known
	present := c.present() // a node of another cluster testifies, too
	for _, p := range probes {
		for _, k := range p.Knows {
			if !void(k, present) {
				all = append(all, k)
			}
		}
	}
	var newest *Known
	for i, k := range all {
		if k.Cluster != all[0].Cluster && !c.cfg.AnyDisks {
			return nil, fmt.Errorf("the disks belong to different clusters, %v and %v", all[0].Cluster, k.Cluster)
		}
		if !k.Pending && (newest == nil || k.Epoch > newest.Epoch) {
			newest = &all[i]
		}
	}
	var settled view.Epoch
	for _, k := range all {
		if newest != nil && k.Cluster == newest.Cluster {
			settled = max(settled, k.Settled, k.Ages.Agreed()) // by then all before was settled (retiring)
		}
	}
	var needs []Known
	for _, k := range all {
		if c.cfg.Defects.Planted(defect.OnlyLastDisks) {
			settled = k.Epoch
		}
		k.Settled, k.Sets = 0, view.SetsSince(k.Sets, settled)
		isNewest := newest != nil && !k.Pending && k.Epoch == newest.Epoch
		later := k.Pending && (newest == nil || k.Epoch > newest.Epoch)
		if (isNewest || later) && !slices.ContainsFunc(needs, k.equal) {
			needs = append(needs, k)
		}
	}
	slices.SortFunc(needs, Known.compare)
	return needs, nil
}

// allEnded reports whether no node can run under a lease of a view that disks remember: a node is
// here on the disk of each member that can have held one, and the incarnation before it has ended
// for certain. Then a founding has nothing to wait for:
//
//  1. A view after those that are known here was decided by a quorum of the voters of one of these.
//     Each of the quorum had it on its disk before (V5). All their disks are here, so it would be
//     known. By the same argument none came after that.
//  2. Earlier views had other members. Their leases had run out when a view without them was
//     decided, or they had stopped (G4).
//  3. An incarnation on one of these disks between that member and the last one has written nothing
//     to it before that member's lease was over: it was in no view, and locked itself to none.
//     DiskEnded is about one that has written.
func (c *candidates) allEnded() bool {
	probes := c.eligible()
	needs, err := c.needs(probes)
	if err != nil || len(needs) == 0 {
		return false
	}
	ended := func(v view.Member) bool {
		return c.cfg.Defects.Planted(defect.FoundsUnended) || slices.ContainsFunc(probes, func(p Probe) bool {
			return p.Self.Disk == v.Disk && p.Ended
		})
	}
	return !slices.ContainsFunc(needs, func(k Known) bool {
		return !k.Complete || len(k.Voters) == 0 || !all(k.Voters, ended)
	})
}

func all(members []view.Member, holds func(view.Member) bool) bool {
	return !slices.ContainsFunc(members, func(m view.Member) bool { return !holds(m) })
}

// twoWay reports whether a node that was heard can be chosen: each of the two reaches the other at
// the address that it advertises, because locks go there. A node that is heard only through another
// address, such as a seed's, would lock the others to a founding that cannot end. Whether the other
// hears this node is known a little later, and no founding waits for it: until then the other's
// choice shows it. By an operator's word (BootstrapAnyDisks) no disk is left out because its node
// does not hear this one: what is on it may be nowhere else.
func (c *candidates) twoWay(now time.Time, u view.UID) bool {
	f := c.of[u]
	return u == c.cfg.Self.UID || f.direct && (c.cfg.AnyDisks || f.hears(c.cfg.Self.UID) || c.hardlyCame(now, f))
}

// hardlyCame reports whether what a candidate hears may not have been told yet.
func (c *candidates) hardlyCame(now time.Time, f founder) bool {
	return now.Before(f.since.Add(2 * c.cfg.Beat))
}

// unwaited says why a founding has to wait for a lease that no founder knows of; empty = it need
// not. Each founder waits for what its own last incarnation granted. A lease that was granted
// before the newest view was decided may have been granted by others. It runs out no later than a
// promise after any node has installed that view (G3), so one node that has installed it must have
// waited. It need not be a founder: a node that does not vote may be the only one here that knows.
func (c *candidates) unwaited(choice []view.UID) string {
	var newest view.Epoch
	var by Probe
	waited := true
	for _, p := range c.eligible() {
		for _, k := range p.Knows {
			if k.Pending || k.Epoch < newest {
				continue
			}
			if k.Epoch > newest {
				newest, by, waited = k.Epoch, p, false
			}
			waited = waited || !p.Waits || slices.Contains(choice, p.Self.UID) // a founder locks when it has waited
		}
	}
	if waited {
		return ""
	}
	return fmt.Sprintf("view %v is known from %s alone, which waits until leases from before it have run out", newest,
		by.Self.Addr)
}
