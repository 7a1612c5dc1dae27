package ddata_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/host"
	"github.com/coterie-go/coterie/replicator/keyspace"
	"github.com/coterie-go/coterie/replicator/quorum"
)

// homes is a key as the coordinator of an entity type has one.
const homes = "sharding/Cart/homes"

// reservedData is the reserved data of the role.
func reservedData(t *testing.T, n *ddata.Node) host.Data {
	t.Helper()
	d, err := n.Host().Data("backend")
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// addReserved adds an element to a reserved set at a majority.
func addReserved(t *testing.T, n *ddata.Node, key, elem string) error {
	t.Helper()
	done := make(chan error, 1)
	reservedData(t, n).Update(key, quorum.Majority, 3*time.Second, crdt.Mutate[crdt.ORSet[string]](add(elem)),
		func(err error) { done <- err })
	return <-done
}

// reservedHolds reports whether a majority has an element of a reserved set.
func reservedHolds(t *testing.T, n *ddata.Node, key, elem string) bool {
	t.Helper()
	type got struct {
		set crdt.ORSet[string]
		err error
	}
	done := make(chan got, 1)
	reservedData(t, n).Get(key, quorum.Majority, 0, func(r crdt.Reader, err error) {
		v, typeErr := crdt.ViewOf[crdt.ORSet[string]](r)
		done <- got{v, errors.Join(err, typeErr)}
	})
	v := <-done
	if v.err != nil {
		t.Fatal(v.err)
	}
	return v.set.Contains(elem)
}

// A key of an extension is no key of a user: each way to name one says so, and the other way round.
func TestReservedKeysAreRefused(t *testing.T) {
	inBubble(t, func(t *testing.T, mem *memoryNet) {
		n := mem.alone("", nil)
		r, ctx := replica(t, n), testContext(t)
		key := ddata.NewKey[crdt.ORSet[string]](homes)
		_, local := ddata.Get(ctx, r, key, ddata.ReadLocal)
		_, majority := ddata.Get(ctx, r, key, ddata.ReadMajority)
		var watched, prefix error
		for _, err := range r.Watch(ctx, homes) {
			watched = err
			break
		}
		for _, err := range r.WatchPrefix(ctx, "sharding/") {
			prefix = err
			break
		}
		for what, err := range map[string]error{
			"local read": local, "read": majority, "watch": watched, "watch of a prefix": prefix,
			"update":           ddata.Update(ctx, r, key, ddata.WriteMajority, add("e")),
			"delete":           ddata.Delete(ctx, r, key, ddata.WriteLocal),
			"deletion":         ddata.DeleteForever(ctx, r, key, ddata.WriteLocal),
			"reserved, a user": addReserved(t, n, "carts", "e"),
		} {
			if !errors.Is(err, keyspace.ErrForeignKey) || !strings.Contains(err.Error(), `"sharding/"`) {
				t.Errorf("%s: %v", what, err)
			}
		}
		if err := addReserved(t, n, homes, "e"); err != nil || !reservedHolds(t, n, homes, "e") {
			t.Errorf("a reserved key: %v", err)
		}
		if keys, err := r.Keys(ctx, ""); err != nil || len(slices.Collect(keys)) > 0 {
			t.Errorf("a user is shown a reserved key: %v", err)
		}
	})
	c := config("127.0.0.1:0", nil, 1)
	c.Dir, c.DurableKeys = t.TempDir(), []string{homes}
	c.Expire = map[string]time.Duration{"sharding/*": time.Minute}
	err := c.Validate()
	for _, want := range []string{"DurableKeys: \"" + homes, "Expire: \"sharding/*"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %v", want, err)
		}
	}
}

// While the replicators of the users' data of two of three nodes stand still, a user's write reaches
// no majority. A reserved one does.
func TestReservedWritesPassAUsersFlowThatStandsStill(t *testing.T) {
	inBubble(t, func(t *testing.T, mem *memoryNet) {
		nodes := mem.start(3, nil)
		ctx := testContext(t)
		key := ddata.NewKey[crdt.ORSet[string]]("carts")
		begun, over := make(chan struct{}, 2), make(chan struct{})
		for _, n := range nodes[1:] {
			r := replica(t, n)
			go func() {
				_ = r.Update(ctx, "stuck", ddata.WriteLocal, func(*crdt.Tx) error {
					begun <- struct{}{}
					<-over
					return nil
				})
			}()
			<-begun
		}
		late := make(chan error, 1)
		go func() { late <- ddata.Update(ctx, replica(t, nodes[0]), key, ddata.WriteMajority, add("e")) }()
		began := time.Now()
		for _, n := range nodes {
			if err := addReserved(t, n, homes, "e"); err != nil || !reservedHolds(t, n, homes, "e") {
				t.Errorf("reserved: %v", err)
			}
		}
		if took := time.Since(began); took > 100*time.Millisecond {
			t.Errorf("reserved writes and reads took %v", took)
		}
		select {
		case err := <-late:
			t.Errorf("the user's write has ended: %v", err)
		default:
		}
		close(over)
		if err := <-late; err != nil {
			t.Error(err)
		}
	})
}

// A pattern of a user's makes no reserved key durable. Those of host.DurableKeys do: each survives in
// the table of its own data.
func TestReservedKeysAreDurableByTheirOwnPatterns(t *testing.T) {
	inBubble(t, func(t *testing.T, mem *memoryNet) {
		dir, all := t.TempDir(), keeping("*")
		n := mem.alone(dir, all)
		mustAdd(t, n, "carts", "e")
		for _, key := range []string{homes, "sharding/Cart/ids/7"} {
			if err := addReserved(t, n, key, "e"); err != nil {
				t.Fatal(err)
			}
		}
		mustClose(t, n)
		n = mem.alone(dir, all)
		if !holds(t, n, "carts", "e") || !reservedHolds(t, n, "sharding/Cart/ids/7", "e") {
			t.Error("a durable key is gone")
		}
		if reservedHolds(t, n, homes, "e") {
			t.Error("* has made a reserved key durable")
		}
	})
}
