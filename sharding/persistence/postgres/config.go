package postgres

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// SchemaDefault is the name of the schema if Config names none.
const SchemaDefault = "coterie"

// Config says where a store is.
type Config struct {
	// Pool has the address of the server, and the limits of the pool of connections. It is made by
	// pgxpool.ParseConfig. MaxConns should be at least the number of calls at one time, of which those
	// that append need four together: by default it is 4 or the number of processors. Required.
	Pool *pgxpool.Config
	// Schema is the name of the schema. Nothing else may be in it. Default: SchemaDefault.
	Schema string
	// Prepared says that Migrate makes the schema. Open then looks at it and changes nothing.
	Prepared bool
	// Alone takes the schema for this program alone, until Close. Open fails with ErrInUse if another
	// program has it open, and Open of other programs fails meanwhile. It is for tools that work while
	// all nodes are stopped. It uses one connection, whatever Pool says. Default: the schema is shared.
	Alone bool
	// PollInterval is how long a live query waits at most before it looks for events, and a node before
	// it looks which shards have reminders. They hear of most of them earlier, by LISTEN. That fails
	// behind a pooler that shares connections between transactions. Default: PollIntervalDefault.
	PollInterval time.Duration
}

// PollIntervalDefault is used if Config.PollInterval is 0.
const PollIntervalDefault = time.Second

// schemaMax is the longest name that the server keeps whole.
const schemaMax = 63

// Validate returns the faults of a configuration.
func (c Config) Validate() error {
	var faults []error
	if c.Pool == nil {
		faults = append(faults, errors.New("postgres: Pool is missing: pgxpool.ParseConfig makes one"))
	}
	if len(c.Schema) > schemaMax || strings.ContainsAny(c.Schema, "\x00'\"\\$@") || strings.HasPrefix(c.Schema, "pg_") {
		faults = append(faults, fmt.Errorf("postgres: Schema %q: want at most %d bytes, no quotes, $, @ or backslash, "+
			"and not pg_ in front", c.Schema, schemaMax))
	}
	if c.PollInterval < 0 {
		faults = append(faults, fmt.Errorf("postgres: PollInterval %v is negative", c.PollInterval))
	}
	return errors.Join(faults...)
}

func (c Config) pollInterval() time.Duration {
	if c.PollInterval == 0 {
		return PollIntervalDefault
	}
	return c.PollInterval
}

func (c Config) schema() string {
	if c.Schema == "" {
		return SchemaDefault
	}
	return c.Schema
}
