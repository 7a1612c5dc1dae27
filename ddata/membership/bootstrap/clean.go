package bootstrap

import (
	"fmt"

	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/proptest/defect"
)

// This file keeps disks that have missed a retirement (package retiring) out of a founding. What the
// members agreed on, such a disk cannot tell from what they never knew: merged, it would bring back what
// was removed, or make the others lose what they have.
//
// That a view agreed in an epoch is a fact, also if that view was only accepted and perhaps never
// decided: all members had said so when it was proposed. Its quorum had it on its disks before any node
// installed it. So one of the disks that a founding takes anyhow knows of it (V5).

// agesOf are those that a founding takes over, of the views that must not be forgotten.
func agesOf(needs []Known) (newest *view.Ages) {
	came, began := uint32(0), view.UID(0)
	for _, k := range needs {
		if k.Ages == nil {
			continue
		}
		came, began = max(came, k.Ages.Came), max(began, k.Ages.Began)
		if newest == nil || k.Ages.AgreedIn > newest.AgreedIn {
			newest = k.Ages
		}
	}
	if newest == nil {
		return nil
	}
	carried := *newest.Carried()
	carried.Came, carried.Began = came, began
	return &carried
}

// isUnclean reports whether a node cannot take part in a founding because of what its disk may hold, or
// because its uid is that of an incarnation that is over. A disk that remembers no cluster holds nothing.
func (c *candidates) isUnclean(p Probe, ages *view.Ages) bool {
	if ages.Refuses(p.Self.UID) != "" {
		return true
	}
	return len(p.Knows) > 0 && p.Clean < ages.Over() && !c.cfg.Defects.Planted(defect.FoundsUnclean)
}

// uncleanDisks names the nodes whose disks have missed a retirement; empty = none.
func (c *candidates) uncleanDisks(probes []Probe, ages *view.Ages) string {
	var names []string
	for _, p := range probes {
		if c.isUnclean(p, ages) && ages.Refuses(p.Self.UID) == "" {
			names = append(names, p.Self.Addr)
		}
	}
	return listed("the directories of these were away while the members agreed on incarnations that are over, "+
		"and do not count: ", names)
}

// drawAgain ends an incarnation if its uid is that of one that is over: another one can found, or join.
func drawAgain(self view.UID, ages *view.Ages, out *Output) bool {
	text := ages.Refuses(self)
	if text == "" {
		return false
	}
	out.Stalled, out.Least = fmt.Sprintf("the cluster is founded anew, and %s", text), ages.Least()
	return true
}
