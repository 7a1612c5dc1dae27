package views

import (
	"fmt"
	"iter"
	"slices"

	"github.com/coterie-go/coterie/ddata/format"
	"github.com/coterie-go/coterie/ddata/membership/view"
)

// Chain is the views of a world. The zero Chain has none.
type Chain struct {
	views   map[key]*view.View
	removed map[view.UID]bool // in no view that comes
	eras    map[view.ClusterID]view.Era
	levels  map[view.ClusterID]format.Level // the highest so far
	ended   map[view.ClusterID]*view.View   // the one by which the most incarnations are over

	// Raised is how often a format level rose.
	Raised uint64
	// Retired is how often incarnations that are over have retired.
	Retired uint64
	// Agreed is the last view under which the replicas of a member have agreed on what ends; nil: it is not
	// known.
	Agreed func(view.UID) view.Epoch
}

type key struct {
	cluster view.ClusterID
	epoch   view.Epoch
}

// New returns a Chain without views.
func New() *Chain {
	return &Chain{
		views: map[key]*view.View{}, removed: map[view.UID]bool{}, eras: map[view.ClusterID]view.Era{},
		levels: map[view.ClusterID]format.Level{}, ended: map[view.ClusterID]*view.View{},
	}
}

// Forget takes back the views that a founding anew gives up: those of its own epoch and later.
func (c *Chain) Forget(founding *view.View) {
	for k, v := range c.views { // order: only deletes
		if k.cluster == founding.Cluster && k.epoch >= founding.Epoch && !view.Same(v, founding) {
			delete(c.views, k)
		}
	}
	delete(c.levels, founding.Cluster)
	delete(c.ended, founding.Cluster)
}

// Installed takes a view that a process has installed. news reports whether it is the first process that
// has. Each thing that is wrong with it goes to violate, with the name of the rule.
func (c *Chain) Installed(v *view.View, violate func(rule, text string)) (news bool) {
	k := key{v.Cluster, v.Epoch}
	if was := c.views[k]; was != nil {
		if !view.Same(was, v) {
			violate("one view per epoch", fmt.Sprintf("%v is installed, and %v was", v, was))
		}
		return false
	}
	c.views[k] = v
	if was, known := c.eras[v.Cluster]; known && v.Era != was {
		violate("era", fmt.Sprintf("%v is of era %d, the cluster was founded in %d", v, v.Era, was))
	}
	c.eras[v.Cluster] = v.Era
	if was := c.levels[v.Cluster]; was != 0 && was < v.Format {
		c.Raised++
	}
	c.levels[v.Cluster] = max(c.levels[v.Cluster], v.Format)
	c.carries(v, violate)
	parent := c.views[key{v.Cluster, v.Epoch - 1}]
	if parent == nil || v.Founded {
		return true // the first of a cluster, or a founding anew, or its parent was installed by no process
	}
	if v.Parent != parent.Hash() {
		violate("chain of views", fmt.Sprintf("the parent of %v is not %v", v, parent))
	}
	if v.Format < parent.Format {
		violate("format level", fmt.Sprintf("the level of %v is below that of %v", v, parent))
	}
	c.follows(parent, v, violate)
	c.retires(parent, v, violate)
	return true
}

// carries holds a view, also one that founds the cluster anew, to what is over.
func (c *Chain) carries(v *view.View, violate func(rule, text string)) {
	was := c.ended[v.Cluster]
	switch {
	case was == nil || v.Ages.Over() > was.Ages.Over():
		c.ended[v.Cluster] = v
	case v.Epoch > was.Epoch && v.Ages.Over() < was.Ages.Over():
		violate("retirement", fmt.Sprintf("%v does not say what is over in %v", v, was))
	}
}

// retires holds what a view says of incarnations that are over to the view before.
func (c *Chain) retires(parent, v *view.View, violate func(rule, text string)) {
	var was, is view.Ages
	if parent.Ages != nil {
		was = *parent.Ages
	}
	if v.Ages != nil {
		is = *v.Ages
	}
	ends := was.Ending.Below
	switch {
	case is.AgreedIn == was.AgreedIn && is.Ended.Below == was.Ended.Below:
	case is.AgreedIn != parent.Epoch || ends == 0 || is.Ended.Below != ends:
		violate("retirement", fmt.Sprintf("%v has ended, and was not about to in %v", v, parent))
	default:
		c.Retired++
		c.agrees(parent, violate)
	}
	if is.Ending.Below != 0 && ends != 0 && is.Ending.Below != ends {
		violate("retirement", fmt.Sprintf("%v begins one while another is under way in %v", v, parent))
	}
	for u := range c.removed { // order: each for itself
		if over(was.Ended, u) && !over(is.Ended, u) {
			violate("retirement", fmt.Sprintf("%v was over in %v, and is not in %v", u, parent, v))
		}
	}
	for _, m := range v.Members {
		if over(is.Ended, m.UID) || over(is.Ending, m.UID) {
			violate("retirement", fmt.Sprintf("the member %v of %v is over", m, v))
		}
	}
}

// over reports whether a retirement names an incarnation, by the simulator's own rule.
func over(r view.Retirement, u view.UID) bool { return u < r.Below && !slices.Contains(r.Spared, u) }

// agrees holds a retirement to what the members of the view before have said under it.
func (c *Chain) agrees(parent *view.View, violate func(rule, text string)) {
	for _, m := range parent.Members {
		if c.Agreed != nil && len(m.Roles) > 0 && c.Agreed(m.UID) != parent.Epoch {
			violate("retirement", fmt.Sprintf("it ends after %v, under which %v has not agreed", parent, m))
		}
	}
}

// follows holds one step of the chain to the rules of statuses.
func (c *Chain) follows(parent, v *view.View, violate func(rule, text string)) {
	for _, m := range parent.Members {
		now, ok := v.Member(m.UID)
		switch {
		case !ok:
			c.removed[m.UID] = true
		case now.Status < m.Status:
			violate("status", fmt.Sprintf("%v went back from %v to %v in %v", m.UID, m.Status, now.Status, v))
		case m.UpNumber != 0 && now.UpNumber != m.UpNumber:
			violate("age", fmt.Sprintf("%v changed its age in %v, before %v", m.UID, v, parent))
		}
	}
	for _, l := range parent.Lines {
		was, _ := parent.InCharge(l.Service)
		if now, _ := v.InCharge(l.Service); v.Has(was.UID) && now.UID != was.UID {
			violate("in charge", fmt.Sprintf("%v, in charge of %v, was passed over by %v in %v",
				was, l.Service, now, v))
		}
	}
	for _, m := range v.Members {
		if c.removed[m.UID] {
			violate("removed for good", fmt.Sprintf("%v is back in %v", m.UID, v))
		}
	}
}

// IsOldest reports whether a member is the oldest of those with a role, or of all if the role is
// empty, by the simulator's own rule.
func IsOldest(v *view.View, uid view.UID, role string) bool {
	var up uint32
	for _, m := range v.Members {
		if m.UID == uid && m.Status != view.Joining {
			up = m.UpNumber
		}
	}
	for _, m := range v.Members {
		if m.UpNumber != 0 && m.UpNumber < up && m.Status != view.Joining && (role == "" || m.HasRole(role)) {
			return false
		}
	}
	return up != 0
}

// Full yields the full members of a view that have a role, by uid.
func Full(v *view.View, role string) iter.Seq[view.UID] {
	return func(yield func(view.UID) bool) {
		for i := range v.Members {
			if m := &v.Members[i]; m.Full() && m.HasRole(role) && !yield(m.UID) {
				return
			}
		}
	}
}

// HasFull reports whether a view has a full member with a role.
func HasFull(v *view.View, role string) bool {
	for range Full(v, role) {
		return true
	}
	return false
}
