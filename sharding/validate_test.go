package sharding

import (
	"errors"
	"log/slog"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/locks"
	"github.com/coterie-go/coterie/ddata/locks/file"
	"github.com/coterie-go/coterie/sharding/allocation"
	"github.com/coterie-go/coterie/sharding/passivation"
	"github.com/coterie-go/coterie/sharding/protocol"
	"github.com/coterie-go/coterie/sharding/remember"
)

// badFields is a fault for each field of EntityType; nil: it has none, for the reason beside it.
var badFields = map[string]func(*EntityType[message_]){
	"Name":              func(t *EntityType[message_]) { t.Name = "a/b" },
	"Role":              func(t *EntityType[message_]) { t.Role = "" },
	"Shards":            func(t *EntityType[message_]) { t.Shards = -1 },
	"Hash":              func(t *EntityType[message_]) { t.Hash = 9 },
	"RememberEntities":  nil, // what it needs of the node is in TestStartReportsAllFaults
	"RememberStore":     func(t *EntityType[message_]) { t.RememberStore = &remember.Memory{} },
	"StateStoreMode":    func(t *EntityType[message_]) { t.StateStoreMode = 7 },
	"State":             func(t *EntityType[message_]) { t.State.ReadTimeout = -1 },
	"Messages":          func(t *EntityType[message_]) { t.Messages = Codec[message_]{} },
	"Errors":            func(t *EntityType[message_]) { t.Errors = []error{nil} },
	"New":               func(t *EntityType[message_]) { t.New = nil },
	"Supervision":       func(t *EntityType[message_]) { t.Supervision = 9 },
	"RestartBackoff":    func(t *EntityType[message_]) { t.RestartBackoff = -1 },
	"RestartBackoffMax": func(t *EntityType[message_]) { t.RestartBackoffMax = -1 },
	"Passivation":       func(t *EntityType[message_]) { t.Passivation = passivation.Strategy{StopTimeout: -1} },
	"AskTimeout":        func(t *EntityType[message_]) { t.AskTimeout = -1 },
	"QueryTimeout":      func(t *EntityType[message_]) { t.QueryTimeout = -1 },
	"StopTimeout":       func(t *EntityType[message_]) { t.StopTimeout = -1 },
	"Strategy": func(t *EntityType[message_]) {
		t.Strategy = allocation.LeastShard{RebalanceRelativeLimit: -1}
	},
	"StrategyTimeout":        func(t *EntityType[message_]) { t.StrategyTimeout = -1 },
	"MinRegions":             func(t *EntityType[message_]) { t.MinRegions = -1 },
	"RebalanceInterval":      func(t *EntityType[message_]) { t.RebalanceInterval = 1 },
	"RebalanceDelay":         func(t *EntityType[message_]) { t.RebalanceDelay = -1 },
	"RebalanceMixedVersions": nil, // either is good
	"RebalanceUnreachable":   nil, // either is good
	"RebalanceJoining":       nil, // either is good
	"RetryInterval":          func(t *EntityType[message_]) { t.RetryInterval = 1 },
	"BeginTimeout":           func(t *EntityType[message_]) { t.BeginTimeout = -1 },
	"HandOffTimeout":         func(t *EntityType[message_]) { t.HandOffTimeout = -time.Second },
	"Recovery":               func(t *EntityType[message_]) { t.Recovery = protocol.Recovery{Number: -1} },
	"EntityRestartBackoff":   func(t *EntityType[message_]) { t.EntityRestartBackoff = -1 },
	"Lease":                  func(t *EntityType[message_]) { t.Lease = (*file.Dir)(nil) },
	"CoordinatorLease":       func(t *EntityType[message_]) { t.CoordinatorLease = namelessStore{} },
	"LeaseRetryInterval":     func(t *EntityType[message_]) { t.LeaseRetryInterval = -1 },
	"HandlerSlowAfter":       func(t *EntityType[message_]) { t.HandlerSlowAfter = 1 },
	"MailboxMax":             func(t *EntityType[message_]) { t.MailboxMax = -1 },
	"MailboxBytes":           func(t *EntityType[message_]) { t.MailboxBytes = 1<<30 + 1 },
	"RegionBytes":            func(t *EntityType[message_]) { t.RegionBytes = -1 },
	"BufferMax":              func(t *EntityType[message_]) { t.BufferMax = -1 },
	"BufferBytes":            func(t *EntityType[message_]) { t.BufferBytes = -1 },
	"AsksMax":                func(t *EntityType[message_]) { t.AsksMax = -1 },
	"Workers":                func(t *EntityType[message_]) { t.Workers = -1 },
	"WorkersMax":             func(t *EntityType[message_]) { t.WorkersMax = -1 },
	"OnDrop":                 nil, // nil is good
	"OnFailure":              nil, // nil is good
	"OnEvent":                nil, // nil is good
}

// namelessStore has no ID.
type namelessStore struct{ locks.Store }

func (namelessStore) ID() string { return "" }

// faultsOf starts the type where it is hosted and takes the answer apart: fault by fault, which end
// with the line.
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
	_, faults, _ := strings.Cut(strings.TrimPrefix(err.Error(), ErrConfig.Error()), "\": ")
	return strings.Split(faults, "\n")
}

func named(faults []string, field string) (n int) {
	for _, f := range faults {
		if rest, is := strings.CutPrefix(f, field); is && strings.IndexAny(rest, " :.") == 0 {
			n++
		}
	}
	return n
}

// Each field's fault is found by itself, and named; so are all of them together, and no other.
func TestEveryFaultOfAnEntityTypeIsNamed(t *testing.T) {
	all, want := cartType(&cartLog{}), 0
	for f := range reflect.TypeFor[EntityType[message_]]().Fields() {
		spoil, listed := badFields[f.Name]
		if !listed {
			t.Errorf("%s has no fault in the table, nor a reason why it can have none", f.Name)
		}
		if spoil == nil {
			continue
		}
		want++
		typ := cartType(&cartLog{})
		spoil(&typ)
		if faults := faultsOf(t, typ); len(faults) != 1 || named(faults, f.Name) != 1 {
			t.Errorf("%s: %q", f.Name, faults)
		}
		spoil(&all)
	}
	if len(badFields) != reflect.TypeFor[EntityType[message_]]().NumField() {
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
	typ.RememberEntities, typ.New, typ.RebalanceDelay, typ.BufferMax = true, nil, -1, -1
	_, err = Start(n, typ)
	for _, want := range []string{"RememberEntities needs", "New is missing", "RebalanceDelay -1ns", "BufferMax -1"} {
		if !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in: %v", want, err)
		}
	}
	typ = cartType(&cartLog{})
	typ.BeginTimeout = time.Second // below the default of RetryInterval elsewhere
	if typ.Validate() == nil {
		t.Error("BeginTimeout is below RetryInterval, and good without a node")
	}
	if _, err := Start(n, typ); err != nil {
		t.Errorf("on a node with ddata.Local: %v", err)
	}
}
