package diskless

import (
	"maps"
	"sync"
	"time"

	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/ledger"
	"github.com/coterie-go/coterie/sharding/persistence/postgres"
)

const (
	alarmType = "Alarm"
	// idleTimeout is short: an alarm is passivated long before it rings.
	idleTimeout = 100 * time.Millisecond
)

// command is what an alarm is sent.
type command interface{ command() }

type (
	// set has an alarm ring at a time, once, or then again and again.
	set struct {
		sharding.Returns[command, bool]

		At    time.Time
		Every time.Duration
	}
	// cancel has it ring no more.
	cancel struct {
		sharding.Returns[command, bool]
	}
	// ring is what the reminder brings.
	ring struct{}
)

func (set) command()    {}
func (cancel) command() {}
func (ring) command()   {}

// rung counts how often each alarm has rung in this process.
type rung struct {
	mu    sync.Mutex
	times map[string]int
}

func (r *rung) add(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.times[id]++
}

func (r *rung) all() map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.times)
}

type alarm struct{ r *rung }

// Receive implements sharding.Entity.
func (a alarm) Receive(c *sharding.Context[command], m command) (err error) {
	const name = "ring"
	switch m := m.(type) {
	case set:
		if m.Every > 0 {
			err = c.RemindEvery(name, m.At, m.Every, ring{})
		} else {
			err = c.Remind(name, m.At, ring{})
		}
	case cancel:
		err = c.CancelReminder(name)
	case ring:
		a.r.add(c.ID())
		return nil
	}
	if err != nil {
		return err
	}
	return c.Reply(true)
}

// newAlarms is the type of the alarms, of which homes and reminders are in a store.
func newAlarms(store *postgres.Store, r *rung) (t sharding.EntityType[command], err error) {
	t = sharding.EntityType[command]{
		Identity:  sharding.Identity{Name: alarmType, Role: role, Shards: shards},
		Messages:  sharding.CBOR[command](set{}, cancel{}, ring{}),
		New:       func(*sharding.Context[command]) sharding.Entity[command] { return alarm{r} },
		Reminders: sharding.Reminders{Enabled: true, Store: store.Reminders(alarmType)},
	}
	t.Passivation.Strategy.IdleTimeout = idleTimeout
	t.Coordination.Ledger, err = ledger.New(ledger.Config{Type: alarmType, Journal: store, Snapshots: store})
	return t, err
}
