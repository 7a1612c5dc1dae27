package replicated_test

import (
	"fmt"
	"testing"

	"go.uber.org/goleak"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/ddatatest"
	"github.com/coterie-go/coterie/replicator/quorum"
	"github.com/coterie-go/coterie/sharding/remind"
	"github.com/coterie-go/coterie/sharding/remind/remindtest"
	"github.com/coterie-go/coterie/sharding/remind/replicated"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// door is the store of a node.
func door(t testing.TB, n *ddata.Node, typ string) *replicated.Store {
	t.Helper()
	h := n.Host()
	data, err := h.UserData("backend")
	if err != nil {
		t.Fatal(err)
	}
	return replicated.New(replicated.Config{
		Type: typ, Data: data, Scheduler: h.Scheduler, Write: quorum.Majority, Read: quorum.Majority,
	})
}

func TestLaws(t *testing.T) {
	nodes := ddatatest.Start(t, "backend", "backend")
	stores := 0
	remindtest.Run(t, func(t testing.TB) (a, b remind.Store) {
		stores++ // the cluster is one, each store has a type of its own
		typ := fmt.Sprint("type-", stores)
		return door(t, nodes[0], typ), door(t, nodes[1], typ)
	})
}
