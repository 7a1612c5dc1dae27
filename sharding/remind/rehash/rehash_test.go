package rehash

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

	"go.uber.org/goleak"

	"github.com/coterie-go/coterie/ddata/membership/singleton"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/ddata/scheduler"
	"github.com/coterie-go/coterie/proptest/bubble"
	"github.com/coterie-go/coterie/sharding/protocol"
	"github.com/coterie-go/coterie/sharding/remind"
	"github.com/coterie-go/coterie/sharding/remind/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// term is the token of the n-th term, or of what a coordinator commands in it.
func term(n, seq int) singleton.FencingToken {
	return singleton.FencingToken{Era: 1, Epoch: view.Epoch(n), Up: 1, Seq: uint64(seq)}
}

var noon = time.Date(2027, 1, 15, 12, 0, 0, 0, time.UTC)

// layoutOf is a layout by XXHash.
func layoutOf(shards int) Layout { return Layout{shards, protocol.XXHash.Name} }

func gateOf(s remind.Store, shards int) *Gate {
	return NewGate(GateConfig{
		Store: s, Layout: layoutOf(shards), Scheduler: scheduler.Goroutines{}, Writes: func() bool { return true },
	})
}

func moverOf(s remind.Store, shards int) *Mover {
	return NewMover(Config{
		Store: s, Layout: layoutOf(shards), Scheduler: scheduler.Goroutines{}, Read: time.Minute, Write: time.Minute,
		ShardOf: func(id protocol.EntityID) protocol.ShardID { return protocol.ShardOf(id, shards) },
		Damaged: func(protocol.ShardID, error) {}, Failing: func(error) {}, Moved: func(int) {},
		Stranded: func([]protocol.ShardID) {}, Writes: func() bool { return true },
	})
}

// entities is how many have a reminder.
const entities = 300

// fill sets a reminder for each entity through a gate, in the term n.
func fill(t *testing.T, s remind.Store, shards, n int) {
	t.Helper()
	g := gateOf(s, shards)
	for i := range entities {
		r := remind.Reminder{
			Entity: protocol.EntityID(fmt.Sprint("e", i)), Name: "n", Due: noon, At: noon.Add(time.Duration(i)),
			Every: time.Hour, Tries: 3, Version: uint64(i + 1), Body: []byte("body"),
		}
		shard := protocol.ShardOf(r.Entity, shards)
		if err := g.Update(t.Context(), term(n, 100), shard, uint64(i+1), []remind.Change{{Reminder: r}}); err != nil {
			t.Fatal(err)
		}
	}
}

// want compares what a shard of the layout sees in a term with what was set.
func want(t *testing.T, s remind.Store, shards, n int) {
	t.Helper()
	g, found := gateOf(s, shards), 0
	for shard := range protocol.ShardID(shards) {
		due, _, err := g.Due(t.Context(), term(n, 100), shard, noon.Add(time.Hour), remind.DueMax)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range due {
			var i int
			_, _ = fmt.Sscanf(string(r.Entity), "e%d", &i)
			if protocol.ShardOf(r.Entity, shards) != shard || r.Version != uint64(i+1) || r.Tries != 3 ||
				!r.At.Equal(noon.Add(time.Duration(i))) || r.Every != time.Hour || string(r.Body) != "body" {
				t.Fatalf("%+v is in shard %v of %d", r, shard, shards)
			}
		}
		found += len(due)
	}
	if found != entities {
		t.Errorf("%d reminders are in %d shards, want %d", found, shards, entities)
	}
}

// Reminders go to the shards of their entities, to more of them, to fewer, and back.
func TestMove(t *testing.T) {
	var s memory.Store
	fill(t, &s, 7, 1)
	for n, shards := range []int{7, 14, 3, 100, 7} {
		moved, err := moverOf(&s, shards).Run(t.Context(), term(2+n, 1), term(2+n, 1))
		if err != nil || (n == 0) != (moved == 0) {
			t.Fatalf("%d were moved to %d shards: %v", moved, shards, err)
		}
		want(t, &s, shards, 2+n)
		if moved, err := moverOf(&s, shards).Run(t.Context(), term(2+n, 200), term(2+n, 99)); moved != 0 || err != nil {
			t.Errorf("again %d were moved to %d shards: %v", moved, shards, err)
		}
	}
}

// A mover may end at each of its calls, before the call has taken effect or after. The next one, of another
// term and perhaps of another layout, finds the rest. Nodes that host shards since the first one use these when all
// is done.
func TestMoveGoesOn(t *testing.T) {
	for fails, done := 1, false; !done; fails++ {
		for _, after := range []bool{false, true} {
			var s memory.Store
			fill(t, &s, 3, 1)
			ctx, end := context.WithCancel(t.Context())
			f := &failing{Store: &s, at: fails, after: after, end: end}
			_, err := moverOf(f, 6).Run(ctx, term(2, 1), term(2, 1))
			end()
			done = err == nil
			shards := []int{6, 4}[fails%2]
			if _, err := moverOf(&s, shards).Run(t.Context(), term(3, 1), term(2, 99)); err != nil {
				t.Fatalf("after call %d: %v", fails, err)
			}
			want(t, &s, shards, 2)
		}
	}
}

var errFailing = errors.New("the store fails")

// failing is a store that ends its caller with one of the calls, before that has taken effect or after.
type failing struct {
	*memory.Store
	mu        sync.Mutex
	calls, at int
	after     bool
	end       func()
}

func (f *failing) fails(effect func() error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls++
	switch {
	case f.calls < f.at:
		return effect()
	case f.calls == f.at && f.after:
		_ = effect()
	}
	f.end()
	return errFailing
}

func (f *failing) Of(
	ctx context.Context, by singleton.FencingToken, shard protocol.ShardID, id protocol.EntityID,
) (own []remind.Reminder, err error) {
	err = f.fails(func() (err error) {
		own, err = f.Store.Of(ctx, by, shard, id)
		return err
	})
	return own, err
}

func (f *failing) Update(
	ctx context.Context, by singleton.FencingToken, shard protocol.ShardID, number uint64, changes []remind.Change,
) error {
	return f.fails(func() error { return f.Store.Update(ctx, by, shard, number, changes) })
}

// A call that fails is repeated. The first failure is told, and that it has passed.
func TestMoveRepeats(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		var s memory.Store
		fill(t, &s, 3, 1)
		var calls atomic.Int64
		var mu sync.Mutex
		told := ""
		s.Before(func(context.Context, string) error {
			if calls.Add(1)%4 > 0 {
				return errFailing
			}
			return nil
		})
		m := moverOf(&s, 6)
		m.cfg.Failing = func(err error) {
			mu.Lock()
			defer mu.Unlock()
			told += fmt.Sprintln(err)
		}
		if _, err := m.Run(t.Context(), term(2, 1), term(2, 1)); err != nil {
			t.Fatal(err)
		}
		s.Before(nil)
		want(t, &s, 6, 2)
		if !strings.HasPrefix(told, errFailing.Error()+"\n<nil>\n") {
			t.Errorf("told was %q", told)
		}
	})
}

// A record that cannot be read is told of, once, and the mover tries again: when the record is mended it moves.
func TestKeepGoesOn(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		var s memory.Store
		fill(t, &s, 3, 1)
		own, err := s.Of(t.Context(), singleton.FencingToken{}, RecordShard, recordID)
		if err != nil || len(own) != 1 {
			t.Fatal(own, err)
		}
		sound := slices.Clone(own[0].Body)
		put := func(body []byte) {
			own[0].Body = body
			change := []remind.Change{{Reminder: own[0]}}
			if err := s.Update(t.Context(), singleton.FencingToken{}, RecordShard, 0, change); err != nil {
				t.Fatal(err)
			}
		}
		put([]byte("no record"))
		m := moverOf(&s, 6)
		var mu sync.Mutex
		told := []error{}
		moved, ended := 0, make(chan struct{})
		ctx, end := context.WithCancel(t.Context())
		m.cfg.Failing = func(err error) {
			mu.Lock()
			defer mu.Unlock()
			told = append(told, err)
		}
		m.cfg.Moved = func(count int) { moved += count }
		go func() {
			m.Keep(ctx, term(2, 1), term(2, 1))
			close(ended)
		}()
		<-time.After(time.Hour)
		mu.Lock()
		if len(told) != 1 || !errors.Is(told[0], remind.ErrDamaged) {
			t.Errorf("told of %v", told)
		}
		mu.Unlock()
		put(sound)
		<-time.After(time.Minute)
		end()
		<-ended
		want(t, &s, 6, 2)
		if len(told) != 2 || told[1] != nil || moved == 0 {
			t.Errorf("told of %v, %d were moved", told, moved)
		}
	})
}

// A record of a mover that was deposed may stand over the settled one, in a store that does not look at tokens. Then
// the reminders are moved once more, and nodes that start later can use them.
func TestKeepSettlesAgain(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		var s memory.Store
		fill(t, &s, 3, 1)
		m := moverOf(unfenced{&s}, 6)
		defer m.Watch(func(protocol.ShardID, bool) {})()
		ctx, end := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			m.Keep(ctx, term(3, 1), term(3, 1))
			close(ended)
		}()
		synctest.Wait()
		want(t, &s, 6, 3)
		r, err := read(t.Context(), &s)
		if err != nil || !r.settled(layoutOf(6)) {
			t.Fatal(r, err)
		}
		late := record{layout: Layout{Shards: 6}, move: move{by: term(2, 1), round: 1}, version: r.version}
		if err := write(t.Context(), unfenced{&s}, term(2, 1), 1, late); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if r, err := read(t.Context(), &s); err != nil || !r.settled(layoutOf(6)) || r.version <= late.version {
			t.Errorf("%+v, %v", r, err)
		}
		end()
		<-ended
	})
}

// unfenced is a store that does not look at tokens.
type unfenced struct{ *memory.Store }

func (u unfenced) Of(
	ctx context.Context, _ singleton.FencingToken, shard protocol.ShardID, id protocol.EntityID,
) ([]remind.Reminder, error) {
	return u.Store.Of(ctx, singleton.FencingToken{}, shard, id)
}

func (u unfenced) All(
	ctx context.Context, _ singleton.FencingToken, shard protocol.ShardID, after remind.Key, limit int,
) ([]remind.Reminder, remind.Key, error) {
	return u.Store.All(ctx, singleton.FencingToken{}, shard, after, limit)
}

func (u unfenced) Update(
	ctx context.Context, _ singleton.FencingToken, shard protocol.ShardID, _ uint64, changes []remind.Change,
) error {
	return u.Store.Update(ctx, singleton.FencingToken{}, shard, 0, changes)
}

// Shards beyond the layout that have reminders are told of when no move is under way, once, also those that come later.
func TestStranded(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		var s memory.Store
		fill(t, &s, 9, 1)
		put := func(shard protocol.ShardID) {
			r := remind.Reminder{Entity: "e1", Name: "n", Due: noon, At: noon, Version: 1}
			change := []remind.Change{{Reminder: r}}
			if err := s.Update(t.Context(), singleton.FencingToken{}, shard, 0, change); err != nil {
				t.Fatal(err)
			}
		}
		var mu sync.Mutex
		told := []string{}
		wantTold := func(want ...string) {
			t.Helper()
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			if !slices.Equal(told, want) {
				t.Errorf("told of %q, want %q", told, want)
			}
		}
		var moves atomic.Bool
		s.Before(func(_ context.Context, call string) error {
			if call == "Update" && !moves.Load() {
				return errFailing
			}
			return nil
		})
		m := moverOf(&s, 6)
		m.cfg.Stranded = func(shards []protocol.ShardID) {
			mu.Lock()
			defer mu.Unlock()
			told = append(told, fmt.Sprint(shards))
		}
		own := []protocol.ShardID{}
		defer m.Watch(func(shard protocol.ShardID, _ bool) { // while reminders move, several at a time
			mu.Lock()
			defer mu.Unlock()
			own = append(own, shard)
		})()
		mu.Lock()
		if !slices.Equal(own, []protocol.ShardID{0, 1, 2, 3, 4, 5}) {
			t.Errorf("the watch tells of %v", own)
		}
		mu.Unlock()
		ctx, end := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			m.Keep(ctx, term(2, 1), term(2, 1))
			close(ended)
		}()
		<-time.After(time.Hour)
		wantTold()
		moves.Store(true)
		<-time.After(time.Hour)
		wantTold() // they have moved
		want(t, &s, 6, 2)
		put(6)
		wantTold("[6]")
		put(7)
		put(6)
		wantTold("[6]", "[7]")
		end()
		<-ended
	})
}

// What a mover of a coordinator that was deposed has yet to do changes nothing any more.
func TestDeposedMover(t *testing.T) {
	var s memory.Store
	fill(t, &s, 3, 1)
	h := &halting{Store: &s, calls: make(chan func(), 1000)}
	ended := make(chan error)
	go func() {
		_, err := moverOf(h, 6).Run(t.Context(), term(2, 1), term(2, 1))
		ended <- err
	}()
	(<-h.calls)() // it says that it moves
	late := <-h.calls
	if _, err := moverOf(&s, 6).Run(t.Context(), term(3, 1), term(2, 1)); err != nil {
		t.Fatal(err)
	}
	id := protocol.EntityID("e1")
	shard := protocol.ShardOf(id, 6)
	cancel := []remind.Change{{Reminder: remind.Reminder{Entity: id, Name: "n"}, Remove: true}}
	for number, shard := range []protocol.ShardID{0, 1, 2, 3, 4, 5} { // each is hosted
		if _, _, err := gateOf(&s, 6).Due(t.Context(), term(3, 2), shard, noon, 1); err != nil {
			t.Fatal(number, err)
		}
	}
	if err := gateOf(&s, 6).Update(t.Context(), term(3, 2), shard, 1, cancel); err != nil {
		t.Fatal(err)
	}
	late()
	for ends := false; !ends; {
		select {
		case next := <-h.calls:
			next()
		case err := <-ended:
			if ends = true; err == nil {
				t.Error("the mover of the term before has not failed")
			}
		}
	}
	if own, err := s.Of(t.Context(), singleton.FencingToken{}, shard, id); len(own) > 0 || err != nil {
		t.Errorf("the reminder that was taken away is there again: %v %v", own, err)
	}
}

// halting is a store whose updates take effect when the test says so.
type halting struct {
	*memory.Store
	calls chan func()
}

func (h *halting) Update(
	ctx context.Context, by singleton.FencingToken, shard protocol.ShardID, number uint64, changes []remind.Change,
) error {
	done := make(chan error, 1)
	h.calls <- func() { done <- h.Store.Update(ctx, by, shard, number, changes) }
	return <-done
}

// damaged is a store that cannot read the reminders of some entities.
type damaged struct{ *memory.Store }

func (d damaged) All(
	ctx context.Context, by singleton.FencingToken, shard protocol.ShardID, after remind.Key, limit int,
) (all []remind.Reminder, last remind.Key, err error) {
	all, last, err = d.Store.All(ctx, by, shard, after, limit)
	bad := func(r remind.Reminder) bool { return r.Entity == "e1" }
	if slices.ContainsFunc(all, bad) {
		err = remind.ErrDamaged
	}
	return slices.DeleteFunc(all, bad), last, err
}

// A damaged reminder stays where it is, is told of, and holds no other one up.
func TestMoveBesideADamagedOne(t *testing.T) {
	var s memory.Store
	fill(t, &s, 3, 1)
	m, told := moverOf(damaged{&s}, 6), 0
	m.cfg.Damaged = func(shard protocol.ShardID, err error) {
		if told++; shard != protocol.ShardOf("e1", 3) || !errors.Is(err, remind.ErrDamaged) {
			t.Errorf("shard %v: %v", shard, err)
		}
	}
	if _, err := m.Run(t.Context(), term(2, 1), term(2, 1)); err != nil || told == 0 {
		t.Errorf("told %d times, %v", told, err)
	}
	if protocol.ShardOf("e1", 3) == protocol.ShardOf("e1", 6) {
		t.Fatal("the damaged one need not move")
	}
	if own, err := s.Of(t.Context(), term(2, 100), protocol.ShardOf("e1", 3), "e1"); len(own) != 1 || err != nil {
		t.Errorf("%v %v", own, err)
	}
}

// Of two reminders of one name the later one stands, wherever the two lie. What is left over goes.
func TestLaterOneStands(t *testing.T) {
	const id, shards = "e1", 6
	home := protocol.ShardOf(id, shards)
	for left := range protocol.ShardID(shards) {
		for later := range protocol.ShardID(shards) {
			if left == later {
				continue
			}
			var s memory.Store
			if err := write(t.Context(), &s, term(1, 1), 1, record{layout: layoutOf(3)}); err != nil {
				t.Fatal(err)
			}
			for version, shard := range []protocol.ShardID{left, later} {
				r := remind.Reminder{Entity: id, Name: "n", Due: noon, At: noon, Version: uint64(version + 1)}
				if err := s.Update(t.Context(), term(1, 1), shard, 1, []remind.Change{{Reminder: r}}); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := moverOf(&s, shards).Run(t.Context(), term(2, 1), term(2, 1)); err != nil {
				t.Fatal(err)
			}
			for shard := range protocol.ShardID(shards) {
				own, err := s.Of(t.Context(), term(2, 1), shard, id)
				if err != nil || shard != home && len(own) > 0 ||
					shard == home && (len(own) != 1 || own[0].Version != 2) {
					t.Errorf("from shards %v and %v to %v: shard %v has %v, %v", left, later, home, shard, own, err)
				}
			}
		}
	}
}

// What lies in shards that were empty is put there with no look at each entity.
func TestMoveToEmptyShards(t *testing.T) {
	var s memory.Store
	fill(t, &s, 3, 1)
	looks := atomic.Int64{}
	s.Before(func(_ context.Context, call string) error {
		if call == "Of" {
			looks.Add(1)
		}
		return nil
	})
	if moved, err := moverOf(&s, 6).Run(t.Context(), term(2, 1), term(2, 1)); err != nil || moved < entities/3 {
		t.Fatal(moved, err)
	}
	if n := looks.Load(); n > 10 { // some are at the record
		t.Errorf("%d looks", n)
	}
}
