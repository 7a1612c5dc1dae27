package region

import (
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/proptest/defect"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// registration is what a region knows of coordinators: which one is in charge, whether that knows
// this region, and which commands are too old to obey.
//
// Invariants: known implies joined. counted never ends. The floor only grows.
type registration struct {
	*env
	life        uint32         // how many regions the node had before this one
	coordinator protocol.UID   // of the view; 0: none
	absent      bool           // its node has not started the type
	floor       protocol.Token // commands below it come from deposed coordinators
	known       bool           // the coordinator of the view knows this region
	refusedBy   protocol.UID   // the coordinator that did last
	joined      bool           // some coordinator has known it; only grows
	counted     bool           // some coordinator may count on it, since it has confirmed or reported; only grows
	since       protocol.Token // of the first registration: decisions up to it were made without this region
}

// follow notes the coordinator of a new view, and reports whether it is another one.
func (rg *registration) follow(v *view.View) (other bool) {
	o, ok := v.Oldest(rg.cfg.Role)
	if ok && o.UID == rg.coordinator {
		return false
	}
	rg.coordinator, rg.known, rg.absent = o.UID, false, false
	return true
}

// raiseFloor refuses what a deposed coordinator says, and from now on those before this one.
func (rg *registration) raiseFloor(from protocol.UID, floor protocol.Token) bool {
	if floor.Less(rg.floor) && !rg.cfg.Planted(defect.NoTokenCheck) {
		rg.counts[protocol.CountStale]++
		return false
	}
	rg.floor = floor
	return true
}

// mayRegister reports whether there is a coordinator to tell, and whether it would listen: it
// registers Up and Leaving members. A region that has left without ever being registered does not
// begin with it.
func (rg *registration) mayRegister(left bool) bool {
	if rg.view == nil || rg.known || rg.coordinator == 0 || left && !rg.counted {
		return false
	}
	m, ok := rg.view.Member(rg.self())
	return ok && m.Status != view.Joining
}

// over reports whether the whole cluster has shut down, except nodes without the role. No
// coordinator is left to say it of single shards.
func (rg *registration) over() bool { return rg.closing() && rg.coordinator == 0 }

// sayRole tells a coordinator of another role under which role the type runs here.
func (rg *registration) sayRole(to protocol.UID) {
	rg.send(to, protocol.Compared{Runs: true, Role: rg.cfg.Role, Joined: rg.joined, Coordinator: rg.coordinator})
}

// doubts reports whether an entry may have been overtaken without this region: it is older than its
// registration, or than the coordinator, from whom it should have come.
func (rg *registration) doubts(t protocol.Token) bool { return !rg.since.Less(t) || t.Less(rg.floor) }

// beforeMe reports whether a command may have been for an earlier region of this node, whose shards
// may have gone elsewhere since.
func (rg *registration) beforeMe(t protocol.Token) bool {
	return rg.life > 0 && (!rg.joined || !rg.since.Less(t)) && !rg.cfg.Planted(defect.NoTokenCheck)
}
