package gossip

import (
	"log/slog"
	"time"

	"github.com/coterie-go/coterie/ddata/transport"
)

// Hint is what memberlist believes about one process incarnation.
type Hint struct {
	// Addr is the address (host:port) at which the node is dialled.
	Addr string
	// UID names its incarnation.
	UID transport.NodeID
	// Alive tells whether it appeared or vanished. A node that left and one that failed look alike.
	Alive bool
}

// Preset picks memberlist's timing.
type Preset uint8

const (
	// LAN is memberlist's LAN timing: a killed node is noticed after some 6 s.
	LAN Preset = iota
	// Local is quicker, for tests and single machines: about 1 s.
	Local
)

// Config configures a Gossip. It is copied; zero fields take their defaults.
type Config struct {
	// Cluster is the cluster's name, the same as the transport's. It is memberlist's label and part of each node's meta.
	Cluster string
	// Seeds are the addresses (host:port) to join through, and to rejoin while memberlist lists nobody there.
	Seeds []string
	// Preset is the timing. Default LAN.
	Preset Preset
	// RejoinInterval is the mean time between two attempts to join what is wanted and not listed. Default 10 s, 1 s with Local.
	RejoinInterval time.Duration
	// OnHint hears of nodes, in order, from one goroutine that does nothing else. When it is slow, older hints about the same node are left out.
	OnHint func(Hint)
	// Logger gets memberlist's log at debug level. Default: none.
	Logger *slog.Logger
}

// Gossip is a running memberlist.
type Gossip struct{}

// New starts gossip over t. It takes the channel "gossip" of t.
func New(t transport.Transport, cfg Config) (*Gossip, error) { return &Gossip{}, nil }

// SetWanted names the nodes (id → address) that should be listed; the rejoin loop tries those that are not.
func (g *Gossip) SetWanted(nodes map[transport.NodeID]string) {}

// Listed tells what memberlist believes to be alive, this node included, by UID.
func (g *Gossip) Listed() []Hint { return nil }

// Leave tells the others that this node goes. It returns when that was sent, or after timeout.
func (g *Gossip) Leave(timeout time.Duration) error { return nil }

// Shutdown ends gossip, without a word to the others, and waits for its goroutines. The transport stays open.
func (g *Gossip) Shutdown() error { return nil }
