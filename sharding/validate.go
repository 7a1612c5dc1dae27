package sharding

import (
	"fmt"
	"slices"

	"github.com/coterie-go/coterie/ddata/config"
	"github.com/coterie-go/coterie/sharding/dataplane/lease"
	"github.com/coterie-go/coterie/sharding/failure"
)

// Validate reports every fault of the type together, as it is on a node without the preset
// ddata.Local, whose defaults are others. What a node lacks for the type, such as New where
// entities are hosted, is for Start to say.
func (t EntityType[M]) Validate() error { return configError(t.Name, t.faults(false)) }

// configError is ErrConfig with all faults, each with the type's name, nil if there are none.
func configError(name string, faults config.Faults) error {
	return faults.Wrap(fmt.Errorf("%w %q", ErrConfig, name))
}

// faults are those of the fields that only the data plane looks at, and those of the machines'.
func (t EntityType[M]) faults(local bool) (f config.Faults) {
	f.Add(t.Role == "", "Role", "is empty: say which nodes may host the entities")
	f.Add(t.Messages.reg == nil, "Messages", "is missing: use sharding.CBOR[M](examples…)")
	f.Of("Messages", t.Messages.err)
	f.Of("Errors", failure.Known(t.Errors).Check())
	f.Add(t.Remember.Store != nil && !t.Remember.Entities,
		"Remember.Store", "is given, but Remember.Entities is not set: nothing would be kept in it")
	if l := t.Coordination.Ledger; l != nil {
		checkOwn(&f, "Coordination.Ledger", l, t.Name)
	}
	t.Supervision.Check(&f)
	t.Timeouts.Check(&f)
	t.Limits.Check(&f)
	t.Quorums.Check(&f)
	t.Reminders.Check(&f)
	checkPort(&f, "Remember.Store", &t.Remember.Store)
	checkPort(&f, "Reminders.Store", &t.Reminders.Store)
	checkPort(&f, "Allocation.Strategy", &t.Allocation.Strategy)
	checkPort(&f, "Leases.Shards", &t.Leases.Shards)
	checkPort(&f, "Leases.Coordinator", &t.Leases.Coordinator)
	checkOwn(&f, "Remember.Store", t.Remember.Store, t.Name)
	checkOwn(&f, "Reminders.Store", t.Reminders.Store, t.Name)
	t.StateStores = slices.Clone(t.StateStores)
	for i := range t.StateStores {
		s := &t.StateStores[i]
		checkPort(&f, "StateStores", s)
		f.Add(*s != nil && !lease.StoreID(*s).Given(), "StateStores", "store %d has no ID", i)
	}
	m := t.machines(Ports{Local: local})
	f.Add(t.Leases.Shards != nil && !m.Leases.Shards.Given(), "Leases.Shards", "the store has no ID")
	f.Add(t.Leases.Coordinator != nil && !m.Leases.Coordinator.Given(), "Leases.Coordinator", "the store has no ID")
	f.Add(t.Remember.Store != nil && !m.Remember.Store.Given(), "Remember.Store", "the store has no ID")
	f.Add(t.Reminders.Store != nil && !m.ReminderStore.Given(), "Reminders.Store", "the store has no ID")
	m.Self = 1 // which node it is, is no matter of the type
	return append(f, m.Faults()...)
}

// checkOwn refuses a store of another entity type, if it says of which it is: its rows would be those of both.
func checkOwn(f *config.Faults, field string, store any, name string) {
	if s, says := store.(interface{ EntityType() string }); says {
		f.Add(s.EntityType() != name, field, "is that of type %q: each type has its own", s.EntityType())
	}
}

// checkPort refuses a port that holds a pointer which is nil, and takes it away: it must not be
// called.
func checkPort[P any](f *config.Faults, field string, port *P) {
	if f.NilPointer(field, *port) {
		var none P
		*port = none
	}
}
