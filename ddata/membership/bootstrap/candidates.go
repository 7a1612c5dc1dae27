package bootstrap

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/view"
)

// candidates are the other nodes that seek and were heard lately, and what this one could found
// with them.
//
// Invariants: of has at most ContactsMax nodes, by uid, each address once. scene is that of these nodes
// and of memory, or nil.
type candidates struct {
	cfg    *Config
	memory *Memory
	of     []*founder
	scene  *scene
}

// founder is another seeking node, as it last described itself. It is not modified, but replaced.
type founder struct {
	probe  Probe
	since  time.Time // when it was first heard
	until  time.Time
	direct bool // it reaches this node at the address that this node advertises
}

// hears reports whether the founder counts a node as heard, which it does when that node reaches it
// at its own address.
func (f *founder) hears(u view.UID) bool {
	return slices.ContainsFunc(f.probe.Peers, func(c Contact) bool { return c.UID == u })
}

// find returns where a node is among those that were heard, or would be.
func (c *candidates) find(u view.UID) (i int, heard bool) {
	return slices.BinarySearchFunc(c.of, u, func(f *founder, u view.UID) int {
		return cmp.Compare(f.probe.Self.UID, u)
	})
}

// get returns a node that was heard.
func (c *candidates) get(u view.UID) (f *founder, heard bool) {
	if i, heard := c.find(u); heard {
		return c.of[i], true
	}
	return nil, false
}

// drop drops the nodes of which over holds.
func (c *candidates) drop(over func(*founder) bool) {
	if slices.ContainsFunc(c.of, over) {
		c.of, c.scene = slices.DeleteFunc(c.of, over), nil
	}
}

// hear takes the last probe of a node. news says that it shows something new; ok is false if there
// is no room for the node.
func (c *candidates) hear(now time.Time, p Probe) (news, ok bool) {
	c.drop(func(f *founder) bool { return f.probe.Self.UID != p.Self.UID && f.probe.Self.Addr == p.Self.Addr })
	i, known := c.find(p.Self.UID)
	if !known && (len(c.of) >= ContactsMax || p.Expect == 0 && len(c.of) >= ContactsMax/2) { // founders must find room
		return false, false
	}
	before := &founder{since: now}
	if known {
		before = c.of[i]
	} else {
		c.of = slices.Insert(c.of, i, before)
	}
	f := &founder{
		probe: p, since: before.since, until: now.Add(c.cfg.TTL), direct: before.direct || p.At == c.cfg.Self.Addr,
	}
	c.of[i], c.scene = f, nil
	self := c.cfg.Self.UID
	return !known || f.direct != before.direct || f.hears(self) != before.hears(self) ||
		!slices.Equal(before.probe.Choice, p.Choice), true
}

// contacts are the founders that reach this node at its own address: only these help to find a
// cluster.
func (c *candidates) contacts() (cs []Contact) {
	for _, f := range c.of {
		if len(cs) < ContactsMax && f.direct && f.probe.Expect > 0 {
			cs = append(cs, Contact{UID: f.probe.Self.UID, Addr: f.probe.Self.Addr})
		}
	}
	return cs
}

// dropSilent drops the nodes that were not heard lately.
func (c *candidates) dropSilent(now time.Time) {
	c.drop(func(f *founder) bool { return !now.Before(f.until) })
}

// probes returns the last probes of the nodes that were heard lately, by uid.
func (c *candidates) probes(now time.Time) (probes []Probe) {
	for _, f := range c.of {
		if now.Before(f.until) {
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
	return slices.ContainsFunc(c.of, func(f *founder) bool {
		return f.probe.Self.UID == at.UID || f.probe.Self.Addr == at.Addr
	})
}

// twoWay reports whether a node that was heard can be chosen: each of the two reaches the other at
// the address that it advertises, because locks go there. A node that is heard only through another
// address, such as a seed's, would lock the others to a founding that cannot end. Whether the other
// hears this node is known a little later, and no founding waits for it: until then the other's
// choice shows it. By an operator's word (BootstrapAnyDisks) no disk is left out because its node
// does not hear this one: what is on it may be nowhere else.
func (c *candidates) twoWay(now time.Time, u view.UID) bool {
	f, heard := c.get(u)
	return u == c.cfg.Self.UID || heard && f.direct &&
		(c.cfg.AnyDisks || f.hears(c.cfg.Self.UID) || c.hardlyCame(now, f))
}

// hardlyCame reports whether what a candidate hears may not have been told yet.
func (c *candidates) hardlyCame(now time.Time, f *founder) bool {
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
	for _, p := range c.look().eligible {
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
