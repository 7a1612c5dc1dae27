package ddata_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/membership"
	"github.com/coterie-go/coterie/replicator"
)

var (
	names = ddata.NewKey[crdt.ORSet[string]]("names")
	hits  = ddata.NewKey[crdt.GCounter]("hits")
	kept  = ddata.NewKey[crdt.ORSet[string]]("kept/names")
)

const limit = 20 * time.Second // of one test's waiting; reached only when something is broken

func testContext(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	return ctx
}

func freeAddrs(t *testing.T, n int) []string {
	t.Helper()
	addrs := make([]string, n)
	for i := range addrs {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close() // all at once, so that they differ
		addrs[i] = l.Addr().String()
	}
	return addrs
}

func config(addr string, seeds []string, expect int) ddata.Config {
	return ddata.Config{
		Name: "test", Bind: addr, Seeds: seeds, BootstrapExpect: expect, Roles: []string{"backend"}, Preset: ddata.Local,
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	}
}

// startAll starts nodes side by side, as founders must be.
func startAll(t *testing.T, configs ...ddata.Config) []*ddata.Node {
	t.Helper()
	ctx := testContext(t)
	nodes := make([]*ddata.Node, len(configs))
	errs := make(chan error, len(configs))
	for i, c := range configs {
		go func() {
			var err error
			nodes[i], err = ddata.Start(ctx, c)
			errs <- err
		}()
	}
	var failed error
	for range configs {
		failed = errors.Join(failed, <-errs)
	}
	t.Cleanup(func() {
		for _, n := range nodes {
			if n != nil {
				_ = n.Close()
			}
		}
	})
	if failed != nil {
		t.Fatal(failed)
	}
	return nodes
}

// startCluster starts n nodes; dirs may be nil.
func startCluster(t *testing.T, n int, dirs []string) []*ddata.Node {
	t.Helper()
	addrs := freeAddrs(t, n)
	configs := make([]ddata.Config, n)
	for i := range configs {
		configs[i] = config(addrs[i], addrs, n)
		if dirs != nil {
			configs[i].Dir, configs[i].DurableKeys = dirs[i], []string{"kept/*"}
		}
	}
	return startAll(t, configs...)
}

func replica(t *testing.T, n *ddata.Node) *ddata.Replicator {
	t.Helper()
	r, err := n.Replicator("backend")
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func add(s string) func(*crdt.ORSetTx[string]) error {
	return func(tx *crdt.ORSetTx[string]) error { return tx.Add(s) }
}

func TestMajorityWriteIsSeenByMajorityRead(t *testing.T) {
	nodes := startCluster(t, 3, nil)
	ctx := testContext(t)
	for i, n := range nodes {
		r := replica(t, n)
		if err := ddata.Update(ctx, r, names, ddata.WriteMajority, add(fmt.Sprint("n", i))); err != nil {
			t.Fatal(err)
		}
		for _, m := range nodes {
			set, err := ddata.Get(ctx, replica(t, m), names, ddata.ReadMajority)
			if err != nil {
				t.Fatal(err)
			}
			if !set.Contains(fmt.Sprint("n", i)) {
				t.Fatalf("node %v does not see what node %v wrote: %v", m.UID(), n.UID(), set)
			}
		}
	}
}

func TestLocalReadSeesOwnWrite(t *testing.T) {
	r := replica(t, startCluster(t, 1, nil)[0])
	ctx := testContext(t)
	for i := range uint64(100) {
		if err := ddata.Update(ctx, r, hits, ddata.WriteLocal, func(c *crdt.GCounterTx) error { return c.Increment(1) }); err != nil {
			t.Fatal(err)
		}
		got, err := ddata.Get(ctx, r, hits, ddata.ReadLocal)
		if err != nil {
			t.Fatal(err)
		}
		if got.Value() != i+1 {
			t.Fatalf("read %d after %d increments", got.Value(), i+1)
		}
	}
}

func TestSubscribeDeliversTheLatest(t *testing.T) {
	nodes := startCluster(t, 2, nil)
	ctx := testContext(t)
	const last = 50
	go func() {
		for range last {
			if ddata.Update(ctx, replica(t, nodes[0]), hits, ddata.WriteAll, func(c *crdt.GCounterTx) error { return c.Increment(1) }) != nil {
				return
			}
		}
	}()
	seen := uint64(0)
	for c, err := range ddata.Subscribe(ctx, replica(t, nodes[1]), hits) {
		if err != nil {
			t.Fatal(err)
		}
		if c.Value() < seen {
			t.Fatalf("went back from %d to %d", seen, c.Value())
		}
		if seen = c.Value(); seen == last {
			return
		}
	}
}

func TestDeleteLeavesTheKeyUsable(t *testing.T) {
	nodes := startCluster(t, 2, nil)
	ctx := testContext(t)
	r, other := replica(t, nodes[0]), replica(t, nodes[1])
	for _, step := range []struct {
		do   func() error
		want int
	}{
		{func() error { return ddata.Update(ctx, r, names, ddata.WriteAll, add("a")) }, 1},
		{func() error { return ddata.Delete(ctx, r, names, ddata.WriteAll) }, 0},
		{func() error { return ddata.Update(ctx, r, names, ddata.WriteAll, add("b")) }, 1},
	} {
		if err := step.do(); err != nil {
			t.Fatal(err)
		}
		set, err := ddata.Get(ctx, other, names, ddata.ReadLocal)
		if err != nil || set.Len() != step.want {
			t.Fatalf("%v %v, want %d elements", set, err, step.want)
		}
	}
}

func TestDurableDataSurvivesStoppingEverything(t *testing.T) {
	dirs := []string{t.TempDir(), t.TempDir(), t.TempDir()}
	ctx := testContext(t)
	nodes := startCluster(t, 3, dirs)
	for i := range 20 {
		if err := ddata.Update(ctx, replica(t, nodes[i%3]), kept, ddata.WriteMajority, add(fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
	}
	if err := ddata.Update(ctx, replica(t, nodes[0]), names, ddata.WriteMajority, add("gone")); err != nil {
		t.Fatal(err)
	}
	for _, n := range nodes {
		if err := n.Close(); err != nil {
			t.Fatal(err)
		}
	}
	nodes = startCluster(t, 3, dirs)
	set, err := ddata.Get(ctx, replica(t, nodes[1]), kept, ddata.ReadMajority)
	if err != nil || set.Len() != 20 {
		t.Fatalf("%v %v, want 20 elements", set, err)
	}
	volatile, err := ddata.Get(ctx, replica(t, nodes[1]), names, ddata.ReadMajority)
	if err != nil || volatile.Len() != 0 {
		t.Fatalf("volatile data came back: %v %v", volatile, err)
	}
}

// until waits for a view that fulfils want.
func until(t *testing.T, n *ddata.Node, what string, want func(*membership.View) bool) {
	t.Helper()
	seen := make(chan struct{}, 1)
	cancel := n.Watch(ddata.Watcher{View: func(v *membership.View) {
		if want(v) {
			select {
			case seen <- struct{}{}:
			default:
			}
		}
	}})
	defer cancel()
	select {
	case <-seen:
	case <-time.After(limit):
		t.Fatalf("%s: not in time; view %v", what, n.View())
	}
}

func TestJoinLeaveAndCrash(t *testing.T) {
	nodes := startCluster(t, 3, nil)
	ctx := testContext(t)
	if err := ddata.Update(ctx, replica(t, nodes[0]), names, ddata.WriteMajority, add("early")); err != nil {
		t.Fatal(err)
	}
	late := startAll(t, config(freeAddrs(t, 1)[0], []string{nodes[1].Addr()}, 0))[0]
	if set, err := ddata.Get(ctx, replica(t, late), names, ddata.ReadLocal); err != nil || !set.Contains("early") {
		t.Fatalf("a node that is Up lacks data: %v %v", set, err)
	}
	if err := nodes[2].Leave(limit); err != nil {
		t.Fatal(err)
	}
	if !errors.Is(nodes[2].Err(), ddata.ErrLeft) {
		t.Fatalf("ended with %v", nodes[2].Err())
	}
	gone := func(uid membership.UID) func(*membership.View) bool {
		return func(v *membership.View) bool { return !v.Has(uid) }
	}
	until(t, late, "leave", gone(nodes[2].UID()))
	_ = nodes[0].Close()
	until(t, late, "crash", gone(nodes[0].UID()))
	if set, err := ddata.Get(ctx, replica(t, late), names, ddata.ReadMajority); err != nil || !set.Contains("early") {
		t.Fatalf("an acknowledged write is lost: %v %v", set, err)
	}
}

func TestTwoMembersBecomeOneByLeaving(t *testing.T) {
	nodes := startCluster(t, 2, nil)
	if err := nodes[0].Leave(limit); err != nil {
		t.Fatal(err)
	}
	until(t, nodes[1], "alone", func(v *membership.View) bool { return len(v.Members) == 1 })
	if err := ddata.Update(testContext(t), replica(t, nodes[1]), names, ddata.WriteMajority, add("x")); err != nil {
		t.Fatal(err)
	}
	if err := nodes[1].Leave(limit); err != nil {
		t.Fatal(err)
	}
}

func TestOperatorDownsAMember(t *testing.T) {
	nodes := startCluster(t, 3, nil)
	if err := nodes[0].Down(nodes[1].UID()); err != nil {
		t.Fatal(err)
	}
	select {
	case <-nodes[1].Done():
	case <-time.After(limit):
		t.Fatal("the downed node goes on")
	}
	if !errors.Is(nodes[1].Err(), ddata.ErrDowned) {
		t.Fatalf("ended with %v", nodes[1].Err())
	}
	if err := nodes[0].Down(12345); err == nil {
		t.Fatal("downed a stranger")
	}
}

func TestBadConfigNamesEveryField(t *testing.T) {
	_, err := ddata.Start(t.Context(), ddata.Config{
		Bind: "nowhere", Advertise: "x", Seeds: []string{""}, Roles: []string{"a", "a"}, DurableKeys: []string{"x"}, BootstrapExpect: -1,
		MinMembers: -1, MinMembersPerRole: map[string]int{"a": -1}, AppVersion: strings.Repeat("v", 100),
	})
	for _, field := range []string{"Name", "Bind", "Advertise", "Seeds", "Roles", "Dir", "BootstrapExpect", "MinMembers", "MinMembersPerRole", "AppVersion"} {
		if err == nil || !strings.Contains(err.Error(), "Config."+field) {
			t.Errorf("the error does not name %s: %v", field, err)
		}
	}
}

// Whoever listens on all interfaces has to say at which address others find it.
func TestAnAddressThatNobodyCanDialIsRefused(t *testing.T) {
	for _, all := range []string{"0.0.0.0:7946", "[::]:7946", ":7946", "0.0.0.0:0"} {
		for _, c := range []ddata.Config{config(all, nil, 1), config("127.0.0.1:0", nil, 1)} {
			if c.Bind != all {
				c.Advertise = all
			}
			if _, err := ddata.Start(t.Context(), c); err == nil || !strings.Contains(err.Error(), "Config.Advertise: ") || !strings.Contains(err.Error(), strconv.Quote(all)) {
				t.Errorf("Bind %q, Advertise %q: %v", c.Bind, c.Advertise, err)
			}
		}
	}
	c := config("0.0.0.0:0", nil, 1)
	c.Advertise = "127.0.0.1:0"
	if n := startAll(t, c)[0]; !strings.HasPrefix(n.Addr(), "127.0.0.1:") || strings.HasSuffix(n.Addr(), ":0") {
		t.Errorf("it is known at %s", n.Addr())
	}
}

func TestPortInUse(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, err = ddata.Start(t.Context(), config(l.Addr().String(), nil, 1))
	if err == nil || !strings.Contains(err.Error(), l.Addr().String()) {
		t.Fatalf("the error does not name the address: %v", err)
	}
}

func TestWrongClusterNameIsRefusedWithTheReason(t *testing.T) {
	n := startCluster(t, 1, nil)[0]
	c := config(freeAddrs(t, 1)[0], []string{n.Addr()}, 0)
	c.Name = "other"
	_, err := ddata.Start(testContext(t), c)
	if !errors.Is(err, ddata.ErrRefused) || !strings.Contains(err.Error(), `"test"`) || !strings.Contains(err.Error(), `"other"`) {
		t.Fatalf("want a refusal that names both clusters, got %v", err)
	}
}

func TestDirectoryFaults(t *testing.T) {
	foreign := t.TempDir()
	if err := os.WriteFile(filepath.Join(foreign, "letter.txt"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	inTheWay := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(inTheWay, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	used := t.TempDir()
	c := config(freeAddrs(t, 1)[0], nil, 1)
	c.Dir = used
	startAll(t, c)
	for name, dir := range map[string]string{"foreign": foreign, "a file in its place": inTheWay, "in use": used} {
		c := config(freeAddrs(t, 1)[0], nil, 1)
		c.Dir = dir
		if _, err := ddata.Start(t.Context(), c); err == nil || !strings.Contains(err.Error(), dir) {
			t.Errorf("%s: the error does not name the directory: %v", name, err)
		}
	}
}

func TestUnknownRoleAndBadKeys(t *testing.T) {
	n := startCluster(t, 1, nil)[0]
	if _, err := n.Replicator("frontend"); !errors.Is(err, ddata.ErrUnknownRole) {
		t.Errorf("got %v", err)
	}
	for _, key := range []string{"", "\xff", strings.Repeat("k", 2000)} {
		k := ddata.NewKey[crdt.GCounter](key)
		err := ddata.Update(t.Context(), replica(t, n), k, ddata.WriteLocal, func(c *crdt.GCounterTx) error { return c.Increment(1) })
		if !errors.Is(err, crdt.ErrKey) && !errors.Is(err, crdt.ErrTooLarge) {
			t.Errorf("update of key %.10q: %v", key, err)
		}
		if _, err := ddata.Get(t.Context(), replica(t, n), k, ddata.ReadLocal); !errors.Is(err, crdt.ErrKey) && !errors.Is(err, crdt.ErrTooLarge) {
			t.Errorf("get of key %.10q: %v", key, err)
		}
		for _, err := range ddata.Subscribe(testContext(t), replica(t, n), k) {
			if !errors.Is(err, crdt.ErrKey) && !errors.Is(err, crdt.ErrTooLarge) {
				t.Errorf("subscription to key %.10q: %v", key, err)
			}
			break
		}
	}
}

func TestTypeClashIsTheCallersError(t *testing.T) {
	r := replica(t, startCluster(t, 1, nil)[0])
	if err := ddata.Update(t.Context(), r, names, ddata.WriteLocal, add("x")); err != nil {
		t.Fatal(err)
	}
	wrong := ddata.NewKey[crdt.GCounter](names.Name())
	err := ddata.Update(t.Context(), r, wrong, ddata.WriteLocal, func(c *crdt.GCounterTx) error { return c.Increment(1) })
	if !errors.Is(err, crdt.ErrTypeClash) {
		t.Errorf("update: %v", err)
	}
	if _, err := ddata.Get(t.Context(), r, wrong, ddata.ReadLocal); !errors.Is(err, crdt.ErrTypeClash) {
		t.Errorf("get: %v", err)
	}
}

func TestWriteToMoreReplicasThanThereAre(t *testing.T) {
	r := replica(t, startCluster(t, 1, nil)[0])
	err := ddata.Update(testContext(t), r, names, ddata.WriteTo(3), add("x"))
	if !errors.Is(err, replicator.ErrNotEnoughReplicas) {
		t.Fatalf("got %v", err)
	}
	if err := ddata.Update(testContext(t), r, names, ddata.WriteTo(0), add("x")); !errors.Is(err, replicator.ErrLevel) {
		t.Fatalf("a write to no replica: %v", err)
	}
}

func TestClosedNodeAnswersWithItsEnd(t *testing.T) {
	n := startCluster(t, 1, nil)[0]
	r := replica(t, n)
	_ = n.Close()
	if err := ddata.Update(t.Context(), r, names, ddata.WriteLocal, add("x")); !errors.Is(err, ddata.ErrClosed) {
		t.Fatalf("got %v", err)
	}
	if err := n.Err(); !errors.Is(err, ddata.ErrClosed) {
		t.Fatalf("ended with %v", err)
	}
}

// A minority can neither acknowledge nor answer for the cluster, but it can read what it has.
func TestMinorityAnswersOnlyLocally(t *testing.T) {
	nodes := startCluster(t, 3, nil)
	ctx := testContext(t)
	r := replica(t, nodes[0])
	if err := ddata.Update(ctx, r, names, ddata.WriteAll, add("x")); err != nil {
		t.Fatal(err)
	}
	lost := make(chan struct{}, 1)
	nodes[0].Watch(ddata.Watcher{Lease: func(held bool) {
		if !held {
			lost <- struct{}{}
		}
	}})
	_ = nodes[1].Close()
	_ = nodes[2].Close()
	select {
	case <-lost:
	case <-time.After(limit):
		t.Fatal("the lease outlived the majority")
	}
	if nodes[0].HoldsLease() {
		t.Error("the node says that it holds a lease")
	}
	short, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
	defer cancel()
	if err := ddata.Update(short, r, names, ddata.WriteMajority, add("y")); !errors.Is(err, replicator.ErrTimeout) {
		t.Errorf("majority write: %v", err)
	}
	if _, err := ddata.Get(short, r, names, ddata.ReadMajority); err == nil {
		t.Error("a majority read succeeded")
	}
	if set, err := ddata.Get(ctx, r, names, ddata.ReadLocal); err != nil || !set.Contains("x") {
		t.Errorf("local read: %v %v", set, err)
	}
}

// An update function that calls the Replicator is forbidden; it must cost its caller an error, and the node nothing more.
// An update whose caller goes before its turn has come does not happen, and one that is running is waited for.
func TestCancelledUpdateDoesNotRunLater(t *testing.T) {
	r := replica(t, startCluster(t, 1, nil)[0])
	ctx := testContext(t)
	running, goOn, first := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		first <- ddata.Update(ctx, r, names, ddata.WriteLocal, func(tx *crdt.ORSetTx[string]) error {
			close(running)
			<-goOn
			return tx.Add("first")
		})
	}()
	<-running // the replica's goroutine is busy
	gone, cancel := context.WithCancel(ctx)
	second := make(chan error, 1)
	go func() { second <- ddata.Update(gone, r, names, ddata.WriteLocal, add("second")) }()
	cancel()
	if err := <-second; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	close(goOn)
	if err := <-first; err != nil {
		t.Fatal(err)
	}
	if err := ddata.Update(ctx, r, names, ddata.WriteLocal, add("third")); err != nil {
		t.Fatal(err)
	}
	set, err := ddata.Get(ctx, r, names, ddata.ReadLocal)
	if err != nil || set.Len() != 2 || set.Contains("second") {
		t.Fatalf("%v %v", set, err)
	}
}

func TestUpdateInsideAnUpdateFails(t *testing.T) {
	r := replica(t, startCluster(t, 1, nil)[0])
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_ = ddata.Update(ctx, r, names, ddata.WriteLocal, func(*crdt.ORSetTx[string]) error {
		err := ddata.Update(ctx, r, hits, ddata.WriteLocal, func(c *crdt.GCounterTx) error { return c.Increment(1) })
		if !errors.Is(err, replicator.ErrTimeout) {
			t.Errorf("the inner update: %v", err)
		}
		return err
	})
	if err := ddata.Update(testContext(t), r, names, ddata.WriteLocal, add("x")); err != nil {
		t.Errorf("the replica is held up: %v", err)
	}
}

func TestWatchersHearOfTheEndOnce(t *testing.T) {
	n := startCluster(t, 1, nil)[0]
	ends := make(chan error, 4)
	n.Watch(ddata.Watcher{End: func(err error) { ends <- err }})
	_ = n.Close()
	n.Watch(ddata.Watcher{End: func(err error) { ends <- err }}) // after the end
	for range 2 {
		select {
		case err := <-ends:
			if !errors.Is(err, ddata.ErrClosed) {
				t.Errorf("ended with %v", err)
			}
		case <-time.After(limit):
			t.Fatal("a watcher did not hear of the end")
		}
	}
	if len(ends) > 0 {
		t.Error("a watcher heard of the end twice")
	}
}

func TestStartWithACancelledContextReturnsAtOnce(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := ddata.Start(ctx, config(freeAddrs(t, 1)[0], nil, 1)); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
}

// A role comes with its first node, also when the cluster is there already: nobody could tell that node anything.
func TestFirstNodeOfARoleJoins(t *testing.T) {
	nodes := startCluster(t, 2, nil)
	front := config(freeAddrs(t, 1)[0], []string{nodes[0].Addr()}, 0)
	front.Roles = []string{"front"}
	first := startAll(t, front)[0]
	r, err := first.Replicator("front")
	if err != nil {
		t.Fatal(err)
	}
	if err := ddata.Update(testContext(t), r, names, ddata.WriteMajority, add("x")); err != nil {
		t.Fatal(err)
	}
	front.Bind = freeAddrs(t, 1)[0]
	second, err := startAll(t, front)[0].Replicator("front")
	if err != nil {
		t.Fatal(err)
	}
	if set, err := ddata.Get(testContext(t), second, names, ddata.ReadMajority); err != nil || !set.Contains("x") {
		t.Fatalf("%v %v", set, err)
	}
}

// The only node of a role that crashed is replaced by a new incarnation, though nobody is left who could tell it anything.
func TestOnlyNodeOfARoleComesBack(t *testing.T) {
	addrs := freeAddrs(t, 3)
	configs := make([]ddata.Config, 3)
	for i := range configs {
		configs[i] = config(addrs[i], addrs, 3)
	}
	configs[2].Roles = []string{"backend", "front"}
	nodes := startAll(t, configs...)
	_ = nodes[2].Close()
	back := startAll(t, configs[2])[0]
	r, err := back.Replicator("front")
	if err != nil {
		t.Fatal(err)
	}
	if err := ddata.Update(testContext(t), r, names, ddata.WriteMajority, add("x")); err != nil {
		t.Fatal(err)
	}
}

func TestDifferentSettingsAreRefusedByName(t *testing.T) {
	n := startCluster(t, 1, nil)[0]
	c := config(freeAddrs(t, 1)[0], []string{n.Addr()}, 0)
	c.Dir = t.TempDir()
	_, err := ddata.Start(testContext(t), c)
	if !errors.Is(err, ddata.ErrRefused) || !strings.Contains(err.Error(), "Dir") || !strings.Contains(err.Error(), "DurableKeys") {
		t.Fatalf("want a refusal that names the settings, got %v", err)
	}
}

// A linearizable read sees what was acknowledged at any node, in one read.
func TestLinearizableReadSeesWhatWasAcknowledgedAnywhere(t *testing.T) {
	nodes := startCluster(t, 3, nil)
	ctx := testContext(t)
	for i := range 30 {
		w, r := replica(t, nodes[i%3]), replica(t, nodes[(i+1)%3])
		if err := ddata.Update(ctx, w, names, ddata.WriteMajority, add(fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
		set, err := ddata.Get(ctx, r, names, ddata.ReadLinearizable)
		if err != nil || set.Len() != i+1 {
			t.Fatalf("%d elements after %d writes (%v)", set.Len(), i+1, err)
		}
	}
	if err := ddata.Update(ctx, replica(t, nodes[0]), names, ddata.ReadLinearizable, add("x")); !errors.Is(err, replicator.ErrLevel) {
		t.Fatalf("a write at a level of reads: %v", err)
	}
}
