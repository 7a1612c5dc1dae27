package membership

import (
	"errors"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/message"
	"github.com/coterie-go/coterie/ddata/membership/view"
)

// otherClusterPause is how long nothing more is said of another cluster of the same name. Two that
// were founded beside each other by mistake, nothing merges.
const otherClusterPause = time.Minute

// strays are the messages of other epochs and other clusters. It sorts them out, and helps whichever
// side has missed a view.
type strays struct {
	*step
	in      *cluster
	beat    time.Duration // between heartbeats
	fetches pause         // between questions for a newer view
	second  pause         // between events that there is a second cluster
}

// isCurrent reports whether a message belongs to the installed view. It asks for a newer view when
// one is heard of (V6: installing it sends heartbeats at once).
func (s *strays) isCurrent(r Receive, cluster view.ClusterID, epoch view.Epoch) bool {
	switch {
	case cluster != s.in.view.Cluster:
		s.foreign(r, cluster)
	case epoch < s.in.view.Epoch:
		s.stats.DroppedStale++
	case epoch > s.in.view.Epoch:
		s.stats.DroppedStale++
		s.fetch(r)
	default:
		return true
	}
	return false
}

// whole returns the decided view that is told by what has changed; nil if the parent is not the
// installed one, or the change makes no sense. Then it asks for the whole, or says what is wrong.
func (s *strays) whole(r Receive, c message.Change) *view.View {
	v := s.in.view
	if c.View.Cluster == v.Cluster && c.View.Epoch == v.Epoch && c.Hash != v.Digest {
		s.fork(c.String())
		return nil
	}
	if !s.isCurrent(r, c.View.Cluster, c.View.Epoch-1) {
		return nil
	}
	child, err := v.Child(c.Change)
	switch {
	case errors.Is(err, view.ErrOtherParent):
		s.fork(c.String())
	case err != nil:
		s.stats.DroppedBad++
		s.fetch(r)
	}
	return child
}

// fetch asks a member for its view. One answer is enough: a view goes to all members at about the same
// time.
func (s *strays) fetch(r Receive) {
	if s.fetches.over(s.now, s.beat/4) {
		s.fx.send(r.From, s.in.addr(r), message.Fetch{Cluster: s.in.view.Cluster})
	}
}

// tellView helps a node whose message shows that it has missed a view. Just after installing one,
// the news is probably on its way already.
func (s *strays) tellView(r Receive, cluster view.ClusterID, epoch view.Epoch, heartbeat func() message.Heartbeat) {
	v := s.in.view
	if cluster != v.Cluster || epoch >= v.Epoch {
		return
	}
	switch {
	case !v.Has(r.From):
		s.fx.send(r.From, r.FromAddr, message.Commit{View: v.View})
	case !s.now.Before(v.At.Add(s.beat / 2)):
		// it fetches the view, from the first of all that tell it so
		s.fx.send(r.From, v.Addr(r.From), heartbeat())
	}
}

// onFetch sends the view to a node that asks for it.
func (s *strays) onFetch(r Receive, f message.Fetch) {
	if f.Cluster != s.in.view.Cluster {
		s.foreign(r, f.Cluster)
		return
	}
	s.fx.send(r.From, s.in.addr(r), message.Commit{View: s.in.view.View})
}

// foreign takes note of a message that speaks of another cluster.
//
// None is taken for a cluster before a member of it says so itself: an alive node that is in no
// view of ours is told which cluster this is (onHint), and says the same of itself when it was
// told by its own gossip.
func (s *strays) foreign(r Receive, c view.ClusterID) {
	s.stats.DroppedOtherCluster++
	if s.second.over(s.now, otherClusterPause) {
		s.fx.event(SecondCluster{UID: r.From, Addr: r.FromAddr, Cluster: c})
	}
}

// fork reports what rule 1 of the chain excludes: two views of one epoch. The own view stays.
func (s *strays) fork(other string) {
	s.stats.Forks++
	s.fx.event(Forked{Own: s.in.view.String(), Other: other})
}
