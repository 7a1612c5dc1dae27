package gossip

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/memberlist"

	"github.com/coterie-go/coterie/ddata/transport"
)

// ErrClosed is the error of a Gossip after Shutdown.
var ErrClosed = errors.New("gossip: closed")

// Hint is what memberlist believes about one process incarnation.
type Hint struct {
	// Addr is the address (host:port) at which the node is dialled.
	Addr string
	// UID names its incarnation.
	UID transport.NodeID
	// Alive reports whether it appeared or vanished. A node that left and one that failed look
	// alike.
	Alive bool
}

// String prints the hint.
func (h Hint) String() string {
	if h.Alive {
		return nodeName(h.Addr, h.UID) + " alive"
	}
	return nodeName(h.Addr, h.UID) + " gone"
}

// Stats counts what gossip did since its start.
type Stats struct {
	// PacketsOut and PacketsIn count packets handed to the transport and to memberlist.
	PacketsOut, PacketsIn uint64
	// PacketsLost counts packets that the transport did not take, PacketsDropped those that
	// memberlist was too slow to read.
	PacketsLost, PacketsDropped uint64
	// Joins and JoinErrors count attempts of the rejoin loop, by address, and those that failed.
	Joins, JoinErrors uint64
	// TurnedAway counts alive messages of other clusters, malformed ones, and those of more nodes
	// than a cluster has.
	TurnedAway uint64
	// Refused counts packets and streams that were not given to memberlist, by reason.
	Refused [Refusals]uint64
}

type counters struct {
	packetsOut, packetsIn, packetsLost, packetsDropped, joins, joinErrors, turnedAway atomic.Uint64
	refused                                                                           [Refusals]atomic.Uint64
}

// Gossip is a running memberlist.
type Gossip struct {
	cfg    Config
	self   member
	ml     *memberlist.Memberlist
	conf   *memberlist.Config
	bridge *bridge
	n      counters
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup
	events *hintQueue

	life   sync.Mutex // serialises Leave and Shutdown
	closed bool

	mu     sync.Mutex
	listed map[transport.NodeID]listing
	wanted map[transport.NodeID]string
	found  []string // addresses of SetFound

	newcomers      int // nodes not listed before, since newcomersSince
	newcomersSince time.Time
}

// listing is a node that memberlist believes to be alive.
type listing struct {
	addr string // where it is dialled
	ip   string // the same with the host resolved, as memberlist knows it
}

// New starts gossip over t. It takes a channel and a stream channel of t.
func New(t transport.Transport, cfg Config) (*Gossip, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	self := member{Cluster: cfg.Cluster, UID: t.Self(), Addr: t.Addr()}
	meta, err := self.encode()
	if err != nil {
		return nil, err
	}
	g := &Gossip{cfg: cfg, self: self, listed: map[transport.NodeID]listing{}, events: newHintQueue()}
	g.ctx, g.cancel = context.WithCancel(context.Background())
	ip, port, err := g.resolveOwn(t.Addr())
	if err != nil {
		g.cancel()
		return nil, err
	}
	g.bridge = newBridge(g.ctx, t, cfg, ip, port, &g.n)
	g.conf = cfg.memberlist(self, port)
	g.conf.Transport, g.conf.Delegate, g.conf.Events, g.conf.Alive = g.bridge, &delegate{meta: meta},
		(*events)(g), (*vetting)(g)
	g.bridge.patience = time.Duration(g.conf.AwarenessMaxMultiplier+1) * g.conf.ProbeInterval
	g.conf.Logger = log.New(logWriter(cfg.OnNote), "", 0)
	g.ml, err = memberlist.Create(g.conf)
	if err != nil {
		g.cancel()
		g.bridge.close()
		return nil, fmt.Errorf("gossip: start memberlist: %w", err)
	}
	g.wg.Go(func() { g.events.deliver(g.ctx, cfg.OnHint) })
	g.wg.Go(g.rejoin)
	return g, nil
}

// unresolved stands for the own address while its name does not resolve, as that of a pod that no
// service names yet. Others dial the name, which travels in the node's name and meta: memberlist
// only wants an IP to show. No host has this address (RFC 5737).
var unresolved = net.IPv4(192, 0, 2, 1)

// resolveOwn turns the transport's address into what memberlist wants to know.
func (g *Gossip) resolveOwn(addr string) (net.IP, int, error) {
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, 0, err
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		return nil, 0, err
	}
	ctx, cancel := context.WithTimeout(g.ctx, resolveTimeout)
	defer cancel()
	found, err := resolve(ctx, addr)
	if err != nil {
		g.cfg.OnNote(Note{
			Text: "the own address does not resolve; others have to resolve it to reach this node",
			Addr: addr, Err: err, Warn: true,
		})
		return unresolved, n, nil
	}
	host, _, err := net.SplitHostPort(found[0])
	return net.ParseIP(host), n, err
}

// SetWanted names the nodes (id → address) that should be listed; the rejoin loop tries those that
// are not. The map is copied.
func (g *Gossip) SetWanted(nodes map[transport.NodeID]string) {
	wanted := make(map[transport.NodeID]string, len(nodes))
	for id, addr := range nodes {
		if id != g.self.UID {
			wanted[id] = addr
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.wanted = wanted
}

// SetFound names addresses to join through beside Config.Seeds, such as discovery finds; it
// replaces those of before. The slice is copied.
func (g *Gossip) SetFound(addrs []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.found = slices.Clone(addrs)
}

// Listed tells what memberlist believes to be alive, this node included, by UID.
func (g *Gossip) Listed() []Hint {
	g.mu.Lock()
	defer g.mu.Unlock()
	hints := make([]Hint, 0, len(g.listed))
	for id, l := range g.listed {
		hints = append(hints, Hint{Addr: l.addr, UID: id, Alive: true})
	}
	slices.SortFunc(hints, func(a, b Hint) int {
		if a.UID < b.UID {
			return -1
		}
		return 1
	})
	return hints
}

// Stats is a snapshot of the counters.
func (g *Gossip) Stats() Stats {
	s := Stats{
		PacketsOut: g.n.packetsOut.Load(), PacketsIn: g.n.packetsIn.Load(),
		PacketsLost: g.n.packetsLost.Load(), PacketsDropped: g.n.packetsDropped.Load(),
		Joins: g.n.joins.Load(), JoinErrors: g.n.joinErrors.Load(), TurnedAway: g.n.turnedAway.Load(),
	}
	for r := range s.Refused {
		s.Refused[r] = g.n.refused[r].Load()
	}
	return s
}

// Leave tells the others that this node goes. It returns when that was sent to one of them, or with
// an error after timeout. Wait about a second before Shutdown, so that it spreads.
func (g *Gossip) Leave(timeout time.Duration) error {
	g.life.Lock()
	defer g.life.Unlock()
	if g.closed {
		return ErrClosed
	}
	if err := g.ml.Leave(timeout); err != nil {
		return fmt.Errorf("gossip: leave: %w", err)
	}
	return nil
}

// Shutdown ends gossip, without a word to the others, and waits for the goroutines of this package.
// Those of memberlist have nothing to wait for any more. The transport stays open. It returns nil
// when it is called again.
func (g *Gossip) Shutdown() error {
	g.life.Lock()
	defer g.life.Unlock()
	if g.closed {
		return nil
	}
	g.closed = true
	g.cancel()
	err := g.ml.Shutdown()
	g.wg.Wait()
	return err
}

// logWriter makes notes of memberlist's log lines.
type logWriter func(Note)

// Write takes one line.
func (w logWriter) Write(line []byte) (int, error) {
	n := len(line)
	if n > 0 && line[n-1] == '\n' {
		line = line[:n-1]
	}
	w(Note{Text: string(line)})
	return n, nil
}
