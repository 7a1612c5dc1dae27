package membership

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/view"
)

// maybeFound founds a cluster if this node is the one that must do so. All chosen nodes, this one
// included, would choose each other, and this one has the lowest uid. All n have to lock: so no two
// clusters are founded as long as fewer than 2n nodes seek.
func (m *Machine) maybeFound() {
	if m.cfg.BootstrapExpect == 0 {
		m.wait(m.nothingToJoin())
		return
	}
	if at := m.foundAfter(); m.now.Before(at) {
		m.dueAt(at)
		return
	}
	choice := m.choice()
	if len(choice) == 0 {
		return
	}
	if text := m.unheard(choice); text != "" {
		m.wait(text)
	}
	if choice[0] != m.cfg.UID {
		return
	}
	if text := m.unwaited(choice); text != "" {
		m.wait(text)
		return
	}
	for _, u := range choice[1:] {
		if !slices.Equal(m.bootstrap.candidates[u].probe.Choice, choice) {
			return
		}
	}
	v := m.foundingView(choice)
	if err := v.Check(); err != nil {
		m.wait(fmt.Sprintf("the founders make no view: %v", err))
		return
	}
	m.becomeLocked(v)
}

// foundAfter is the time before which this node neither founds nor locks. A node whose disk was in
// a cluster waits until the leases that its last incarnation granted have run out, unless that one
// noted that none was in use when it ended. The wait is counted from the latest time at which that
// incarnation can have granted something, as far as the driver knows it. A node that has addresses
// to probe waits for two probes, to hear of a cluster.
func (m *Machine) foundAfter() time.Time {
	at := m.start
	if len(m.bootstrap.targets) > 0 {
		at = at.Add(2 * m.cfg.HeartbeatInterval)
	}
	return laterOf(at, m.leasesOver())
}

// leasesOver is when the leases have run out that the last incarnation on this disk may have
// granted, or may have known of when it installed a view. It is the zero time when there are none.
func (m *Machine) leasesOver() time.Time {
	if m.record.Last == nil && m.record.Pending == nil || m.record.Free {
		return time.Time{}
	}
	since := m.start
	if d := m.cfg.DiskSince; !d.IsZero() && d.Before(since) {
		since = d
	}
	return since.Add(m.cfg.promise())
}

// unwaited says why a founding has to wait for a lease that no founder knows of; empty = it need
// not. Each founder waits for what its own last incarnation granted. A lease that was granted
// before the newest view was decided may have been granted by others. It runs out no later than a
// promise after any node has installed that view (R3), so one node that has installed it must have
// waited. It need not be a founder: a node that does not vote may be the only one here that knows.
func (m *Machine) unwaited(choice []UID) string {
	var newest Epoch
	var by Probe
	waited := true
	for _, p := range m.eligible() {
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
	return fmt.Sprintf("view %v is known from %s alone, which waits until leases from before it have run out", newest, by.Self.Addr)
}

// choice returns the nodes with which this node would found a cluster, sorted; nil = not yet. It
// depends only on what the candidates say of themselves, so that all that hear each other choose
// alike.
//
// If no disk remembers a view, the choice is the BootstrapExpect lowest uids. It is empty while
// this node is unsure which other nodes there are (discover.go).
//
// Else the choice is all nodes whose disks were in the views that must not be forgotten. They must
// be a quorum of each. No majority of a set that may know what the others do not may be missing
// (V5). The others join them later. If no node here has seen the founding completed, too few are
// filled up to BootstrapExpect with the lowest uids of the others. Other nodes that locked to that
// founding, or were asked to, may be free to found without them.
func (m *Machine) choice() []UID {
	if m.cfg.BootstrapExpect == 0 {
		return nil
	}
	probes := m.eligible()
	if text := copied(probes); text != "" {
		m.wait(text)
		return nil
	}
	needs, err := m.needs(probes)
	if err != nil {
		m.wait(err.Error())
		return nil
	}
	if err := agreeOnKeys(new(View), probes, needs); err != nil {
		m.wait("the nodes together have " + err.Error())
		return nil
	}
	counted := slices.DeleteFunc(slices.Clone(probes), func(p Probe) bool { return !m.twoWay(p.Self.UID) })
	chosen := slices.DeleteFunc(slices.Clone(counted), func(p Probe) bool {
		return !slices.ContainsFunc(needs, func(k Known) bool { return k.names(p.Self.Disk) })
	})
	for _, k := range needs {
		if missing := k.missing(disksOf(chosen), m.cfg.Strategy); missing != "" && !m.cfg.BootstrapAnyDisks {
			m.wait(fmt.Sprintf("%s, here are %v (BootstrapAnyDisks overrides)", missing, disksOf(probes)))
			return nil
		}
	}
	uids := make([]UID, 0, len(probes))
	for _, p := range chosen {
		uids = append(uids, p.Self.UID)
	}
	installed := slices.ContainsFunc(needs, func(k Known) bool { return !k.Pending })
	if len(chosen) > 0 && (installed || m.cfg.BootstrapAnyDisks) {
		return uids
	}
	for _, p := range counted {
		if len(uids) < m.cfg.BootstrapExpect && !slices.Contains(uids, p.Self.UID) {
			uids = append(uids, p.Self.UID)
		}
	}
	if len(uids) < m.cfg.BootstrapExpect {
		m.wait(join(m.tooFew(probes), m.unsure()))
		return nil
	}
	if text := m.unsure(); text != "" && len(uids) > len(chosen) {
		m.wait(text)
		return nil
	}
	slices.Sort(uids)
	return uids
}

// twoWay reports whether a node that was heard can be chosen: each of the two reaches the other at
// the address that it advertises, because locks go there. A node that is heard only through another
// address, such as a seed's, would lock the others to a founding that cannot end. Whether the other
// hears this node is known a little later, and no founding waits for it: until then the other's
// choice shows it. By an operator's word (BootstrapAnyDisks) no disk is left out because its node
// does not hear this one: what is on it may be nowhere else.
func (m *Machine) twoWay(u UID) bool {
	f := m.bootstrap.candidates[u]
	return u == m.cfg.UID || f.direct && (m.cfg.BootstrapAnyDisks || f.hears(m.cfg.UID) || m.hardlyCame(f))
}

// hardlyCame: what a candidate hears may not have been told yet.
func (m *Machine) hardlyCame(f founder) bool {
	return m.now.Before(f.since.Add(2 * m.cfg.HeartbeatInterval))
}

// eligible returns the present nodes that do not belong to another cluster than this node.
func (m *Machine) eligible() []Probe { return m.kin(m.present()) }

// present are this node and the candidates that may found, by uid.
func (m *Machine) present() []Probe {
	probes := []Probe{{
		Self: m.cfg.self(), Expect: uint32(m.cfg.BootstrapExpect), Knows: m.record.knows(), AnyDisks: m.cfg.BootstrapAnyDisks, Durable: m.cfg.DurableKeys,
	}}
	for _, u := range sortedKeys(m.bootstrap.candidates) {
		if p := m.bootstrap.candidates[u].probe; p.Expect > 0 {
			probes = append(probes, p)
		}
	}
	slices.SortFunc(probes, func(a, b Probe) int { return cmp.Compare(a.Self.UID, b.Self.UID) })
	return probes
}

// kin leaves out the nodes whose disks belong to another cluster than this node's, so that they do
// not stand in the way.
func (m *Machine) kin(probes []Probe) []Probe {
	binds := func(k Known) bool { return !void(k, probes) }
	knows := m.record.knows()
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
// acknowledged was on a majority of the disks of the view in which that happened, so that the views
// from a settled one to the last name all that is needed. In a view that was only accepted nothing
// was acknowledged: a quorum of its disks would have installed it before, and one of those would be
// here.
func (m *Machine) needs(probes []Probe) ([]Known, error) {
	var all []Known
	present := m.present() // a node of another cluster testifies, too
	for _, p := range probes {
		for _, k := range p.Knows {
			if !void(k, present) {
				all = append(all, k)
			}
		}
	}
	var newest *Known
	for i, k := range all {
		if k.Cluster != all[0].Cluster && !m.cfg.BootstrapAnyDisks {
			return nil, fmt.Errorf("the disks belong to different clusters, %v and %v", all[0].Cluster, k.Cluster)
		}
		if !k.Pending && (newest == nil || k.Epoch > newest.Epoch) {
			newest = &all[i]
		}
	}
	var settled Epoch
	for _, k := range all {
		if newest != nil && k.Cluster == newest.Cluster {
			settled = max(settled, k.Settled)
		}
	}
	var needs []Known
	for _, k := range all {
		if m.cfg.Defects.OnlyLastDisks {
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

// void reports whether a founding cannot have been completed although a node locked to it. All its
// members had to lock, a lock is on disk before it is said, and here is one of its disks without
// it.
func void(k Known, probes []Probe) bool {
	if !k.Pending || !k.Founding {
		return false
	}
	return slices.ContainsFunc(probes, func(p Probe) bool {
		if !k.voted(p.Self.Disk) {
			return false
		}
		return !slices.ContainsFunc(p.Knows, func(o Known) bool { return o.Cluster == k.Cluster && o.Epoch >= k.Epoch })
	})
}

// becomeLocked binds this incarnation to one founding view. On disk before it is said (V5).
func (m *Machine) becomeLocked(v *View) {
	s := &m.bootstrap
	s.lock, s.lockHash, s.lockedAt = v, v.Hash(), m.now
	s.lockRecord = m.persist(record{Last: m.record.Last, Pending: v, Settled: m.record.Settled})
	m.wake = true
	m.lockStored()
}

// lockStored says that this node has locked itself, when that is on disk.
func (m *Machine) lockStored() {
	s := &m.bootstrap
	if s.lock == nil || !m.isStored(s.lockRecord) || s.locked[m.cfg.UID] == s.lockHash {
		return
	}
	s.locked[m.cfg.UID] = s.lockHash
	m.sendLock()
	m.maybeFounded()
}

func (m *Machine) sendLock() {
	if m.bootstrap.locked[m.cfg.UID] != m.bootstrap.lockHash {
		return
	}
	for _, o := range m.bootstrap.lock.Members {
		if o.UID != m.cfg.UID {
			m.send(o.UID, o.Addr, Lock{View: m.bootstrap.lock})
		}
	}
}

func (m *Machine) onLock(r Receive, l Lock) {
	if m.view != nil {
		m.onLateLock(r, l)
		return
	}
	s := &m.bootstrap
	if !l.View.Founded || !l.View.Has(r.From) || !l.View.Has(m.cfg.UID) {
		m.stats.DroppedBad++
		return
	}
	s.locked[r.From] = l.View.Hash()
	if s.lock == nil && m.maySign(l.View) {
		m.becomeLocked(l.View)
		return
	}
	m.maybeFounded()
}

// onLateLock tells a node that has locked itself what has become of that founding. If the cluster
// has gone on without it, because it was founded anew or has dropped it, it has to start again as
// another.
func (m *Machine) onLateLock(r Receive, l Lock) {
	switch {
	case m.view.Has(r.From):
		m.send(r.From, m.addrOf(r), Commit{View: m.view})
	case l.View.Cluster == m.view.Cluster && l.View.Epoch <= m.view.Epoch:
		m.send(r.From, r.FromAddr, Refuse{To: r.From, Cluster: m.view.Cluster, Reason: ReasonGone,
			Text: "the cluster was founded and goes on without it"})
	default:
		m.stats.DroppedOtherCluster++
	}
}

// maySign reports whether this node may lock itself to a founding that another proposes.
func (m *Machine) maySign(v *View) bool {
	if m.cfg.BootstrapExpect == 0 || m.bootstrap.cluster != 0 || m.now.Before(m.foundAfter()) {
		return false
	}
	if needs, err := m.needs(m.eligible()); err == nil && len(needs) == 0 && m.unsure() != "" {
		return false // it comes again
	}
	me, _ := v.Member(m.cfg.UID)
	if v.ConfigHash != m.configHash || me.Addr != m.cfg.Addr || v.Epoch == 1 && len(v.Members) < m.cfg.BootstrapExpect {
		m.stats.DroppedBad++
		return false
	}
	for _, k := range m.record.knows() {
		if v.Epoch <= k.Epoch || v.Cluster != k.Cluster && !k.Founding && !m.cfg.BootstrapAnyDisks {
			m.stats.DroppedBad++
			return false
		}
	}
	return true
}

// maybeFounded installs the founding view when all its members have locked to it.
func (m *Machine) maybeFounded() {
	s := &m.bootstrap
	if s.lock == nil {
		return
	}
	for _, o := range s.lock.Members {
		if s.locked[o.UID] != s.lockHash {
			return
		}
	}
	m.install(s.lock)
}
