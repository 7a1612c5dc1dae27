package sharding

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coterie-go/coterie/ddata/ddatatest"
	"github.com/coterie-go/coterie/proptest/bubble"
	"github.com/coterie-go/coterie/sharding/passivation"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// roster knows which entities live.
type roster struct {
	mu   sync.Mutex
	live map[string]bool
}

func newRoster() *roster { return &roster{live: map[string]bool{}} }

// entityType is of carts that are in the roster while they live.
func (r *roster) entityType(s passivation.Strategy) EntityType[message_] {
	typ := cartType(&cartLog{})
	typ.Passivation.Strategy = s
	typ.New = func(c *Context[message_]) Entity[message_] {
		r.note(c.ID(), true)
		return &enrolled{cart: cart{log: &cartLog{}}, r: r}
	}
	return typ
}

func (r *roster) note(id string, lives bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.live[id] = lives; !lives {
		delete(r.live, id)
	}
}

// ids lists the entities that live when nothing more happens.
func (r *roster) ids() (ids []string) {
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	for id := range r.live {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

func (r *roster) want(t *testing.T, what string, want ...[]string) {
	t.Helper()
	all := slices.Concat(want...)
	slices.Sort(all)
	if got := r.ids(); !slices.Equal(got, all) {
		t.Errorf("%s: %v live, want %v", what, got, all)
	}
}

type enrolled struct {
	cart
	r *roster
}

// Stop takes it off the roster.
func (l *enrolled) Stop(c *Context[message_]) error {
	l.r.note(c.ID(), false)
	return nil
}

// idsOf are n entities of one shard of so many, in order.
func idsOf(shard, shards, n int) (ids []string) {
	for i := 0; len(ids) < n; i++ {
		if id := fmt.Sprintf("e%04d", i); int(ShardOf(id, shards)) == shard {
			ids = append(ids, id)
		}
	}
	return ids
}

func askIDs(t *testing.T, g *Region[message_], ids ...string) {
	t.Helper()
	for _, id := range ids {
		if _, err := Ask(within(t, time.Minute), g.Ref(id), total{}); err != nil {
			t.Fatal(err)
		}
	}
}

// The region's limit is divided over the shards that are here, anew with every one that comes and
// goes, and can be changed.
func TestActiveEntityLimit(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		r := newRoster()
		typ := r.entityType(passivation.Strategy{ActiveEntityLimit: 10})
		typ.Shards, typ.Rebalance.Interval = 3, time.Second
		g := start(w.join("backend"), typ)
		w.install()
		a, b, c := idsOf(0, 3, 20), idsOf(1, 3, 20), idsOf(2, 3, 20)
		for i, id := range a {
			askIDs(t, g, id)
			r.want(t, "one shard", a[max(0, i-9):i+1])
		}
		askIDs(t, g, b[0])
		r.want(t, "a second shard", a[15:], b[:1])
		askIDs(t, g, a[15]) // used again, so another goes
		askIDs(t, g, a[0])
		r.want(t, "recency", a[:1], a[15:16], a[17:], b[:1])
		if err := g.SetActiveEntityLimit(6); err != nil {
			t.Fatal(err)
		}
		r.want(t, "a lower limit", a[:1], a[15:16], a[19:], b[:1])
		askIDs(t, g, b[:10]...)
		askIDs(t, g, c[0])
		r.want(t, "a third shard", a[:1], a[15:16], b[8:10], c[:1])
		if err := g.SetActiveEntityLimit(1); err != nil {
			t.Fatal(err)
		}
		r.want(t, "at least one each", a[:1], b[9:10], c[:1])
		if st := g.Stats(); st.Active != 3 || st.Limit != 1 || fmt.Sprint(st.Passivated) != "[limit: 29]" ||
			st.Forced != 0 || len(st.Drops) > 0 {
			t.Errorf("%+v", st)
		}
		if err := g.SetActiveEntityLimit(12); err != nil {
			t.Fatal(err)
		}
		other := newRoster()
		typ = other.entityType(passivation.Strategy{ActiveEntityLimit: 10})
		typ.Shards, typ.Rebalance.Interval = 3, time.Second
		start(w.join("backend"), typ)
		w.install()
		<-time.After(time.Minute)
		if n := g.Stats().Shards; n != 2 || g.plane.Entities.Passivations.Share.Load() != 6 {
			t.Errorf("with %d shards each has %d of 12", n, g.plane.Entities.Passivations.Share.Load())
		}
	})
}

// Passivation that never ends loses nothing, reorders nothing, and makes no entity live twice.
func TestPassivationUnderLoad(t *testing.T) {
	for name, s := range map[string]passivation.Strategy{
		"lru":       {ActiveEntityLimit: 3},
		"mru":       {ActiveEntityLimit: 3, Replacement: passivation.MostRecentlyUsed},
		"composite": {ActiveEntityLimit: 3, Admission: passivation.DefaultStrategy().Admission},
		"idle":      {IdleTimeout: 2 * time.Millisecond},
	} {
		inBubble(t, func(t *testing.T, w *world) {
			rec := newRecorder()
			typ := rec.entityType()
			typ.Shards, typ.Passivation.Strategy = 2, s
			regions := []*Region[message_]{start(w.join("backend"), typ), start(w.join("frontend"), typ)}
			w.install()
			ctx := within(t, 10*time.Minute)
			stop := make(chan struct{})
			told := load(ctx, t, regions, stop)
			<-time.After(2 * time.Second)
			close(stop)
			n := told()
			<-time.After(time.Second)
			askAll(ctx, t, regions[0])
			st := regions[0].Stats()
			if rec.count() != n || len(st.Drops) > 0 {
				t.Errorf("%s: %d of %d messages arrived, %+v", name, rec.count(), n, st)
			}
			for _, f := range rec.faults() {
				t.Errorf("%s: %s", name, f)
			}
			if len(st.Passivated) != 1 || st.Passivated[0].Count < 30 {
				t.Errorf("%s: too few passivations to prove anything: %+v", name, st)
			}
		})
	}
}

// An entity that does not stop in time is stopped by force, which is counted and told; what waits
// is for the next incarnation, in order.
func TestPassivationIsForced(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		var mu sync.Mutex
		var forced []string
		typ := cartType(&cartLog{})
		typ.Passivation.StopTimeout = 3 * time.Second
		typ.OnEvent = onNotes(func(e protocol.Event) {
			if e.Kind == protocol.PassivationForced && e.Alarm() {
				mu.Lock()
				forced = append(forced, string(e.Entity))
				mu.Unlock()
			}
		})
		g := start(w.join("backend"), typ)
		w.install()
		ctx := within(t, time.Hour)
		stuck := newGate()
		if err := g.Tell(ctx, "a", block{stuck}); err != nil {
			t.Fatal(err)
		}
		<-stuck.entered
		for range 2 { // the second is ignored
			if err := g.Passivate(ctx, "a"); err != nil {
				t.Fatal(err)
			}
		}
		if err := g.Passivate(ctx, "absent"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		for range 5 {
			if err := g.Tell(ctx, "a", addItem{"x", 1}); err != nil {
				t.Fatal(err)
			}
		}
		<-time.After(2 * time.Second)
		if st := g.Stats(); st.Forced != 0 || fmt.Sprint(st.Passivated) != "[request: 1]" || st.Active != 1 {
			t.Errorf("before the time is over: %+v", st)
		}
		<-time.After(2 * time.Second)
		mu.Lock()
		if st := g.Stats(); st.Forced != 1 || !slices.Equal(forced, []string{"a"}) {
			t.Errorf("%+v, told of %v", st, forced)
		}
		mu.Unlock()
		close(stuck.open)
		if n, err := Ask(ctx, g.Ref("a"), total{}); err != nil || n != 5 {
			t.Errorf("%d %v", n, err)
		}
		if st := g.Stats(); st.Entities != 1 || st.Active != 1 || len(st.Drops) > 0 {
			t.Errorf("%+v", st)
		}
	})
}

// A shard that is handed off passivates no entity. When the hand-off is taken back, the entities
// that the limit sends away go.
func TestLimitWhileTheShardMoves(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		r := newRoster()
		typ := r.entityType(passivation.Strategy{ActiveEntityLimit: 10})
		typ.Shards, typ.HandOff.StopTimeout, typ.HandOff.FinishTimeout = 1, 2*time.Second, 10*time.Second
		node := w.join("backend")
		g := start(node, typ)
		w.install()
		start(w.join("backend"), typ)
		ids := idsOf(0, 1, 9)
		askIDs(t, g, ids...)
		stuck := newGate()
		if err := g.Tell(t.Context(), "stuck", block{stuck}); err != nil {
			t.Fatal(err)
		}
		<-stuck.entered
		left := make(chan error, 1)
		go func() { left <- w.handsOver(node, 20*time.Second) }()
		<-time.After(5 * time.Second)
		if err := g.SetActiveEntityLimit(3); err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Second)
		r.want(t, "while it moves", ids, []string{"stuck"})
		<-time.After(10 * time.Second)
		r.want(t, "taken back", ids[7:], []string{"stuck"})
		close(stuck.open)
		<-left
	})
}

// A limit and a time-out work together; a receive timeout is no use of an entity.
func TestLimitAndIdleTimeout(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		r := newRoster()
		typ := r.entityType(passivation.Strategy{ActiveEntityLimit: 3, IdleTimeout: time.Minute})
		typ.Shards = 1
		made := typ.New
		typ.New = func(c *Context[message_]) Entity[message_] {
			if c.ID() == "timer" {
				c.SetReceiveTimeout(time.Second, silent{})
			}
			return made(c)
		}
		g, _ := localRegion(t, typ)
		g.plane.Entities.StartScans()
		askIDs(t, g, "timer", "a", "b")
		<-time.After(10 * time.Second)
		askIDs(t, g, "c")
		r.want(t, "limit", []string{"a", "b", "c"})
		<-time.After(30 * time.Second)
		askIDs(t, g, "c")
		<-time.After(65 * time.Second) // between 60 and 90 seconds after their last message
		r.want(t, "idle", []string{"c"})
		askIDs(t, g, "d", "e", "f")
		r.want(t, "limit again", []string{"d", "e", "f"})
	})
}

// What one turn handles is one use, or a burst would count for more than many starts.
func TestATurnIsOneUse(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		r := newRoster()
		typ := r.entityType(passivation.Strategy{ActiveEntityLimit: 2, Replacement: passivation.LeastFrequentlyUsed})
		typ.Shards = 1
		g, _ := localRegion(t, typ)
		stuck := newGate()
		if err := g.Tell(t.Context(), "burst", block{stuck}); err != nil {
			t.Fatal(err)
		}
		<-stuck.entered
		for range 100 {
			if err := g.Tell(t.Context(), "burst", addItem{"x", 1}); err != nil {
				t.Fatal(err)
			}
		}
		close(stuck.open)
		synctest.Wait()
		for range 3 {
			askIDs(t, g, "often")
			synctest.Wait()
		}
		askIDs(t, g, "new")
		r.want(t, "least frequently used", []string{"often", "new"})
	})
}

func TestLimitIsRefused(t *testing.T) {
	for name, change := range map[string]func(*EntityType[message_]){
		"no limit": func(*EntityType[message_]) {},
		"remembered": func(typ *EntityType[message_]) {
			typ.Remember.Entities, typ.Passivation.Strategy.ActiveEntityLimit = true, 5
		},
	} {
		typ := cartType(&cartLog{})
		change(&typ)
		g, _ := localRegion(t, typ)
		if err := g.SetActiveEntityLimit(5); !errors.Is(err, ErrConfig) {
			t.Errorf("%s: %v", name, err)
		}
		if g.plane.Entities.IdleScan.Looks() && typ.Remember.Entities {
			t.Errorf("%s: it looks for idle ones", name)
		}
	}
	typ := cartType(&cartLog{})
	typ.Passivation.Strategy.ActiveEntityLimit = 5
	g, _ := localRegion(t, typ)
	for _, n := range []int{0, -1, passivation.LimitMax + 1} {
		if err := g.SetActiveEntityLimit(n); !errors.Is(err, ErrConfig) {
			t.Errorf("%d: %v", n, err)
		}
	}
	typ.Passivation.Strategy.Levels = -3
	if err := typ.Validate(); !errors.Is(err, ErrConfig) {
		t.Error(err)
	}
}

// Passivation by a limit on a node with everything real.
func TestLimitOnARealNode(t *testing.T) {
	n := ddatatest.Start(t, "backend")[0]
	typ := cartType(&cartLog{})
	typ.Passivation.Strategy = passivation.DefaultStrategy()
	typ.Passivation.Strategy.ActiveEntityLimit = 64
	g, err := Start(n, typ)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for i := range 1000 {
		if err := g.Tell(ctx, fmt.Sprint("cart-", i), addItem{"x", 1}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 1000 {
		if _, err := Ask(ctx, g.Ref(fmt.Sprint("cart-", i)), total{}); err != nil {
			t.Fatal(err)
		}
	}
	for ctx.Err() == nil && g.Stats().Active > 64 {
		<-time.After(5 * time.Millisecond)
	}
	if st := g.Stats(); st.Active > 64 || st.Active < 16 || st.Shards != 16 || st.Limit != 64 || len(st.Drops) > 0 ||
		len(st.Passivated) != 1 {
		t.Errorf("%+v", st)
	}
}
