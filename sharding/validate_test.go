package sharding

import (
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/locks"
	"github.com/coterie-go/coterie/ddata/locks/file"
	"github.com/coterie-go/coterie/sharding/allocation"
	"github.com/coterie-go/coterie/sharding/ledger"
	"github.com/coterie-go/coterie/sharding/passivation"
	"github.com/coterie-go/coterie/sharding/protocol"
	"github.com/coterie-go/coterie/sharding/remember"
	remindmemory "github.com/coterie-go/coterie/sharding/remind/memory"
)

// badFields is a fault for each field of EntityType; nil: it has none, for the reason beside it.
var badFields = map[string]func(*EntityType[message_]){
	"Name":                   func(t *EntityType[message_]) { t.Name = "a/b" },
	"Role":                   func(t *EntityType[message_]) { t.Role = "" },
	"Shards":                 func(t *EntityType[message_]) { t.Shards = -1 },
	"ShardOf":                func(t *EntityType[message_]) { t.ShardOf.Name = "mine" },
	"Remember.Entities":      nil, // what it needs of the node is in TestStartReportsAllFaults
	"Remember.Store":         func(t *EntityType[message_]) { t.Remember.Store = &remember.Memory{} },
	"Quorums.ReadTimeout":    func(t *EntityType[message_]) { t.Quorums.ReadTimeout = -1 },
	"Quorums.WritePlus":      func(t *EntityType[message_]) { t.Quorums.WritePlus = -2 },
	"Quorums.ReadPlus":       func(t *EntityType[message_]) { t.Quorums.ReadPlus = -2 },
	"Quorums.AtLeast":        func(t *EntityType[message_]) { t.Quorums.AtLeast = -1 },
	"Quorums.WriteTimeout":   func(t *EntityType[message_]) { t.Quorums.WriteTimeout = -1 },
	"Messages":               func(t *EntityType[message_]) { t.Messages = Codec[message_]{} },
	"Errors":                 func(t *EntityType[message_]) { t.Errors = []error{nil} },
	"New":                    func(t *EntityType[message_]) { t.New = nil },
	"Supervision.Decide":     nil, // nil is good
	"Supervision.Restarts":   func(t *EntityType[message_]) { t.Supervision.Restarts = -1 },
	"Supervision.Within":     func(t *EntityType[message_]) { t.Supervision.Within = -1 },
	"Supervision.OverBudget": func(t *EntityType[message_]) { t.Supervision.OverBudget = Resume },
	"Supervision.Backoff":    func(t *EntityType[message_]) { t.Supervision.Backoff = -1 },
	"Supervision.BackoffMax": func(t *EntityType[message_]) { t.Supervision.BackoffMax = -1 },
	"Passivation.Strategy": func(t *EntityType[message_]) {
		t.Passivation.Strategy = passivation.Strategy{ActiveEntityLimit: -1}
	},
	"Passivation.StopTimeout": func(t *EntityType[message_]) { t.Passivation.StopTimeout = -1 },
	"Timeouts.Ask":            func(t *EntityType[message_]) { t.Timeouts.Ask = -1 },
	"Timeouts.Query":          func(t *EntityType[message_]) { t.Timeouts.Query = -1 },
	"HandOff.StopTimeout":     func(t *EntityType[message_]) { t.HandOff.StopTimeout = -1 },
	"Allocation.Strategy": func(t *EntityType[message_]) {
		t.Allocation.Strategy = allocation.LeastShard{RebalanceRelativeLimit: -1}
	},
	"Allocation.Changing":        nil, // either is good
	"StateStores":                func(t *EntityType[message_]) { t.StateStores = []any{namelessStore{}} },
	"Allocation.StrategyTimeout": func(t *EntityType[message_]) { t.Allocation.StrategyTimeout = -1 },
	"Coordination.MinRegions":    func(t *EntityType[message_]) { t.Coordination.MinRegions = -1 },
	"Coordination.Ledger":        func(t *EntityType[message_]) { t.Coordination.Ledger = &ledger.Ledger{} },
	"Rebalance.Interval":         func(t *EntityType[message_]) { t.Rebalance.Interval = 1 },
	"Rebalance.Delay":            func(t *EntityType[message_]) { t.Rebalance.Delay = -1 },
	"Leases.Announced":           nil, // what it needs of the others is in TestInvalidAnnouncedLeases
	"Rebalance.MixedVersions":    nil, // either is good
	"Rebalance.Unreachable":      nil, // either is good
	"Rebalance.Joining":          nil, // either is good
	"Coordination.RetryInterval": func(t *EntityType[message_]) { t.Coordination.RetryInterval = 1 },
	"HandOff.BeginTimeout":       func(t *EntityType[message_]) { t.HandOff.BeginTimeout = -1 },
	"HandOff.FinishTimeout":      func(t *EntityType[message_]) { t.HandOff.FinishTimeout = -time.Second },
	"Remember.Recovery":          func(t *EntityType[message_]) { t.Remember.Recovery = protocol.Recovery{Number: -1} },
	"Remember.RestartBackoff":    func(t *EntityType[message_]) { t.Remember.RestartBackoff = -1 },
	"Reminders.Enabled":          nil, // what it needs of the node is in TestRemindWithoutDisks
	"Reminders.Store":            func(t *EntityType[message_]) { t.Reminders.Store = &remindmemory.Store{} },
	"Reminders.FiringMax":        func(t *EntityType[message_]) { t.Reminders.FiringMax = -1 },
	"Reminders.EntityMax":        func(t *EntityType[message_]) { t.Reminders.EntityMax = -1 },
	"Reminders.BackoffMin":       func(t *EntityType[message_]) { t.Reminders.BackoffMin = -1 },
	"Reminders.BackoffMax":       func(t *EntityType[message_]) { t.Reminders.BackoffMax = -1 },
	"Leases.Shards":              func(t *EntityType[message_]) { t.Leases.Shards = (*file.Dir)(nil) },
	"Leases.Coordinator":         func(t *EntityType[message_]) { t.Leases.Coordinator = namelessStore{} },
	"Leases.RetryInterval":       func(t *EntityType[message_]) { t.Leases.RetryInterval = -1 },
	"Timeouts.HandlerSlow":       func(t *EntityType[message_]) { t.Timeouts.HandlerSlow = 1 },
	"Limits.MailboxMax":          func(t *EntityType[message_]) { t.Limits.MailboxMax = -1 },
	"Limits.MailboxBytes":        func(t *EntityType[message_]) { t.Limits.MailboxBytes = 1<<30 + 1 },
	"Limits.RegionBytes":         func(t *EntityType[message_]) { t.Limits.RegionBytes = -1 },
	"Limits.BufferMax":           func(t *EntityType[message_]) { t.Limits.BufferMax = -1 },
	"Limits.BufferBytes":         func(t *EntityType[message_]) { t.Limits.BufferBytes = -1 },
	"Limits.AsksMax":             func(t *EntityType[message_]) { t.Limits.AsksMax = -1 },
	"Limits.Workers":             func(t *EntityType[message_]) { t.Limits.Workers = -1 },
	"Limits.WorkersMax":          func(t *EntityType[message_]) { t.Limits.WorkersMax = -1 },
	"OnEvent":                    nil, // nil is good
}

// namelessStore has no ID.
type namelessStore struct{ locks.Store }

func (namelessStore) ID() string { return "" }

// faultsOf starts the type where it is hosted and takes the answer apart: fault by fault, which end
// with the line. Each line must begin with the name of the type.
func faultsOf(t *testing.T, typ EntityType[message_]) []string {
	t.Helper()
	g, err := StartOn(newWorld(t).join("backend").ports(), typ)
	if err == nil {
		if err := g.Close(t.Context()); err != nil {
			t.Error(err)
		}
		return nil
	}
	if !errors.Is(err, ErrConfig) {
		t.Errorf("%v is no ErrConfig", err)
	}
	faults := strings.Split(err.Error(), "\n")
	for i, line := range faults {
		rest, is := strings.CutPrefix(line, fmt.Sprintf("%v %q: ", ErrConfig, typ.Name))
		if !is {
			t.Errorf("a fault without the name of its type: %q", line)
		}
		faults[i] = rest
	}
	return faults
}

func named(faults []string, field string) (n int) {
	for _, f := range faults {
		if rest, is := strings.CutPrefix(f, field); is && strings.IndexAny(rest, " :.") == 0 {
			n++
		}
	}
	return n
}

// fieldsOf are the fields of a type, and of the settings that it nests.
func fieldsOf(typ reflect.Type, prefix string) (names []string) {
	for f := range typ.Fields() {
		if f.Anonymous {
			names = append(names, fieldsOf(f.Type, prefix)...)
			continue
		}
		if nested[f.Type] {
			names = append(names, fieldsOf(f.Type, f.Name+".")...)
			continue
		}
		names = append(names, prefix+f.Name)
	}
	return names
}

var nested = map[reflect.Type]bool{
	reflect.TypeFor[Remember](): true, reflect.TypeFor[Allocation](): true, reflect.TypeFor[Rebalance](): true,
	reflect.TypeFor[HandOff](): true, reflect.TypeFor[Coordination](): true, reflect.TypeFor[Leases](): true,
	reflect.TypeFor[Quorums](): true, reflect.TypeFor[Timeouts](): true, reflect.TypeFor[Limits](): true,
	reflect.TypeFor[Supervision](): true, reflect.TypeFor[Passivation](): true,
	reflect.TypeFor[Reminders](): true,
}

// Each field's fault is found by itself, and named; so are all of them together, and no other.
func TestEveryFaultOfAnEntityTypeIsNamed(t *testing.T) {
	all, want := cartType(&cartLog{}), 0
	fields := fieldsOf(reflect.TypeFor[EntityType[message_]](), "")
	for _, f := range fields {
		spoil, listed := badFields[f]
		if !listed {
			t.Errorf("%s has no fault in the table, nor a reason why it can have none", f)
		}
		if spoil == nil {
			continue
		}
		want++
		typ := cartType(&cartLog{})
		spoil(&typ)
		if faults := faultsOf(t, typ); len(faults) != 1 || named(faults, f) != 1 {
			t.Errorf("%s: %q", f, faults)
		}
		spoil(&all)
	}
	if len(badFields) != len(fields) {
		t.Error("the table has fields that are gone")
	}
	faults := faultsOf(t, all)
	for name, spoil := range badFields { // order: each is reported by itself
		if spoil != nil && named(faults, name) != 1 {
			t.Errorf("%s is named %d times together with the others", name, named(faults, name))
		}
	}
	if len(faults) != want {
		t.Errorf("%d faults of %d fields:\n%s", len(faults), want, strings.Join(faults, "\n"))
	}
	if faults := faultsOf(t, cartType(&cartLog{})); faults != nil {
		t.Errorf("a good type: %q", faults)
	}
}

// Start tells what the node lacks together with what the type lacks, and goes by the node's own
// defaults.
func TestStartReportsAllFaults(t *testing.T) {
	n, err := ddata.Start(t.Context(), ddata.Config{
		Name: "test", Bind: "127.0.0.1:0",
		BootstrapExpect: 1, Roles: []string{"backend"}, Preset: ddata.Local, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = n.Close() }()
	typ := cartType(&cartLog{})
	typ.Remember.Entities, typ.New, typ.Rebalance.Delay, typ.Limits.BufferMax = true, nil, -1, -1
	_, err = Start(n, typ)
	for _, want := range []string{
		"Remember.Entities: needs", "New: is missing", "Rebalance.Delay: -1ns", "Limits.BufferMax: -1",
	} {
		if !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in: %v", want, err)
		}
	}
	typ = cartType(&cartLog{})
	typ.HandOff.BeginTimeout = time.Second // below the default of RetryInterval elsewhere
	if typ.Validate() == nil {
		t.Error("BeginTimeout is below RetryInterval, and good without a node")
	}
	if _, err := Start(n, typ); err != nil {
		t.Errorf("on a node with ddata.Local: %v", err)
	}
}

// namelessIDs is a store of ids that says nothing of itself.
type namelessIDs struct{ remember.Store }

func (namelessIDs) ID() string { return "" }

// idsOfType is a store of ids that says of which entity type it is, and remindersOfType one of reminders.
type (
	idsOfType struct {
		remember.Store
		typ string
	}
	remindersOfType struct {
		remindmemory.Store
		typ string
	}
)

func (s idsOfType) EntityType() string        { return s.typ }
func (s *remindersOfType) EntityType() string { return s.typ }

// A store that is of another entity type is refused.
func TestStoresOfAnotherType(t *testing.T) {
	typ := cartType(&cartLog{})
	typ.Remember.Entities, typ.Reminders.Enabled = true, true
	own := func(name string) error {
		typ.Remember.Store, typ.Reminders.Store = idsOfType{&remember.Memory{}, name}, &remindersOfType{typ: name}
		return typ.Validate()
	}
	if err := own(typ.Name); err != nil {
		t.Error(err)
	}
	err := own("Other")
	for _, field := range []string{"Remember.Store", "Reminders.Store"} {
		if want := field + `: is that of type "Other"`; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// What nodes compare of a type has its stores of ids and of reminders.
func TestStoresAreCompared(t *testing.T) {
	typ := cartType(&cartLog{})
	typ.Remember.Entities, typ.Remember.Store = true, &remember.Memory{}
	typ.Reminders.Enabled, typ.Reminders.Store = true, &remindmemory.Store{}
	c := typ.machines(Ports{}).Compatibility()
	if c.RememberStore != "*remember.Memory" || c.ReminderStore != "*memory.Store" {
		t.Errorf("%+v", c)
	}
	typ.Remember.Store = namelessIDs{}
	if err := typ.Validate(); err == nil || !strings.Contains(err.Error(), "Remember.Store: the store has no ID") {
		t.Error(err)
	}
}
