package survival

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/membership"
	"github.com/coterie-go/coterie/proptest/nodetest"
	"github.com/coterie-go/coterie/sharding/persistence/batch"
	"github.com/coterie-go/coterie/sharding/persistence/postgres"
)

// settings are those of a node.
type settings struct {
	Addr   string
	Seeds  []string // all nodes, which found the cluster
	DSN    string
	Schema string
}

// status is what a node says of the cluster.
type status struct {
	Members     int
	Coordinates bool // the counters
	UID         uint64
	Fenced      uint64
	Misfits     uint64
}

// node is what runs in a process.
type node struct {
	*entities
	alarms *alarms
	n      *ddata.Node
}

// timing has a crash decided in two seconds, on a machine that does much beside it.
func timing() membership.Timing {
	return membership.Timing{
		HeartbeatInterval: 150 * time.Millisecond, UnreachableAfter: 1500 * time.Millisecond,
		StableAfter: 500 * time.Millisecond, LeaseDuration: 1700 * time.Millisecond,
	}
}

// runNode is the program of a node. Its process ends when the others have removed the node.
func runNode(ctx context.Context, in []byte) (nodetest.Node, error) {
	var s settings
	if err := json.Unmarshal(in, &s); err != nil {
		return nil, err
	}
	store, err := openStore(ctx, s.DSN, s.Schema)
	if err != nil {
		return nil, err
	}
	n, err := ddata.Start(ctx, ddata.Config{
		Name: "survival", Bind: s.Addr, Seeds: s.Seeds, BootstrapExpect: len(s.Seeds), Roles: []string{role},
		Preset: ddata.Local, Timing: timing(),
		Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	if err != nil {
		return nil, err
	}
	go func() {
		<-n.Done()
		fmt.Fprintln(os.Stderr, "the node has ended:", n.Err())
		os.Exit(1)
	}()
	e, err := startEntities(n, store, batch.Settings{})
	if err != nil {
		return nil, err
	}
	a, err := startAlarms(n, store)
	return &node{e, a, n}, err
}

// openStore opens the store of a node.
func openStore(ctx context.Context, dsn, schema string) (*postgres.Store, error) {
	pool, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, err
	}
	pool.MaxConns = 10
	return postgres.Open(ctx, postgres.Config{Pool: pool, Schema: schema})
}

// Call implements nodetest.Node.
func (x *node) Call(ctx context.Context, name string, in []byte) (any, error) {
	switch name {
	case "ask":
		var q question
		if err := json.Unmarshal(in, &q); err != nil {
			return nil, err
		}
		return x.ask(ctx, q)
	case "status":
		v := x.n.View()
		return status{
			Members: len(v.Members), Coordinates: x.coordinates(x.n.UID()), UID: uint64(x.n.UID()),
			Fenced: x.fenced.Load(), Misfits: x.misfits.Load(),
		}, nil
	case "host":
		var q question
		if err := json.Unmarshal(in, &q); err != nil {
			return nil, err
		}
		where := x.alarms.region.Where
		if q.Type != alarmType {
			where = x.regions[q.Type].Where
		}
		at, err := where(ctx, q.ID)
		return uint64(at.Node), err
	}
	return x.alarms.call(ctx, name, in)
}
