package bootstrap

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/proptest/defect"
)

// scene is what follows from the candidates and from what this node's disk remembers. It does not depend
// on the time. It is computed once until one of them changes, because it is asked for at each step. It is
// not modified.
type scene struct {
	eligible []Probe // the present nodes that do not belong to another cluster than this node, by uid
	needs    []Known // of these nodes, as candidates.needs says
	err      error   // why the needs are unknown; nil = they are known
	ended    bool    // as candidates.allEnded says
}

// look returns the scene.
func (c *candidates) look() *scene {
	if c.scene == nil {
		present := c.present()
		x := &scene{eligible: c.kin(present)}
		x.needs, x.err = c.needs(x.eligible, present)
		x.ended = x.err == nil && c.allEnded(x.eligible, x.needs)
		c.scene = x
	}
	return c.scene
}

// lock makes a founding view the one to which this node has locked itself.
func (c *candidates) lock(v *view.View) {
	c.memory.lock(v)
	c.scene = nil
}

// present are this node and the candidates that may found, by uid.
func (c *candidates) present() []Probe {
	probes := make([]Probe, 0, len(c.of)+1)
	for _, f := range c.of {
		if f.probe.Expect > 0 {
			probes = append(probes, f.probe)
		}
	}
	own := Probe{
		Self: c.cfg.Self, Expect: uint32(c.cfg.Expect), Knows: c.memory.Knows(),
		AnyDisks: c.cfg.AnyDisks, Durable: c.cfg.Durable, Ended: c.cfg.DiskEnded, Clean: c.memory.Clean,
	}
	i, _ := slices.BinarySearchFunc(probes, own.Self.UID, func(p Probe, u view.UID) int {
		return cmp.Compare(p.Self.UID, u)
	})
	return slices.Insert(probes, i, own)
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
	return without(probes, func(p *Probe) bool {
		return slices.ContainsFunc(p.Knows, func(k Known) bool { return k.Cluster != cluster && binds(k) })
	})
}

// without returns the probes that are not unwanted. It does not change probes, which it returns if all are wanted.
func without(probes []Probe, unwanted func(*Probe) bool) []Probe {
	for i := range probes {
		if unwanted(&probes[i]) {
			wanted := make([]Probe, i, len(probes)-1)
			copy(wanted, probes)
			for j := i + 1; j < len(probes); j++ {
				if p := &probes[j]; !unwanted(p) {
					wanted = append(wanted, *p)
				}
			}
			return wanted
		}
	}
	return probes
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
func (c *candidates) needs(probes, present []Probe) ([]Known, error) {
	n := 0
	for i := range probes {
		n += len(probes[i].Knows)
	}
	all := make([]Known, 0, n)
	for i := range probes {
		for _, k := range probes[i].Knows {
			if !void(k, present) { // a node of another cluster testifies, too
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
func (c *candidates) allEnded(probes []Probe, needs []Known) bool {
	if len(needs) == 0 {
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
