package survival

import (
	"context"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/coterie-go/coterie/crdt/cbor"
	"github.com/coterie-go/coterie/ddata/membership/singleton"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/proptest/sim/judge"
	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/persistence/postgres/postgrestest"
	"github.com/coterie-go/coterie/sharding/persistence/schema"
)

// logTables has the server keep a log of each transaction that changes a store. The rows of one shard
// have the order of its transactions: each of them holds the lock of the shard when it takes a number.
const logTables = `
CREATE SCHEMA seen;
CREATE TABLE seen.log (
  n bigserial PRIMARY KEY, what text NOT NULL, kind int NOT NULL, hosting bigint NOT NULL,
  shard bigint, token bytea, entity bytea, seq bigint, body bytea
);
CREATE FUNCTION seen.fence() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  INSERT INTO seen.log (what, kind, hosting, shard, token)
    VALUES ('fence', NEW.kind, NEW.hosting, NEW.shard, NEW.token);
  RETURN NULL;
END $$;
CREATE FUNCTION seen.event() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  INSERT INTO seen.log (what, kind, hosting, entity, seq, body)
    VALUES ('event', NEW.kind, NEW.hosting, NEW.entity, NEW.seq, NEW.body);
  RETURN NULL;
END $$;
CREATE FUNCTION seen.state() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  INSERT INTO seen.log (what, kind, hosting, entity, seq, body)
    VALUES ('state', NEW.kind, NEW.hosting, NEW.entity, NEW.revision, NEW.body);
  RETURN NULL;
END $$;
CREATE FUNCTION seen.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  RAISE EXCEPTION '% of %: nothing of this store is taken back', TG_OP, TG_TABLE_NAME;
END $$;
CREATE TRIGGER seen AFTER INSERT OR UPDATE ON survival.fences FOR EACH ROW EXECUTE FUNCTION seen.fence();
CREATE TRIGGER seen AFTER INSERT ON survival.events FOR EACH ROW EXECUTE FUNCTION seen.event();
CREATE TRIGGER kept BEFORE UPDATE OR DELETE ON survival.events FOR EACH ROW EXECUTE FUNCTION seen.refuse();
CREATE TRIGGER seen AFTER INSERT OR UPDATE ON survival.states FOR EACH ROW EXECUTE FUNCTION seen.state();
CREATE TRIGGER kept BEFORE DELETE ON survival.states FOR EACH ROW EXECUTE FUNCTION seen.refuse();
`

// connect connects to the server beside the nodes.
func (c *cluster) connect() *pgx.Conn { return c.connectTo(c.server) }

func (c *cluster) connectTo(server *postgrestest.Server) *pgx.Conn {
	c.t.Helper()
	conn, err := pgx.Connect(c.patient(), server.DSN())
	if err != nil {
		c.t.Fatal(err)
	}
	return conn
}

// exec runs statements beside the nodes.
func (c *cluster) exec(sql string) {
	c.t.Helper()
	conn := c.connect()
	defer conn.Close(context.WithoutCancel(c.t.Context()))
	if _, err := conn.PgConn().Exec(c.patient(), sql).ReadAll(); err != nil {
		c.t.Fatal(err)
	}
}

// count asks the server for a number.
func (c *cluster) count(sql string) (n int) {
	c.t.Helper()
	conn := c.connect()
	defer conn.Close(context.WithoutCancel(c.t.Context()))
	if err := conn.QueryRow(c.patient(), sql).Scan(&n); err != nil {
		c.t.Fatal(err)
	}
	return n
}

// watchStore makes the store, and the log.
func (c *cluster) watchStore() {
	c.t.Helper()
	store, err := openStore(c.patient(), c.server.DSN(), schemaOf)
	if err != nil {
		c.t.Fatal(err)
	}
	store.Close()
	c.exec(logTables)
}

// verdict is a judge of what the server has, and what it complains of.
type verdict struct {
	*judge.Judge
	t          testing.TB
	tx         pgx.Tx
	complaints []string
	stored     map[uint64]judge.Entity // where the record of a command is; of all that are in the log
	lengths    map[judge.Entity]uint64
}

// judgeStore judges the log of the server, what is stored in the end, and what callers were told. edit
// changes what there is before, and all of it is undone; nil for nothing.
func (c *cluster) judgeStore(log []told, edit func(tx pgx.Tx) error) *verdict {
	c.t.Helper()
	ctx := c.patient()
	conn := c.connect()
	defer conn.Close(context.WithoutCancel(ctx))
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	if err != nil {
		c.t.Fatal(err)
	}
	v := &verdict{t: c.t, tx: tx, stored: map[uint64]judge.Entity{}, lengths: map[judge.Entity]uint64{}}
	v.Judge = judge.New(v.complain)
	if edit != nil {
		if err := edit(tx); err != nil {
			c.t.Fatal(err)
		}
	}
	v.readLog()
	v.readEvents()
	v.readStates()
	v.readSnapshots()
	v.judgeCallers(log)
	if err := tx.Rollback(ctx); err != nil {
		c.t.Fatal(err)
	}
	return v
}

func (v *verdict) complain(check, format string, args ...any) {
	v.complaints = append(v.complaints, check+": "+fmt.Sprintf(format, args...))
}

// query calls each with every row of a query.
func (v *verdict) query(sql string, scan []any, each func()) {
	v.t.Helper()
	rows, err := v.tx.Query(v.t.Context(), sql)
	if err == nil {
		_, err = pgx.ForEachRow(rows, scan, func() error {
			each()
			return nil
		})
	}
	if err != nil {
		v.t.Fatal(err)
	}
}

// readLog judges what was stored, in its order.
func (v *verdict) readLog() {
	v.t.Helper()
	var what, typ string
	var hosting int64
	var shard, seq *int64
	var token, id, body []byte
	hostings := map[int64]judge.Hosting{}
	v.query(`SELECT l.what, convert_from(k.name, 'UTF8'), l.hosting, l.shard, l.token, l.entity, l.seq, l.body
		FROM seen.log l JOIN survival.kinds k ON k.id = l.kind ORDER BY l.n`,
		[]any{&what, &typ, &hosting, &shard, &token, &id, &seq, &body}, func() {
			if what == "fence" {
				hostings[hosting] = judge.Hosting{Type: typ, Shard: uint32(*shard), Token: tokenOf(token)}
				v.Fenced(hostings[hosting])
				return
			}
			by, known := hostings[hosting]
			if !known {
				v.complain("fences", "hosting %d has written, and never begun", hosting)
			}
			var r judge.Record
			if what == "event" {
				r = decode(v.t, records, "record", body)
			} else {
				r = decode(v.t, counts, "count", body).Last
			}
			e := judge.Entity{Type: typ, ID: string(id)}
			v.Stored(by, e.ID, uint64(*seq), r)
			v.stored[r.Command], v.lengths[e] = e, uint64(*seq)
		})
}

// tokenOf reads a token, as FencingToken.Bytes writes it.
func tokenOf(b []byte) singleton.FencingToken {
	return singleton.FencingToken{
		Era: view.Era(binary.BigEndian.Uint64(b)), Epoch: view.Epoch(binary.BigEndian.Uint64(b[8:])),
		Up: binary.BigEndian.Uint32(b[16:]), Seq: binary.BigEndian.Uint64(b[20:]),
	}
}

func decode[T any](t testing.TB, s schema.Schema[T], name string, body []byte) T {
	t.Helper()
	v, err := s.Decode(schema.Stored{Name: name, Version: 1, Body: body})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// readEvents judges the histories that are stored in the end.
func (v *verdict) readEvents() {
	v.t.Helper()
	var id, body []byte
	var seq int64
	histories := map[judge.Entity][]judge.Record{}
	v.query(`SELECT entity, seq, body FROM survival.events ORDER BY entity, seq`, []any{&id, &seq, &body}, func() {
		e := judge.Entity{Type: counters, ID: string(id)}
		histories[e] = append(histories[e], decode(v.t, records, "record", body))
		if n := len(histories[e]); int64(n) != seq {
			v.complain("one history", "%v: event %d has the number %d", e, n, seq)
		}
	})
	for e := range v.lengths { // order: each is judged by itself
		if e.Type == counters {
			v.End(e, 0, histories[e])
		}
	}
}

// readStates judges the values that are stored in the end.
func (v *verdict) readStates() {
	v.t.Helper()
	var id, body []byte
	var revision int64
	v.query(`SELECT entity, revision, body FROM survival.states`, []any{&id, &revision, &body}, func() {
		v.Last(judge.Entity{Type: accounts, ID: string(id)}, uint64(revision), decode(v.t, counts, "count", body).Sum)
	})
}

// readSnapshots judges the snapshots that are stored in the end.
func (v *verdict) readSnapshots() {
	v.t.Helper()
	var id, body []byte
	var seq int64
	v.query(`SELECT entity, seq, body FROM survival.snapshots`, []any{&id, &seq, &body}, func() {
		r := cbor.NewReader(body) // the numbers of older ones, and the state
		r.Tuple(2)
		for range r.Array(100) {
			r.Uint()
		}
		state := r.Bytes(persistence.BodyMax)
		if err := r.End(); err != nil {
			v.t.Fatal(err)
		}
		v.Saved(judge.Entity{Type: counters, ID: string(id)}, uint64(seq), decode(v.t, counts, "count", state).Sum)
	})
}

// judgeCallers judges what callers were told, in the order of time.
func (v *verdict) judgeCallers(log []told) {
	asked := map[uint64]judge.Question{}
	for _, x := range log {
		if !x.answered {
			asked[x.number] = v.Asks(x.entity, x.number, true)
			continue
		}
		v.Answered(asked[x.number], x.receipt)
	}
	attempted := map[uint64]judge.Entity{}
	for _, x := range log {
		attempted[x.number] = x.entity
	}
	for number, e := range v.stored { // order: each is judged by itself
		if attempted[number] != e {
			v.complain("only what was asked", "command %d is stored in %v, and is for %v", number, e, attempted[number])
		}
	}
}
