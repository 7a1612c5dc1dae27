package gossip

import (
	"time"

	"github.com/coterie-go/coterie/ddata/address"
	"github.com/coterie-go/coterie/ddata/config"
	"github.com/hashicorp/memberlist"
)

// Preset picks memberlist's timing.
type Preset uint8

const (
	// LAN is memberlist's LAN timing: a killed node is noticed after 5 to 8 s.
	LAN Preset = iota
	// Local is quicker, for single machines and tests: about 1 s.
	Local
)

// Config configures a Gossip. It is copied; zero fields take their defaults.
type Config struct {
	// Cluster is the cluster's name, the same as the transport's. It is memberlist's label
	// and part of each node's meta. Required.
	Cluster string
	// Seeds are the addresses (host:port) to join through, and to join again while memberlist lists
	// no node there. A host name may stand for several nodes. The own address is left out.
	Seeds []string
	// Preset is the timing. Default LAN.
	Preset Preset
	// RejoinInterval is the longest time between two attempts to join what should be listed and is
	// not. Default 10 s, with Local 1 s. While no other node is listed the attempts begin quicker.
	RejoinInterval time.Duration
	// OnHint hears of other nodes, in order, from one goroutine that does nothing else. When it
	// is slow, older hints about the same node are left out.
	OnHint func(Hint)
	// OnNote, when set, hears what may help to find out why others are not found: from any
	// goroutine, and it must be quick.
	OnNote func(Note)
}

// Note is a line of memberlist's own log, or an address that cannot be resolved or joined through.
type Note struct {
	Text string
	Addr string // that it is about; may be empty
	Err  error
	Warn bool // an operator should look at it
}

// String prints the note.
func (n Note) String() string {
	s := n.Text
	if n.Addr != "" {
		s += " " + n.Addr
	}
	if n.Err != nil {
		s += ": " + n.Err.Error()
	}
	return s
}

// Validate reports all faults of c together.
func (c *Config) Validate() error {
	var f config.Faults
	f.Add(c.Cluster == "" || len(c.Cluster) > memberlist.LabelMaxSize, "Cluster", "has %d bytes, want 1 to %d",
		len(c.Cluster), memberlist.LabelMaxSize)
	for _, s := range c.Seeds {
		f.Of("Seeds", address.CheckPeer(s))
	}
	f.Add(c.Preset > Local, "Preset", "%d is unknown", c.Preset)
	f.Add(c.RejoinInterval < 0, "RejoinInterval", "%v is negative", c.RejoinInterval)
	return f.Err("gossip: Config")
}

func (c Config) withDefaults() Config {
	if c.RejoinInterval == 0 {
		c.RejoinInterval = 10 * time.Second
		if c.Preset == Local {
			c.RejoinInterval = time.Second
		}
	}
	if c.OnHint == nil {
		c.OnHint = func(Hint) {}
	}
	if c.OnNote == nil {
		c.OnNote = func(Note) {}
	}
	return c
}

// memberlist is the configuration of memberlist. Local is not memberlist's own Local preset, whose
// low retransmission leaves gaps that only a full sync repairs.
func (c Config) memberlist(self member, port int) *memberlist.Config {
	m := memberlist.DefaultLANConfig()
	m.Name = self.name()
	m.Label = c.Cluster
	m.BindPort, m.AdvertisePort = port, port
	m.EnableCompression = false
	m.DisableTcpPings = true
	m.UDPBufferSize = packetMax
	m.RetransmitMult = retransmitMult
	m.RequireNodeNames = false // an address to join has no name yet
	m.LogOutput = nil
	if c.Preset == Local {
		m.ProbeInterval, m.ProbeTimeout = 200*time.Millisecond, 100*time.Millisecond
		m.SuspicionMult, m.SuspicionMaxTimeoutMult = 3, 2
		m.AwarenessMaxMultiplier = 2
		m.GossipInterval = 50 * time.Millisecond
		m.GossipToTheDeadTime = 5 * time.Second
		m.PushPullInterval = 5 * time.Second
		m.TCPTimeout = 2 * time.Second
	}
	return m
}
