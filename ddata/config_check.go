package ddata

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata/address"
	"github.com/coterie-go/coterie/ddata/discovery"
	"github.com/coterie-go/coterie/ddata/membership"
	"github.com/coterie-go/coterie/ddata/membership/downing"
	"github.com/coterie-go/coterie/ddata/shutdown"
	"github.com/coterie-go/coterie/ddata/transport"
)

// Validate reports everything that is wrong with the config, each fault with the name of its field.
func (c Config) Validate() error {
	var errs []error
	fault := func(field, format string, args ...any) {
		errs = append(errs, fmt.Errorf("ddata: Config.%s: %s", field, fmt.Sprintf(format, args...)))
	}
	if err := checkName(c.Name); err != nil {
		fault("Name", "%v", err)
	}
	if c.Bind == "" {
		fault("Bind", "is empty; give host:port, for example 127.0.0.1:7946")
	} else if err := address.CheckListen(c.Bind); err != nil {
		fault("Bind", "%v", err)
	}
	c.checkAdvertise(fault)
	if err := discovery.Static(c.Seeds).Validate(); err != nil {
		fault("Seeds", "%v", err)
	}
	for _, r := range c.Roles {
		if r != "" && checkName(r) != nil {
			fault("Roles", "%q: %v", r, checkName(r))
		}
	}
	if len(c.AppVersion) > nameMax {
		fault("AppVersion", "has %d bytes, more than %d", len(c.AppVersion), nameMax)
	}
	for r, n := range c.MinMembersPerRole {
		if n < 0 {
			fault("MinMembersPerRole", "%q: is negative", r)
		}
	}
	if c.BootstrapExpect == 0 && len(c.Seeds) == 0 && c.Discovery == nil {
		fault("Seeds", "is empty, Discovery is not set and BootstrapExpect is 0: the node could neither join nor "+
			"found a cluster")
	}
	if err := discovery.Validate(c.Discovery); err != nil {
		fault("Discovery", "%v", err)
	}
	c.checkDowning(fault)
	if len(c.DurableKeys) > 0 && c.Dir == "" {
		fault("Dir", "is empty, but DurableKeys names durable keys; give a directory of this node's own")
	}
	c.validateKeys(fault)
	c.checkShutdown(fault)
	if c.WriteBehind < 0 {
		fault("WriteBehind", "is negative")
	}
	if err := c.Store.Validate(); err != nil {
		fault("Store", "%v", err)
	}
	if c.Preset > Local {
		fault("Preset", "%v is unknown", c.Preset)
	}
	c.checkReplication(fault)
	c.checkMembership(fault)
	c.checkTransport(fault)
	return errors.Join(errs...)
}

// checkMembership finds settings with which the membership could not run. The name and the strategy
// are checked elsewhere.
func (c Config) checkMembership(fault func(field, format string, args ...any)) {
	m := c.membership()
	timing := membership.Config{UID: 1, Addr: "x", Timing: m.Timing}
	if err := timing.Validate(); err != nil {
		fault("Timing", "%v", err)
	}
	m.UID, m.Name, m.Strategy, m.Timing = 1, "x", nil, membership.Timing{}
	m.Addr = cmp.Or(c.Advertise, "x")
	if err := m.Validate(); err != nil {
		for _, e := range err.(interface{ Unwrap() []error }).Unwrap() {
			wrong := e.(membership.ConfigError)
			if wrong.Field == "Addr" {
				wrong.Field = "Advertise"
			}
			fault(wrong.Field, "%v", wrong.Err)
		}
	}
}

// checkTransport finds what the port could not run with, or is not to be set there.
func (c Config) checkTransport(fault func(field, format string, args ...any)) {
	if err := transport.CheckTLS(c.TLS); err != nil {
		fault("TLS", "%v", err)
	}
	t := c.Transport
	if t.Cluster != "" || t.Self != 0 || t.Bind != "" || t.Advertise != "" || t.FrameMax != 0 ||
		t.TLS != nil || t.Network != nil ||
		t.OnLink != nil || t.OnRefused != nil || t.OnFault != nil {
		fault("Transport", "Cluster, Self, Bind, Advertise, FrameMax, TLS, Network and the callbacks are set by the "+
			"node itself")
		return
	}
	t.Cluster, t.Self, t.Bind = "x", 1, "127.0.0.1:0"
	if err := t.Validate(); err != nil {
		fault("Transport", "%v", err)
	}
}

func (c Config) checkShutdown(fault func(field, format string, args ...any)) {
	if c.LeaveOnSIGTERM < 0 {
		fault("LeaveOnSIGTERM", "is negative")
	}
	for _, p := range slices.Sorted(maps.Keys(c.ShutdownTimeouts)) {
		if p >= shutdown.Phases || c.ShutdownTimeouts[p] <= 0 {
			fault("ShutdownTimeouts", "%v: %v; give a phase and a time above zero", p, c.ShutdownTimeouts[p])
		}
	}
}

// checkReplication finds what the Replicators could not run with.
func (c Config) checkReplication(fault func(field, format string, args ...any)) {
	if c.RequestTimeout < 0 {
		fault("RequestTimeout", "is negative")
	}
	r := c.Replication
	if r.Self != 0 || r.Disk != 0 || r.DurableKeys != nil || r.Expire != nil || r.WriteBehind != 0 ||
		r.OperationTimeout != 0 {
		fault("Replication", "Self, Disk, DurableKeys, Expire, WriteBehind and OperationTimeout are set by the node "+
			"itself")
	}
	r.Self, r.DurableKeys, r.Expire = 1, nil, nil
	if err := r.Validate(); err != nil {
		fault("Replication", "%v", err)
	}
	if r.FrameMax > transport.DefaultFrameMax/2 {
		fault("Replication", "FrameMax is %d; the transport takes frames of %d bytes, and messages may be half as "+
			"large again",
			r.FrameMax, transport.DefaultFrameMax)
	}
}

func (c Config) validateKeys(fault func(field, format string, args ...any)) {
	for _, k := range c.DurableKeys {
		if err := crdt.CheckKey(k); err != nil {
			fault("DurableKeys", "%q: %v", k, err)
		}
	}
	for _, k := range slices.Sorted(maps.Keys(c.Expire)) {
		if err := crdt.CheckKey(k); err != nil {
			fault("Expire", "%q: %v", k, err)
		}
		if c.Expire[k] < time.Second {
			fault("Expire", "%q expires after %v; give at least a second", k, c.Expire[k])
		}
	}
}

// checkDowning finds an arbiter that is missing, or that no strategy asks.
func (c Config) checkDowning(fault func(field, format string, args ...any)) {
	if err := downing.CheckStrategy(c.Downing); err != nil {
		fault("Downing", "%v", err)
		return
	}
	_, arbitrated := c.Downing.(downing.LeaseMajority)
	switch {
	case arbitrated && c.Leases == nil:
		fault("Leases", "is nil, and LeaseMajority needs a lease: give the store that all nodes use, for example "+
			"file.Open of a directory on their host")
	case !arbitrated && c.Leases != nil:
		fault("Leases", "is set, and Downing does not use it: set Downing to downing.LeaseMajority, or Leases to nil")
	}
}

// checkAdvertise finds that others could not dial this node.
func (c Config) checkAdvertise(fault func(field, format string, args ...any)) {
	switch {
	case c.Advertise == "":
		if address.CheckListen(c.Bind) == nil && !address.NamesHost(c.Bind) {
			fault("Advertise", "is empty, and Bind %q stands for all interfaces: give the host and port at which "+
				"others reach this node", c.Bind)
		}
	default:
		if err := address.CheckAdvertised(c.Advertise); err != nil {
			fault("Advertise", "%v", err)
		}
	}
}

func checkName(s string) error {
	switch {
	case s == "":
		return errors.New("is empty")
	case len(s) > nameMax:
		return fmt.Errorf("has %d bytes, more than %d", len(s), nameMax)
	case !utf8.ValidString(s):
		return errors.New("is not UTF-8")
	}
	return nil
}
