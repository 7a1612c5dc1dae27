package rehash

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/singleton"
	"github.com/coterie-go/coterie/ddata/runloop/timer"
	"github.com/coterie-go/coterie/ddata/scheduler"
	"github.com/coterie-go/coterie/sharding/dataplane/outside"
	"github.com/coterie-go/coterie/sharding/protocol"
	"github.com/coterie-go/coterie/sharding/remind"
)

// Bounds of what a mover holds in memory, and has under way.
const (
	pageMax    = 1024     // reminders of one read
	heldMax    = 64 << 10 // reminders that wait to be put
	heldBytes  = 32 << 20 // of their messages
	updatesMax = 32       // shards that are looked at and changed at a time
)

// Config is what a Mover is made of. All is required.
type Config struct {
	Store       remind.Store                                // without a gate
	Layout      Layout                                      // by which the reminders shall lie
	ShardOf     func(id protocol.EntityID) protocol.ShardID // of the Layout
	Scheduler   scheduler.Scheduler                         // by which calls wait
	Read, Write time.Duration                               // the longest that a call of the store may take
	Writes      func() bool                                 // as that of a GateConfig
	// Damaged hears of a reminder in a shard that cannot be read, and so not be moved.
	Damaged func(shard protocol.ShardID, err error)
	// Failing hears of the first call or run that has failed and is repeated, and, with nil, when nothing fails any
	// more. It does not wait.
	Failing func(error)
	// Moved hears how many reminders a run has moved, if it has moved some.
	Moved func(count int)
	// Stranded hears of shards beyond those of the Layout that have reminders, although no move is under way: nothing
	// reads these. It hears of a shard once, in order.
	Stranded func(shards []protocol.ShardID)
}

// Mover moves reminders to the shards of their entities.
type Mover struct {
	cfg    Config
	calls  outside.Calls
	writes atomic.Uint64 // of the record that were begun

	changed chan struct{} // has room for one: a shard that is none of the layout has changed

	mu      sync.Mutex
	failing failures
	beyond  map[protocol.ShardID]bool // those beyond the layout that have reminders: whether Stranded has heard of one
}

// failures are what has failed last.
type failures struct{ call, run bool }

// NewMover makes a mover.
func NewMover(c Config) *Mover {
	return &Mover{
		cfg: c, calls: outside.New("remind.Store", c.Scheduler), changed: make(chan struct{}, 1),
		beyond: map[protocol.ShardID]bool{},
	}
}

// Watch has fn called as remind.Store says, of the layout's shards. The mover hears of the others.
func (m *Mover) Watch(fn func(shard protocol.ShardID, any bool)) (cancel func()) {
	return m.cfg.Store.Watch(func(shard protocol.ShardID, any bool) {
		switch {
		case m.cfg.Layout.has(shard):
			fn(shard, any)
		case shard == RecordShard:
			m.LookAgain()
		default:
			m.beyondChanged(shard, any)
		}
	})
}

func (m *Mover) beyondChanged(shard protocol.ShardID, any bool) {
	m.mu.Lock()
	if _, known := m.beyond[shard]; !any {
		delete(m.beyond, shard)
	} else if !known {
		m.beyond[shard] = false
	}
	m.mu.Unlock()
	m.LookAgain()
}

// LookAgain has Keep look at the record again: it may be that Writes has changed.
func (m *Mover) LookAgain() {
	select {
	case m.changed <- struct{}{}:
	default: // it will
	}
}

// Keep has the reminders lie by the layout, as Run, until ctx ends: also if a late write of another mover changes the
// record after a run has settled it. A run that fails is told of, and repeated. When the reminders lie by the layout
// it looks for some that lie beyond.
func (m *Mover) Keep(ctx context.Context, term, before singleton.FencingToken) {
	for tries := 0; ; tries++ {
		moved, err := m.Run(ctx, term, before)
		if moved > 0 {
			m.cfg.Moved(moved)
		}
		if ctx.Err() == nil {
			m.ended(err, func(f *failures) { f.run = err != nil })
		}
		if err == nil {
			tries = 0
			m.tellStranded(ctx, before)
			m.cfg.Scheduler.Await(m.changed, ctx.Done(), nil)
		} else {
			m.pause(ctx, tries)
		}
		if ctx.Err() != nil {
			m.LookAgain() // what has changed is for the Keep of a later term
			return
		}
	}
}

// tellStranded tells of shards beyond the layout that have reminders, once of each.
func (m *Mover) tellStranded(ctx context.Context, before singleton.FencingToken) {
	var found []protocol.ShardID
	for _, shard := range m.untold() {
		_, last, err := m.page(ctx, before, shard, remind.Key{}, 1)
		if err != nil && !errors.Is(err, remind.ErrDamaged) {
			return // ctx has ended, or a later coordinator is there
		}
		if last != (remind.Key{}) {
			found = append(found, shard)
		}
	}
	if len(found) == 0 {
		return
	}
	m.mu.Lock()
	for _, shard := range found {
		m.beyond[shard] = true
	}
	m.mu.Unlock()
	m.cfg.Stranded(found)
}

// untold are the shards beyond the layout of which Stranded has not heard.
func (m *Mover) untold() (all []protocol.ShardID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, shard := range slices.Sorted(maps.Keys(m.beyond)) {
		if !m.beyond[shard] {
			all = append(all, shard)
		}
	}
	return all
}

// ended notes how a call or a run has ended, and tells if that begins or ends a failure.
func (m *Mover) ended(err error, note func(*failures)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	before := m.failing
	note(&m.failing)
	switch none := (failures{}); {
	case before == none && m.failing != none:
		m.cfg.Failing(err)
	case before != none && m.failing == none:
		m.cfg.Failing(nil)
	}
}

// Run has the reminders lie by the layout, and returns how many it has moved. It is called while no node hosts a
// shard by another layout, and term is that of a coordinator that acts. before is below every hosting that goes on
// or begins, and above those from before all nodes were stopped. Calls that fail are repeated until ctx ends. The
// error of one that no repetition of the call helps is returned: a later run goes on.
func (m *Mover) Run(ctx context.Context, term, before singleton.FencingToken) (moved int, err error) {
	for tries := 0; ; tries++ {
		n, err := m.run(ctx, term, before)
		if moved += n; ctx.Err() != nil || !errors.Is(err, errOvertaken) {
			return moved, err
		}
		m.pause(ctx, tries)
	}
}

func (m *Mover) run(ctx context.Context, term, before singleton.FencingToken) (moved int, err error) {
	r, err := m.read(ctx)
	switch {
	case err != nil || r.settled(m.cfg.Layout):
		return 0, err
	case r.version == 0 && m.cfg.Writes(): // else only a gate would write it, when an entity uses its reminders
		_, err := m.write(ctx, term, record{layout: m.cfg.Layout})
		if errors.Is(err, remind.ErrFenced) || errors.Is(err, remind.ErrOvertaken) {
			err = errOvertaken // by a gate
		}
		return 0, err
	case r.version == 0:
		return 0, nil
	}
	if r.move.round == 0 {
		r.move.by = before
	}
	r.layout = Layout{Shards: max(r.layout.Shards, m.cfg.Layout.Shards)}
	r.move.round++
	if r, err = m.write(ctx, term, r); err != nil {
		return 0, err
	}
	run := &run{Mover: m, move: r.move}
	for shard := range protocol.ShardID(r.layout.Shards) {
		if err := run.gather(ctx, shard); err != nil {
			return run.moved, err
		}
	}
	if err := run.flush(ctx); err != nil {
		return run.moved, err
	}
	r.layout, r.move = m.cfg.Layout, move{}
	_, err = m.write(ctx, term, r)
	return run.moved, err
}

// The pauses after which a call is repeated that has failed.
const (
	retryMin = 50 * time.Millisecond
	retryMax = 10 * time.Second
)

// call makes a call, again until it succeeds, if it may do so.
func (m *Mover) call(ctx context.Context, limit time.Duration, fn func(context.Context) error) error {
	for tries := 0; ; tries++ {
		err := m.calls.Protect(ctx, limit, fn)
		final := err == nil || errors.Is(err, remind.ErrFenced) || errors.Is(err, remind.ErrOvertaken) ||
			errors.Is(err, remind.ErrDamaged)
		m.ended(err, func(f *failures) { f.call = !final })
		if final || ctx.Err() != nil {
			return err
		}
		m.pause(ctx, tries)
	}
}

// page reads some reminders of a shard behind a key.
func (m *Mover) page(
	ctx context.Context, by singleton.FencingToken, shard protocol.ShardID, after remind.Key, limit int,
) (page []remind.Reminder, last remind.Key, err error) {
	err = m.call(ctx, m.cfg.Read, func(ctx context.Context) (err error) {
		page, last, err = m.cfg.Store.All(ctx, by, shard, after, limit)
		return err
	})
	return page, last, err
}

func (m *Mover) pause(ctx context.Context, tries int) {
	pause, cancel := m.cfg.Scheduler.WithTimeout(ctx, timer.Backoff(retryMin, retryMax, tries))
	m.cfg.Scheduler.Await(pause.Done(), nil, nil)
	cancel()
}

func (m *Mover) read(ctx context.Context) (r record, err error) {
	err = m.call(ctx, m.cfg.Read, func(ctx context.Context) (err error) {
		r, err = read(ctx, m.cfg.Store)
		return err
	})
	return r, err
}

// errOvertaken is the error of a run that has found another record than the one that it has written: of another
// coordinator, or a late one of an earlier run.
var errOvertaken = errors.New("another mover has begun")

// write writes the record that follows r, unless another one has been written since that was read.
func (m *Mover) write(ctx context.Context, term singleton.FencingToken, r record) (record, error) {
	err := m.call(ctx, m.cfg.Write, func(ctx context.Context) error {
		return write(ctx, m.cfg.Store, term, m.writes.Add(1), r)
	})
	if err != nil {
		return r, fmt.Errorf("the record of the layout: %w", err)
	}
	r.version++
	switch found, err := m.read(ctx); {
	case err != nil:
		return r, err
	case found != r:
		return r, errOvertaken
	}
	return r, nil
}

// run is one run of a mover.
type run struct {
	*Mover
	move    move
	updates atomic.Uint64 // that were begun
	held    []stranger
	bytes   int // of their messages
	moved   int
	empty   sync.Map // by protocol.ShardID, if something was put there: whether there was nothing before
}

// number is that of the next update: above those of the rounds before.
func (r *run) number() uint64 { return uint64(r.move.round)<<32 + r.updates.Add(1) }

// stranger is a reminder that lies in a shard which is not its entity's.
type stranger struct {
	remind.Reminder
	from protocol.ShardID
}

// gather reads a shard, and moves those that do not belong there once enough of them are held.
func (r *run) gather(ctx context.Context, shard protocol.ShardID) error {
	for after := (remind.Key{}); ; {
		page, last, err := r.page(ctx, r.move.by, shard, after, pageMax)
		if errors.Is(err, remind.ErrDamaged) {
			r.cfg.Damaged(shard, err)
		} else if err != nil {
			return fmt.Errorf("reminders of shard %v: %w", shard, err)
		}
		for _, m := range page {
			if r.cfg.ShardOf(m.Entity) != shard {
				r.held = append(r.held, stranger{m, shard})
				r.bytes += len(m.Body)
			}
		}
		if len(r.held) >= heldMax || r.bytes >= heldBytes {
			if err := r.flush(ctx); err != nil {
				return err
			}
		}
		if after = last; last == (remind.Key{}) {
			return nil
		}
	}
}

// flush puts what is held into its shards, and then takes it away from where it was. Of two with one key the later
// one is put.
func (r *run) flush(ctx context.Context) error {
	puts := map[protocol.ShardID]map[remind.Key]remind.Reminder{}
	removes := map[protocol.ShardID][]remind.Change{}
	for _, s := range r.held {
		to, key := r.cfg.ShardOf(s.Entity), s.Key()
		if puts[to] == nil {
			puts[to] = map[remind.Key]remind.Reminder{}
		}
		if puts[to][key].Version < s.Version {
			puts[to][key] = s.Reminder
		}
		removes[s.from] = append(removes[s.from], remind.Change{
			Reminder: remind.Reminder{Entity: s.Entity, Name: s.Name}, Remove: true, If: s.Version,
		})
	}
	if err := forEach(r, puts, func(shard protocol.ShardID, all map[remind.Key]remind.Reminder) error {
		return r.put(ctx, shard, all)
	}); err != nil {
		return err
	}
	if err := forEach(r, removes, func(shard protocol.ShardID, all []remind.Change) error {
		return r.update(ctx, shard, all)
	}); err != nil {
		return err
	}
	r.moved += len(r.held)
	r.held, r.bytes = nil, 0
	return nil
}

// forEach does something about many shards, about some of them at a time.
func forEach[T any](r *run, shards map[protocol.ShardID]T, do func(shard protocol.ShardID, of T) error) error {
	all := scheduler.NewGroup(r.cfg.Scheduler)
	queue := make(chan protocol.ShardID, len(shards))
	for _, s := range slices.Sorted(maps.Keys(shards)) {
		queue <- s
	}
	close(queue)
	var mu sync.Mutex
	var failed error // the first
	for range min(updatesMax, len(shards)) {
		all.Go(func() {
			for shard := range queue {
				if err := do(shard, shards[shard]); err != nil {
					mu.Lock()
					if failed == nil {
						failed = fmt.Errorf("reminders of shard %v: %w", shard, err)
					}
					mu.Unlock()
					return
				}
			}
		})
	}
	all.Wait()
	return failed
}

// put puts reminders into a shard. One stays out if the shard has a later version of it.
func (r *run) put(ctx context.Context, shard protocol.ShardID, all map[remind.Key]remind.Reminder) error {
	there, err := r.versions(ctx, shard, all)
	if err != nil {
		return err
	}
	var changes []remind.Change
	for _, key := range slices.SortedFunc(maps.Keys(all), remind.Key.Compare) {
		if m := all[key]; there[key] < m.Version {
			changes = append(changes, remind.Change{Reminder: m, If: there[key]})
		}
	}
	return r.update(ctx, shard, changes)
}

// versions are those of the reminders of some entities in a shard. A damaged one has none: it is replaced. Most moves
// go to shards that were empty before, in which there is nothing to look for.
func (r *run) versions(
	ctx context.Context, shard protocol.ShardID, of map[remind.Key]remind.Reminder,
) (map[remind.Key]uint64, error) {
	empty, known := r.empty.Load(shard)
	if !known {
		_, last, err := r.page(ctx, r.move.by, shard, remind.Key{}, 1)
		if err != nil && !errors.Is(err, remind.ErrDamaged) {
			return nil, err
		}
		empty = last == remind.Key{}
		r.empty.Store(shard, empty)
	}
	if empty.(bool) {
		return nil, nil
	}
	there, ids := map[remind.Key]uint64{}, map[protocol.EntityID]bool{}
	for key := range of { // order: they are sorted below
		ids[key.Entity] = true
	}
	for _, id := range slices.Sorted(maps.Keys(ids)) {
		var own []remind.Reminder
		err := r.call(ctx, r.cfg.Read, func(ctx context.Context) (err error) {
			own, err = r.cfg.Store.Of(ctx, r.move.by, shard, id)
			return err
		})
		if err != nil && !errors.Is(err, remind.ErrDamaged) {
			return nil, err
		}
		for _, m := range own {
			there[m.Key()] = m.Version
		}
	}
	return there, nil
}

func (r *run) update(ctx context.Context, shard protocol.ShardID, changes []remind.Change) error {
	for some := range slices.Chunk(changes, remind.ChangesMax) {
		err := r.call(ctx, r.cfg.Write, func(ctx context.Context) error {
			return r.cfg.Store.Update(ctx, r.move.by, shard, r.number(), some)
		})
		if err != nil {
			return err
		}
	}
	return nil
}
