package survival

import (
	"context"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/coterie-go/coterie/ddata/ddatatest"
	"github.com/coterie-go/coterie/sharding/persistence/batch"
	"github.com/coterie-go/coterie/sharding/persistence/postgres/postgrestest"
)

// faulty is a node of this process on a server with a fault. It logs in as an ordinary account, app.
type faulty struct {
	t      *testing.T
	server *postgrestest.Server
	all    *entities
	last   uint64 // number of an increment
}

func startFaulty(t *testing.T) *faulty {
	t.Helper()
	f := &faulty{t: t, server: postgrestest.Start(t)}
	f.exec("CREATE ROLE app LOGIN", "GRANT CREATE ON DATABASE postgres TO app")
	dsn := strings.Replace(f.server.DSN(), "user="+postgrestest.User, "user=app", 1)
	store, err := openStore(t.Context(), dsn, schemaOf)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Close)
	node := ddatatest.Start(t, role)[0]
	if f.all, err = startEntities(node, store, batch.Settings{GiveUpAfter: time.Second}); err != nil {
		t.Fatal(err)
	}
	f.work(counters, accounts, plain)
	return f
}

// ask increments an entity.
func (f *faulty) ask(typ string) error {
	f.last += callers
	_, err := f.all.ask(f.t.Context(), question{Type: typ, ID: "one", Number: f.last, Adds: true, Within: patience})
	return err
}

// work wants increments of some types to be answered, by themselves within some time.
func (f *faulty) work(types ...string) {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), patience)
	defer cancel()
	for _, typ := range types {
		for err := f.ask(typ); err != nil; err = f.ask(typ) {
			if ctx.Err() != nil {
				f.t.Fatalf("%s does not work in %v: %v", typ, patience, err)
			}
			pause(ctx, 50*time.Millisecond)
		}
	}
}

// fail wants increments of some types to fail, with words that say what to do.
func (f *faulty) fail(words string, types ...string) {
	f.t.Helper()
	for _, typ := range types {
		if err := f.ask(typ); err == nil || !strings.Contains(err.Error(), words) {
			f.t.Errorf("%s: the error is %v, want %q", typ, err, words)
		}
	}
}

// exec runs statements as the superuser.
func (f *faulty) exec(statements ...string) {
	f.t.Helper()
	ctx := context.WithoutCancel(f.t.Context())
	conn, err := pgx.Connect(ctx, f.server.DSN())
	if err != nil {
		f.t.Fatal(err)
	}
	defer conn.Close(ctx)
	for _, sql := range statements {
		if _, err := conn.Exec(ctx, sql); err != nil {
			f.t.Fatal(sql, err)
		}
	}
}

// endConnections ends those of the store, and waits for each.
const endConnections = "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE usename = 'app'"

// A server that takes no writes is told of in words. Entities that keep nothing go on, and all do when
// it takes writes again.
func TestReadOnly(t *testing.T) {
	t.Parallel()
	f := startFaulty(t)
	f.exec("ALTER ROLE app SET default_transaction_read_only = on", endConnections)
	f.fail("the server takes no writes", counters, accounts)
	f.work(plain)
	f.exec("ALTER ROLE app RESET default_transaction_read_only")
	f.work(counters, accounts)
}

// A server that has no connection left for the account is told of in words.
func TestNoConnections(t *testing.T) {
	t.Parallel()
	f := startFaulty(t)
	f.exec("ALTER ROLE app CONNECTION LIMIT 0", endConnections)
	f.fail("the server has no connection left", counters, accounts)
	f.work(plain)
	f.exec("ALTER ROLE app CONNECTION LIMIT -1")
	f.work(counters, accounts)
}

// A full disk of the events is told of in words. Entities whose values are on another one go on, and all
// do when there is room again.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	dir := smallDisk(t)
	f := startFaulty(t)
	f.exec("CREATE TABLESPACE small LOCATION '"+dir+"'", "ALTER TABLE survival.events SET TABLESPACE small")
	full := filepath.Join(dir, "full")
	fill(t, full)
	for n := 0; f.ask(counters) == nil; n++ { // there may be room in pages that it has
		if n == 1000 {
			t.Fatal("the disk is not full")
		}
	}
	f.fail("the disk of the server is full", counters)
	f.work(accounts, plain)
	if err := os.Remove(full); err != nil {
		t.Fatal(err)
	}
	f.work(counters)
}

// smallDisk mounts a file system of 2 MB for the server.
func smallDisk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, d := range []string{filepath.Dir(dir), dir} { // the server's user goes through them
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", dir).CombinedOutput(); err != nil {
		t.Skipf("NOT TRIED: a full disk. This user cannot mount one: %v: %s", err, out) // skip: it needs a right
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", "-l", dir).CombinedOutput(); err != nil {
			t.Errorf("umount: %v: %s", err, out)
		}
	})
	u, err := user.Lookup(postgrestest.User)
	if err != nil {
		t.Skip("NOT TRIED: a full disk. There is no account for the server:", err) // skip: it needs one
	}
	uid, err1 := strconv.Atoi(u.Uid)
	gid, err2 := strconv.Atoi(u.Gid)
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	if err := os.Chown(dir, uid, gid); err != nil {
		t.Fatal(err)
	}
	return dir
}

// fill takes all room of a disk.
func fill(t *testing.T, file string) {
	t.Helper()
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for block := make([]byte, 4096); err == nil; {
		_, err = f.Write(block)
	}
	t.Log("the disk is filled:", err)
}
