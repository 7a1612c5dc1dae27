package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/puddle/v2"

	"github.com/coterie-go/coterie/ddata/locks"
)

// readOnly is the code of the error of a server that takes no writes.
const readOnly = "25006"

// codeOf returns the code of an error of the server, or "".
func codeOf(err error) string {
	var server *pgconn.PgError
	if errors.As(err, &server) {
		return server.Code
	}
	return ""
}

const permissionRemedy = "have an account that may create schemas open the store once, and grant this one the rights " +
	"that the documentation of the package lists"

// remedies say what to do about an error of the server.
var remedies = map[string]string{
	readOnly: "after a fail-over the primary is another server: name all of them in the connection string of " +
		"Config.Pool, with target_session_attrs=read-write",
	"28P01": "check user and password of Config.Pool",
	"28000": "check the user of Config.Pool, and pg_hba.conf of the server",
	"3D000": "check the database of Config.Pool",
	"3F000": "the schema was dropped: open the store again, or check Config.Schema",
	"42P01": "a table was dropped: drop what is left of the schema while no node runs, and open the store again",
	"42883": "a function was dropped: drop what is left of the schema while no node runs, and open the store again",
	"42501": permissionRemedy,
	"53100": "the disk of the server is full: make room",
	"53300": "lower MaxConns of Config.Pool, or raise max_connections of the server",
	"57P03": "the server starts or stops: wait for it",
}

// explain says what an error of a call is about and what to do. Errors of this module are left
// alone.
func (s *Store) explain(what string, err error) error {
	var known *locks.Error
	switch {
	case err == nil || errors.As(err, &known):
		return err
	case errors.Is(err, puddle.ErrClosedPool):
		return &locks.Error{Kind: locks.ErrClosed, Path: s.path(what), Remedy: "close the node before the store"}
	}
	if codeOf(err) == readOnly {
		s.pool.Reset() // each connection leads to a server that is no primary any more
	}
	remedy, ok := remedies[codeOf(err)]
	if !ok {
		remedy = "check the server and the way to it, and Config.Pool"
	}
	detail := ""
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		detail = fmt.Sprintf("no answer within the time of the caller and Config.Timeout, which is %v", s.cfg.Timeout)
	case errors.Is(err, context.Canceled):
		detail, remedy = "the call was given up, and may still have an effect", ""
	}
	return &locks.Error{Kind: locks.ErrUnusable, Path: s.path(what), Detail: detail, Cause: err, Remedy: remedy}
}

// tooFar refuses a server whose clock cannot be compared, because no round trip is quick enough.
func (s *Store) tooFar(path string, quickest time.Duration) error {
	const reserve = 2
	ttl := (reserve * toleratedPerTTL * quickest).Truncate(time.Second) + time.Second
	return &locks.Error{
		Kind: locks.ErrUnusable, Path: path,
		Detail: fmt.Sprintf("the quickest of the last round trips to the server took %v, and the leases of nodes "+
			"that died can be told only within %v, which is a fortieth of Config.TTL", quickest, s.clock.tolerance),
		Remedy: fmt.Sprintf("raise Config.TTL to %v, or place the server nearer", ttl),
	}
}

// path names the store, and what is concerned of it.
func (s *Store) path(what string) string {
	c := s.cfg.Pool.ConnConfig
	return fmt.Sprintf("%sschema %q of database %q at %s, port %d", what, s.cfg.Schema, c.Database, c.Host, c.Port)
}

func (s *Store) refuse(kind error, detail, remedy string) error {
	return &locks.Error{Kind: kind, Path: s.path(""), Detail: detail, Remedy: remedy}
}
