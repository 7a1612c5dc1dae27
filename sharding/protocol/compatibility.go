package protocol

import (
	"cmp"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/coterie-go/coterie/ddata/format"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/sharding/allocation"
)

// Compatibility is what the nodes that run a type must have configured alike. With other Shards, or
// another ShardFunc, messages would reach the wrong entity, or two of one id would run. With other
// stores of leases each side would get its own, and the leases would guard against nothing. Where
// one remembers and another does not, entities would be forgotten with the next move. Where
// one has a ledger and another has none, a takeover would miss homes. Where one has reminders and another
// has none, they would not come after a move. With other stores of ids or of reminders, what one keeps
// another would not find, nor the state of an entity with other stores of states. With other strategies a change of the
// coordinator's node would move shards, and the next one move them back. Under another Role there would
// be a second coordinator, and every entity twice.
type Compatibility struct {
	Role                    string // at most 1,024 bytes
	Shards                  uint32
	ShardOf                 string // the name of the ShardFunc
	Remember                bool
	RememberStore           StoreID // of ids; empty: the replicated data of the role
	Lease, CoordinatorLease StoreID // empty: none
	Ledger                  bool    // homes and regions are in a journal
	Reminders               bool    // entities set reminders
	ReminderStore           StoreID // empty: the replicated data of the role

	// What follows is told from format.Headers on.
	Strategy   string  // the name of the Strategy; empty: nothing of this is told
	Changing   bool    // another Strategy is let be
	StateStore StoreID // of the entities' states; empty: none
}

// roleMax bounds a role on the wire; what names one is bounded by the membership.
const roleMax = 1024

func storeOK(id StoreID) bool { return len(id) <= StoreMax && utf8.ValidString(string(id)) }

// Compatibility is what this node has.
func (c Config) Compatibility() Compatibility {
	return Compatibility{
		Role: c.Role, Shards: uint32(c.Shards), ShardOf: c.ShardOf.Name, Remember: c.Remember.Entities,
		RememberStore: c.Remember.Store, Lease: c.Leases.told(c.Leases.Shards),
		CoordinatorLease: c.Leases.told(c.Leases.Coordinator),
		Ledger:           c.Coordination.Ledger, Reminders: c.Reminders, ReminderStore: c.ReminderStore,
		Strategy: allocation.NameOf(c.Allocation.Strategy), Changing: c.Allocation.Changing, StateStore: c.StateStore,
	}
}

// ReadBy is a as all members of a view read it.
func (a Compatibility) ReadBy(v *view.View) Compatibility {
	if !view.Writes(v, format.Headers) {
		a.Strategy, a.Changing, a.StateStore = "", false, ""
	}
	return a
}

// told is the ID of one of the stores as other nodes hear it.
func (l Leases[Store]) told(id StoreID) StoreID {
	if l.Announced {
		return id.announced()
	}
	return id
}

// Fits reports whether nodes that have a and o run the type together: they have the same, except that stores of
// leases need only get on.
func (a Compatibility) Fits(o Compatibility) bool { return a.leasesAs(o) == o }

// leasesAs is a with the stores of leases of o, where the two get on.
func (a Compatibility) leasesAs(o Compatibility) Compatibility {
	if a.Lease.getOn(o.Lease) {
		a.Lease = o.Lease
	}
	if a.CoordinatorLease.getOn(o.CoordinatorLease) {
		a.CoordinatorLease = o.CoordinatorLease
	}
	return a
}

// RoutesAs reports whether ids go to the same shards of the same coordinator.
func (a Compatibility) RoutesAs(o Compatibility) bool {
	return a.Role == o.Role && a.Shards == o.Shards && a.ShardOf == o.ShardOf
}

// ForRegion is a without what does not matter to a region, as that has it: the leases of shards to
// one that hosts none, and the coordinator's, whether and where entities are remembered or have
// reminders, whether there is a ledger, and how homes are chosen, to a node where none will act; the store of states to
// one that hosts none. Nor does another strategy matter while one of the two says that it is being changed, nor
// what one of them has not told.
func (a Compatibility) ForRegion(region Compatibility, m view.Member, role string, proxy bool) Compatibility {
	if proxy || !m.HasRole(role) {
		a.Lease, a.StateStore = region.Lease, region.StateStore
	}
	untold := a.Strategy == "" || region.Strategy == ""
	if untold {
		a.StateStore = region.StateStore
	}
	if untold || a.Changing || region.Changing || !m.HasRole(role) {
		a.Strategy, a.Changing = region.Strategy, region.Changing
	}
	if !m.HasRole(role) {
		a.CoordinatorLease, a.Remember, a.Ledger = region.CoordinatorLease, region.Remember, region.Ledger
		a.Reminders, a.ReminderStore, a.RememberStore = region.Reminders, region.ReminderStore, region.RememberStore
	}
	return a
}

// Differences names what keeps a from fitting o, with the values here and there; empty: they fit.
func (a Compatibility) Differences(o Compatibility, there string) string {
	return strings.Join(a.leasesAs(o).differences(o, there), "; ")
}

// LeaseDifferences names the stores of leases that differ, those of nodes that fit, too.
func (a Compatibility) LeaseDifferences(o Compatibility, there string) string {
	only := o
	only.Lease, only.CoordinatorLease = a.Lease, a.CoordinatorLease
	return strings.Join(only.differences(o, there), "; ")
}

func (a Compatibility) differences(o Compatibility, there string) (out []string) {
	if a.Role != o.Role {
		out = append(out, fmt.Sprintf("Role is %s here and %s %s",
			cmp.Or(a.Role, "none"), cmp.Or(o.Role, "none"), there))
	}
	if a.Shards != o.Shards {
		out = append(out, fmt.Sprintf("Shards is %d here and %d %s", a.Shards, o.Shards, there))
	}
	if a.ShardOf != o.ShardOf {
		out = append(out, fmt.Sprintf("ShardOf is %q here and %q %s", a.ShardOf, o.ShardOf, there))
	}
	if a.Remember != o.Remember {
		out = append(out, fmt.Sprintf("Remember.Entities is %t here and %t %s", a.Remember, o.Remember, there))
	}
	if a.Ledger != o.Ledger {
		out = append(out, fmt.Sprintf("Coordination.Ledger is %s here and %s %s",
			givenText(a.Ledger), givenText(o.Ledger), there))
	}
	if a.Reminders != o.Reminders {
		out = append(out, fmt.Sprintf("Reminders.Enabled is %t here and %t %s", a.Reminders, o.Reminders, there))
	}
	store := func(field string, a, o StoreID) {
		if a != o {
			out = append(out, fmt.Sprintf("%s is %s here and %s %s", field, storeText(a), storeText(o), there))
		}
	}
	store("Remember.Store", a.RememberStore, o.RememberStore)
	store("Reminders.Store", a.ReminderStore, o.ReminderStore)
	if a.StateStore != o.StateStore {
		store("StateStores", a.StateStore, o.StateStore)
		out[len(out)-1] += ": stop all nodes to change the store"
	}
	if a.Strategy != o.Strategy {
		out = append(out, fmt.Sprintf("Allocation.Strategy is %s here and %s %s: to change it by a rolling "+
			"restart set Allocation.Changing", a.Strategy, o.Strategy, there))
	}
	store("Leases.Shards", a.Lease, o.Lease)
	store("Leases.Coordinator", a.CoordinatorLease, o.CoordinatorLease)
	return out
}

func givenText(given bool) string {
	if given {
		return "given"
	}
	return "not given"
}

func storeText(id StoreID) string {
	if id == "" {
		return "not set"
	}
	return "store " + string(id)
}

// String prints it, without what is not set.
func (a Compatibility) String() string {
	s := fmt.Sprintf("shards=%d by %s", a.Shards, a.ShardOf)
	if a.Role != "" {
		s += fmt.Sprintf(" role=%q", a.Role)
	}
	if a.Remember {
		s += " remember"
	}
	if a.RememberStore != "" {
		s += fmt.Sprintf(" remember-store=%q", a.RememberStore)
	}
	if a.Lease != "" {
		s += fmt.Sprintf(" lease=%q", a.Lease)
	}
	if a.CoordinatorLease != "" {
		s += fmt.Sprintf(" coordinator-lease=%q", a.CoordinatorLease)
	}
	if a.Ledger {
		s += " ledger"
	}
	if a.Reminders {
		s += " reminders"
	}
	if a.ReminderStore != "" {
		s += fmt.Sprintf(" reminder-store=%q", a.ReminderStore)
	}
	if a.Strategy != "" {
		s += fmt.Sprintf(" strategy=%q", a.Strategy)
	}
	if a.Changing {
		s += " changing"
	}
	if a.StateStore != "" {
		s += fmt.Sprintf(" states=%q", a.StateStore)
	}
	return s
}
