package direct_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/coterie-go/coterie/ddata/membership/singleton"
	"github.com/coterie-go/coterie/proptest/bubble"
	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/persistence/direct"
	"github.com/coterie-go/coterie/sharding/persistence/memory"
	"github.com/coterie-go/coterie/sharding/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// calls are those that a store has seen.
type calls struct {
	mu  sync.Mutex
	all []string
}

// take returns them, and forgets them.
func (c *calls) take() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := c.all
	c.all = nil
	return all
}

// watched is a store in memory, whose calls are noted and then do what the test says.
func watched(act func(ctx context.Context, call string) error) (*memory.Store, *calls) {
	s, c := &memory.Store{}, &calls{}
	s.Before(func(ctx context.Context, call string) error {
		c.mu.Lock()
		c.all = append(c.all, call)
		c.mu.Unlock()
		return act(ctx, call)
	})
	return s, c
}

func nothing(context.Context, string) error { return nil }

func clientOf(s *memory.Store) *direct.Client {
	return direct.New(direct.Config{Journal: s, Snapshots: s, States: s})
}

func hosting(shard protocol.ShardID, seq uint64) persistence.Hosting {
	return persistence.Hosting{Type: "cart", Shard: shard, Token: singleton.FencingToken{Era: 1, Epoch: 1, Seq: seq}}
}

func write(id protocol.EntityID, after, writeID uint64) persistence.Write {
	return persistence.Write{Entity: id, After: after, ID: writeID, Events: []persistence.Event{{
		Seq: after + 1, Name: "e", Version: 1, Body: []byte(fmt.Sprint(after + 1)), At: time.Unix(1, 0).UTC(),
	}}}
}

// wait makes a call and waits for its answer.
func wait(call func(done func(error))) error {
	answer := make(chan error, 1)
	call(func(err error) { answer <- err })
	return <-answer
}

// appends appends one event.
func appends(k *direct.Client, h persistence.Hosting, w persistence.Write) error {
	return wait(func(done func(error)) { k.Append(h, w, done) })
}

// What is written is read again, by each of the calls.
func TestCalls(t *testing.T) {
	s, _ := watched(nothing)
	k, h := clientOf(s), hosting(1, 1)
	for i := range uint64(3) {
		if err := appends(k, h, write("a", i, i+1)); err != nil {
			t.Fatal(err)
		}
	}
	if err := wait(func(done func(error)) { k.Delete(h, "a", 1, done) }); err != nil {
		t.Error(err)
	}
	var bodies []string
	var end persistence.End
	if err := wait(func(done func(error)) {
		k.Load(h, persistence.Read{Entity: "a"}, func(e persistence.Event) error {
			bodies = append(bodies, string(e.Body))
			return nil
		}, func(x persistence.End, err error) {
			end = x
			done(err)
		})
	}); err != nil || !slices.Equal(bodies, []string{"2", "3"}) || end != (persistence.End{Deleted: 1, Last: 3}) {
		t.Error(bodies, end, err)
	}
	for seq := range uint64(2) {
		sn := persistence.Snapshot{Entity: "a", Seq: seq + 2, Name: "s", Version: 1, Body: []byte{byte(seq)},
			At: time.Unix(1, 0).UTC()}
		if err := wait(func(done func(error)) { k.SaveSnapshot(h, sn, done) }); err != nil {
			t.Error(err)
		}
	}
	if err := wait(func(done func(error)) { k.DeleteSnapshots(h, "a", 2, done) }); err != nil {
		t.Error(err)
	}
	var seqs []uint64
	for _, below := range []uint64{0, 3} {
		if err := wait(func(done func(error)) {
			k.LoadSnapshot(h, persistence.SnapshotRead{Entity: "a", Below: below}, func(sn persistence.Snapshot) error {
				seqs = append(seqs, sn.Seq)
				return nil
			}, done)
		}); err != nil {
			t.Error(err)
		}
	}
	if !slices.Equal(seqs, []uint64{3}) {
		t.Error(seqs)
	}
	state := persistence.State{Revision: 1, Name: "s", Version: 1, Body: []byte("x"), At: time.Unix(1, 0).UTC()}
	if err := wait(func(done func(error)) {
		k.SaveState(h, persistence.StateWrite{Entity: "b", ID: 9, State: state}, done)
	}); err != nil {
		t.Error(err)
	}
	found := 0
	for _, id := range []protocol.EntityID{"b", "c"} {
		if err := wait(func(done func(error)) {
			k.LoadState(h, id, func(x persistence.State) error {
				found++
				if x.Revision != 1 || string(x.Body) != "x" {
					t.Error(x)
				}
				return nil
			}, done)
		}); err != nil {
			t.Error(err)
		}
	}
	if found != 1 {
		t.Errorf("%d states", found)
	}
}

// A store hears of each hosting before its first call, once. One that is over is refused.
func TestFences(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s, c := watched(nothing)
		k := clientOf(s)
		for i := range uint64(2) {
			if err := appends(k, hosting(1, 1), write("a", i, i+1)); err != nil {
				t.Fatal(err)
			}
		}
		if err := appends(k, hosting(2, 1), write("b", 0, 3)); err != nil {
			t.Fatal(err)
		}
		if err := appends(k, hosting(1, 2), write("a", 2, 4)); err != nil {
			t.Fatal(err)
		}
		if err := appends(k, hosting(1, 1), write("a", 3, 5)); !errors.Is(err, persistence.ErrFenced) {
			t.Error(err)
		}
		if err := appends(k, hosting(1, 2), write("a", 3, 6)); err != nil {
			t.Error(err)
		}
		want := []string{"Fence", "Append", "Append", "Fence", "Append", "Fence", "Append", "Fence", "Append"}
		if got := c.take(); !slices.Equal(got, want) {
			t.Errorf("%v\nwant %v", got, want)
		}
	})
}

// A write that fails is repeated with pauses, the same each time. What the store has refused is not.
func TestRepeats(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		left := 2
		s, c := watched(func(_ context.Context, call string) error {
			if call == "Fence" || left == 0 {
				return nil
			}
			left--
			return errors.New("no connection")
		})
		k, h := clientOf(s), hosting(1, 1)
		began := time.Now()
		if err := appends(k, h, write("a", 0, 1)); err != nil || time.Since(began) != 150*time.Millisecond {
			t.Error(err, time.Since(began))
		}
		if err := appends(k, h, write("a", 0, 2)); !errors.Is(err, persistence.ErrConflict) {
			t.Error(err)
		}
		left = 3
		if err := appends(k, h, write("a", 1, 3)); err == nil || err.Error() != "no connection" {
			t.Error(err)
		}
		left = 1
		if err := wait(func(done func(error)) {
			k.LoadState(h, "a", func(persistence.State) error { return nil }, done)
		}); err == nil {
			t.Error("a read was repeated")
		}
		if n := len(c.take()); n != 1+3+1+3+2 {
			t.Errorf("%d calls", n)
		}
	})
}

// A fence that fails is tried again with the next call.
func TestFenceThatFails(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		left := 1
		s, c := watched(func(_ context.Context, call string) error {
			if call == "Fence" && left > 0 {
				left--
				return errors.New("no connection")
			}
			return nil
		})
		if err := appends(clientOf(s), hosting(1, 1), write("a", 0, 1)); err != nil {
			t.Error(err)
		}
		if got := c.take(); !slices.Equal(got, []string{"Fence", "Fence", "Append"}) {
			t.Error(got)
		}
	})
}

// A store that hangs is given up after a while, and one that panics has failed.
func TestStoresThatHangOrPanic(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s, _ := watched(func(ctx context.Context, call string) error {
			if call == "Append" {
				<-ctx.Done()
				return ctx.Err()
			}
			if call == "SaveStates" {
				panic("oh")
			}
			return nil
		})
		k, h, began := clientOf(s), hosting(1, 1), time.Now()
		err := appends(k, h, write("a", 0, 1))
		took, want := time.Since(began), 15*time.Second+150*time.Millisecond
		if !errors.Is(err, context.DeadlineExceeded) || took != want {
			t.Error(err, took)
		}
		err = wait(func(done func(error)) { k.SaveState(h, persistence.StateWrite{Entity: "a"}, done) })
		if err == nil || !strings.Contains(err.Error(), "panic: oh") {
			t.Error(err)
		}
	})
}

// No more calls than allowed are at the store.
func TestCallsMax(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		now, most := 0, 0
		s, _ := watched(func(_ context.Context, call string) error {
			if call != "Append" {
				return nil
			}
			mu.Lock()
			now++
			most = max(most, now)
			mu.Unlock()
			<-time.After(time.Second)
			mu.Lock()
			defer mu.Unlock()
			now--
			return nil
		})
		k := direct.New(direct.Config{Journal: s, CallsMax: 3})
		answers := make(chan error, 10)
		for i := range 10 {
			w := write(protocol.EntityID(fmt.Sprint(i)), 0, uint64(i+1))
			k.Append(hosting(1, 1), w, func(err error) { answers <- err })
		}
		for range 10 {
			if err := <-answers; err != nil {
				t.Error(err)
			}
		}
		if synctest.Wait(); most != 3 {
			t.Errorf("%d calls at a time, want 3", most)
		}
	})
}
