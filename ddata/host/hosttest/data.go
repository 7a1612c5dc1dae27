package hosttest

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata/host"
	"github.com/coterie-go/coterie/ddata/registered"
	"github.com/coterie-go/coterie/ddata/scheduler"
	"github.com/coterie-go/coterie/replicator/quorum"
)

// Data is replicated data without replication: one store for all that use it. Each write is everywhere
// before its done is called. Its methods may be called from any goroutine. What it calls must not call
// it.
type Data struct {
	clock scheduler.Clock

	mu          sync.Mutex
	replica     *crdt.Replica
	follows     registered.Set[follow]
	stalled     map[string][]func() // by key: writes that wait; a key that is there stalls
	asked       map[Asked]int
	readsTake   time.Duration
	writesTake  time.Duration
	writesOfKey func(key string) bool
}

var _ host.Data = (*Data)(nil)

// Asked is how a caller has asked: of how many nodes, and for how long.
type Asked struct {
	Level   quorum.Level
	Timeout time.Duration
}

type follow struct {
	prefix string
	fn     func(string, crdt.Reader)
}

// NewData makes data without keys.
func NewData(c scheduler.Clock) *Data {
	return &Data{clock: c, replica: crdt.NewReplica(1, crdt.StoreOptions{}), asked: map[Asked]int{}}
}

// Stall holds the writes of a key back until goOn is called. It ends the stall of another key.
func (d *Data) Stall(key string) (goOn func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stalled = map[string][]func(){key: nil}
	return func() {
		d.mu.Lock()
		late := d.stalled[key]
		delete(d.stalled, key)
		d.mu.Unlock()
		for _, fn := range late {
			fn()
		}
	}
}

// ReadsTake has reads take so long from now on. One that is given less time fails.
func (d *Data) ReadsTake(t time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.readsTake = t
}

// WritesTake has the answers of writes of some keys take so long from now on. One that is given less
// time fails, too, and takes effect.
func (d *Data) WritesTake(t time.Duration, of func(key string) bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.writesTake, d.writesOfKey = t, of
}

// Asked counts the reads and writes by how they were asked for. The map is the caller's.
func (d *Data) Asked() map[Asked]int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return maps.Clone(d.asked)
}

// Keys returns the keys with a prefix, in order.
func (d *Data) Keys(prefix string) []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.keysLocked(prefix)
}

func (d *Data) keysLocked(prefix string) []string {
	return slices.Sorted(d.replica.Store().Snapshot().Keys(prefix))
}

// Update implements host.Data.
func (d *Data) Update(key string, level quorum.Level, timeout time.Duration,
	mutate func(*crdt.Tx) error, done func(error)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asked[Asked{level, timeout}]++
	if late, stalls := d.stalled[key]; stalls {
		d.stalled[key] = append(late, func() {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.updateLocked(key, timeout, mutate, done)
		})
		return
	}
	d.updateLocked(key, timeout, mutate, done)
}

func (d *Data) updateLocked(key string, timeout time.Duration, mutate func(*crdt.Tx) error, done func(error)) {
	var ch crdt.Changes
	_, err := d.replica.Update(key, d.clock.Now().UnixNano(), mutate, &ch)
	if err == nil {
		for _, f := range d.follows.All() {
			if strings.HasPrefix(key, f.prefix) {
				f.fn(key, d.replica.Store().View(key))
			}
		}
	}
	if d.writesOfKey == nil || !d.writesOfKey(key) {
		done(err)
		return
	}
	d.answer(d.writesTake, timeout, func(late error) {
		if late != nil {
			err = late
		}
		done(err)
	})
}

// Get implements host.Data.
func (d *Data) Get(key string, level quorum.Level, timeout time.Duration, done func(crdt.Reader, error)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asked[Asked{level, timeout}]++
	v := d.replica.Store().View(key)
	d.answer(d.readsTake, timeout, func(late error) {
		if late != nil {
			v = crdt.Reader{}
		}
		done(v, late)
	})
}

// answer calls done after the time that a call takes, or with an error when its time is over.
func (d *Data) answer(takes, timeout time.Duration, done func(late error)) {
	switch {
	case takes == 0:
		done(nil)
	case takes > timeout:
		d.clock.AfterFunc(timeout, func() { done(context.DeadlineExceeded) })
	default:
		d.clock.AfterFunc(takes, func() { done(nil) })
	}
}

// Watch implements host.Data.
func (d *Data) Watch(prefix string, fn func(string, crdt.Reader)) (cancel func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, key := range d.keysLocked(prefix) {
		fn(key, d.replica.Store().View(key))
	}
	return d.follows.Add(&d.mu, follow{prefix, fn})
}
