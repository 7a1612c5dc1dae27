package replicated_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/persistence/replicated"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// What is deleted or replaced frees its items, on each node: a shard holds what its entities need.
func TestDeletionsFreeItems(t *testing.T) {
	c := start(t, t.TempDir(), t.TempDir())
	s, h, seq := open(t, c.nodes[0]), hosting(1), uint64(0)
	once := func(id protocol.EntityID) {
		for range 10 {
			appended(t, s, h, write(id, seq, "x"))
			refused, err := s.SaveStates(patience(t), h, []persistence.StateWrite{
				{Entity: id, After: seq, ID: seq, State: persistence.State{Body: []byte("state")}},
			})
			if must(t, err); len(refused) > 0 {
				t.Fatal(refused)
			}
			seq++
		}
		refused, err := s.SaveSnapshots(patience(t), h, []persistence.Snapshot{
			{Entity: id, Seq: seq, Body: []byte("x")},
		})
		if must(t, err); len(refused) > 0 {
			t.Fatal(refused)
		}
		must(t, s.Delete(patience(t), h, id, seq))
		must(t, s.DeleteSnapshots(patience(t), h, id, seq-1))
	}
	once("e")
	before := s.Items(t, h)
	for range 20 {
		once("e")
	}
	// The last deletions leave their marks, and a state the one before it.
	if n := s.Items(t, h); n > before+4 {
		t.Errorf("%d items after 210 events, %d after 10", n, before)
	}
	eventually(t, "the deletion on the other node", func() bool {
		return open(t, c.nodes[1]).Items(t, h) <= before+4
	})
}

// voided has an owner write while it is cut off, and its successors take the shard many times. It
// returns what of that write is left.
func voided(t *testing.T, mistakes ...func(*replicated.Store)) (left int) {
	p := startParted(t, mistakes...)
	a, b := p.stores[0], p.stores[1]
	appended(t, a, hosting(1), write("kept", 0, "1"))
	p.cut()
	answer := make(chan error, 1)
	var writes []persistence.Write
	for i := range 50 {
		writes = append(writes, write(protocol.EntityID(fmt.Sprint(i)), 0, "late"))
	}
	go func() {
		_, err := a.Append(patience(t), hosting(1), writes)
		answer <- err
	}()
	eventually(t, "the write of the old owner", func() bool { return a.Holds(t, hosting(1), "49") == 1 })
	must(t, b.Fence(patience(t), hosting(2)))
	p.wires.HealAll()
	if err := <-answer; !errors.Is(err, persistence.ErrFenced) {
		t.Fatalf("the old owner got %v", err)
	}
	eventually(t, "the meeting of the writes", func() bool { return b.Holds(t, hosting(2), "49") == 1 })
	for i := range uint64(70) {
		must(t, b.Fence(patience(t), hosting(3+i)))
	}
	for i := range writes {
		left += b.Holds(t, hosting(2), writes[i].Entity)
	}
	if got := bodies(t, b, hosting(72), "kept"); len(got) != 1 {
		t.Errorf("what counts has gone: %q", got)
	}
	return left
}

// What an owner wrote that does not count goes with a sweep of the shard.
func TestWhatDoesNotCountGoes(t *testing.T) {
	if left := voided(t); left > 0 {
		t.Errorf("%d items of 50 are left", left)
	}
	if left := voided(t, replicated.KeepsVoid); left == 0 {
		t.Error("the planted mistake is not caught")
	}
}
