package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/coterie-go/coterie/bench/commits"
	"github.com/coterie-go/coterie/bench/measure"
	"github.com/coterie-go/coterie/bench/wakeups"
	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/proptest/ports"
	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/persistence/postgres"
)

// name is that of the store on the printed lines.
const name = "postgres"

// Sizes of the pools of connections.
const (
	connections    = 32
	connectionsRaw = 64 // without entities: one for each of 64 writers
)

// commit measures commits.
func commit(ctx context.Context, dsn string, d time.Duration) error {
	store, err := open(ctx, dsn, "commits")
	if err != nil {
		return err
	}
	defer store.Close()
	region, stop, err := start(ctx, store)
	if err != nil {
		return err
	}
	defer stop()
	raw, err := openTable(ctx, dsn)
	if err != nil {
		return err
	}
	defer raw.pool.Close()
	return commits.Subject{Store: name, Region: region, Raw: raw.insert, ByShard: true}.Run(ctx, d)
}

// recovery measures how fast entities start that have events.
func recovery(ctx context.Context, dsn string, entities int) error {
	store, err := open(ctx, dsn, "recovery")
	if err != nil {
		return err
	}
	defer store.Close()
	return commits.Recover(ctx, name, store, entities,
		func() (*sharding.Region[commits.Command], func(), error) { return start(ctx, store) })
}

// remind measures reminders that wait, and come, of entities of a node without a directory.
func remind(ctx context.Context, dsn string, reminders int, spread time.Duration) error {
	const schema = "reminders"
	store, err := open(ctx, dsn, schema)
	if err != nil {
		return err
	}
	defer store.Close()
	node, err := startNode(ctx)
	if err != nil {
		return err
	}
	defer node.Close()
	var f measure.Figures
	err = wakeups.Run(ctx, node, commits.Role, store.Reminders(wakeups.TypeName), reminders, spread, &f)
	if err != nil {
		return err
	}
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	var bytes int64
	if err := conn.QueryRow(ctx, "SELECT pg_total_relation_size('"+schema+".reminders')").Scan(&bytes); err != nil {
		return err
	}
	f.Add("server_bytes_per_reminder", float64(bytes)/float64(reminders))
	measure.Report("remind", name, f)
	return nil
}

// pool is the configuration of a pool.
func pool(dsn string, connections int32) (*pgxpool.Config, error) {
	c, err := pgxpool.ParseConfig(dsn)
	if err == nil {
		c.MaxConns = connections
	}
	return c, err
}

func open(ctx context.Context, dsn, schema string) (*postgres.Store, error) {
	c, err := pool(dsn, connections)
	if err != nil {
		return nil, err
	}
	return postgres.Open(ctx, postgres.Config{Pool: c, Schema: schema})
}

func startNode(ctx context.Context) (*ddata.Node, error) {
	addrs, err := ports.Free(1)
	if err != nil {
		return nil, err
	}
	return ddata.Start(ctx, ddata.Config{
		Name: "bench", Bind: addrs[0], BootstrapExpect: 1, Roles: []string{commits.Role}, Preset: ddata.Local,
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
}

// start starts a node, and the measured entities there.
func start(ctx context.Context, store *postgres.Store) (*sharding.Region[commits.Command], func(), error) {
	node, err := startNode(ctx)
	if err != nil {
		return nil, nil, err
	}
	stop := func() { _ = node.Close() }
	region, err := commits.Start([]*ddata.Node{node},
		func(*ddata.Node) (persistence.Journal, error) { return store, nil })
	if err != nil {
		stop()
		return nil, nil, err
	}
	return region, stop, nil
}

// table has the columns and keys of the table of events: those of a history that readers follow.
type table struct{ pool *pgxpool.Pool }

func openTable(ctx context.Context, dsn string) (*table, error) {
	c, err := pool(dsn, connectionsRaw)
	if err != nil {
		return nil, err
	}
	p, err := pgxpool.NewWithConfig(ctx, c)
	if err != nil {
		return nil, err
	}
	_, err = p.Exec(ctx, `CREATE TABLE plain_events (era bigint, xid bigint, hosting bigint, write bigint, seq bigint,
		version bigint, at bigint, sum bigint, kind int, n int, slice smallint, entity bytea, name bytea, tags bytea,
		body bytea, PRIMARY KEY (kind, entity, seq));
		CREATE INDEX plain_events_place ON plain_events (kind, era, xid, n, slice)`)
	if err != nil {
		p.Close()
		return nil, err
	}
	return &table{p}, nil
}

var body = make([]byte, commits.Body)

const insert = `INSERT INTO plain_events (era, xid, hosting, write, seq, version, at, sum, kind, n, slice, entity, name,
	tags, body) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)`

// insert stores events with one batch of pgx, which is one transaction.
func (t *table) insert(ctx context.Context, from uint64, events, entities int) error {
	b := &pgx.Batch{}
	at, name, none := time.Now().UnixMicro(), []byte("Added"), []byte(nil)
	for i := range events {
		seq := int64(from) + int64(i)
		entity := fmt.Appendf(nil, "%d-of-%d", seq%int64(entities), entities)
		b.Queue(insert, int64(1), int64(from), int64(1), seq, seq, int64(1), at, seq, int32(1), int32(i),
			int16(seq%1024), entity, name, none, body)
	}
	if err := t.pool.SendBatch(ctx, b).Close(); err != nil {
		return fmt.Errorf("insert %d rows: %w", events, err)
	}
	return nil
}
