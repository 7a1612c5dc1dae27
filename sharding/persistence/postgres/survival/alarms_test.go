package survival

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/persistence/postgres"
)

// alarmType is the type of the entities that set reminders.
const alarmType = "alarm"

// alarmMessage is what they are sent.
type alarmMessage interface{ alarm() }

type (
	// arm has an alarm ring at a time.
	arm struct {
		sharding.Returns[alarmMessage, bool]
		At time.Time
	}
	// disarm has it ring no more.
	disarm struct {
		sharding.Returns[alarmMessage, bool]
	}
	// ring is what its reminder brings.
	ring struct{}
)

func (arm) alarm()    {}
func (disarm) alarm() {}
func (ring) alarm()   {}

// alarms are those of one node.
type alarms struct {
	region *sharding.Region[alarmMessage]
	rung   sync.Map // the ids of the alarms that have rung here
}

// startAlarms starts the type on a node.
func startAlarms(n *ddata.Node, store *postgres.Store) (*alarms, error) {
	a := &alarms{}
	var err error
	a.region, err = sharding.Start(n, sharding.EntityType[alarmMessage]{
		Identity:  sharding.Identity{Name: alarmType, Role: role, Shards: shards},
		Messages:  sharding.CBOR[alarmMessage](arm{}, disarm{}, ring{}),
		New:       func(*sharding.Context[alarmMessage]) sharding.Entity[alarmMessage] { return alarm{a} },
		Reminders: sharding.Reminders{Enabled: true, Store: store.Reminders(alarmType)},
	})
	return a, err
}

type alarm struct{ of *alarms }

// Receive implements sharding.Entity.
func (a alarm) Receive(c *sharding.Context[alarmMessage], m alarmMessage) (err error) {
	const name = "ring"
	switch m := m.(type) {
	case arm:
		err = c.Remind(name, m.At, ring{})
	case disarm:
		err = c.CancelReminder(name)
	case ring:
		a.of.rung.Store(c.ID(), true)
		return nil
	}
	if err != nil {
		return c.Fail(err)
	}
	return c.Reply(true)
}

// alarmCall is what a test wants of an alarm.
type alarmCall struct {
	ID string
	At time.Time
}

// call has an alarm armed or disarmed, or says whether it has rung here.
func (a *alarms) call(ctx context.Context, name string, in []byte) (any, error) {
	var q alarmCall
	if err := json.Unmarshal(in, &q); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	switch name {
	case "arm":
		return sharding.Ask(ctx, a.region.Ref(q.ID), arm{At: q.At})
	case "disarm":
		return sharding.Ask(ctx, a.region.Ref(q.ID), disarm{})
	case "rung":
		_, rung := a.rung.Load(q.ID)
		return rung, nil
	}
	return nil, fmt.Errorf("no call %s of alarms", name)
}

// arm has an alarm ring at a time, by nodes in turn until one has answered.
func (c *cluster) arm(id string, at time.Time) {
	c.t.Helper()
	ctx := c.patient()
	for try := 0; ; try++ {
		err := c.awake(try).Call(ctx, "arm", alarmCall{ID: id, At: at}, nil)
		if err == nil {
			return
		}
		if ctx.Err() != nil {
			c.t.Fatalf("alarm %s is not armed: %v", id, err)
		}
		pause(ctx, 20*time.Millisecond)
	}
}

// rings waits until an alarm has rung on a node.
func (c *cluster) rings(id string) {
	c.t.Helper()
	ctx := c.patient()
	for rung, try := false, 0; !rung; try++ {
		if ctx.Err() != nil {
			c.t.Fatalf("alarm %s does not ring", id)
		}
		pause(ctx, 20*time.Millisecond)
		_ = c.awake(try).Call(ctx, "rung", alarmCall{ID: id}, &rung) // it may have ended
	}
}
