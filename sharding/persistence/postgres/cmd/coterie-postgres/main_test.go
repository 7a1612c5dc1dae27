package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.uber.org/goleak"

	"github.com/coterie-go/coterie/ddata/membership/singleton"
	"github.com/coterie-go/coterie/sharding/ledger"
	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/persistence/postgres"
	"github.com/coterie-go/coterie/sharding/persistence/postgres/postgrestest"
	"github.com/coterie-go/coterie/sharding/protocol"
	"github.com/coterie-go/coterie/sharding/remember/journaled"
	"github.com/coterie-go/coterie/sharding/remind"
)

var (
	suite   postgrestest.Suite
	schemas atomic.Uint64
)

func TestMain(m *testing.M) {
	if os.Getenv(variable) != "" {
		os.Exit(run(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
	}
	goleak.VerifyTestMain(suite.Of(m))
}

func newSchema() string { return fmt.Sprint("command", schemas.Add(1)) }

// command runs the command on a schema and checks its exit code.
func command(t *testing.T, want int, schema string, args ...string) (out, errs string) {
	t.Helper()
	if schema != "" {
		args = append([]string{args[0], "-dsn", suite.Server(t).DSN(), "-schema", schema}, args[1:]...)
	}
	var o, e bytes.Buffer
	if code := run(t.Context(), args, &o, &e); code != want {
		t.Fatalf("coterie-postgres %q: exit code %d, want %d\n%s%s", args, code, want, o.String(), e.String())
	}
	return o.String(), e.String()
}

func says(t *testing.T, text string, patterns ...string) {
	t.Helper()
	for _, p := range patterns {
		if !regexp.MustCompile(p).MatchString(text) {
			t.Errorf("no %q in\n%s", p, text)
		}
	}
}

func store(t *testing.T, schema string) *postgres.Store {
	t.Helper()
	pool, err := pgxpool.ParseConfig(suite.Server(t).DSN())
	if err != nil {
		t.Fatal(err)
	}
	s, err := postgres.Open(t.Context(), postgres.Config{Pool: pool, Schema: schema})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// cart keeps homes and ids of the type Cart, and ids of Order.
func cart(t *testing.T, s *postgres.Store) {
	t.Helper()
	l, err := ledger.New(ledger.Config{Type: "Cart", Journal: s, Snapshots: s})
	if err != nil {
		t.Fatal(err)
	}
	by := protocol.Term{Era: 9, Epoch: 1, Up: 1, Seq: 1}
	for i := range 3 {
		home := protocol.Entry{
			Shard: protocol.ShardID(i), Home: 7, Token: protocol.Token{Epoch: 1, Up: 1, Seq: uint64(i + 2)},
		}
		w := protocol.StateWrite{Kind: protocol.StateHomes, By: by, Homes: []protocol.Entry{home}}
		if _, err := l.Write(t.Context(), w); err != nil {
			t.Fatal(err)
		}
	}
	remembered(t, s, "Cart", "a", "b")
	remembered(t, s, "Order", "c")
	for _, typ := range []string{"Cart", "Order"} {
		r := remind.Reminder{Entity: "a", Name: "n", Due: time.Unix(1, 0), At: time.Unix(1, 0), Version: 1}
		if err := s.Reminders(typ).Update(t.Context(), by, 1, 1, []remind.Change{{Reminder: r}}); err != nil {
			t.Fatal(err)
		}
	}
}

func ids(t *testing.T, s *postgres.Store, typ string) *journaled.Store {
	t.Helper()
	j, err := journaled.New(journaled.Config{Type: typ, Journal: s, Snapshots: s})
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func remembered(t *testing.T, s *postgres.Store, typ string, all ...protocol.EntityID) {
	t.Helper()
	j := ids(t, s, typ)
	if err := j.List(t.Context(), protocol.Term{}, []protocol.ShardID{1}, nil); err != nil {
		t.Fatal(err)
	}
	if err := j.Update(t.Context(), protocol.Term{}, 1, all, nil); err != nil {
		t.Fatal(err)
	}
}

// Homes and ids of a type are removed, together or the homes alone. Those of other types stay. While
// a program has the schema open nothing is.
func TestRemove(t *testing.T) {
	schema := newSchema()
	s := store(t, schema)
	cart(t, s)
	_, errs := command(t, exitFailed, schema, "remove", "-type", "Cart")
	says(t, errs, "has the schema open", "stop all nodes first")
	s.Close()

	homes, both := `type=Cart homes: shards=1 events=3 snapshots=0`, `type=Cart ids: shards=2 events=2 snapshots=0`
	out, _ := command(t, exitOK, schema, "inspect", "-type", "Cart")
	says(t, out, homes, both)
	s = store(t, schema)
	h := persistence.Hosting{Type: "Cart", Shard: 1, Token: singleton.FencingToken{Era: 1, Epoch: 1, Up: 1, Seq: 1}}
	_, err := s.Append(t.Context(), h, []persistence.Write{{Entity: "a", Events: make([]persistence.Event, 2)}})
	s.Close()
	if err != nil {
		t.Fatal(err)
	}
	entities := `type=Cart entities: shards=1 events=2 snapshots=0`
	out, _ = command(t, exitOK, schema, "types")
	says(t, out, homes, both, entities, `type=Order homes: shards=0`, `type=Order ids: shards=2 events=2`)
	for _, verb := range []string{"inspect", "remove"} {
		_, errs = command(t, exitFailed, schema, verb, "-type", "Crat")
		says(t, errs, `no type "Crat"; there are Cart, Order`)
	}
	out, _ = command(t, exitOK, schema, "remove", "-n", "-type", "Cart")
	says(t, out, homes+".* would be removed", both+".* would be removed")
	out, _ = command(t, exitOK, schema, "remove", "-keep-ids", "-type", "Cart")
	says(t, out, homes+".* removed")
	out, _ = command(t, exitOK, schema, "inspect", "-type", "Cart")
	says(t, out, `homes: shards=0 events=0`, both, entities)
	for _, want := range []string{both, `ids: shards=0 events=0`} {
		out, _ = command(t, exitOK, schema, "remove", "-type", "Cart")
		says(t, out, want+".* removed")
	}
	out, _ = command(t, exitOK, schema, "inspect", "-type", "Cart")
	says(t, out, `type=Cart reminders: reminders=1\n`)
	for _, want := range []string{"1 would be removed", "1 removed", "0 removed"} {
		args := []string{"remove", "-reminders", "-type", "Cart"}
		if want == "1 would be removed" {
			args = append(args, "-n")
		}
		out, _ = command(t, exitOK, schema, args...)
		says(t, out, `type=Cart reminders: reminders=`+want)
	}
	if n := count(t, schema, "SELECT count(*) FROM @.reminders"); n != 1 {
		t.Errorf("there are %d reminders, want that of Order", n)
	}
	s = store(t, schema)
	defer s.Close()
	if left, err := ids(t, s, "Order").Load(t.Context(), protocol.Term{}, 1); err != nil || len(left) != 1 {
		t.Errorf("of the other type %q are left, %v", left, err)
	}
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{
		{}, {"destroy"}, {"remove"}, {"remove", "-type", "T", "-x"}, {"types", "-type", "T"},
		{"inspect", "-type", "T", "-dsn", "port=x"},
	} {
		_, errs := command(t, exitUsage, "", args...)
		says(t, errs, "usage: .+", "coterie-postgres inspect")
	}
	for _, help := range []string{"help", "-h", "--help"} {
		out, _ := command(t, exitOK, "", help)
		says(t, out, "coterie-postgres remove")
	}
	schema := newSchema()
	_, errs := command(t, exitFailed, schema, "inspect", "-type", "T")
	says(t, errs, schema+".*call Migrate")
}

// count asks for a number without a store. @ stands for the schema.
func count(t *testing.T, schema, sql string) (n int) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), suite.Server(t).DSN())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	sql = strings.ReplaceAll(sql, "@", pgx.Identifier{schema}.Sanitize())
	if err := conn.QueryRow(t.Context(), sql).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}
