package ddatatest

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/coterie-go/coterie/ddata"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Clusters that are started beside each other are founded each by its own nodes, at ports that no
// other process could take, and end with the test.
func TestStart(t *testing.T) {
	var nodes []*ddata.Node
	t.Run("clusters", func(t *testing.T) {
		for range 3 {
			t.Run("one", func(t *testing.T) {
				t.Parallel()
				ns := Start(t, "backend", "frontend")
				for i, role := range []string{"backend", "frontend"} {
					if got := ns[i].Roles(); len(got) != 1 || got[0] != role {
						t.Errorf("node %d has the roles %q", i, got)
					}
					if v := ns[i].View(); len(v.Members) != 2 {
						t.Errorf("node %d has the view %v", i, v)
					}
				}
				if t.Name() == "TestStart/clusters/one" {
					nodes = ns
				}
			})
		}
	})
	for _, n := range nodes {
		select {
		case <-n.Done():
		default:
			t.Error("a node outlived its test")
		}
	}
}

// A kept port is handed out once; after that any caller may open it again.
func TestKept(t *testing.T) {
	k := keep(t)
	if l, err := k.Network.Listen(t.Context(), k.addr); err == nil {
		t.Errorf("%v was free", l.Addr())
	}
	first, err := k.Listen(t.Context(), k.addr)
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := k.Listen(t.Context(), k.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if again.Addr().String() != k.addr {
		t.Errorf("%v, want %s", again.Addr(), k.addr)
	}
}
