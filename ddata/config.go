package ddata

import (
	"cmp"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/coterie-go/coterie/ddata/config"
	"github.com/coterie-go/coterie/ddata/discovery"
	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/ddata/format"
	"github.com/coterie-go/coterie/ddata/host"
	"github.com/coterie-go/coterie/ddata/locks"
	"github.com/coterie-go/coterie/ddata/membership"
	"github.com/coterie-go/coterie/ddata/membership/downing"
	"github.com/coterie-go/coterie/ddata/roles"
	"github.com/coterie-go/coterie/ddata/shutdown"
	"github.com/coterie-go/coterie/ddata/tracing"
	"github.com/coterie-go/coterie/ddata/transport"
	"github.com/coterie-go/coterie/durable/lmdb"
	"github.com/coterie-go/coterie/replicator/keyspace"
	"github.com/coterie-go/coterie/replicator/settings"
)

// Preset is a consistent choice of all timers.
type Preset uint8

const (
	// LAN is for production in one data center: heartbeats each second. A killed process is replaced
	// after less than five seconds, a machine that is gone after about nine.
	LAN Preset = iota
	// Local is for tests and demonstrations on one machine: a crashed node is replaced in about a
	// second. It bears a machine whose cores are all busy; on a real network its leases are too
	// short.
	Local
)

// String names the preset.
func (p Preset) String() string {
	switch p {
	case LAN:
		return "LAN"
	case Local:
		return "Local"
	}
	return fmt.Sprintf("Preset(%d)", uint8(p))
}

// DefaultRole is the role of a node whose Config names none.
const DefaultRole = "default"

// Config names a node and the nodes that it joins. Start copies it; zero fields take their
// defaults.
type Config struct {
	// Name of the cluster, 1 to 64 bytes of UTF-8. Nodes of different names refuse each other.
	// Required.
	Name string

	// Bind is the TCP address, host:port, on which the node listens: one port for everything. Port
	// 0 takes a free one. Required.
	Bind string

	// Advertise is the address under which other nodes reach this one; port 0 stands for the port
	// that was taken. Required where Bind stands for all interfaces (0.0.0.0, ::, or no host).
	// Default: Bind.
	Advertise string

	// Seeds are addresses of nodes to join; the own address among them does no harm, so that all
	// nodes can have the same list. Empty: the node waits to be found by others.
	Seeds []string

	// Discovery names addresses beside Seeds, as discovery.DNS does for a headless service. The
	// node asks it again and again until it is in a cluster, and later while it has no link to a
	// member. It waits out a name that does not exist, or a server that fails. A node without data
	// of a cluster in Dir founds one only after it has heard every node that Discovery names, and
	// none of them has a cluster. Package membership says which node may found and when. Default:
	// none.
	Discovery discovery.Source

	// BootstrapExpect is how many nodes found the cluster together: when that many nodes without a
	// cluster have found each other, they form it. All must be started with the same number. 1
	// founds a cluster alone. 0: never found, only join. A node that hears of an existing cluster
	// joins it, whatever this says. Two clusters cannot come to be while it is more than half of
	// the nodes that are ever started without data of a cluster in Dir: of all replicas at their
	// highest number, where each has a lasting Dir.
	BootstrapExpect int

	// BootstrapAnyDisks is the operator's word that directories of the last members which are not
	// there will never come back: the cluster is founded anew from those that are. Danger: writes
	// that were acknowledged and lie only on the missing directories are lost. If one of those
	// comes back with this set, or was running elsewhere all the time, there are two clusters. It
	// also lets a node join whose Dir belongs to another cluster, whose data is then merged. Set it
	// on all nodes for one start, when most directories are lost for good, and then take it away.
	// Default: false: as many of the last members' directories are needed as Downing would need
	// members to go on.
	BootstrapAnyDisks bool

	// TLS secures every connection between nodes, gossip included: pki.Load makes one of
	// certificate files, and follows their renewal. All nodes have it or none. Default: none. Then
	// any process that reaches the port can join, read and write, so the network has to be trusted.
	TLS transport.TLS

	// Network makes the connections of the node's port. Package transport/faulty has one for tests,
	// whose wires can be cut, slowed and broken. Default: TCP.
	Network transport.Network

	// Roles of this node, each 1 to 64 bytes. A Replicator runs for each; entity types run on the
	// nodes of one role. Default: DefaultRole.
	Roles []string

	// AppVersion is the version of the service, shown in the view; at most 64 bytes. Shards are not
	// rebalanced while versions differ.
	AppVersion string

	// FormatMax holds the highest format level that the node announces, and so the level of the
	// cluster: it rises when all members speak more, and a build that does not speak it is refused from
	// then on. Set it to the level of the old build while a new one is rolled out and watched, and
	// take it away by a second rolling restart (package format). Default 0: the newest of this build.
	FormatMax format.Level

	// MinMembers gates the first Up: joining members stay Joining until so many are there. Default:
	// 1.
	MinMembers int

	// PerRole is what is different for single roles: how many members they need, and how their data is
	// kept. Default: none.
	PerRole roles.Configs

	// VotersMax caps the number of members that decide on the cluster's views and grant leases: the
	// so many oldest. When one leaves or dies, the next oldest takes its place. It keeps the cost
	// of heartbeats per node from growing with the cluster; the price is that the cluster outlives
	// only the loss of a minority of these at once. Data is not concerned: a majority of replicas
	// is one of all nodes of the role. It holds from the founding on. The same on all nodes.
	// Negative: all vote. Default 0: 25 vote at most, and with downing.StaticQuorum all.
	VotersMax int

	// Downing decides which side goes on after a partition, and removes members that do not answer:
	// downing.KeepMajority, StaticQuorum, KeepOldest, DownAll, LeaseMajority or Manual. What it
	// decides alone, it may found anew alone (see BootstrapAnyDisks). A side that goes on without a
	// majority of the replicas loses what only the others had acknowledged; the log says so. The
	// same on all nodes. Default: downing.KeepMajority.
	Downing downing.Strategy

	// Leases is where downing.LeaseMajority finds the lease that decides: one store for all nodes, in
	// a directory of their one host, PostgreSQL, etcd or Kubernetes (file, postgres, etcd, kubernetes
	// in ddata/locks). Nodes of two stores refuse each other. With LeaseMajority it is required, with
	// all other strategies it must be nil.
	Leases locks.Store

	// Dir is the directory of durable data, made when it is missing; one process per directory. It
	// also holds the node's identity and its last view; a store is made in it when the first
	// durable key is written. Empty: no durable data, and nothing survives a stop of the whole
	// cluster. Either all nodes of a cluster have one or none.
	Dir string

	// DurableKeys names the durable keys: exact, or patterns in which * stands for any text, so
	// that "*" is all keys; at most 256, with 16 KiB together. It needs Dir. The keys that
	// extensions have reserved (host.DurableKeys), such as those of remembered entities and of
	// reminders, are durable on every node that has a Dir, without being named here.
	//
	// Nodes may differ, so that a rolling restart adds patterns: what one node brings, all agree
	// on. When the first node with a new pattern joins, the data of its keys moves to the disks of
	// all members (events KeysMoving, KeysDurable). Meanwhile updates of these keys wait, within
	// their callers' time (operation.ErrKeyMoving), at every level, and reads go on; writes and
	// linearizable reads of other durable keys wait while the data is written. All of it is copied
	// in one step and one commit, so add a pattern while there is little data. A member that cannot
	// be reached, or whose disk takes nothing, holds the move up until it is back or removed (event
	// KeysWaiting). Nothing of it is safe from a stop of all nodes before KeysDurable: wait for
	// that before the next node is restarted.
	//
	// A pattern that is agreed on stays, also if no node names it any more and after a stop of all:
	// what was acknowledged as durable must be found. To take one off, take it out of all
	// configurations, stop the whole cluster, and run coterie data remove with it on each
	// directory, which removes the data too. Patterns are about users' keys, "*" too: the keys of
	// extensions are durable as their extension needs it, and no move of users' keys holds them up.
	//
	// A list that is empty and not nil switches durability off, for the keys of extensions too, and
	// must do so on all nodes: Dir, if there is one, then holds the node's own few bytes, and rows of
	// earlier times are left alone. The ids of remembered entities, and reminders, then survive everything
	// but a stop of all nodes of their role. Default: nil, the keys of extensions only.
	DurableKeys []string

	// Expire removes keys that were not written for so long: names or patterns as in
	// DurableKeys, and times of at least a second. The exact name counts before patterns, a longer
	// pattern before a shorter one. Reads do not keep a key alive. The rules of the oldest node
	// with the role count, so they may differ while nodes are restarted one by one to change them:
	// what is new counts when the last node with the old rules has been restarted, at the latest.
	// Default: none.
	Expire map[string]time.Duration

	// WriteBehind spaces out the commits of durable keys: at most one per role and interval, each
	// synced to the disk as ever. A write or an ack still waits until it is committed, so nothing
	// that was acknowledged is ever lost; it waits for up to the interval, and the disk is spared.
	// It is for disks that are slow or shared, under many writers; one writer alone gets one write
	// per interval. RequestTimeout should be well above it. Default 0: commit at once, and together
	// what gathers meanwhile.
	WriteBehind time.Duration

	// Store tunes the store in Dir; the zero value is right for nearly every service. Its OnEvent is
	// set by the node itself: Config.OnEvent hears what it would.
	Store lmdb.Options

	// Preset chooses all timers. Default: LAN.
	Preset Preset

	// Timing changes some timers of the membership from what Preset says: how soon a node that does
	// not answer is unreachable, is dropped, has lost its lease. Validate says which do not go
	// together. LeaseDuration and Epsilon must be the same on all nodes, the others should be.
	// Default: none.
	Timing membership.Timing

	// Transport tunes the node's port: how many connections it takes, its queues and time-outs.
	// What the node itself sets must be left zero: Cluster, Self, Bind, Advertise, Formats, FrameMax, TLS,
	// Network and the callbacks. MessageMax must be the same on all nodes: they refuse the
	// connections of one with a higher one. Default: none.
	Transport transport.Config

	// RequestTimeout ends operations whose context has no deadline. Default: 5 s.
	RequestTimeout time.Duration

	// Replication tunes the Replicators of all roles; zero fields take their defaults, the
	// intervals from Preset. What the node itself sets must be left zero: Self, Disk, Reserved, DurableKeys,
	// Expire, WriteBehind and OperationTimeout. DigestSeed, FrameMax and GroupMax must be the same
	// on all nodes.
	Replication settings.Config

	// Logger gets a line for each event of package events, those of discovery and gossip among
	// them. Default: slog.Default().
	Logger *slog.Logger

	// LeaveOnSIGTERM, when set, has a node that is Up leave when the process gets SIGTERM, within
	// this time. The process then ends when its main function does, which waits for Node.Done. A
	// container is usually killed 30 s after its SIGTERM: leave a few of them. A second SIGTERM
	// ends the process at once. Default 0: the signal is none of the node's business.
	LeaveOnSIGTERM time.Duration

	// ShutdownTimeouts bound the phases of a shutdown that are to have another time than
	// shutdown.DefaultTimeout or, those that hand over, what is left of the time to leave. Default:
	// none.
	ShutdownTimeouts map[shutdown.Phase]time.Duration

	// Meter takes the node's metrics, which the table in package events lists; package events/prom
	// has one for Prometheus. Default: none.
	Meter events.Meter

	// Tracer takes spans of what the node and its entity types do for a caller, and hands traces on to
	// other nodes: one of ddata/events/otel, or of ddata/tracing/recorder, which makes a page. Default: none.
	Tracer tracing.Tracer

	// OnEvent hears of everything that happens on the node, beside Logger. See events.Listener for
	// what it may do. Optional.
	OnEvent events.Listener

	build       format.Range // what a test has the build speak; zero: what it does
	retireAfter int          // of a test: membership.Config.RetireAfter
}

// formats are the format levels that the node announces.
func (c Config) formats() format.Range {
	r := cmp.Or(c.build, format.Build())
	r.Max = cmp.Or(c.FormatMax, r.Max)
	if len(c.PerRole.DurableKeys()) > 0 {
		r.Min = max(r.Min, format.RolePatterns)
	}
	return r
}

// WithDefaults returns the config with every default filled in.
func (c Config) WithDefaults() Config {
	if len(c.Roles) == 0 {
		c.Roles = []string{DefaultRole}
	}
	c.Roles = slices.Clone(c.Roles)
	slices.Sort(c.Roles)
	c.Seeds, c.PerRole = slices.Clone(c.Seeds), c.PerRole.Clone()
	off := c.DurableKeys != nil && len(c.DurableKeys) == 0
	c.DurableKeys, c.Expire = slices.Clone(c.DurableKeys), maps.Clone(c.Expire)
	if c.Dir != "" && !off {
		c.DurableKeys = slices.Concat(c.DurableKeys, host.DurableKeys(), c.PerRole.DurableKeys())
	}
	slices.Sort(c.DurableKeys)
	c.DurableKeys = slices.Compact(c.DurableKeys)
	if c.MinMembers == 0 {
		c.MinMembers = 1
	}
	if c.RequestTimeout == 0 {
		c.RequestTimeout = 5 * time.Second
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return c
}

// replication is the configuration of this node's Replicator of a dataset, except the node's identity.
func (c Config) replication(set keyspace.Dataset) settings.Config {
	own := c.PerRole[set.Role]
	r := config.Or(own.Replication, c.Replication)
	r.Reserved, r.OperationTimeout = set.Reserved, c.RequestTimeout
	if c.Preset == Local {
		r.GossipInterval = cmp.Or(r.GossipInterval, 200*time.Millisecond)
		r.RetryInterval = cmp.Or(r.RetryInterval, 50*time.Millisecond)
	}
	r.WriteBehind = c.WriteBehind
	if !set.Reserved {
		r.WriteBehind = max(0, cmp.Or(own.WriteBehind, c.WriteBehind))
		if r.Expire = c.Expire; own.Expire != nil {
			r.Expire = own.Expire
		}
	}
	return r
}

// membership is the configuration of this node's membership, except the node's identity.
func (c Config) membership() membership.Config {
	preset := membership.LAN()
	if c.Preset == Local {
		preset = membership.Local()
	}
	return membership.Config{
		Timing: c.Timing.Or(preset.Timing), Name: c.Name, Roles: c.Roles, AppVersion: c.AppVersion,
		Formats: c.formats(),
		Seeds:   c.Seeds, BootstrapExpect: c.BootstrapExpect, BootstrapAnyDisks: c.BootstrapAnyDisks,
		Discovers:  c.Discovery != nil,
		MinMembers: c.MinMembers, MinMembersOf: c.PerRole.MinMembers(), Strategy: c.Downing, VotersMax: c.VotersMax,
		DurableKeys: c.DurableKeys, RetireAfter: c.retireAfter,
	}
}
