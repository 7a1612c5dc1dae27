package ddata_test

import (
	"sync"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata"
)

// TestAllNodesStopAtOnce stops all nodes of several clusters at the same time. Each node must leave
// in order, and soon: no node goes before the others know what they would wait for.
func TestAllNodesStopAtOnce(t *testing.T) {
	const clusters, nodes, soon = 5, 3, 2 * time.Second // with LAN a node that hears no other waits for 24 s
	var all []*ddata.Node
	var mu sync.Mutex
	var starting sync.WaitGroup
	for range clusters {
		addrs := freeAddrs(t, nodes)
		configs := make([]ddata.Config, nodes)
		for i := range configs {
			configs[i] = config(addrs[i], addrs, nodes)
			configs[i].Preset = ddata.LAN
			// as after 30 s: no connection is left but those to members
			configs[i].Transport.AddrIdle = 10 * time.Millisecond
		}
		starting.Go(func() {
			started := startAll(t, configs...)
			mu.Lock()
			defer mu.Unlock()
			all = append(all, started...)
		})
	}
	starting.Wait()
	if len(all) != clusters*nodes {
		t.Fatalf("%d nodes have started", len(all))
	}
	var stopping sync.WaitGroup
	for _, n := range all {
		stopping.Go(func() {
			began := time.Now()
			if err := n.Leave(testContext(t)); err != nil {
				t.Errorf("%v after %v: %v", n.UID(), time.Since(began), err)
			} else if took := time.Since(began); took > soon {
				t.Errorf("%v took %v to leave", n.UID(), took)
			}
		})
	}
	stopping.Wait()
}
