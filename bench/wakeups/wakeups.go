package wakeups

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coterie-go/coterie/bench/measure"
	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/scheduler"
	"github.com/coterie-go/coterie/replicator/quorum"
	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/protocol"
	"github.com/coterie-go/coterie/sharding/remind"
	"github.com/coterie-go/coterie/sharding/remind/replicated"
)

// Command is a message of the entities.
type Command interface{ command() }

// Begin has an entity set a reminder.
type Begin struct {
	sharding.Returns[Command, bool]
}

// Wake is the message of a reminder.
type Wake struct{}

func (Begin) command() {}
func (Wake) command()  {}

const (
	shards   = 256
	writers  = 8               // fill the store at one time
	patience = 5 * time.Minute // for one part
)

// world is the type on one node, and where its reminders are.
type world struct {
	region *sharding.Region[Command]
	store  remind.Store
	sample remind.Reminder // as an entity has set it

	mu   sync.Mutex
	late []time.Duration
	done atomic.Pointer[part]
}

// part is a number of reminders that are awaited.
type part struct {
	left atomic.Int64
	over chan struct{}
}

// TypeName is the name of the entity type.
const TypeName = "Woken"

// Run has n reminders wait on a node, and then wakes one of 50 entities: evenly over a time, and then all at
// one instant. Each reminder is one of an entity that does not run. They are in a store, or, if that is nil, in
// the replicated data of the role, for which the node has a directory.
func Run(
	ctx context.Context, node *ddata.Node, role string, store remind.Store, n int, spread time.Duration,
	f *measure.Figures,
) error {
	w := &world{store: store}
	if err := w.start(ctx, node, role); err != nil {
		return err
	}
	runtime.GC()
	heap, routines := measure.HeapBytes(), runtime.NumGoroutine()
	began := time.Now()
	far := func(i int) time.Time { return began.Add(24*time.Hour + time.Duration(i)*time.Millisecond) }
	if err := w.fill(ctx, "waits", n, far); err != nil {
		return err
	}
	f.Add("reminders", n)
	f.Add("shards", shards)
	f.Add("stored_per_s", int(float64(n)/time.Since(began).Seconds()))
	runtime.GC()
	f.Add("heap_bytes_per_reminder", float64(measure.HeapBytes()-heap)/float64(n))
	f.Add("goroutines_more", runtime.NumGoroutine()-routines)

	woken := max(1, n/50)
	f.Add("woken", woken)
	first := time.Now().Add(spread) // when all are stored
	step := spread / time.Duration(woken)
	evenly := func(i int) time.Time { return first.Add(time.Duration(i) * step) }
	if _, err := w.wake(ctx, "evenly", woken, evenly); err != nil {
		return err
	}
	slices.Sort(w.late)
	f.Add("spread_seconds", spread.Seconds())
	f.Add("late_p50_ms", measure.Millis(measure.PercentileOf(w.late, .5)))
	f.Add("late_p99_ms", measure.Millis(measure.PercentileOf(w.late, .99)))
	at := time.Now().Add(spread)
	last, err := w.wake(ctx, "piled", woken, func(int) time.Time { return at })
	if err != nil {
		return err
	}
	f.Add("piled_per_s", int(float64(woken)/last.Sub(at).Seconds()))
	return nil
}

// start starts the type and has an entity set one reminder, as which the others are made.
func (w *world) start(ctx context.Context, node *ddata.Node, role string) (err error) {
	kept := w.store
	if kept == nil {
		data, err := node.Host().UserData(role)
		if err != nil {
			return err
		}
		majority := quorum.MajorityPlus(0, 0)
		w.store = replicated.New(replicated.Config{
			Type: TypeName, Data: data, Scheduler: scheduler.Goroutines{}, Write: majority, Read: majority,
		})
	}
	w.region, err = sharding.Start(node, sharding.EntityType[Command]{
		Identity:  sharding.Identity{Name: TypeName, Role: role, Shards: shards},
		Messages:  sharding.CBOR[Command](Begin{}, Wake{}),
		Reminders: sharding.Reminders{Enabled: true, Store: kept},
		New:       func(*sharding.Context[Command]) sharding.Entity[Command] { return entity{w} },
	})
	if err != nil {
		return err
	}
	if _, err := sharding.Ask(ctx, w.region.Ref("sample"), Begin{}); err != nil {
		return err
	}
	own, err := w.store.Of(ctx, sharding.FencingToken{}, sharding.ShardOf("sample", shards), "sample")
	if err != nil || len(own) != 1 {
		return fmt.Errorf("the sample is %v: %w", own, err)
	}
	w.sample = own[0]
	return nil
}

// wake stores reminders, waits until all are handled, and returns when that was.
func (w *world) wake(ctx context.Context, name string, n int, due func(int) time.Time) (last time.Time, err error) {
	p := &part{over: make(chan struct{})}
	p.left.Store(int64(n))
	w.done.Store(p)
	w.late = nil
	if err := w.fill(ctx, name, n, due); err != nil {
		return last, err
	}
	select {
	case <-p.over:
		return time.Now(), nil
	case <-time.After(patience):
		return last, fmt.Errorf("%d of %d reminders have not come in %v", p.left.Load(), n, patience)
	case <-ctx.Done():
		return last, ctx.Err()
	}
}

// fill stores a reminder for each of n entities.
func (w *world) fill(ctx context.Context, name string, n int, due func(int) time.Time) error {
	var of [shards][]remind.Change
	for i := range n {
		r := w.sample
		r.Entity = protocol.EntityID(fmt.Sprint(name, "-", i))
		r.Due = due(i).Round(0)
		r.At = r.Due
		s := sharding.ShardOf(string(r.Entity), shards)
		of[s] = append(of[s], remind.Change{Reminder: r})
	}
	var next atomic.Int64
	errs := make(chan error, writers)
	for range writers {
		go func() {
			for s := next.Add(1) - 1; s < shards; s = next.Add(1) - 1 {
				for rest := of[s]; len(rest) > 0; {
					now := rest[:min(len(rest), remind.ChangesMax)]
					if err := w.store.Update(ctx, sharding.FencingToken{}, protocol.ShardID(s), 0, now); err != nil {
						errs <- err
						return
					}
					rest = rest[len(now):]
				}
			}
			errs <- nil
		}()
	}
	var err error
	for range writers {
		if e := <-errs; err == nil {
			err = e
		}
	}
	return err
}

// entity notes how late its reminder comes.
type entity struct{ w *world }

// Receive implements sharding.Entity.
func (e entity) Receive(c *sharding.Context[Command], _ Command) error {
	r, is := c.Reminder()
	if !is {
		if err := c.Remind("wake", time.Now().Add(1000*time.Hour), Wake{}); err != nil {
			return err
		}
		return c.Reply(true)
	}
	late := time.Since(r.Due)
	e.w.mu.Lock()
	e.w.late = append(e.w.late, late)
	e.w.mu.Unlock()
	if p := e.w.done.Load(); p.left.Add(-1) == 0 {
		close(p.over)
	}
	return nil
}
