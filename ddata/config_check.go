package ddata

import (
	"cmp"
	"maps"
	"slices"

	"github.com/coterie-go/coterie/ddata/address"
	"github.com/coterie-go/coterie/ddata/config"
	"github.com/coterie-go/coterie/ddata/discovery"
	"github.com/coterie-go/coterie/ddata/format"
	"github.com/coterie-go/coterie/ddata/membership"
	"github.com/coterie-go/coterie/ddata/membership/downing"
	"github.com/coterie-go/coterie/ddata/roles"
	"github.com/coterie-go/coterie/ddata/shutdown"
	"github.com/coterie-go/coterie/ddata/transport"
)

// Validate reports everything that is wrong with the config, each fault with the name of its field.
func (c Config) Validate() error {
	var f config.Faults
	f.Of("Name", config.CheckName(c.Name))
	if c.Bind == "" {
		f.Add(true, "Bind", "is empty; give host:port, for example 127.0.0.1:7946")
	} else {
		f.Of("Bind", address.CheckListen(c.Bind))
	}
	c.checkAdvertise(&f)
	f.Of("Seeds", discovery.Static(c.Seeds).Validate())
	for _, r := range c.Roles {
		f.Add(r != "" && config.CheckName(r) != nil, "Roles", "%q: %v", r, config.CheckName(r))
	}
	f.Add(len(c.AppVersion) > config.NameMax, "AppVersion", "has %d bytes, more than %d", len(c.AppVersion),
		config.NameMax)
	if build := cmp.Or(c.build, format.Build()); c.FormatMax != 0 && !build.Contains(c.FormatMax) {
		f.Add(true, "FormatMax", "is level %d, and this build speaks %v", c.FormatMax, build)
	}
	c.checkRoles(&f)
	f.Add(c.BootstrapExpect == 0 && len(c.Seeds) == 0 && c.Discovery == nil, "Seeds",
		"is empty, Discovery is not set and BootstrapExpect is 0: the node could neither join nor found a cluster")
	f.Of("Discovery", discovery.Validate(c.Discovery))
	c.checkDowning(&f)
	f.Add(len(c.DurableKeys) > 0 && c.Dir == "", "Dir",
		"is empty, but DurableKeys names durable keys; give a directory of this node's own")
	roles.CheckKeys(&f, "", c.DurableKeys, c.Expire)
	c.checkShutdown(&f)
	f.Add(c.WriteBehind < 0, "WriteBehind", "is negative")
	f.Of("Store", c.Store.Validate())
	f.Add(c.Store.OnEvent != nil, "Store.OnEvent", "is set by the node itself; use Config.OnEvent")
	f.Add(c.Preset > Local, "Preset", "%v is unknown", c.Preset)
	f.Add(c.RequestTimeout < 0, "RequestTimeout", "is negative")
	roles.CheckReplication(&f, "Replication", c.Replication)
	c.checkMembership(&f)
	c.checkTransport(&f)
	return f.Err("ddata: Config")
}

// checkMembership finds settings with which the membership could not run. The name and the strategy
// are checked elsewhere.
func (c Config) checkMembership(f *config.Faults) {
	m := c.membership()
	timing := membership.Config{UID: 1, Addr: "x", Timing: m.Timing}
	f.Of("Timing", timing.Validate())
	m.UID, m.Name, m.Strategy, m.Timing, m.Formats = 1, "x", nil, membership.Timing{}, format.Range{}
	m.Addr = cmp.Or(c.Advertise, "x")
	for _, wrong := range config.Named(m.Validate()) {
		if wrong.Setting == "Addr" {
			wrong.Setting = "Advertise"
		}
		f.Of("", wrong)
	}
}

// checkTransport finds what the port could not run with, or is not to be set there.
func (c Config) checkTransport(f *config.Faults) {
	f.Of("TLS", transport.CheckTLS(c.TLS))
	t := c.Transport
	if t.Cluster != "" || t.Self != 0 || t.Bind != "" || t.Advertise != "" || t.FrameMax != 0 ||
		t.Formats != (format.Range{}) || t.TLS != nil || t.Network != nil || t.OnEvent != nil {
		f.Add(true, "Transport",
			"Cluster, Self, Bind, Advertise, Formats, FrameMax, TLS, Network and OnEvent are set by the node itself")
		return
	}
	t.Cluster, t.Self, t.Bind = "x", 1, "127.0.0.1:0"
	f.Of("Transport", t.Validate())
}

func (c Config) checkShutdown(f *config.Faults) {
	f.Add(c.LeaveOnSIGTERM < 0, "LeaveOnSIGTERM", "is negative")
	for _, p := range slices.Sorted(maps.Keys(c.ShutdownTimeouts)) {
		f.Add(p >= shutdown.Phases || c.ShutdownTimeouts[p] <= 0, "ShutdownTimeouts",
			"%v: %v; give a phase and a time above zero", p, c.ShutdownTimeouts[p])
	}
}

// checkRoles finds what is wrong with the settings of single roles.
func (c Config) checkRoles(f *config.Faults) {
	c.PerRole.Check(f, c.WithDefaults().Roles)
	durable := len(c.PerRole.DurableKeys()) > 0
	for _, role := range slices.Sorted(maps.Keys(c.PerRole)) {
		f.Add(config.CheckName(role) != nil, "PerRole", "%q: %v", role, config.CheckName(role))
	}
	f.Add(durable && c.Dir == "", "Dir",
		"is empty, but PerRole names durable keys; give a directory of this node's own")
	f.Add(durable && c.DurableKeys != nil && len(c.DurableKeys) == 0, "PerRole",
		"names durable keys, and an empty Config.DurableKeys switches durability off")
	f.Add(durable && c.FormatMax != 0 && c.FormatMax < format.RolePatterns, "PerRole",
		"names durable keys, which need format level %d, and Config.FormatMax is %d: add them when the roll-out is "+
			"over",
		format.RolePatterns, c.FormatMax)
}

// checkDowning finds an arbiter that is missing, or that no strategy asks.
func (c Config) checkDowning(f *config.Faults) {
	if err := downing.CheckStrategy(c.Downing); err != nil {
		f.Of("Downing", err)
		return
	}
	_, arbitrated := c.Downing.(downing.LeaseMajority)
	f.Add(arbitrated && c.Leases == nil, "Leases",
		"is nil, and LeaseMajority needs a lease: give the store that all nodes use, for example "+
			"file.Open of a directory on their host")
	f.Add(!arbitrated && c.Leases != nil, "Leases",
		"is set, and Downing does not use it: set Downing to downing.LeaseMajority, or Leases to nil")
}

// checkAdvertise finds that others could not dial this node.
func (c Config) checkAdvertise(f *config.Faults) {
	switch {
	case c.Advertise == "":
		f.Add(address.CheckListen(c.Bind) == nil && !address.NamesHost(c.Bind), "Advertise",
			"is empty, and Bind %q stands for all interfaces: give the host and port at which others reach this node",
			c.Bind)
	default:
		f.Of("Advertise", address.CheckAdvertised(c.Advertise))
	}
}
