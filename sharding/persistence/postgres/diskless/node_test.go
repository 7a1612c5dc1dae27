package diskless

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/proptest/nodetest"
	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/ledger"
	"github.com/coterie-go/coterie/sharding/persistence/postgres"
	"github.com/coterie-go/coterie/sharding/remember/journaled"
)

const (
	role     = "backend"
	typeName = "Item"
	shards   = 40
	// snapshotAfter is small, so that states are read from snapshots.
	snapshotAfter = 5
	// keepSnapshots of the ledger keeps all its events, for the test to read.
	keepSnapshots = 1 << 20
)

// settings are those of a node.
type settings struct {
	Addr  string
	Seeds []string // all founders
	DSN   string
}

// status is what a node says of itself.
type status struct {
	UID         uint64
	Members     int
	Coordinates bool // it has the coordinator
	Ended       bool // the others have removed it
	Running     map[string]uint32
	Alarms      int // that run
}

// message is one that no test sends: remembered entities run without it.
type message struct{}

type item struct{}

// Receive implements sharding.Entity.
func (item) Receive(*sharding.Context[message], message) error { return nil }

// node is what runs in a process.
type node struct {
	n      *ddata.Node
	items  *sharding.Region[message]
	alarms *sharding.Region[command]
	rung   *rung
}

// alarmCall is what a test wants of an alarm.
type alarmCall struct {
	ID    string
	At    time.Time
	Every time.Duration
}

func openStore(ctx context.Context, dsn string) (*postgres.Store, error) {
	pool, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, err
	}
	pool.MaxConns = 8
	return postgres.Open(ctx, postgres.Config{Pool: pool})
}

// itemType is the type, of which all that the library keeps is in a store.
func itemType(store *postgres.Store) (t sharding.EntityType[message], err error) {
	t = sharding.EntityType[message]{
		Identity: sharding.Identity{Name: typeName, Role: role, Shards: shards},
		Messages: sharding.CBOR[message](message{}),
		New:      func(*sharding.Context[message]) sharding.Entity[message] { return item{} },
	}
	t.Coordination.Ledger, err = ledger.New(ledger.Config{
		Type: typeName, Journal: store, Snapshots: store, SnapshotAfter: snapshotAfter, KeepSnapshots: keepSnapshots,
	})
	if err != nil {
		return t, err
	}
	t.Remember.Entities = true
	t.Remember.Store, err = journaled.New(journaled.Config{
		Type: typeName, Journal: store, Snapshots: store, SnapshotAfter: snapshotAfter,
	})
	return t, err
}

// runNode is the program of a node.
func runNode(ctx context.Context, in []byte) (nodetest.Node, error) {
	var s settings
	if err := json.Unmarshal(in, &s); err != nil {
		return nil, err
	}
	store, err := openStore(ctx, s.DSN)
	if err != nil {
		return nil, err
	}
	t, err := itemType(store)
	if err != nil {
		return nil, err
	}
	n, err := ddata.Start(ctx, ddata.Config{
		Name: "diskless", Bind: s.Addr, Seeds: s.Seeds, BootstrapExpect: len(s.Seeds), Roles: []string{role},
		Preset: ddata.Local, Logger: slog.New(slog.NewTextHandler(os.Stderr, nil)),
	})
	if err != nil {
		return nil, err
	}
	items, err := sharding.Start(n, t)
	if err != nil {
		return nil, err
	}
	x := &node{n: n, items: items, rung: &rung{times: map[string]int{}}}
	alarms, err := newAlarms(store, x.rung)
	if err != nil {
		return nil, err
	}
	x.alarms, err = sharding.Start(n, alarms)
	return x, err
}

// Call implements nodetest.Node.
func (x *node) Call(ctx context.Context, name string, in []byte) (any, error) {
	switch name {
	case "status":
		return x.status(ctx)
	case "start":
		var id string
		if err := json.Unmarshal(in, &id); err != nil {
			return nil, err
		}
		_, err := x.items.StartEntity(ctx, id)
		return nil, err
	case "set", "cancel":
		return nil, x.change(ctx, name, in)
	case "rung":
		return x.rung.all(), nil
	case "prepare":
		return nil, x.n.PrepareForShutdown(ctx)
	case "leave":
		return nil, x.n.Leave(ctx)
	}
	return nil, fmt.Errorf("no call %s", name)
}

// change has an alarm set or cancelled.
func (x *node) change(ctx context.Context, name string, in []byte) error {
	var a alarmCall
	if err := json.Unmarshal(in, &a); err != nil {
		return err
	}
	var err error
	if name == "cancel" {
		_, err = sharding.Ask(ctx, x.alarms.Ref(a.ID), cancel{})
	} else {
		_, err = sharding.Ask(ctx, x.alarms.Ref(a.ID), set{At: a.At, Every: a.Every})
	}
	return err
}

func (x *node) status(ctx context.Context) (s status, err error) {
	s.UID, s.Running = uint64(x.n.UID()), map[string]uint32{}
	select {
	case <-x.n.Done():
		s.Ended = true
		return s, nil
	default:
	}
	if v := x.n.View(); v != nil {
		s.Members, s.Coordinates = len(v.Members), x.items.Coordinator() == x.n.UID()
	}
	state, err := x.items.State(ctx, x.n.UID())
	if errors.Is(err, sharding.ErrStopped) {
		return s, nil // it ends
	}
	for _, shard := range state.Shards {
		for _, id := range shard.IDs {
			s.Running[id] = uint32(shard.Shard)
		}
	}
	if err != nil {
		return s, err
	}
	alarms, err := x.alarms.State(ctx, x.n.UID())
	if errors.Is(err, sharding.ErrStopped) {
		return s, nil
	}
	for _, shard := range alarms.Shards {
		s.Alarms += len(shard.IDs)
	}
	return s, err
}
