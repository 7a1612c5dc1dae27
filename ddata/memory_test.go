package ddata_test

import (
	"testing"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/locks"
	"github.com/coterie-go/coterie/ddata/transport/memory"
	"github.com/coterie-go/coterie/proptest/bubble"
)

// memoryNet is where the nodes of a test live whose time is virtual: a bubble and a network in memory.
type memoryNet struct {
	t    *testing.T
	hub  *memory.Hub
	used int // addresses
}

// inBubble runs a test in virtual time. Leases, time-outs and pauses cost such a test nothing, and
// no load of the machine makes a node miss one.
func inBubble(t *testing.T, fn func(t *testing.T, mem *memoryNet)) {
	t.Helper()
	bubble.Test(t, func(t *testing.T) { fn(t, &memoryNet{t: t, hub: memory.NewHub()}) })
}

// addrs gives n addresses that no node has.
func (m *memoryNet) addrs(n int) []string {
	addrs := make([]string, n)
	for i := range addrs {
		addrs[i] = memory.Addr(m.used)
		m.used++
	}
	return addrs
}

// config is config on this network.
func (m *memoryNet) config(addr string, seeds []string, expect int) ddata.Config {
	c := config(addr, seeds, expect)
	c.Network = m.hub.At(addr)
	return c
}

// leaseConfig is leaseConfig on this network.
func (m *memoryNet) leaseConfig(s locks.Store, addr string, seeds []string, expect int) ddata.Config {
	c := leaseConfig(s, addr, seeds, expect)
	c.Network = m.hub.At(addr)
	return c
}

// start starts a cluster of n nodes; dirs may be nil.
func (m *memoryNet) start(n int, dirs []string) []*ddata.Node {
	m.t.Helper()
	addrs := m.addrs(n)
	configs := make([]ddata.Config, n)
	for i := range configs {
		configs[i] = m.config(addrs[i], addrs, n)
		if dirs != nil {
			configs[i].Dir, configs[i].DurableKeys = dirs[i], []string{"kept/*"}
		}
	}
	return startAll(m.t, configs...)
}

// alone starts the only node of a cluster on a directory.
func (m *memoryNet) alone(dir string, change func(*ddata.Config)) *ddata.Node {
	m.t.Helper()
	c := m.config(m.addrs(1)[0], nil, 1)
	c.Dir = dir
	if change != nil {
		change(&c)
	}
	return startAll(m.t, c)[0]
}
