package bootstrap

import (
	"fmt"
	"slices"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/proptest/defect"
)

// maybeFound founds a cluster if this node is the one that must do so. All chosen nodes, this one
// included, would choose each other, and this one has the lowest uid. All n have to lock: so no two
// clusters are founded as long as fewer than 2n nodes seek.
func (s *Seeker) maybeFound() {
	if s.cfg.Expect == 0 {
		s.wait(s.candidates.nothingToJoin(s.targets.addrs))
		return
	}
	if at := s.foundAfter(); s.now.Before(at) {
		s.oldLeases.tell(s.now, s.start.Add(2*s.cfg.Beat), s.memory.leasesOver(&s.cfg, s.start), &s.out)
		s.out.DueAt(at)
		return
	}
	choice := s.choice()
	if len(choice) == 0 {
		return
	}
	if text := s.candidates.unheard(s.now, choice); text != "" {
		s.wait(text)
	}
	if choice[0] != s.cfg.Self.UID {
		return
	}
	if text := s.candidates.unwaited(choice); text != "" {
		s.wait(text)
		return
	}
	for _, u := range choice[1:] {
		if f, heard := s.candidates.get(u); !heard || !slices.Equal(f.probe.Choice, choice) {
			return
		}
	}
	v := s.candidates.foundingView(s.rng, s.now, choice)
	if err := v.Check(); err != nil {
		s.wait(fmt.Sprintf("the founders make no view: %v", err))
		return
	}
	s.becomeLocked(v)
}

// oldLeases says once for which leases a founding waits.
type oldLeases struct{ told bool }

// tell says it when the first moments, in which a node may be let in, are over.
func (o *oldLeases) tell(now, firstOver, over time.Time, out *Output) {
	if o.told || now.Before(firstOver) || !now.Before(over) {
		return
	}
	o.told = true
	out.Waiting = append(out.Waiting, fmt.Sprintf("the last run on this disk ended without a word, and other "+
		"nodes may use leases that it granted: no cluster is founded until they have run out, in %v at most",
		over.Sub(now).Round(10*time.Millisecond)))
}

// foundAfter is the time before which this node neither founds nor locks. A node whose disk was in
// a cluster waits until the leases that its last incarnation granted have run out, unless that one
// noted that none was in use when it ended. The wait is counted from the latest time at which that
// incarnation can have granted something, as far as the driver knows it. A node that has addresses
// to probe waits for two probes, to hear of a cluster. When all that were in the last views are
// here, and have ended before, there is no lease and no cluster to wait for.
func (s *Seeker) foundAfter() time.Time {
	at := s.start
	if s.candidates.look().ended {
		return at
	}
	if len(s.targets.addrs) > 0 {
		at = at.Add(2 * s.cfg.Beat)
	}
	return laterOf(at, s.memory.leasesOver(&s.cfg, s.start))
}

// choice returns the nodes with which this node would found a cluster, sorted; nil = not yet. It
// depends only on what the candidates say of themselves, so that all that hear each other choose
// alike.
//
// If no disk remembers a view, the choice is the BootstrapExpect lowest uids. It is empty while
// this node is unsure which other nodes there are (discovered.go).
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
	scene := s.candidates.look()
	probes, needs := scene.eligible, scene.needs
	if text := copied(probes); text != "" {
		s.wait(text)
		return nil
	}
	if scene.err != nil {
		s.wait(scene.err.Error())
		return nil
	}
	if err := agreeOnKeys(new(view.View), probes, needs); err != nil {
		s.wait("the nodes together have " + err.Error())
		return nil
	}
	least, ages := formatLeast(needs), agesOf(needs)
	if drawAgain(s.cfg.Self.UID, ages, &s.out) {
		return nil
	}
	counted := without(probes, func(p *Probe) bool {
		return p.Self.Formats.Max < least || s.candidates.isUnclean(*p, ages) || !s.candidates.twoWay(s.now, p.Self.UID)
	})
	chosen := without(counted, func(p *Probe) bool {
		return !slices.ContainsFunc(needs, func(k Known) bool { return k.names(p.Self.Disk) })
	})
	for _, k := range needs {
		if missing := k.missing(disksOf(chosen), s.cfg.Strategy); missing != "" && !s.cfg.AnyDisks {
			s.wait(join(fmt.Sprintf("%s, here are %v (BootstrapAnyDisks overrides)", missing, disksOf(probes)),
				join(outdated(probes, least), s.candidates.uncleanDisks(probes, ages))))
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
		few := s.candidates.tooFew(s.now, probes, s.targets.addrs)
		s.wait(join(few, s.discovered.unsure(s.now, &s.candidates, &s.out)))
		return nil
	}
	if text := s.discovered.unsure(s.now, &s.candidates, &s.out); text != "" && len(uids) > len(chosen) {
		s.wait(text)
		return nil
	}
	slices.Sort(uids)
	return uids
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
	s.candidates.lock(v)
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
	s.locking.tell(s.cfg.Self.UID, &s.out)
	s.locking.maybeInstall(&s.out)
}

// onLock takes another founder's lock, and locks this node to the same view if it may.
func (s *Seeker) onLock(now time.Time, from view.UID, l Locked) {
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
	s.locking.maybeInstall(&s.out)
}

// maySign reports whether this node may lock itself to a founding that another proposes.
func (s *Seeker) maySign(v *view.View) bool {
	if s.cfg.Expect == 0 || s.joining.cluster != 0 || s.now.Before(s.foundAfter()) {
		return false
	}
	if scene := s.candidates.look(); scene.err == nil && len(scene.needs) == 0 &&
		s.discovered.unsure(s.now, &s.candidates, &s.out) != "" {
		return false // it comes again
	}
	me, _ := v.Member(s.cfg.Self.UID)
	if !s.cfg.Self.Formats.Contains(v.Format) {
		s.out.Dropped.Bad++
		return false
	}
	if v.ConfigHash != s.cfg.ConfigHash || me.Addr != s.cfg.Self.Addr || v.Epoch == 1 && len(v.Members) < s.cfg.Expect {
		s.out.Dropped.Bad++
		return false
	}
	if v.Ages.Over() > s.memory.Clean && len(s.memory.Knows()) > 0 &&
		!s.cfg.Defects.Planted(defect.FoundsUnclean) {
		s.out.Dropped.Bad++
		return false
	}
	for _, k := range s.memory.Knows() {
		if v.Epoch <= k.Epoch || v.Ages.Agreed() < k.Ages.Agreed() || v.Format < k.Format ||
			v.Cluster != k.Cluster && !k.Founding && !s.cfg.AnyDisks {
			s.out.Dropped.Bad++
			return false
		}
	}
	return true
}
