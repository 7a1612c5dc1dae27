package postgres

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/zeebo/xxh3"

	"github.com/coterie-go/coterie/sharding/persistence"
)

var (
	_ persistence.Journal   = (*Store)(nil)
	_ persistence.Snapshots = (*Store)(nil)
	_ persistence.States    = (*Store)(nil)
	_ persistence.Reader    = (*Store)(nil)
	_ persistence.Remover   = (*Store)(nil)
)

// Store is a schema of a database. Its methods may be called concurrently.
type Store struct {
	pool     *pgxpool.Pool
	sql      statements
	poll     time.Duration
	alone    bool
	id       string // of the schema
	listener *listener
	appender appender
	joint    *joint

	eventNews, reminderNews *announcer

	life    context.Context // of the watches
	end     context.CancelFunc
	watches sync.WaitGroup
}

// Open connects to a server, and makes or migrates the schema if need be. It fails with
// persistence.ErrForeign if something else is in the schema, with persistence.ErrVersion if a newer
// program made it, and with ErrInUse if a program has it that Config.Alone keeps apart.
func Open(ctx context.Context, c Config) (*Store, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	pool, err := pgxpool.NewWithConfig(ctx, c.pool())
	if err != nil {
		return nil, explain("open", err)
	}
	id, err := prepare(ctx, pool, c)
	if err != nil {
		pool.Close()
		return nil, explain("open", err)
	}
	return newStore(pool, c, id), nil
}

// ID names the schema. It was drawn when that was made, so it is the same on all nodes, whatever the address
// of the server is.
func (s *Store) ID() string { return "postgres " + s.id }

func newStore(pool *pgxpool.Pool, c Config, id string) *Store {
	sql := newStatements(c.schema())
	appender := newAppender(c.Pool.ConnConfig, sql.append)
	s := &Store{
		appender: appender, joint: &joint{pool: pool, appender: appender},
		pool: pool, sql: sql, poll: c.pollInterval(), alone: c.Alone, id: id,
		eventNews:    newAnnouncer(pool, sql.announce, ofEvents),
		reminderNews: newAnnouncer(pool, sql.announce, ofReminders),
		listener:     newListener(c.Pool.ConnConfig, sql.listen),
	}
	s.life, s.end = context.WithCancel(context.Background())
	return s
}

// Migrate makes the schema, or brings it to the format of this program. See Open for its errors.
func Migrate(ctx context.Context, c Config) error {
	c.Prepared = false
	s, err := Open(ctx, c)
	if err != nil {
		return err
	}
	s.Close()
	return nil
}

// Close ends the watches of reminders, waits for the calls and queries that run, and closes the connections.
// After it every call fails with persistence.ErrClosed.
func (s *Store) Close() {
	s.end()
	s.watches.Wait()
	s.eventNews.close()
	s.reminderNews.close()
	s.pool.Close()
	s.listener.wait()
}

// prepare looks at a server and its schema, brings it to the format of this program, and returns its ID.
func prepare(ctx context.Context, pool *pgxpool.Pool, c Config) (id string, err error) {
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return "", err
	}
	defer conn.Release()
	if err := checkServer(ctx, conn.Conn()); err != nil {
		return "", err
	}
	if err := install(ctx, conn.Conn(), c.schema(), c.Prepared); err != nil {
		return "", err
	}
	err = conn.QueryRow(ctx, inSchema("SELECT id::text FROM @.meta", c.schema())).Scan(&id)
	return id, err
}

// statements are the statements of a store, with the name of its schema.
type statements struct {
	fence, append, load, forget                   string
	saveSnapshots, loadSnapshots, forgetSnapshots string
	saveStates, loadStates                        string
	remind, dueReminders, remindersOf             string
	allReminders                                  string
	changedShards, countReminders                 string
	readPage, announce, listen                    string
	holds, kind, types                            string
	remove                                        []string // in their order
}

func newStatements(schema string) statements {
	in := func(text string) string { return inSchema(text, schema) }
	channel := fmt.Sprintf("coterie_%016x", xxh3.HashString(schema))
	return statements{
		fence: in("SELECT @.fence($1, $2, $3, $4)"),
		append: in("SELECT entered, refused FROM @.append($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, " +
			"$14, $15, $16, $17, $18, $19, $20, $21)"),
		load:   in(loadEvents),
		forget: in("SELECT @.forget($1, $2, $3, $4, $5, $6)"),

		saveSnapshots:   in("SELECT @.save_snapshots($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)"),
		loadSnapshots:   in(loadSnapshots),
		forgetSnapshots: in("SELECT @.forget_snapshots($1, $2, $3, $4, $5, $6)"),

		saveStates: in("SELECT entered, refused FROM @.save_states($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, " +
			"$12, $13, $14)"),
		loadStates: in(loadStates),

		remind: in("SELECT @.remind($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, " +
			"$17, $18)"),
		dueReminders:  in("SELECT * FROM @.due_reminders($1, $2, $3, $4, $5)"),
		remindersOf:   in("SELECT * FROM @.reminders_of($1, $2, $3, $4)"),
		allReminders:  in(allReminders),
		changedShards: in(changedShards), countReminders: in(countReminders),

		readPage: in(readPage),
		announce: "SELECT pg_notify('" + channel + "', $1)",
		listen:   "LISTEN " + channel,

		holds: in(countsOfType), kind: in(kindOfType), types: in(typesOfStore), remove: removals(in),
	}
}
