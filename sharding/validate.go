package sharding

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/coterie-go/coterie/sharding/dataplane"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// faultList gathers what is wrong, each by its field's name.
type faultList []error

func (f *faultList) add(bad bool, format string, args ...any) {
	if bad {
		*f = append(*f, fmt.Errorf(format, args...))
	}
}

// of adds the faults of a field that has some of its own, each after the field's name.
func (f *faultList) of(field string, err error) {
	switch all := err.(type) {
	case nil:
	case interface{ Unwrap() []error }:
		for _, e := range all.Unwrap() {
			f.of(field, e)
		}
	default:
		*f = append(*f, fmt.Errorf("%s: %w", field, err))
	}
}

// err is ErrConfig with all of them, nil if there are none.
func (f faultList) err(name string) error {
	if len(f) == 0 {
		return nil
	}
	return fmt.Errorf("%w %q: %w", ErrConfig, name, errors.Join(f...))
}

// Validate reports every fault of the type together, as it is on a node without the preset
// ddata.Local, whose defaults are others. What a node lacks for the type, such as New where
// entities are hosted, is for Start to say.
func (t EntityType[M]) Validate() error { return t.faults().err(t.Name) }

func (t EntityType[M]) faults() (f faultList) {
	d := t.withDefaults()
	f.add(t.Name == "", "Name is empty")
	f.add(len(t.Name) > nameMax, "Name has %d bytes, the limit is %d", len(t.Name), nameMax)
	f.add(!utf8.ValidString(t.Name), "Name is not UTF-8")
	f.add(strings.Contains(t.Name, "/"), "Name %q contains '/'", t.Name)
	f.add(t.Role == "", "Role is empty: say which nodes may host the entities")
	f.add(d.Shards < 1 || d.Shards > 1_000_000, "Shards is %d, want 1 to 1,000,000", d.Shards)
	f.add(d.Hash > protocol.HashMurmur2, "Hash: %v is not known: use protocol.HashXX or protocol.HashMurmur2", d.Hash)
	f.add(t.StateStoreMode != DData, "StateStoreMode %d is not known: sharding.DData is the only one", t.StateStoreMode)
	f.add(t.Messages.reg == nil, "Messages is missing: use sharding.CBOR[M](examples…)")
	f.add(t.Messages.err != nil, "Messages: %v", t.Messages.err)
	f.of("Errors", dataplane.CheckErrors(t.Errors))
	f.add(d.Supervision > SuperviseEscalate, "Supervision %d is not known", d.Supervision)
	f.add(d.RestartBackoff < 0, "RestartBackoff %v is negative", d.RestartBackoff)
	f.add(d.RestartBackoffMax < max(0, d.RestartBackoff), "RestartBackoffMax %v is negative or below RestartBackoff %v",
		d.RestartBackoffMax, d.RestartBackoff)
	f.of("Passivation", t.Passivation.Validate())
	f.of("State", t.State.validate())
	f.add(d.AskTimeout < 0, "AskTimeout %v is negative", d.AskTimeout)
	f.add(d.HandlerSlowAfter > 0 && d.HandlerSlowAfter < dataplane.SlowLeast, "HandlerSlowAfter %v is below %v",
		d.HandlerSlowAfter, dataplane.SlowLeast)
	f.add(d.QueryTimeout < 0, "QueryTimeout %v is negative", d.QueryTimeout)
	f.add(d.MailboxMax < 1, "MailboxMax %d is not positive", d.MailboxMax)
	f.add(d.MailboxBytes < 1 || d.MailboxBytes > dataplane.MailboxBytesMost, "MailboxBytes is %d, want 1 to %d",
		d.MailboxBytes, dataplane.MailboxBytesMost)
	f.add(d.RegionBytes < 1, "RegionBytes %d is not positive", d.RegionBytes)
	f.add(d.BufferMax < 1, "BufferMax %d is not positive", d.BufferMax)
	f.add(d.BufferBytes < 1, "BufferBytes %d is not positive", d.BufferBytes)
	f.add(d.AsksMax < 1 || d.AsksMax > 16<<20, "AsksMax is %d, want 1 to 16 Mi", d.AsksMax)
	f.add(d.Workers < 0, "Workers %d is negative", d.Workers)
	f.add(d.WorkersMax < 1 || d.WorkersMax < d.Workers, "WorkersMax %d is not positive or below Workers %d",
		d.WorkersMax, d.Workers)
	f.add(t.RememberStore != nil && !t.RememberEntities,
		"RememberStore is given, but RememberEntities is not set: nothing would be kept in it")
	f.add(t.EntityRestartBackoff < 0, "EntityRestartBackoff %v is negative", t.EntityRestartBackoff)
	ports := []struct {
		field string
		value any
	}{
		{"RememberStore", t.RememberStore}, {"Strategy", t.Strategy}, {"Lease", t.Lease},
		{"CoordinatorLease", t.CoordinatorLease},
	}
	usable := map[string]bool{}
	for _, p := range ports {
		f.add(isNil(p.value), "%s is a %T that is nil", p.field, p.value)
		usable[p.field] = p.value != nil && !isNil(p.value)
	}
	f.add(usable["Lease"] && dataplane.StoreID(t.Lease) == "", "Lease: the store has no ID")
	f.add(usable["CoordinatorLease"] && dataplane.StoreID(t.CoordinatorLease) == "",
		"CoordinatorLease: the store has no ID")
	return append(f, t.machineFaults(usable["Strategy"])...)
}

// machineFaults are those of the fields that only the machines look at.
func (t EntityType[M]) machineFaults(strategy bool) []error {
	c := protocol.Config{
		Type: "t", Self: 1, Shards: 1, MinRegions: t.MinRegions, StrategyTimeout: t.StrategyTimeout,
		RebalanceInterval: t.RebalanceInterval,
		RebalanceDelay:    t.RebalanceDelay, RetryInterval: t.RetryInterval, BeginTimeout: t.BeginTimeout,
		HandOffTimeout: t.HandOffTimeout,
		StopTimeout:    t.StopTimeout, LeaseRetryInterval: t.LeaseRetryInterval, Recovery: t.Recovery,
	}
	if strategy {
		c.Strategy = t.Strategy
	}
	return c.Invalid()
}

// isNil reports whether a port holds a pointer that is nil.
func isNil(port any) bool {
	v := reflect.ValueOf(port)
	return v.Kind() == reflect.Pointer && v.IsNil()
}
