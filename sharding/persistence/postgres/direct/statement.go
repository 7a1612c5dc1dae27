package direct

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// NoStatement is the code of an error: the server has not got a prepared statement. A pooler has given a
// connection another one of the server. The statement is prepared again when it is repeated.
const NoStatement = "26000"

// Statement is one that returns a row. It may be used concurrently.
type Statement struct {
	sql      string
	types    []uint32 // of the arguments
	prepares bool
	tracer   pgx.QueryTracer // or nil
}

// NewStatement makes one for connections with a configuration.
func NewStatement(c *pgx.ConnConfig, sql string, types []uint32) *Statement {
	return &Statement{sql, types, c.DefaultQueryExecMode == pgx.QueryExecModeCacheStatement, c.Tracer}
}

// Row carries it out, and returns the columns of its row, in their binary form.
func (s *Statement) Row(ctx context.Context, conn *pgx.Conn, args [][]byte) ([][]byte, error) {
	if s.tracer != nil {
		ctx = s.tracer.TraceQueryStart(ctx, conn, pgx.TraceQueryStartData{SQL: s.sql})
	}
	result := s.run(ctx, conn, args)
	if s.tracer != nil {
		s.tracer.TraceQueryEnd(ctx, conn, pgx.TraceQueryEndData{CommandTag: result.CommandTag, Err: result.Err})
	}
	if result.Err != nil {
		return nil, result.Err
	}
	if n := len(result.Rows); n != 1 {
		return nil, fmt.Errorf("the server has answered with %d rows, want one", n)
	}
	return result.Rows[0], nil
}

var binaryFormat = []int16{pgx.BinaryFormatCode}

func (s *Statement) run(ctx context.Context, conn *pgx.Conn, args [][]byte) *pgconn.Result {
	if !s.prepares {
		return conn.PgConn().ExecParams(ctx, s.sql, args, s.types, binaryFormat, binaryFormat).Read()
	}
	prepared, err := conn.Prepare(ctx, s.sql, s.sql)
	if err != nil {
		return &pgconn.Result{Err: err}
	}
	result := conn.PgConn().ExecStatement(ctx, prepared, args, binaryFormat, binaryFormat).Read()
	var server *pgconn.PgError
	if errors.As(result.Err, &server) && server.Code == NoStatement {
		_ = conn.Deallocate(ctx, s.sql) // so that the driver knows it; it fails where nothing else works
	}
	return result
}
