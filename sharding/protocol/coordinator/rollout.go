package coordinator

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/coterie-go/coterie/sharding/protocol"
)

// rollouts finds roll-outs that were not brought to their end. What is unfinished for
// protocol.RolloutMax of this term is told, and again after as long.
type rollouts struct {
	*env
	changing, leases unfinished
}

// unfinished is since when a roll-out has had the signs of one that was not brought to its end.
type unfinished struct{ since time.Time } // zero: it has not

// due reports whether the caller tells of it now. is: it has the signs now.
func (u *unfinished) due(now time.Time, is bool) bool {
	switch {
	case !is:
		u.since = time.Time{}
	case u.since.IsZero():
		u.since = now
	case now.Sub(u.since) >= protocol.RolloutMax:
		u.since = now
		return true
	}
	return false
}

// told is what a member has configured, as its region has said last, and takes part with.
type told struct {
	settings protocol.Compatibility
	proxy    bool
}

// look looks for what is unfinished.
func (r *rollouts) look() {
	members := slices.Sorted(maps.Keys(r.told))
	changing := r.changingLeft(members)
	if r.changing.due(r.now, len(changing) > 0) {
		r.notify(protocol.Event{
			Kind: protocol.ChangingLeft, Count: len(changing),
			Text: fmt.Sprintf("all nodes have the strategy %s, and Allocation.Changing is still set on %s",
				r.told[changing[0]].settings.Strategy, r.names(changing)),
		})
	}
	lacking, text := r.leasesLacking(members)
	if r.leases.due(r.now, lacking > 0) {
		r.notify(protocol.Event{Kind: protocol.LeasesLacking, Count: lacking, Text: text})
	}
}

// changingLeft are the members that let another strategy be, although there is none.
func (r *rollouts) changingLeft(members []protocol.UID) (left []protocol.UID) {
	strategy := ""
	for _, u := range members {
		s := r.told[u].settings
		switch {
		case !r.hasRole(u):
			continue
		case s.Strategy == "" || strategy != "" && strategy != s.Strategy:
			return nil
		case s.Changing:
			left = append(left, u)
		}
		strategy = s.Strategy
	}
	return left
}

// leasesLacking counts the members that take no leases of a store that a member has named, and says which.
func (r *rollouts) leasesLacking(members []protocol.UID) (n int, text string) {
	lack := map[protocol.UID]bool{}
	var parts []string
	look := func(setting string, store func(told) (id protocol.StoreID, matters bool)) {
		var without, announced []protocol.UID
		taken := false
		for _, u := range members {
			id, matters := store(r.told[u])
			switch {
			case !matters || !r.hasRole(u):
			case id.Taken():
				taken = true
			case id.Given():
				announced = append(announced, u)
			default:
				without = append(without, u)
			}
		}
		if !taken && len(announced) == 0 {
			return
		}
		for _, u := range slices.Concat(without, announced) {
			lack[u] = true
		}
		if len(without) > 0 {
			parts = append(parts, fmt.Sprintf("%s is not set on %s", setting, r.names(without)))
		}
		if len(announced) > 0 {
			parts = append(parts, fmt.Sprintf("%s is only announced on %s", setting, r.names(announced)))
		}
	}
	look("Leases.Shards", func(t told) (protocol.StoreID, bool) { return t.settings.Lease, !t.proxy })
	look("Leases.Coordinator", func(t told) (protocol.StoreID, bool) { return t.settings.CoordinatorLease, true })
	return len(lack), strings.Join(parts, "; ")
}

func (r *rollouts) hasRole(u protocol.UID) bool {
	m, ok := r.view.Member(u)
	return ok && m.HasRole(r.cfg.Role)
}

// rolloutNames bounds the members that a text names.
const rolloutNames = 20

// names lists members by uid and address.
func (r *rollouts) names(us []protocol.UID) string {
	var names []string
	for _, u := range us[:min(len(us), rolloutNames)] {
		m, _ := r.view.Member(u)
		names = append(names, strings.TrimSpace(fmt.Sprintf("%v %s", u, m.Addr)))
	}
	if more := len(us) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}
