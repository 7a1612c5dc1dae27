package membership_test

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/coterie-go/coterie/ddata/membership"
)

// A machine is stepped with inputs and says what to do. This one founds a cluster of its own.
func Example() {
	cfg := membership.Local()
	cfg.UID, cfg.Addr, cfg.BootstrapExpect = 0xa1, "127.0.0.1:7946", 1
	m, err := membership.New(cfg, rand.New(rand.NewPCG(1, 2)), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	now := time.Unix(0, 0)
	fx := m.Step(now, membership.Tick{})
	for _, e := range fx.Events {
		fmt.Println(e)
	}
	oldest, _ := m.View().Oldest("")
	fmt.Println("oldest:", oldest)
	fmt.Println("may run:", m.Lease().Holds(now))
	fmt.Println("next step after", m.Deadline().Sub(now))

	m.Step(now, membership.Leave{})
	fx = m.Step(now, membership.Stopped{})
	fmt.Println(fx.Done)
	// Output:
	// joined a1@127.0.0.1:7946 Up#1
	// up a1@127.0.0.1:7946 Up#1
	// lease regained in e1
	// oldest: a1@127.0.0.1:7946 Up#1
	// may run: true
	// next step after 100ms
	// membership: left the cluster
}
