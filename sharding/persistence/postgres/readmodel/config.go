package readmodel

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/coterie-go/coterie/ddata/config"
)

// SchemaDefault is the name of the schema if Config names none.
const SchemaDefault = "coterie_projections"

// schemaMax is the longest name that the server keeps whole.
const schemaMax = 63

// Config says where offsets are kept, and bounds the transactions.
type Config struct {
	// Pool has the connections. Each part of a projection on this node uses one while it handles events.
	// It stays the caller's, and outlives the projections. Required.
	Pool *pgxpool.Pool
	// Schema is the name of the schema for the offsets. Nothing else may be in it. Default:
	// SchemaDefault.
	Schema string
	// Prepared says that Migrate makes the schema. Open then looks at it and changes nothing.
	Prepared bool
	// CallTimeout bounds the beginning of a transaction, with the wait for a connection, and its end.
	// Default 5 s.
	CallTimeout time.Duration
	// IdleMax is how long a transaction may wait for its process, between two statements, until the
	// server ends it. It must be above what a handler does between two statements. A shorter one frees
	// the locks of a paused process earlier. Default 30 s, at least 1 ms.
	IdleMax time.Duration
}

func (c Config) withDefaults() Config {
	config.Default(&c.Schema, SchemaDefault)
	config.Default(&c.CallTimeout, 5*time.Second)
	config.Default(&c.IdleMax, 30*time.Second)
	return c
}

// Validate reports every fault together.
func (c Config) Validate() error {
	d := c.withDefaults()
	var f config.Faults
	f.Add(d.Pool == nil, "Pool", "is missing: pgxpool.New makes one")
	strange := strings.ContainsAny(d.Schema, "\x00'\"\\$@") || strings.HasPrefix(d.Schema, "pg_")
	f.Add(strange || len(d.Schema) > schemaMax, "Schema",
		"%q: want at most %d bytes, no quotes, $, @ or backslash, and not pg_ in front", d.Schema, schemaMax)
	f.Add(d.CallTimeout < 0, "CallTimeout", "%v is negative", d.CallTimeout)
	f.Add(d.IdleMax < time.Millisecond || d.IdleMax > 24*time.Hour, "IdleMax", "is %v, want 1 ms to 24 h", d.IdleMax)
	return f.Wrap(ErrConfig)
}

// ErrConfig: Config is incomplete or out of bounds. The message lists every fault.
var ErrConfig = errors.New("readmodel: invalid configuration")

// begin is the statement that begins a transaction.
func (c Config) begin() string {
	return fmt.Sprintf("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; "+
		"SET LOCAL idle_in_transaction_session_timeout = %d", c.IdleMax.Milliseconds())
}
