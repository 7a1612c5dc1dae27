package bootstrap

import (
	"fmt"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/view"
)

// joining is what a node has heard of the cluster that it joins.
type joining struct {
	cluster  view.ClusterID // zero = none was heard of
	heard    view.Epoch     // the newest of the cluster
	first    view.Epoch     // the first of it that was heard of
	contacts []string       // the addresses to ask, as a member said last
	heardAt  time.Time      // when the cluster was last heard; moved by Awake
}

// HeardCluster notes that there is a cluster: from now on this node joins it or nothing.
func (s *Seeker) HeardCluster(now time.Time, c view.ClusterID) {
	s.enter(now)
	if s.memory.isStranger(&s.cfg, c) {
		return
	}
	if s.joining.cluster == 0 && s.locking.view == nil {
		s.joining.cluster = c
		s.out.Wake = true
	}
	if s.joining.cluster == c {
		s.joining.heardAt = s.now
	}
}

// onJoinReply takes the answer of a member, which came from that address.
func (s *Seeker) onJoinReply(now time.Time, from string, h JoinReply) {
	s.enter(now)
	if s.memory.isStranger(&s.cfg, h.Cluster) {
		s.wait(strangerText(h.Cluster, from, s.memory.Last.Cluster))
		return
	}
	s.HeardCluster(now, h.Cluster)
	if s.locking.view == nil && s.joining.cluster != h.Cluster {
		s.wait(fmt.Sprintf("two clusters of one name: %v, and %v at %s", s.joining.cluster, h.Cluster, from))
		return
	}
	switch {
	case s.locking.view != nil:
	case h.Closing:
		s.wait(fmt.Sprintf("cluster %v is being shut down, and no node can join; this node will found it anew with "+
			"the others", h.Cluster))
	case h.Moving:
		s.wait(fmt.Sprintf("cluster %v lets this node join when the keys of another node have become durable (event "+
			"KeysWaiting there)", h.Cluster))
	default:
		s.wait(fmt.Sprintf("cluster %v was asked to let this node join and has not decided it yet; it needs a "+
			"majority of its members", h.Cluster))
	}
	s.joining.contacts = s.joining.contacts[:0]
	for _, c := range h.Contacts {
		s.target(c.Addr)
		if c.Addr != s.cfg.Self.Addr {
			s.joining.contacts = append(s.joining.contacts, c.Addr)
		}
	}
	if s.locking.view == nil && s.joining.heard < h.Epoch { // it will be taken when it says so
		if s.joining.heard == 0 {
			s.joining.first = h.Epoch
		}
		s.joining.heard, s.out.Wake = h.Epoch, true
		s.targets.soon(s.now)
	}
}

// onRefuse takes the refusal of a member, which came from that address.
func (s *Seeker) onRefuse(now time.Time, from string, f Refuse) {
	s.enter(now)
	if f.To != s.cfg.Self.UID {
		s.out.Dropped.Stale++
		return
	}
	if s.memory.isStranger(&s.cfg, f.Cluster) && !s.strangers.refuse(&s.cfg, f.At) {
		s.wait(strangerText(f.Cluster, from, s.memory.Last.Cluster))
		return
	}
	if f.Reason == ReasonGone { // it never ran anything, and another uid will be taken
		s.out.Stalled, s.out.Least = f.Text, f.Least
		return
	}
	if s.locking.view != nil {
		s.out.Dropped.Stale++
		return
	}
	s.out.Refused = &Refusal{By: from, Reason: f.Reason, Text: f.Text}
}

// OnFirstView takes a decided view. Views to install follow if it lists this node.
func (s *Seeker) OnFirstView(now time.Time, v *view.View) {
	s.HeardCluster(now, v.Cluster)
	lock := s.locking.view
	if lock != nil && lock.Cluster != v.Cluster || lock == nil && s.joining.cluster != v.Cluster {
		s.out.Dropped.OtherCluster++
		return
	}
	if !v.Has(s.cfg.Self.UID) || v.ConfigHash != s.cfg.ConfigHash {
		s.out.Dropped.Stale++
		return
	}
	if me, _ := v.Member(s.cfg.Self.UID); me.Full() && lock != nil && lock.Epoch < v.Epoch {
		// Few voters, which need not wait for the other founders, went on at once. This one founds
		// with them, late: it lacks nothing that it would have to learn. And if many such were
		// learners there might be no majority to learn from. That it is a full member shows that
		// its lock was the one.
		s.out.Install = append(s.out.Install, lock)
	}
	s.out.Install = append(s.out.Install, v)
}
