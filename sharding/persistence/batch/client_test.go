package batch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coterie-go/coterie/ddata/events/eventstest"
	"github.com/coterie-go/coterie/proptest/bubble"
	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/persistence/memory"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// TestEverythingReachesTheStore calls each method once, and the methods that read find it.
func TestEverythingReachesTheStore(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newWorld(t, Settings{})
		defer w.close()
		h := hostingOn(1, 1)
		for i, body := range []string{"a", "b", "c"} {
			wantErr(t, w.append(h, writeOf("x", uint64(i), body)), nil)
		}
		if got, end, err := w.load(h, "x", 1); got != "bc" || end.Last != 3 || err != nil {
			t.Errorf("%q %+v %v", got, end, err)
		}
		wantErr(t, w.append(h, writeOf("x", 1, "z")), persistence.ErrConflict)
		wantErr(t, await(func(done func(error)) { w.c.Delete(h, "x", 2, done) }), nil)
		if got, end, err := w.load(h, "x", 0); got != "c" || end.Deleted != 2 || err != nil {
			t.Errorf("%q %+v %v", got, end, err)
		}
		w.snapshots(h)
		w.states(h)
		defer w.meter.Read(w.c.Report)()
		w.meter.Want(t, map[string]int{
			"writes_total": 4, "events_total": 3, "batches_total": 4, "loads_total": 6, "snapshots_total": 1,
			"failures_total": 0, "waiting": 0, "waiting_bytes": 0, "calls_in_flight": 0, "conflicts_total": 1,
		})
		eventstest.CheckTable(t, w.meter)
		if got := w.heard.kinds(); got != "[]" {
			t.Error(got)
		}
	})
}

func (w *world) snapshots(h persistence.Hosting) {
	load := func() (body string, err error) {
		err = await(func(done func(error)) {
			w.c.LoadSnapshot(h, persistence.SnapshotRead{Entity: "x"}, func(s persistence.Snapshot) error {
				body += string(s.Body)
				return nil
			}, done)
		})
		return body, err
	}
	s := persistence.Snapshot{Entity: "x", Seq: 3, Name: "cart", Body: []byte("abc"), At: time.Unix(1, 0)}
	wantErr(w.t, await(func(done func(error)) { w.c.SaveSnapshot(h, s, done) }), nil)
	if body, err := load(); body != "abc" || err != nil {
		w.t.Errorf("snapshot %q %v", body, err)
	}
	wantErr(w.t, await(func(done func(error)) { w.c.DeleteSnapshots(h, "x", 3, done) }), nil)
	if body, err := load(); body != "" || err != nil {
		w.t.Errorf("snapshot %q %v", body, err)
	}
}

func (w *world) states(h persistence.Hosting) {
	write := persistence.StateWrite{Entity: "y", State: persistence.State{
		Revision: 1, Name: "cart", Body: []byte("v"), At: time.Unix(1, 0),
	}}
	wantErr(w.t, await(func(done func(error)) { w.c.SaveState(h, write, done) }), nil)
	for id, want := range map[protocol.EntityID]string{"y": "v", "none": ""} {
		body := ""
		err := await(func(done func(error)) {
			w.c.LoadState(h, id, func(s persistence.State) error {
				body += string(s.Body)
				return nil
			}, done)
		})
		if body != want || err != nil {
			w.t.Errorf("state %q %v", body, err)
		}
	}
}

// TestManyWritersShareCalls has 100 entities of a shard write while a call is under way: the next
// call has all of them.
func TestManyWritersShareCalls(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newWorld(t, Settings{})
		defer w.close()
		w.store.Before(func(ctx context.Context, call string) error {
			<-time.After(time.Millisecond)
			return nil
		})
		var all sync.WaitGroup
		for i := range 100 {
			id := protocol.EntityID(fmt.Sprint(i))
			all.Go(func() {
				for n := range 3 {
					done := make(chan error, 1)
					w.c.Append(hostingOn(1, 1), writeOf(id, uint64(n), "x"), func(err error) { done <- err })
					wantErr(t, <-done, nil)
				}
			})
		}
		all.Wait()
		synctest.Wait()
		w.c.mu.Lock()
		s := w.c.stats
		w.c.mu.Unlock()
		if s.Writes != 300 || s.Batches > 30 {
			t.Errorf("%d writes in %d calls", s.Writes, s.Batches)
		}
	})
}

// TestLostAnswers loses the answers of calls: everything is stored once, and answered.
func TestLostAnswers(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newWorld(t, Settings{})
		defer w.close()
		var n atomic.Uint64
		w.store.After(func(context.Context, string) error {
			if n.Add(1)%3 != 0 {
				return errBroken
			}
			return nil
		})
		h := hostingOn(1, 1)
		want := ""
		for i := range uint64(10) {
			wantErr(t, w.append(h, writeOf("x", i, fmt.Sprint(i))), nil)
			want += fmt.Sprint(i)
		}
		if got, end, err := w.load(h, "x", 0); got != want || end.Last != 10 || err != nil {
			t.Errorf("%q %+v %v", got, end, err)
		}
		kinds := w.heard.kinds()
		if a, b := strings.Count(kinds, "StoreFailing"), strings.Count(kinds, "StoreBack"); a == 0 || a != b {
			t.Error(kinds)
		}
	})
}

// TestAnError is the end of a write that fails until GiveUpAfter, and says why.
func TestAnError(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newWorld(t, Settings{GiveUpAfter: 7 * time.Second})
		defer w.close()
		h := hostingOn(1, 1)
		wantErr(t, w.append(h, writeOf("x", 0, "a")), nil)
		w.store.Before(func(context.Context, string) error { return errBroken })
		began := time.Now()
		err := w.append(h, writeOf("x", 1, "b"))
		wantErr(t, err, ErrGaveUp)
		wantErr(t, err, errBroken)
		if took := time.Since(began); took != 7*time.Second {
			t.Errorf("gave up after %v", took)
		}
		w.store.Before(nil)
		wantErr(t, w.append(h, writeOf("x", 1, "c")), nil)
		if got := w.heard.kinds(); got != "[batch.StoreFailing batch.StoreBack]" {
			t.Error(got)
		}
	})
}

// TestHang has the calls of one shard ignore their context: the other shard goes on.
func TestHang(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newWorld(t, Settings{})
		defer w.close()
		one, two := hostingOn(1, 1), hostingOn(2, 1)
		wantErr(t, w.append(one, writeOf("x", 0, "a")), nil)
		wantErr(t, w.append(two, writeOf("y", 0, "a")), nil)
		hung := make(chan struct{})
		var first atomic.Bool
		w.store.Before(func(context.Context, string) error {
			if first.CompareAndSwap(false, true) {
				<-hung
			}
			return nil
		})
		lost := make(chan error, 1)
		w.c.Append(one, writeOf("x", 1, "b"), func(err error) { lost <- err })
		synctest.Wait()
		for i := range uint64(3) {
			wantErr(t, w.append(two, writeOf("y", i+1, "b")), nil)
		}
		wantErr(t, <-lost, ErrGaveUp)
		if got := w.heard.kinds(); got != "[batch.StoreSlow batch.StoreHangs]" {
			t.Error(got)
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		wantErr(t, w.c.Close(ctx), context.DeadlineExceeded)
		close(hung)
	})
}

// TestDeletionsFail has all deletions fail: writes of their shard, and of their entity, go on.
func TestDeletionsFail(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newWorld(t, Settings{})
		defer w.close()
		w.store.Before(func(_ context.Context, call string) error {
			if strings.HasPrefix(call, "Delete") {
				return errBroken
			}
			return nil
		})
		h := hostingOn(1, 1)
		wantErr(t, w.append(h, writeOf("x", 0, "a")), nil)
		deleted := make(chan error, 2)
		w.c.Delete(h, "x", 1, func(err error) { deleted <- err })
		w.c.DeleteSnapshots(h, "x", 1, func(err error) { deleted <- err })
		synctest.Wait()
		began := time.Now()
		for i := range uint64(3) {
			wantErr(t, w.append(h, writeOf("x", i+1, "b")), nil)
			s := persistence.Snapshot{Entity: "x", Seq: i + 1, Name: "cart", Body: []byte("s"), At: began}
			wantErr(t, await(func(done func(error)) { w.c.SaveSnapshot(h, s, done) }), nil)
		}
		if took := time.Since(began); took > 0 || len(deleted) > 0 {
			t.Errorf("the writes took %v, %d deletions are done", took, len(deleted))
		}
		for range 2 {
			err := <-deleted
			wantErr(t, err, ErrGaveUp)
			wantErr(t, err, errBroken)
		}
	})
}

// TestPanics has the store panic: that is a failure, and an event tells of it.
func TestPanics(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newWorld(t, Settings{})
		defer w.close()
		var n atomic.Uint64
		w.store.Before(func(context.Context, string) error {
			if n.Add(1) <= 2 {
				panic("out of order")
			}
			return nil
		})
		wantErr(t, w.append(hostingOn(1, 1), writeOf("x", 0, "a")), nil)
		if got := w.heard.kinds(); strings.Count(got, "UserCodePanicked") != 2 || !strings.Contains(got, "StoreBack") {
			t.Error(got)
		}
	})
}

// TestCallTimeout has the store answer only when the time of a call is over: it is repeated.
func TestCallTimeout(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newWorld(t, Settings{CallTimeout: 3 * time.Second, RetryFirst: time.Second, RetryMost: time.Second})
		defer w.close()
		var calls atomic.Uint64
		w.store.Before(func(ctx context.Context, _ string) error {
			if calls.Add(1) > 1 {
				return nil
			}
			<-ctx.Done()
			return ctx.Err()
		})
		began := time.Now()
		wantErr(t, w.append(hostingOn(1, 1), writeOf("x", 0, "a")), nil)
		if took := time.Since(began); took != 4*time.Second {
			t.Errorf("the write took %v", took)
		}
	})
}

// TestLinger has writes wait for others: those of the time share a call.
func TestLinger(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newWorld(t, Settings{Linger: 20 * time.Millisecond})
		defer w.close()
		h := hostingOn(1, 1)
		wantErr(t, w.append(h, writeOf("first", 0, "a")), nil) // and the fence
		began := time.Now()
		took := make(chan time.Duration, 3)
		for i := range 3 {
			w.c.Append(h, writeOf(protocol.EntityID(fmt.Sprint(i)), 0, "a"), func(error) { took <- time.Since(began) })
			<-time.After(5 * time.Millisecond)
		}
		for range cap(took) {
			if d := <-took; d != 20*time.Millisecond {
				t.Errorf("a write took %v", d)
			}
		}
		w.c.mu.Lock()
		defer w.c.mu.Unlock()
		if w.c.stats.Batches != 2 {
			t.Errorf("%d calls", w.c.stats.Batches)
		}
	})
}

// TestFenced has another node take the shard over.
func TestFenced(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newWorld(t, Settings{})
		defer w.close()
		old := hostingOn(1, 1)
		wantErr(t, w.append(old, writeOf("x", 0, "a")), nil)
		if err := w.store.Fence(context.Background(), hostingOn(1, 2)); err != nil {
			t.Fatal(err)
		}
		wantErr(t, w.append(old, writeOf("x", 1, "b")), persistence.ErrFenced)
		wantErr(t, w.append(old, writeOf("y", 0, "b")), persistence.ErrFenced)
		w.c.End(old)
		wantErr(t, w.append(old, writeOf("y", 0, "b")), ErrEnded)
		wantErr(t, w.append(hostingOn(1, 3), writeOf("x", 1, "c")), nil)
		if got := w.heard.kinds(); got != "[batch.HostingFenced]" {
			t.Error(got)
		}
	})
}

// TestLoadGoesOn loads a long history over calls that fail in the middle: each event comes once.
func TestLoadGoesOn(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newWorld(t, Settings{CallTimeout: time.Second, GiveUpAfter: time.Minute}) // the pauses may add up to 3 s
		defer w.close()
		h := hostingOn(1, 1)
		for i := range uint64(30) {
			wantErr(t, w.append(h, writeOf("x", i, "e")), nil)
		}
		var seqs []uint64
		err := await(func(done func(error)) {
			w.c.Load(h, persistence.Read{Entity: "x"}, func(e persistence.Event) error {
				seqs = append(seqs, e.Seq)
				<-time.After(200 * time.Millisecond) // the call takes longer than it may
				return nil
			}, func(_ persistence.End, err error) { done(err) })
		})
		if err != nil || len(seqs) != 30 || !slices.IsSorted(seqs) || seqs[29] != 30 {
			t.Errorf("%v %v", seqs, err)
		}
	})
}

// TestOneLoadFails has the entities of two loads that share a call fail in their own ways.
func TestOneLoadFails(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newWorld(t, Settings{})
		defer w.close()
		h := hostingOn(1, 1)
		errs := make([]error, 3)
		var all sync.WaitGroup
		for _, id := range []protocol.EntityID{"0", "1", "2"} {
			wantErr(t, w.append(h, writeOf(id, 0, "e")), nil)
		}
		all.Add(3)
		for i := range 3 {
			w.c.Load(h, persistence.Read{Entity: protocol.EntityID(fmt.Sprint(i))}, func(e persistence.Event) error {
				switch i {
				case 1:
					return errBroken
				case 2:
					panic("cannot apply")
				}
				return nil
			}, func(_ persistence.End, err error) {
				errs[i] = err
				all.Done()
			})
		}
		all.Wait()
		if errs[0] != nil || !errors.Is(errs[1], errBroken) || errs[2] == nil {
			t.Error(errs)
		}
	})
}

// TestClose answers what waits, what is under way, and what comes later.
func TestClose(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newWorld(t, Settings{})
		h := hostingOn(1, 1)
		w.store.Before(func(ctx context.Context, _ string) error {
			<-ctx.Done()
			return ctx.Err()
		})
		got := make(chan error, 3)
		for i := range 2 {
			w.c.Append(h, writeOf(protocol.EntityID(fmt.Sprint(i)), 0, "x"), func(err error) { got <- err })
			synctest.Wait()
		}
		began := time.Now()
		w.close()
		if took := time.Since(began); took > 0 {
			t.Errorf("the calls under way were not ended: it took %v", took)
		}
		w.c.Append(h, writeOf("late", 0, "x"), func(err error) { got <- err })
		for range 3 {
			wantErr(t, <-got, ErrClosed)
		}
		w.close()
	})
}

// TestBroken has the machine panic: what waits, is under way, and comes later hears of it.
func TestBroken(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newWorld(t, Settings{})
		h := hostingOn(1, 1)
		w.store.Before(func(ctx context.Context, _ string) error {
			<-ctx.Done()
			return ctx.Err()
		})
		got := make(chan error, 3)
		add := func(id protocol.EntityID) {
			w.c.Append(h, writeOf(id, 0, "x"), func(err error) { got <- err })
			synctest.Wait()
		}
		add("under way")
		w.c.m = nil // every step panics now
		add("breaks it")
		add("later")
		for range 3 {
			wantErr(t, <-got, ErrBroken)
		}
		meter := eventstest.NewMeter("coterie_persistence_", "type")
		meter.Read(w.c.Report)
		meter.Want(t, map[string]int{"broken": 1})
		if got := w.heard.kinds(); got != "[batch.ClientBroken]" {
			t.Error(got)
		}
		w.close()
	})
}

// TestDonePanics has a done panic: it is called once, and the others hear of it.
func TestDonePanics(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newWorld(t, Settings{})
		h := hostingOn(1, 1)
		got := make(chan error, 3)
		var calls atomic.Uint64
		w.c.Append(h, writeOf("evil", 0, "x"), func(error) {
			calls.Add(1)
			panic("out of order")
		})
		for _, id := range []protocol.EntityID{"a", "b", "c"} {
			w.c.Append(h, writeOf(id, 0, "x"), func(err error) { got <- err })
		}
		for range 3 {
			if err := <-got; !errors.Is(err, ErrBroken) || !strings.Contains(err.Error(), "out of order") {
				t.Error(err)
			}
		}
		synctest.Wait()
		if n := calls.Load(); n != 1 {
			t.Errorf("the one that panics was called %d times", n)
		}
		w.close()
	})
}

// TestStopped closes the client with its region.
func TestStopped(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		stopped := make(chan struct{})
		c, err := New(Config{Name: "cart", Journal: &memory.Store{}, Stopped: stopped})
		if err != nil {
			t.Fatal(err)
		}
		add := func(done func(error)) { c.Append(hostingOn(1, 1), writeOf("x", 0, "a"), done) }
		wantErr(t, await(add), nil)
		close(stopped)
		synctest.Wait()
		wantErr(t, await(add), ErrClosed)
	})
}

// TestDoneIsNoCaller calls the client from done, and finds that done is not called by Append.
func TestDoneIsNoCaller(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newWorld(t, Settings{})
		defer w.close()
		h := hostingOn(1, 1)
		var mu sync.Mutex
		over := make(chan error)
		mu.Lock()
		w.c.Append(h, writeOf("x", 0, "a"), func(error) {
			mu.Lock()
			defer mu.Unlock()
			w.c.Append(h, writeOf("x", 1, "b"), func(err error) { over <- err })
		})
		mu.Unlock()
		wantErr(t, <-over, nil)
	})
}

// TestIDs makes two clients of one token: their writes have different IDs.
func TestIDs(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		a, b := newWorld(t, Settings{}), newWorld(t, Settings{})
		defer a.close()
		defer b.close()
		b.c.cfg.Journal, b.c.fences = a.store, []persistence.Fencer{a.store}
		h := hostingOn(1, 1)
		wantErr(t, a.append(h, writeOf("x", 0, "a")), nil)
		wantErr(t, b.append(h, writeOf("x", 0, "a")), persistence.ErrConflict)
	})
}

// TestConfig lists every fault, and finds out which stores are one.
func TestConfig(t *testing.T) {
	_, err := New(Config{Settings: Settings{BatchMax: 5000, GiveUpAfter: time.Second, CallTimeout: time.Minute}})
	for _, want := range []string{"Name", "Journal", "Settings.BatchMax", "Settings.GiveUpAfter"} {
		if err == nil || !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v lacks %s", err, want)
		}
	}
	none := (*memory.Store)(nil)
	_, err = New(Config{Name: "T", Journal: none, Snapshots: none, States: none})
	for _, port := range []string{"Journal", "Snapshots", "States"} {
		if want := port + ": is a *memory.Store that is nil"; !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%v lacks %s", err, want)
		}
	}
	bubble.Test(t, func(t *testing.T) {
		w := newWorld(t, Settings{})
		defer w.close()
		if fences, ports := w.c.cfg.number(); len(fences) != 1 || ports != [3]int{} {
			t.Error(ports)
		}
		only := Config{States: w.store}
		if fences, ports := only.number(); len(fences) != 1 || ports != [3]int{-1, -1, 0} {
			t.Error(ports)
		}
	})
}
