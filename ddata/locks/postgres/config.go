package postgres

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// Defaults and limits of Config.
const (
	// SchemaDefault is the name of the schema if Config names none.
	SchemaDefault = "coterie_locks"
	// TTLDefault is used if Config.TTL is 0.
	TTLDefault = 15 * time.Second
	// TTLMin is the shortest TTL.
	TTLMin = time.Second
)

// Parts of a TTL.
const (
	renewalsPerTTL  = 4   // renewals that are tried while all goes well
	retriesPerTTL   = 16  // and after a failure
	timeoutsPerTTL  = 5   // Config.Timeout by default
	marginsPerTTL   = 5   // what the server grants beyond
	driftsPerTTL    = 100 // what the holder does not use
	toleratedPerTTL = 40  // how far the clocks may seem apart, see serverClock
)

// Config says where a store is.
type Config struct {
	// Pool has the address of the server, and the limits of the pool of connections. It is made by
	// pgxpool.ParseConfig. MaxConns must be at least 2, because renewals have one connection to
	// themselves. By default it is 4 or the number of processors. Required.
	Pool *pgxpool.Config
	// Schema is the name of the schema. Nothing else may be in it. Default: SchemaDefault.
	Schema string
	// TTL is how long a lease lasts after its last renewal. Another owner gets the lease of a node
	// that died after up to 1.3 of it. A lease is renewed four times within it. At least TTLMin.
	// Default: TTLDefault.
	TTL time.Duration
	// Timeout bounds each call to the server, and the time to connect. At most half of TTL.
	// Default: a fifth of TTL.
	Timeout time.Duration
}

// schemaMax is the longest name that the server keeps whole.
const schemaMax = 63

// Validate returns the faults of a configuration.
func (c Config) Validate() error {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf("postgres: "+format, args...)) }
	switch {
	case c.Pool == nil:
		fault("Config.Pool is missing: pgxpool.ParseConfig makes one")
	case c.Pool.MaxConns < 2:
		fault("Config.Pool.MaxConns is %d, want at least 2: renewals need one that no other call has", c.Pool.MaxConns)
	}
	if len(c.Schema) > schemaMax || strings.ContainsAny(c.Schema, "\x00'\"\\$@") || strings.HasPrefix(c.Schema, "pg_") {
		fault("Config.Schema %q: want at most %d bytes, no quotes, $, @ or backslash, and not pg_ in front",
			c.Schema, schemaMax)
	}
	c = c.withDefaults()
	switch {
	case c.TTL < TTLMin:
		fault("Config.TTL %v: want at least %v", c.TTL, TTLMin)
	case c.Timeout < 0 || c.Timeout > c.TTL/2:
		fault("Config.Timeout %v: want at most %v, half of Config.TTL, so that a renewal is tried again in time",
			c.Timeout, c.TTL/2)
	}
	return errors.Join(faults...)
}

func (c Config) withDefaults() Config {
	if c.Schema == "" {
		c.Schema = SchemaDefault
	}
	if c.TTL == 0 {
		c.TTL = TTLDefault
	}
	if c.Timeout == 0 {
		c.Timeout = c.TTL / timeoutsPerTTL
	}
	return c
}
