package simtest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/coterie-go/coterie/proptest/failing"
	"github.com/coterie-go/coterie/proptest/simtest"
	"github.com/coterie-go/coterie/sharding"
)

// TestUnfencedAccounts fails on purpose: a service that does not fence pays twice.
func TestUnfencedAccounts(t *testing.T) {
	failing.OnPurpose(t)
	accounts(false).Check(t)
}

// TestForgetfulRegister fails on purpose: an entity that keeps its value in memory loses it when its
// node dies.
func TestForgetfulRegister(t *testing.T) {
	failing.OnPurpose(t)
	registers(func(t *rapid.T) simtest.Op[access] {
		if rapid.Bool().Draw(t, "writes") {
			return simtest.Ask(write{Value: rapid.IntRange(1, 9).Draw(t, "value")})
		}
		return simtest.Ask(read{})
	}).Check(t)
}

// registers are entities that keep a value in memory.
func registers(op func(*rapid.T) simtest.Op[access]) simtest.Entity[access, int] {
	return simtest.Entity[access, int]{
		Start: func(*simtest.Node) (sharding.EntityType[access], error) {
			return typeOf(func(*sharding.Context[access]) sharding.Entity[access] { return &register{} }), nil
		},
		Op: op,
		Model: func(value int, m access) (int, any) {
			if m, is := m.(write); is {
				value = m.Value
			}
			return value, value
		},
	}
}

func typeOf(makes func(*sharding.Context[access]) sharding.Entity[access]) sharding.EntityType[access] {
	return sharding.EntityType[access]{
		Identity: sharding.Identity{Name: "register", Role: "any", Shards: 2},
		Messages: sharding.CBOR[access](write{}, read{}),
		New:      makes,
	}
}

type (
	access interface{ isAccess() }
	write  struct {
		sharding.Returns[access, int]
		Value int
	}
	read     struct{ sharding.Returns[access, int] }
	register struct{ value int }
)

func (write) isAccess() {}
func (read) isAccess()  {}

// Receive implements sharding.Entity.
func (r *register) Receive(c *sharding.Context[access], m access) error {
	if m, is := m.(write); is {
		r.value = m.Value
	}
	return c.Reply(r.value)
}

// What is planted in users' entities is found, made small, told, and shown by pages; the file that is kept
// shows it again.
func TestFaultsAreFound(t *testing.T) {
	for name, c := range map[string]struct {
		most   int // steps of the story
		breaks string
		asked  bool
	}{
		"TestUnfencedAccounts": {6, "the model", true}, "TestForgetfulRegister": {3, "the model", true},
		"TestHalfRemoved": {3, "the model", false}, "TestCountedTwice": {4, "the model", true},
		"TestUnfencedSingleton": {2, "the invariant", false}, "TestDeafSingleton": {2, "no stall", false},
	} {
		t.Run(name, func(t *testing.T) {
			dir, out := failing.Found(t, name, c.most, "-rapid.checks=20000")
			if !strings.Contains(out, "simtest: "+c.breaks) {
				t.Errorf("another promise is broken:\n%s", out)
			}
			pages := []string{"story.html", "operations.html"}
			if !c.asked {
				pages = pages[:1]
			}
			for _, page := range pages {
				if _, err := os.Stat(filepath.Join(dir, "testdata", "rapid", name, page)); err != nil {
					t.Error(err)
				}
			}
			again := failing.Run(t, dir, name, "-rapid.checks=1", "-rapid.shrinktime=1ns")
			if !strings.Contains(again, "failed after 0 tests") {
				t.Errorf("the file that was kept does not fail again:\n%s", again)
			}
		})
	}
}
