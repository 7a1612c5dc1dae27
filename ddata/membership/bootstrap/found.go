package bootstrap

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
func (s *Seeker) maybeFound() {
	if s.cfg.Expect == 0 {
		s.wait(s.nothingToJoin())
		return
	}
	if at := s.foundAfter(); s.now.Before(at) {
		s.dueAt(at)
		return
	}
	choice := s.choice()
	if len(choice) == 0 {
		return
	}
	if text := s.unheard(choice); text != "" {
		s.wait(text)
	}
	if choice[0] != s.cfg.Self.UID {
		return
	}
	if text := s.unwaited(choice); text != "" {
		s.wait(text)
		return
	}
	for _, u := range choice[1:] {
		if !slices.Equal(s.candidates[u].probe.Choice, choice) {
			return
		}
	}
	v := s.foundingView(choice)
	if err := v.Check(); err != nil {
		s.wait(fmt.Sprintf("the founders make no view: %v", err))
		return
	}
	s.becomeLocked(v)
}

// foundAfter is the time before which this node neither founds nor locks. A node whose disk was in
// a cluster waits until the leases that its last incarnation granted have run out, unless that one
// noted that none was in use when it ended. The wait is counted from the latest time at which that
// incarnation can have granted something, as far as the driver knows it. A node that has addresses
// to probe waits for two probes, to hear of a cluster.
func (s *Seeker) foundAfter() time.Time {
	at := s.start
	if len(s.targets) > 0 {
		at = at.Add(2 * s.cfg.Beat)
	}
	return laterOf(at, s.leasesOver())
}

// leasesOver is when the leases have run out that the last incarnation on this disk may have
// granted, or may have known of when it installed a view. It is the zero time when there are none.
func (s *Seeker) leasesOver() time.Time {
	if s.memory.Last == nil && s.memory.Pending == nil || s.memory.Free {
		return time.Time{}
	}
	since := s.start
	if d := s.cfg.DiskSince; !d.IsZero() && d.Before(since) {
		since = d
	}
	return since.Add(s.cfg.Promise)
}

// unwaited says why a founding has to wait for a lease that no founder knows of; empty = it need
// not. Each founder waits for what its own last incarnation granted. A lease that was granted
// before the newest view was decided may have been granted by others. It runs out no later than a
// promise after any node has installed that view (R3), so one node that has installed it must have
// waited. It need not be a founder: a node that does not vote may be the only one here that knows.
func (s *Seeker) unwaited(choice []view.UID) string {
	var newest view.Epoch
	var by Probe
	waited := true
	for _, p := range s.eligible() {
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
func (s *Seeker) choice() []view.UID {
	if s.cfg.Expect == 0 {
		return nil
	}
	probes := s.eligible()
	if text := copied(probes); text != "" {
		s.wait(text)
		return nil
	}
	needs, err := s.needs(probes)
	if err != nil {
		s.wait(err.Error())
		return nil
	}
	if err := agreeOnKeys(new(view.View), probes, needs); err != nil {
		s.wait("the nodes together have " + err.Error())
		return nil
	}
	counted := slices.DeleteFunc(slices.Clone(probes), func(p Probe) bool { return !s.twoWay(p.Self.UID) })
	chosen := slices.DeleteFunc(slices.Clone(counted), func(p Probe) bool {
		return !slices.ContainsFunc(needs, func(k Known) bool { return k.names(p.Self.Disk) })
	})
	for _, k := range needs {
		if missing := k.missing(disksOf(chosen), s.cfg.Strategy); missing != "" && !s.cfg.AnyDisks {
			s.wait(fmt.Sprintf("%s, here are %v (BootstrapAnyDisks overrides)", missing, disksOf(probes)))
			return nil
		}
	}
	uids := make([]view.UID, 0, len(probes))
	for _, p := range chosen {
		uids = append(uids, p.Self.UID)
	}
	installed := slices.ContainsFunc(needs, func(k Known) bool { return !k.Pending })
	if len(chosen) > 0 && (installed || s.cfg.AnyDisks) {
		return uids
	}
	for _, p := range counted {
		if len(uids) < s.cfg.Expect && !slices.Contains(uids, p.Self.UID) {
			uids = append(uids, p.Self.UID)
		}
	}
	if len(uids) < s.cfg.Expect {
		s.wait(join(s.tooFew(probes), s.unsure()))
		return nil
	}
	if text := s.unsure(); text != "" && len(uids) > len(chosen) {
		s.wait(text)
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
func (s *Seeker) twoWay(u view.UID) bool {
	f := s.candidates[u]
	return u == s.cfg.Self.UID || f.direct && (s.cfg.AnyDisks || f.hears(s.cfg.Self.UID) || s.hardlyCame(f))
}

// hardlyCame: what a candidate hears may not have been told yet.
func (s *Seeker) hardlyCame(f founder) bool {
	return s.now.Before(f.since.Add(2 * s.cfg.Beat))
}

// eligible returns the present nodes that do not belong to another cluster than this node.
func (s *Seeker) eligible() []Probe { return s.kin(s.present()) }

// present are this node and the candidates that may found, by uid.
func (s *Seeker) present() []Probe {
	probes := []Probe{{
		Self: s.cfg.Self, Expect: uint32(s.cfg.Expect), Knows: s.memory.Knows(), AnyDisks: s.cfg.AnyDisks, Durable: s.cfg.Durable,
	}}
	for _, u := range sortedKeys(s.candidates) {
		if p := s.candidates[u].probe; p.Expect > 0 {
			probes = append(probes, p)
		}
	}
	slices.SortFunc(probes, func(a, b Probe) int { return cmp.Compare(a.Self.UID, b.Self.UID) })
	return probes
}

// kin leaves out the nodes whose disks belong to another cluster than this node's, so that they do
// not stand in the way.
func (s *Seeker) kin(probes []Probe) []Probe {
	binds := func(k Known) bool { return !void(k, probes) }
	knows := s.memory.Knows()
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
func (s *Seeker) needs(probes []Probe) ([]Known, error) {
	var all []Known
	present := s.present() // a node of another cluster testifies, too
	for _, p := range probes {
		for _, k := range p.Knows {
			if !void(k, present) {
				all = append(all, k)
			}
		}
	}
	var newest *Known
	for i, k := range all {
		if k.Cluster != all[0].Cluster && !s.cfg.AnyDisks {
			return nil, fmt.Errorf("the disks belong to different clusters, %v and %v", all[0].Cluster, k.Cluster)
		}
		if !k.Pending && (newest == nil || k.Epoch > newest.Epoch) {
			newest = &all[i]
		}
	}
	var settled view.Epoch
	for _, k := range all {
		if newest != nil && k.Cluster == newest.Cluster {
			settled = max(settled, k.Settled)
		}
	}
	var needs []Known
	for _, k := range all {
		if s.cfg.OnlyLastDisks {
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
func (s *Seeker) becomeLocked(v *view.View) {
	s.locking.view, s.locking.hash, s.locking.at = v, v.Hash(), s.now
	s.memory.Pending, s.memory.Free = v, false
	s.locking.record = s.disk.Lock(v)
	s.out.Wake = true
	s.LockStored(s.now)
}

// LockStored says that this node has locked itself, when that is on disk.
func (s *Seeker) LockStored(now time.Time) {
	s.enter(now)
	if s.locking.view == nil || !s.disk.IsStored(s.locking.record) || s.locking.said[s.cfg.Self.UID] == s.locking.hash {
		return
	}
	s.locking.said[s.cfg.Self.UID] = s.locking.hash
	s.sendLock()
	s.maybeFounded()
}

func (s *Seeker) sendLock() {
	if s.locking.said[s.cfg.Self.UID] != s.locking.hash {
		return
	}
	for _, o := range s.locking.view.Members {
		if o.UID != s.cfg.Self.UID {
			s.send(o.UID, o.Addr, Lock{View: s.locking.view})
		}
	}
}

// onLock takes another founder's lock, and locks this node to the same view if it may.
func (s *Seeker) onLock(now time.Time, from view.UID, l Lock) {
	s.enter(now)
	if !l.View.Founded || !l.View.Has(from) || !l.View.Has(s.cfg.Self.UID) {
		s.out.Dropped.Bad++
		return
	}
	s.locking.said[from] = l.View.Hash()
	if s.locking.view == nil && s.maySign(l.View) {
		s.becomeLocked(l.View)
		return
	}
	s.maybeFounded()
}

// maySign reports whether this node may lock itself to a founding that another proposes.
func (s *Seeker) maySign(v *view.View) bool {
	if s.cfg.Expect == 0 || s.joining.cluster != 0 || s.now.Before(s.foundAfter()) {
		return false
	}
	if needs, err := s.needs(s.eligible()); err == nil && len(needs) == 0 && s.unsure() != "" {
		return false // it comes again
	}
	me, _ := v.Member(s.cfg.Self.UID)
	if v.ConfigHash != s.cfg.ConfigHash || me.Addr != s.cfg.Self.Addr || v.Epoch == 1 && len(v.Members) < s.cfg.Expect {
		s.out.Dropped.Bad++
		return false
	}
	for _, k := range s.memory.Knows() {
		if v.Epoch <= k.Epoch || v.Cluster != k.Cluster && !k.Founding && !s.cfg.AnyDisks {
			s.out.Dropped.Bad++
			return false
		}
	}
	return true
}

// maybeFounded installs the founding view when all its members have locked to it.
func (s *Seeker) maybeFounded() {
	if s.locking.view == nil {
		return
	}
	for _, o := range s.locking.view.Members {
		if s.locking.said[o.UID] != s.locking.hash {
			return
		}
	}
	s.out.Install = append(s.out.Install, s.locking.view)
}
