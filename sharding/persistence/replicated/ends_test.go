package replicated_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/persistence/replicated"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// A process that wants a shard and is gone before it has it holds no other one up: the next call of
// its hosting takes another seat, also when a query or an older owner makes it.
func TestAProcessThatIsGoneBeforeItsSeatIsOpen(t *testing.T) {
	for name, finds := range map[string]func(t *testing.T, s *replicated.Store) []string{
		"a load": func(t *testing.T, s *replicated.Store) (out []string) {
			for _, body := range bodies(t, s, hosting(2), "e") {
				out = append(out, "e "+body)
			}
			return out
		},
		"a query": func(t *testing.T, s *replicated.Store) []string {
			got, _, err := events(t, s, "")
			must(t, err)
			return got
		},
	} { // order: each has a cluster of its own
		t.Run(name, func(t *testing.T) {
			c := start(t, t.TempDir(), t.TempDir(), t.TempDir())
			appended(t, open(t, c.nodes[0]), hosting(1), write("e", 0, "1"))
			gone := open(t, c.nodes[1])
			replicated.Gone(gone)
			if err := gone.Fence(patience(t), hosting(2)); !errors.Is(err, replicated.ErrGone) {
				t.Fatal(err)
			}
			if got := finds(t, open(t, c.nodes[2])); !slices.Equal(got, []string{"e 1"}) {
				t.Errorf("it finds %q", got)
			}
			if open(t, c.nodes[2]).Wanted(t, hosting(2)) {
				t.Error("it takes for settled what the seat that is wanted may not have")
			}
			appended(t, open(t, c.nodes[2]), hosting(2), write("e", 1, "2"))
		})
	}
}

// An owner that was cut off while it wrote, and whose successor is gone before it has the shard,
// opens the successor's seat itself. Its write is in what that begins with, so it is acknowledged.
func TestAnOwnerThatOpensTheSeatOfItsSuccessor(t *testing.T) {
	p := startParted(t)
	a, b := p.stores[0], p.stores[1]
	appended(t, a, hosting(1), write("e", 0, "1"))
	p.cut()
	answer := make(chan error, 1)
	go func() {
		refused, err := a.Append(patience(t), hosting(1), []persistence.Write{write("e", 1, "2")})
		if len(refused) > 0 {
			err = fmt.Errorf("refused: %v", refused)
		}
		answer <- err
	}()
	eventually(t, "the write of the old owner", func() bool { return a.Holds(t, hosting(1), "e") == 2 })
	replicated.Gone(b)
	if err := b.Fence(patience(t), hosting(2)); !errors.Is(err, replicated.ErrGone) {
		t.Fatal(err)
	}
	p.wires.HealAll()
	if err := <-answer; err != nil {
		t.Errorf("the old owner got %v", err)
	}
	if got := bodies(t, p.stores[2], hosting(2), "e"); !slices.Equal(got, []string{"1", "2"}) {
		t.Errorf("its successor finds %q", got)
	}
	if err := a.Fence(patience(t), hosting(1)); !errors.Is(err, persistence.ErrFenced) {
		t.Errorf("the old owner begins again: %v", err)
	}
}

// What an owner has acknowledged is there when it ends at once, without a word to the others.
func TestAnOwnerThatEndsAtOnce(t *testing.T) {
	c := start(t, t.TempDir(), t.TempDir(), t.TempDir())
	s := open(t, c.nodes[2])
	var want []string
	for i := range uint64(20) {
		appended(t, s, hosting(1), write("e", i, fmt.Sprint(i+1)))
		want = append(want, fmt.Sprint(i+1))
	}
	must(t, c.nodes[2].Close())
	next := open(t, c.nodes[1])
	if got := bodies(t, next, hosting(2), "e"); !slices.Equal(got, want) {
		t.Errorf("its successor finds %q", got)
	}
	appended(t, next, hosting(2), write("e", 20, "21"))
	if got, _, err := events(t, open(t, c.nodes[0]), ""); err != nil || len(got) != 21 {
		t.Errorf("a query finds %q, %v", got, err)
	}
}

// All nodes end at once, and start again on their directories: the events, the snapshots and the
// states are there, offsets go on, and an owner of before is fenced.
func TestAllEndAtOnce(t *testing.T) {
	dirs := []string{t.TempDir(), t.TempDir(), t.TempDir()}
	c := start(t, dirs...)
	s := open(t, c.nodes[0])
	for i := range uint64(5) {
		appended(t, s, hosting(2), write("e", i, fmt.Sprint(i+1)))
	}
	_, err := s.SaveSnapshots(patience(t), hosting(2), []persistence.Snapshot{{Entity: "e", Seq: 4, Body: []byte("4")}})
	must(t, err)
	_, err = s.SaveStates(patience(t), hosting(2), []persistence.StateWrite{
		{Entity: "e", State: persistence.State{Body: []byte("state")}},
	})
	must(t, err)
	_, offsets, err := events(t, s, "")
	must(t, err)
	for _, n := range c.nodes {
		must(t, n.Close())
	}
	s = open(t, start(t, dirs...).nodes[1])
	if got, _, err := events(t, s, offsets[2]); err != nil || !slices.Equal(got, []string{"e 4", "e 5"}) {
		t.Errorf("a query finds %q, %v", got, err)
	}
	if err := s.Fence(patience(t), hosting(1)); !errors.Is(err, persistence.ErrFenced) {
		t.Errorf("an owner of before the last one begins: %v", err)
	}
	found := ""
	must(t, s.LoadSnapshots(patience(t), hosting(3), []persistence.SnapshotRead{{Entity: "e"}},
		func(_ int, one persistence.Snapshot) error { found += string(one.Body); return nil }))
	must(t, s.LoadStates(patience(t), hosting(3), []protocol.EntityID{"e"},
		func(_ int, one persistence.State) error { found += " " + string(one.Body); return nil }))
	if found != "4 state" {
		t.Errorf("it finds %q", found)
	}
	appended(t, s, hosting(3), write("e", 5, "6"))
}
