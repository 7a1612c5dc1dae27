package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/coterie-go/coterie/ddata/membership/singleton"
	"github.com/coterie-go/coterie/sharding/persistence/postgres"
	"github.com/coterie-go/coterie/sharding/persistence/postgres/postgrestest"
	"github.com/coterie-go/coterie/sharding/protocol"
	"github.com/coterie-go/coterie/sharding/remind"
	"github.com/coterie-go/coterie/sharding/remind/remindtest"
)

// The laws of the port, through two pools. The schema is one, each store has a type of its own.
func TestReminderLaws(t *testing.T) {
	schema, types := newSchema(), 0
	one, other := open(t, schema), open(t, schema)
	doors := func(testing.TB) (a, b remind.Store) {
		types++
		typ := fmt.Sprint("type-", types)
		return one.Reminders(typ), other.Reminders(typ)
	}
	remindtest.Run(t, doors)
	remindtest.RunFenced(t, doors)
}

// noon is when reminders are due.
var noon = time.Date(2027, 1, 15, 12, 0, 0, 0, time.UTC)

// reminder is one that is due some seconds after noon.
func reminder(id protocol.EntityID, name string, after int) remind.Reminder {
	at := noon.Add(time.Duration(after) * time.Second)
	return remind.Reminder{Entity: id, Name: name, Due: at, At: at, Version: 1, Body: []byte("body of " + name)}
}

func update(t testing.TB, r remind.Store, by singleton.FencingToken, shard protocol.ShardID, c ...remind.Change) {
	t.Helper()
	if err := r.Update(t.Context(), by, shard, 1, c); err != nil {
		t.Fatal(err)
	}
}

func remember(
	t testing.TB, r remind.Store, by singleton.FencingToken, shard protocol.ShardID, all ...remind.Reminder,
) {
	t.Helper()
	for _, m := range all {
		update(t, r, by, shard, remind.Change{Reminder: m})
	}
}

func forget(t testing.TB, r remind.Store, by singleton.FencingToken, shard protocol.ShardID, m remind.Reminder) {
	t.Helper()
	update(t, r, by, shard, remind.Change{Reminder: m, Remove: true})
}

func namesOf(all []remind.Reminder) (names []string) {
	for _, m := range all {
		names = append(names, m.Name)
	}
	return names
}

// wantDue compares the names of the reminders of an hour.
func wantDue(t testing.TB, r remind.Store, by singleton.FencingToken, shard protocol.ShardID, want ...string) {
	t.Helper()
	due, next, err := r.Due(t.Context(), by, shard, noon.Add(time.Hour), remind.DueMax)
	if got := namesOf(due); err != nil || !next.IsZero() || !slices.Equal(got, want) {
		t.Errorf("%q are due, %v, %v; want %q", got, next, err, want)
	}
}

// tool is the token of a caller that nothing fences.
var tool singleton.FencingToken

// Two changes of one reminder in a call are made one after the other: also a third one, that knows the
// second.
func TestChangesOfOneReminder(t *testing.T) {
	r := open(t, newSchema()).Reminders("T")
	first, second, third := reminder("a", "n", 0), reminder("a", "n", 1), reminder("a", "n", 2)
	second.Version, third.Version = 2, 3
	changes := []remind.Change{
		{Reminder: first}, {Reminder: reminder("a", "m", 0)}, {Reminder: second}, {Reminder: third, If: 2},
		{Reminder: first, Remove: true, If: 1}, {Reminder: reminder("a", "m", 0), Remove: true},
	}
	for range 2 {
		update(t, r, tool, 1, changes...)
		own, err := r.Of(t.Context(), tool, 1, "a")
		if err != nil || len(own) != 1 || own[0].Version != 3 {
			t.Errorf("%+v %v, want the third one", own, err)
		}
	}
}

// A damaged reminder comes as an error beside the others, in whatever column it is, and does not hold up
// those behind it.
func TestDamagedReminders(t *testing.T) {
	dsn, schema := suite.Server(t).DSN(), newSchema()
	r := open(t, schema).Reminders("T")
	damage := func(name, change string) {
		exec(t, dsn, fmt.Sprintf("UPDATE %s.reminders SET %s WHERE name = '%s'", quoted(schema), change, name))
	}
	columns := []string{
		`due = due + 1`, `at = at + 1`, `every = 1`, `tries = 1`, `tries = -1`, `version = 2`, `body = ''`,
		`name = 'x' || name`, `entity = 'b'`,
	}
	for i, c := range columns {
		remember(t, r, tool, 1, reminder("a", fmt.Sprint("bad", i), 0))
		damage(fmt.Sprint("bad", i), c)
	}
	for i := range 3 {
		remember(t, r, tool, 1, reminder("a", fmt.Sprint("good", i), 1+i))
	}
	due, next, err := r.Due(t.Context(), tool, 1, noon.Add(time.Hour), 2)
	if got := fmt.Sprint(namesOf(due)); !errors.Is(err, remind.ErrDamaged) || got != "[good0 good1]" ||
		!next.Equal(noon.Add(3*time.Second)) {
		t.Errorf("%s are due, then %v, %v", got, next, err)
	}
	due, next, err = r.Due(t.Context(), tool, 1, noon, 2)
	if len(due) > 0 || !errors.Is(err, remind.ErrDamaged) || !next.Equal(noon.Add(1)) { // that is damaged, too
		t.Errorf("%v are due, then %v, %v", due, next, err)
	}
	own, err := r.Of(t.Context(), tool, 1, "a")
	if got := fmt.Sprint(namesOf(own)); !errors.Is(err, remind.ErrDamaged) || got != "[good0 good1 good2]" {
		t.Errorf("the entity has %s, %v", got, err)
	}
	if !strings.Contains(err.Error(), "bad") {
		t.Errorf("%v names no reminder", err)
	}
	for after, names := (remind.Key{}), ""; ; {
		page, last, err := r.All(t.Context(), tool, 1, after, 5)
		for _, m := range page {
			names += m.Name + " "
		}
		if after = last; after != (remind.Key{}) {
			continue
		}
		if err != nil || names != "good0 good1 good2 " {
			t.Errorf("page after page the shard has %s, %v", names, err)
		}
		break
	}
	for i, c := range columns[:7] { // a change without a condition makes it good
		name := fmt.Sprint("bad", i)
		remember(t, r, tool, 2, reminder("a", name, 0))
		damage(name, c)
		remember(t, r, tool, 2, reminder("a", name, 0))
	}
	wantDue(t, r, tool, 2, "bad0", "bad1", "bad2", "bad3", "bad4", "bad5", "bad6")
}

// An update whose answer is lost is repeated: it has taken effect once.
func TestAnAnswerOfRemindersIsLost(t *testing.T) {
	dsn, schema := suite.Server(t).DSN(), newSchema()
	c := config(t, dsn, schema)
	l := &losing{dial: c.Pool.ConnConfig.DialFunc, mark: []byte("MARK"), then: func() {}}
	c.Pool.ConnConfig.DialFunc = l.connect
	s, err := postgres.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	r, by := s.Reminders("T"), hosting(1, 1).Token
	remember(t, r, by, 1, reminder("a", "n", 0), reminder("a", "m", 1)) // the statement is prepared
	moved := reminder("a", "n", 2)
	moved.Version, moved.Body = 2, []byte("MARK")
	changes := []remind.Change{{Reminder: moved, If: 1}, {Reminder: reminder("a", "m", 1), Remove: true, If: 1}}
	if err := r.Update(t.Context(), by, 1, 1, changes); err == nil || !l.once.Load() {
		t.Fatalf("the answer is not lost: %v", err)
	}
	update(t, r, by, 1, changes...)
	wantDue(t, r, by, 1, "n")
}

// watched are the shards that a watch tells of.
type watched struct {
	told  chan protocol.ShardID
	times map[protocol.ShardID]int // how often each was told
}

// await waits until a shard is told of.
func (w watched) await(t *testing.T, want protocol.ShardID) {
	t.Helper()
	late := time.After(time.Minute)
	for {
		select {
		case got := <-w.told:
			if w.times[got]++; got == want {
				return
			}
		case <-late:
			t.Fatalf("not told of shard %v within a minute", want)
		}
	}
}

// watch tells of each change of shards that have reminders.
func watch(t *testing.T, r remind.Store) watched {
	w := watched{make(chan protocol.ShardID, 1000), map[protocol.ShardID]int{}}
	t.Cleanup(r.Watch(func(shard protocol.ShardID, any bool) {
		if any {
			w.told <- shard
		}
	}))
	return w
}

// A watch tells each change once, also while a transaction stays open. It hears of what others change when
// it has no connection, and again of all after the server has begun anew.
func TestWatchReminders(t *testing.T) {
	server, schema := postgrestest.Start(t), newSchema()
	r, other := openAt(t, server.DSN(), schema).Reminders("T"), openAt(t, server.DSN(), schema).Reminders("T")
	remember(t, other, tool, 1, reminder("a", "n", 0))
	w := watch(t, r)
	w.await(t, 1)

	conn, err := pgx.Connect(t.Context(), server.DSN())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if _, err := conn.Exec(t.Context(), "BEGIN; SELECT pg_current_xact_id()"); err != nil {
		t.Fatal(err)
	}
	for shard := protocol.ShardID(2); shard < 9; shard++ {
		remember(t, other, tool, shard, reminder("a", "n", 0))
		w.await(t, shard)
	}
	for shard, n := range w.times {
		if n != 1 {
			t.Errorf("told %d times of shard %v, which has changed once", n, shard)
		}
	}

	exec(t, server.DSN(), "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'")
	remember(t, other, tool, 9, reminder("a", "n", 0))
	w.await(t, 9)
	if err := errors.Join(server.Kill(), server.Start(t.Context())); err != nil {
		t.Fatal(err)
	}
	w.await(t, 1)
	remember(t, again{other}, tool, 10, reminder("a", "n", 0))
	w.await(t, 10)
}

// again is a store whose updates are repeated until the server is there.
type again struct{ remind.Store }

func (a again) Update(
	ctx context.Context, by singleton.FencingToken, shard protocol.ShardID, number uint64, changes []remind.Change,
) error {
	for {
		err := a.Store.Update(ctx, by, shard, number, changes)
		if err == nil || ctx.Err() != nil {
			return err
		}
	}
}

// After a fail-over reminders are set on the new primary, and its changes are told.
func TestRemindersAfterFailover(t *testing.T) {
	primary := postgrestest.Start(t)
	standby := postgrestest.StartStandby(t, primary)
	exec(t, primary.DSN(), "ALTER SYSTEM SET synchronous_standby_names = '"+postgrestest.StandbyName+"'")
	exec(t, primary.DSN(), "SELECT pg_reload_conf()")
	exec(t, primary.DSN(), `DO $$ BEGIN
		WHILE NOT EXISTS (SELECT FROM pg_stat_replication WHERE sync_state = 'sync') LOOP
			PERFORM pg_sleep(0.01), pg_stat_clear_snapshot();
		END LOOP;
	END $$`)
	schema := newSchema()
	r := openAt(t, postgrestest.Either(primary, standby), schema).Reminders("T")
	by := hosting(1, 1).Token
	remember(t, r, by, 1, reminder("a", "n", 0))
	w := watch(t, r)
	w.await(t, 1)
	if err := errors.Join(primary.Kill(), standby.Promote(t.Context())); err != nil {
		t.Fatal(err)
	}
	remember(t, again{r}, by, 2, reminder("a", "n", 0))
	w.await(t, 2)
	wantDue(t, r, by, 1, "n")
	if err := r.Update(t.Context(), hosting(1, 0).Token, 1, 1, nil); !errors.Is(err, remind.ErrFenced) {
		t.Errorf("a hosting that is over, after the fail-over: %v", err)
	}
}

// Calls cost what they return and change, and not the set, also without statistics of the table: so many pages
// of the server are looked at.
func TestCostsOfReminders(t *testing.T) {
	const n, pagesMax = 20_000, 200
	dsn, schema := suite.Server(t).DSN(), newSchema()
	r := open(t, schema).Reminders("T")
	var all []remind.Change
	for i := range n {
		all = append(all, remind.Change{Reminder: reminder(protocol.EntityID(fmt.Sprint("e", i)), "n", i)})
	}
	for some := range slices.Chunk(all, remind.ChangesMax) {
		update(t, r, tool, 1, some...)
	}
	const zero = `'\x00000000000000000000000000000000000000000000000000000000'`
	typ, late := "'"+postgres.RemindersTypeName("T")+"'", noon.AddDate(1, 0, 0).UnixNano()
	for _, analyzed := range []bool{false, true} {
		if analyzed {
			exec(t, dsn, "ANALYZE "+quoted(schema)+".reminders")
		}
		for what, sql := range map[string]string{
			"Due": fmt.Sprintf("SELECT * FROM @.due_reminders(%s, 1, %s, %d, 10)", typ, zero, late),
			"Of":  fmt.Sprintf("SELECT * FROM @.reminders_of(%s, 1, %s, 'e77')", typ, zero),
			"Update": fmt.Sprintf(`SELECT @.remind(%s, 1, %s, 0, 1, 1, '{1,1}', '{t,f}', '{0,1}', '{e5,e6}', '{n,n}',
				'{0,0}', '{0,0}', '{0,0}', '{0,0}', '{0,0}', '{x,x}', '{0,0}')`, typ, zero),
			"All": strings.NewReplacer("$1", typ, "$2", "1", "$3", zero+"::bytea", "$4", "''", "$5", "''", "$6", "10").
				Replace(postgres.AllReminders),
			"Watch": postgres.ChangedShards(typ, "now()", "0"),
		} {
			if pages := pagesOf(t, dsn, strings.ReplaceAll(sql, "@", quoted(schema))); pages > pagesMax {
				t.Errorf("%s, statistics %t: %d pages, want at most %d", what, analyzed, pages, pagesMax)
			}
		}
	}
}

// pagesOf counts the pages that a statement looks at, with those of the functions that it calls.
func pagesOf(t *testing.T, dsn, sql string) (pages int) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	var plan []struct {
		Plan struct {
			Hit  int `json:"Shared Hit Blocks"`
			Read int `json:"Shared Read Blocks"`
		}
	}
	for range 2 { // the first time looks at the catalog
		if err := conn.QueryRow(t.Context(), "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) "+sql).Scan(&plan); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	return plan[0].Plan.Hit + plan[0].Plan.Read
}
