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
	"no start": {func(e *simtest.Entity[access, int]) {
		e.Start = func(*simtest.Node) (sharding.EntityType[access], error) {
			return sharding.EntityType[access]{}, errors.New("no license")
		}
	}, "no license"},
}

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
			if out := failing.Run(t, t.TempDir(), "TestMisused"); !strings.Contains(out, m.told) {
				t.Errorf("want %q in\n%s", m.told, out)
			}
		})
	}
}
