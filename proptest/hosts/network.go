//go:build linux

package hosts

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"sync"
)

// Network is the switch and its hosts. Its methods may be called from any goroutine.
type Network struct {
	mu    sync.Mutex
	rng   *rand.Rand
	hosts []*Host                // by the last byte of their addresses, from 1
	cut   map[[2]netip.Addr]bool // from, to
	loss  float64
	stats Stats
}

// Stats counts packets since the network was made.
type Stats struct {
	Carried uint64 // handed over
	Cut     uint64 // dropped for a cut
	Lost    uint64 // dropped by Lose
	Stray   uint64 // dropped for want of a receiver: no such host, no process there, or no IPv4
}

// String prints the counts.
func (s Stats) String() string {
	return fmt.Sprintf("carried=%d cut=%d lost=%d stray=%d", s.Carried, s.Cut, s.Lost, s.Stray)
}

// New returns a network without hosts. The seed decides which packets Lose drops; what the
// processes send and when, no seed decides.
func New(seed uint64) *Network {
	return &Network{rng: rand.New(rand.NewPCG(seed, 0)), cut: map[[2]netip.Addr]bool{}}
}

// subnet is 10.99.0.0/24; no other machine sees it.
var subnet = netip.MustParsePrefix("10.99.0.0/24")

const hostsMax = 254

// Host adds a host with an address of its own. A network has 254 at most; one more panics.
func (n *Network) Host() *Host {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.hosts) == hostsMax {
		panic("hosts: a network has 254 hosts at most")
	}
	b := subnet.Addr().As4()
	b[3] = byte(len(n.hosts) + 1)
	h := &Host{network: n, addr: netip.AddrFrom4(b)}
	n.hosts = append(n.hosts, h)
	return h
}

// Cut drops from now on what one host sends to the other. For both directions call it twice, or use
// Isolate.
func (n *Network) Cut(from, to *Host) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cut[[2]netip.Addr{from.addr, to.addr}] = true
}

// Isolate cuts a host off from all others that there are, both ways.
func (n *Network) Isolate(h *Host) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, other := range n.hosts {
		if other != h {
			n.cut[[2]netip.Addr{h.addr, other.addr}] = true
			n.cut[[2]netip.Addr{other.addr, h.addr}] = true
		}
	}
}

// Lose drops each packet with this probability, 0 to 1, on every link.
func (n *Network) Lose(p float64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.loss = p
}

// Heal ends all cuts and losses.
func (n *Network) Heal() {
	n.mu.Lock()
	defer n.mu.Unlock()
	clear(n.cut)
	n.loss = 0
}

// Stats returns what was counted so far.
func (n *Network) Stats() Stats {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.stats
}

// Close kills all processes. No goroutine may be in a method of a host meanwhile.
func (n *Network) Close() {
	n.mu.Lock()
	all := slices.Clone(n.hosts)
	n.mu.Unlock()
	for _, h := range all {
		h.Kill()
	}
}

// route decides about a packet that a host sent: the device that it goes to, nil for none.
func (n *Network) route(from *Host, packet []byte) *device {
	const destination, headerLen = 16, 20 // of an IPv4 header
	n.mu.Lock()
	defer n.mu.Unlock()
	to := (*Host)(nil)
	if len(packet) >= headerLen && packet[0]>>4 == 4 {
		to = n.host(netip.AddrFrom4([4]byte(packet[destination:])))
	}
	switch {
	case to == nil || to.device == nil:
		n.stats.Stray++
		return nil
	case n.cut[[2]netip.Addr{from.addr, to.addr}]:
		n.stats.Cut++
		return nil
	case n.loss > 0 && n.rng.Float64() < n.loss:
		n.stats.Lost++
		return nil
	}
	n.stats.Carried++
	return to.device
}

func (n *Network) host(a netip.Addr) *Host {
	if i := int(a.As4()[3]) - 1; subnet.Contains(a) && 0 <= i && i < len(n.hosts) {
		return n.hosts[i]
	}
	return nil
}
