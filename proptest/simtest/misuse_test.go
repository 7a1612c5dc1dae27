package simtest_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/coterie-go/coterie/proptest/failing"
	"github.com/coterie-go/coterie/proptest/simtest"
	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/allocation"
)

// misuses are what users can do wrong, each with what they are told.
var misuses = map[string]struct {
	does func(*simtest.Entity[access, int])
	told string
}{
	"no model":       {func(e *simtest.Entity[access, int]) { e.Model = nil }, "needs Start, Op and Model"},
	"too many nodes": {func(e *simtest.Entity[access, int]) { e.Nodes = 21 }, "want 1 to 20 Nodes"},
	"no steps":       {func(e *simtest.Entity[access, int]) { e.Steps = -1 }, "at least one of Entities and of Steps"},
	"no question": {func(e *simtest.Entity[access, int]) {
		e.Op = func(*rapid.T) simtest.Op[access] { return simtest.Tell[access](read{}) }
	}, "set Entity.Final"},
	"no New": {func(e *simtest.Entity[access, int]) {
		start := e.Start
		e.Start = func(n *simtest.Node) (sharding.EntityType[access], error) {
			typ, err := start(n)
			typ.New = nil
			return typ, err
		}
	}, "New: is missing"},
	"no message": {func(e *simtest.Entity[access, int]) {
		e.Op = func(*rapid.T) simtest.Op[access] { return simtest.Op[access]{} }
	}, "make it by Ask, Tell or Deliver"},
	"a last message": {func(e *simtest.Entity[access, int]) {
		e.Final = new(simtest.Tell[access](read{}))
	}, "Entity.Final is no Ask"},
	"a model that panics": {func(e *simtest.Entity[access, int]) {
		e.Model = func(int, access) (int, any) { panic("no such account") }
	}, "the Model panics at read{}: no such account"},
	"a model of another type": {func(e *simtest.Entity[access, int]) {
		e.Model = func(int, access) (int, any) { return 0, int64(0) }
	}, "read{} → 0: the model says 0, but as int64, and not as int"},
	"a strategy that panics": {func(e *simtest.Entity[access, int]) {
		start := e.Start
		e.Start = func(n *simtest.Node) (sharding.EntityType[access], error) {
			typ, err := start(n)
			typ.Allocation.Strategy = struct{ allocation.Strategy }{}
			return typ, err
		}
	}, "the strategy answers"},
	"no answer": {func(e *simtest.Entity[access, int]) {
		e.Start = func(*simtest.Node) (sharding.EntityType[access], error) {
			return typeOf(func(*sharding.Context[access]) sharding.Entity[access] { return mute{} }), nil
		}
	}, "asked read{}, a client had: sharding: handler gave no reply"},
	"no consumer": {func(e *simtest.Entity[access, int]) {
		e.Op = func(*rapid.T) simtest.Op[access] { return simtest.Deliver[access](write{Value: 1}) }
		e.Final = new(simtest.Ask(read{}))
	}, "does the type go through delivery.Consume"},
	"another story each time": {func(e *simtest.Entity[access, int]) {
		reads := 0 // of all worlds
		e.Start = func(*simtest.Node) (sharding.EntityType[access], error) {
			return typeOf(func(*sharding.Context[access]) sharding.Entity[access] {
				reads++
				return &register{reads}
			}), nil
		}
	}, "the same trial has another story now"},
	"no start": {func(e *simtest.Entity[access, int]) {
		e.Start = func(*simtest.Node) (sharding.EntityType[access], error) {
			return sharding.EntityType[access]{}, errors.New("no license")
		}
	}, "no license"},
}

// mute is an entity that does not answer.
type mute struct{}

// Receive implements sharding.Entity.
func (mute) Receive(*sharding.Context[access], access) error { return nil }

// misused is the name of the misuse that a process is for.
const misused = "COTERIE_MISUSED"

// TestMisused fails on purpose, by what the environment says.
func TestMisused(t *testing.T) {
	failing.OnPurpose(t)
	e := registers(func(t *rapid.T) simtest.Op[access] { return simtest.Ask(read{}) })
	misuses[os.Getenv(misused)].does(&e)
	e.Check(t)
}

// Users are told what is wrong.
func TestMisuse(t *testing.T) {
	for name, m := range misuses {
		t.Run(name, func(t *testing.T) {
			t.Setenv(misused, name)
			out := failing.Run(t, t.TempDir(), "TestMisused", "-rapid.shrinktime=1ns")
			if !strings.Contains(out, m.told) {
				t.Errorf("want %q in\n%s", m.told, out)
			}
		})
	}
}
