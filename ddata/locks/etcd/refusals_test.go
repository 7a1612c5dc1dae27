package etcd_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/coterie-go/coterie/ddata/locks"
	"github.com/coterie-go/coterie/ddata/locks/etcd"
	"github.com/coterie-go/coterie/ddata/locks/etcd/etcdtest"
)

// says fails the test unless an error is of a kind, and says something.
func says(t *testing.T, err, kind error, what string) {
	t.Helper()
	if !errors.Is(err, kind) || !strings.Contains(err.Error(), what) {
		t.Errorf("%v; want %q, with %q", err, kind, what)
	}
}

func put(t *testing.T, c *clientv3.Client, key, value string) {
	t.Helper()
	if _, err := c.Put(t.Context(), key, value); err != nil {
		t.Fatal(err)
	}
}

// What was not made for leases is refused, and what was damaged is not taken for nothing.
func TestForeignContent(t *testing.T) {
	t.Parallel()
	addrs := etcdtest.Start(t, 1).Addrs()
	c := etcdtest.Dial(t, addrs)
	put(t, c, "wrong/id", "mine")
	_, err := etcd.Open(t.Context(), c, etcd.Config{Prefix: "wrong"})
	says(t, err, locks.ErrForeign, "wrong/id")
	put(t, c, "full/notes", "mine")
	_, err = etcd.Open(t.Context(), c, etcd.Config{Prefix: "full"})
	says(t, err, locks.ErrForeign, "full/notes")
	s := open(t, "p", 15, addrs)
	l := drill.Door(t, s, "me")
	put(t, c, "p/leases/x", "mine")
	_, err = l.Acquire(t.Context(), nil)
	says(t, err, locks.ErrForeign, "p/leases/x")
	if _, err := c.Delete(t.Context(), "p/leases/x"); err != nil {
		t.Fatal(err)
	}
	drill.Acquire(t, l)
	if err := l.Save(t.Context(), []byte("a record")); err != nil {
		t.Fatal(err)
	}
	got, err := c.Get(t.Context(), "p/records/x")
	if err != nil {
		t.Fatal(err)
	}
	good := string(got.Kvs[0].Value)
	for i := range len(good) {
		for _, bad := range []string{good[:i], good[:i] + string(good[i]^1) + good[i+1:]} {
			put(t, c, "p/records/x", bad)
			_, err := l.Load(t.Context())
			says(t, err, locks.ErrDamaged, "p/records/x")
		}
	}
}

func TestHolderIsNamed(t *testing.T) {
	t.Parallel()
	s := open(t, "p", 15, etcdtest.Start(t, 1).Addrs())
	l, other := drill.Door(t, s, "ann\nand bob"), drill.Door(t, s, "carl")
	named := func() string { return other.(locks.Holder).Holder(t.Context()) }
	if got := named(); got != "" {
		t.Errorf("it was never held, and the holder is %q", got)
	}
	drill.Acquire(t, l)
	if got := named(); !strings.HasPrefix(got, "ann\nand bob, process ") {
		t.Errorf("ann and bob hold it, and it says %q", got)
	}
}

func TestSettings(t *testing.T) {
	for what, c := range map[string]etcd.Config{
		"Prefix": {Prefix: "p/"}, "TTL": {TTL: 1500 * time.Millisecond}, "Timeout": {Timeout: -1},
	} {
		if _, err := etcd.Open(t.Context(), nil, c); err == nil || !strings.Contains(err.Error(), "Config."+what) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// An error says what to do: with no server, with no majority, with a client that was closed.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	c := etcdtest.Start(t, 3)
	client := etcdtest.Dial(t, c.Addrs()[:1])
	cfg := etcd.Config{Prefix: "p", Timeout: time.Second}
	s, err := etcd.Open(t.Context(), client, cfg)
	if err != nil {
		t.Fatal(err)
	}
	l := drill.Door(t, s, "me")
	for _, m := range c.Members[1:] {
		m.Kill()
	}
	_, err = l.Acquire(t.Context(), nil)
	says(t, err, locks.ErrUnusable, "etcdctl endpoint status")
	c.Members[0].Kill()
	_, err = etcd.Open(t.Context(), client, cfg)
	says(t, err, locks.ErrUnusable, "most members of the etcd cluster run")
	if err := client.Close(); err != nil {
		t.Fatal(err)
	}
	errs := make(chan error)
	for range 200 { // a call finds it closed while it is made, or while it waits for its turn
		go func() {
			_, err := l.Acquire(t.Context(), nil)
			errs <- err
		}()
	}
	for range 200 {
		says(t, <-errs, locks.ErrUnusable, "close it after every door")
	}
}

// A user that may do nothing is told what to grant, and a wrong password is said to be one.
func TestPermissions(t *testing.T) {
	t.Parallel()
	addrs := etcdtest.Start(t, 1).Addrs()
	root := etcdtest.Dial(t, addrs)
	ctx := t.Context()
	_, err := root.UserAdd(ctx, "root", "secret")
	do := func(_ any, e error) { err = errors.Join(err, e) }
	do(root.UserGrantRole(ctx, "root", "root"))
	do(root.UserAdd(ctx, "ann", "hers"))
	do(root.RoleAdd(ctx, "leases"))
	do(root.RoleGrantPermission(ctx, "leases", "p/", clientv3.GetPrefixRangeEnd("p/"),
		clientv3.PermissionType(clientv3.PermReadWrite)))
	do(root.AuthEnable(ctx))
	if err != nil {
		t.Fatal(err)
	}
	as := func(name, password string) func(*clientv3.Config) {
		return func(c *clientv3.Config) { c.Username, c.Password = name, password }
	}
	ann := etcdtest.Dial(t, addrs, as("ann", "hers"))
	_, err = etcd.Open(ctx, ann, etcd.Config{Prefix: "p"})
	says(t, err, locks.ErrUnusable, "etcdctl role grant-permission ROLE --prefix=true readwrite p/")
	_, err = etcd.Open(ctx, root, etcd.Config{Prefix: "p"})
	says(t, err, locks.ErrUnusable, "Username and Password")
	admin := etcdtest.Dial(t, addrs, as("root", "secret"))
	if _, err := admin.UserGrantRole(ctx, "ann", "leases"); err != nil {
		t.Fatal(err)
	}
	const ttl = 15 * time.Second // a login is slow on purpose, and slower where the processor is busy
	s, err := etcd.Open(ctx, ann, etcd.Config{Prefix: "p", TTL: ttl})
	if err != nil {
		t.Fatal(err)
	}
	l := drill.Door(t, s, "ann")
	drill.Acquire(t, l)
	drill.Renewed(t, l, ttl)
	if err := l.Release(ctx); err != nil {
		t.Error(err)
	}
}

// A server that takes less than a record may have says so.
func TestRequestLimit(t *testing.T) {
	t.Parallel()
	l := drill.Door(t, open(t, "p", 15, etcdtest.Start(t, 1, "--max-request-bytes=65536").Addrs()), "me")
	drill.Acquire(t, l)
	says(t, l.Save(t.Context(), make([]byte, locks.RecordMax)), locks.ErrTooLarge, "--max-request-bytes")
	if got, err := l.Load(t.Context()); got != nil || err != nil {
		t.Errorf("the record is %d bytes, %v", len(got), err)
	}
}
