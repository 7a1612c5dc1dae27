package settings

import (
	"context"
	"slices"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/console"
	"github.com/coterie-go/coterie/ddata/locks"
	"github.com/coterie-go/coterie/ddata/membership"
	"github.com/coterie-go/coterie/ddata/membership/downing"
	"github.com/coterie-go/coterie/ddata/roles"
	"github.com/coterie-go/coterie/ddata/transport"
	"github.com/coterie-go/coterie/durable/lmdb"
	replication "github.com/coterie-go/coterie/replicator/settings"
	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/allocation"
	"github.com/coterie-go/coterie/sharding/control"
	"github.com/coterie-go/coterie/sharding/daemon"
	"github.com/coterie-go/coterie/sharding/dataplane"
	"github.com/coterie-go/coterie/sharding/dataplane/entities"
	"github.com/coterie-go/coterie/sharding/delivery"
	"github.com/coterie-go/coterie/sharding/passivation"
	"github.com/coterie-go/coterie/sharding/persistence/batch"
	"github.com/coterie-go/coterie/sharding/projection"
	"github.com/coterie-go/coterie/sharding/protocol"
	"github.com/coterie-go/coterie/sharding/remind/agenda"
)

// Group is one struct of settings.
type Group struct {
	// Name is what a user writes: the package and the type.
	Name string
	// Where is the field that takes it; "": it is handed to a function.
	Where string
	// Dir and Type say where the source declares it.
	Dir, Type string
	// Hidden are exported fields that the library sets itself.
	Hidden []string

	// defaults returns a value with all defaults, validate an error if a value cannot be; nil: the
	// code has no such function that could be called from here. base is a valid value; nil: the zero
	// value is one.
	defaults func() any
	validate func(v any) error
	base     any
}

// entityType is a valid one, to which a test adds a setting.
func entityType() sharding.EntityType[any] {
	return sharding.EntityType[any]{
		Identity: sharding.Identity{Name: "x", Role: "x"}, Messages: sharding.CBOR[any](0),
		New: func(*sharding.Context[any]) sharding.Entity[any] { return nil },
	}
}

// node is a valid configuration of a node.
func node() ddata.Config {
	return ddata.Config{Name: "x", Bind: "127.0.0.1:7946", BootstrapExpect: 1}
}

// ofNode is a group within the configuration of a node.
func ofNode[T any](g Group, set func(*ddata.Config, T)) Group {
	g.validate = func(v any) error {
		c := node()
		set(&c, v.(T))
		return c.Validate()
	}
	return g
}

// ofType is a group within an entity type.
func ofType[T any](g Group, set func(*sharding.EntityType[any], T), defaults func(T) T) Group {
	g.validate = func(v any) error {
		t := entityType()
		set(&t, v.(T))
		return t.Validate()
	}
	g.defaults = func() any {
		var zero T
		return defaults(zero)
	}
	return g
}

// of is a group with both functions.
func of[T interface {
	WithDefaults() T
	Validate() error
}](g Group, valid T) Group {
	g.base = valid
	g.defaults = func() any {
		var zero T
		return zero.WithDefaults()
	}
	g.validate = func(v any) error { return v.(T).Validate() }
	return g
}

// machine applies the defaults of an entity type's machines.
func machine(change func(*protocol.Config)) protocol.Config {
	var c protocol.Config
	change(&c)
	return c.WithDefaults()
}

// Groups are all groups of the reference, in its order.
func Groups() []Group {
	return slices.Concat(nodeGroups(), typeGroups(), passivationGroups(), allocationGroups(), otherGroups())
}

func nodeGroups() []Group {
	config := of(Group{Name: "ddata.Config", Dir: "ddata", Type: "Config"}, node())
	timing := ofNode(Group{
		Name: "membership.Timing", Where: "ddata.Config.Timing", Dir: "ddata/membership", Type: "Timing",
	}, func(c *ddata.Config, t membership.Timing) { c.Timing = t })
	timing.defaults = func() any { return membership.LAN().Timing }
	replicas := ofNode(Group{
		Name: "settings.Config", Where: "ddata.Config.Replication", Dir: "replicator/settings", Type: "Config",
		Hidden: []string{"Self", "Disk", "Reserved", "DurableKeys", "Expire", "WriteBehind", "OperationTimeout"},
	}, func(c *ddata.Config, r replication.Config) { c.Replication = r })
	replicas.defaults = func() any { return replication.Config{}.WithDefaults() }
	port := ofNode(Group{
		Name: "transport.Config", Where: "ddata.Config.Transport", Dir: "ddata/transport", Type: "Config",
		Hidden: []string{"Cluster", "Self", "Bind", "Advertise", "Formats", "FrameMax", "TLS", "Network", "OnEvent"},
	}, func(c *ddata.Config, p transport.Config) { c.Transport = p })
	port.defaults = func() any { return transport.Config{}.WithDefaults() }
	disk := ofNode(Group{
		Name: "lmdb.Options", Where: "ddata.Config.Store", Dir: "durable/lmdb", Type: "Options",
		Hidden: []string{"OnEvent"},
	}, func(c *ddata.Config, o lmdb.Options) { c.Store = o })
	disk.defaults = func() any {
		o, _ := lmdb.Options{}.WithDefaults()
		return o
	}
	return []Group{
		config, timing,
		ofNode(Group{Name: "roles.Config", Where: "ddata.Config.PerRole", Dir: "ddata/roles", Type: "Config"},
			func(c *ddata.Config, r roles.Config) { c.PerRole = roles.Configs{ddata.DefaultRole: r} }),
		ofNode(downed("KeepMajority"), func(c *ddata.Config, s downing.KeepMajority) { c.Downing = s }),
		ofNode(downed("StaticQuorum"), func(c *ddata.Config, s downing.StaticQuorum) { c.Downing = s }),
		ofNode(downed("KeepOldest"), func(c *ddata.Config, s downing.KeepOldest) { c.Downing = s }),
		ofNode(downed("LeaseMajority"), func(c *ddata.Config, s downing.LeaseMajority) {
			c.Downing, c.Leases = s, struct{ locks.Store }{}
		}),
		replicas, port, disk,
		{Name: "discovery.DNS", Where: "ddata.Config.Discovery", Dir: "ddata/discovery", Type: "DNS"},
		{Name: "pki.Files", Dir: "ddata/transport/pki", Type: "Files"},
		{Name: "ddata.SingletonConfig", Dir: "ddata/singletons", Type: "Config"},
	}
}

// downed is a strategy that decides partitions.
func downed(name string) Group {
	return Group{
		Name: "downing." + name, Where: "ddata.Config.Downing", Dir: "ddata/membership/downing", Type: name,
	}
}

// inType is a struct within sharding.EntityType.
func inType(field, dir, name string) Group {
	return Group{Name: "sharding." + field, Where: "sharding.EntityType." + field, Dir: "sharding/" + dir, Type: name}
}

type (
	entity     = sharding.EntityType[any]
	remembered = protocol.Remember[protocol.StoreID]
	leased     = protocol.Leases[protocol.StoreID]
	coordinate = protocol.Coordination[bool]
)

func typeGroups() []Group {
	remembers := ofType(inType("Remember", "protocol", "Remember"), func(t *entity, r sharding.Remember) {
		t.Remember = r
	}, func(r sharding.Remember) sharding.Remember {
		d := machine(func(c *protocol.Config) { c.Remember = remembered{Entities: true} }).Remember
		return sharding.Remember{Recovery: d.Recovery, RestartBackoff: d.RestartBackoff}
	})
	leases := ofType(inType("Leases", "protocol", "Leases"), func(t *entity, l sharding.Leases) { t.Leases = l },
		func(sharding.Leases) sharding.Leases {
			d := machine(func(c *protocol.Config) { c.Leases = leased{} }).Leases
			return sharding.Leases{RetryInterval: d.RetryInterval}
		})
	coordination := ofType(inType("Coordination", "protocol", "Coordination"),
		func(t *entity, c sharding.Coordination) { t.Coordination = c },
		func(sharding.Coordination) sharding.Coordination {
			d := machine(func(c *protocol.Config) { c.Coordination = coordinate{} }).Coordination
			return sharding.Coordination{RetryInterval: d.RetryInterval, MinRegions: d.MinRegions}
		})
	return []Group{
		{Name: "sharding.EntityType", Dir: "sharding", Type: "EntityType"},
		ofType(Group{
			Name: "sharding.Identity", Where: "sharding.EntityType", Dir: "sharding/protocol", Type: "Identity",
		}, func(t *entity, i sharding.Identity) {
			i.Name, i.Role = "x", "x"
			t.Identity = i
		}, func(i sharding.Identity) sharding.Identity {
			return machine(func(c *protocol.Config) { c.Identity = i }).Identity
		}),
		remembers,
		ofType(inType("Reminders", "remind/agenda", "Settings"), func(t *entity, r sharding.Reminders) {
			r.Enabled = true
			t.Reminders = r
		}, agenda.Settings.WithDefaults),
		ofType(inType("Passivation", "protocol", "Passivation"), func(t *entity, p sharding.Passivation) {
			t.Passivation = p
		}, func(p sharding.Passivation) sharding.Passivation {
			return machine(func(c *protocol.Config) { c.Passivation = p }).Passivation
		}),
		ofType(inType("Supervision", "dataplane/entities", "Supervision"), func(t *entity, s sharding.Supervision) {
			t.Supervision = s
		}, entities.Supervision.WithDefaults),
		ofType(inType("Allocation", "protocol", "Allocation"), func(t *entity, a sharding.Allocation) {
			t.Allocation = a
		}, func(a sharding.Allocation) sharding.Allocation {
			return machine(func(c *protocol.Config) { c.Allocation = a }).Allocation
		}),
		ofType(inType("Rebalance", "protocol", "Rebalance"), func(t *entity, r sharding.Rebalance) { t.Rebalance = r },
			func(r sharding.Rebalance) sharding.Rebalance {
				return machine(func(c *protocol.Config) { c.Rebalance = r }).Rebalance
			}),
		ofType(inType("HandOff", "protocol", "HandOff"), func(t *entity, h sharding.HandOff) { t.HandOff = h },
			func(h sharding.HandOff) sharding.HandOff {
				return machine(func(c *protocol.Config) { c.HandOff = h }).HandOff
			}),
		coordination, leases,
		ofType(inType("Quorums", "control", "Quorums"), func(t *entity, q sharding.Quorums) { t.Quorums = q },
			control.Quorums.WithDefaults),
		ofType(inType("Timeouts", "dataplane", "Timeouts"), func(t *entity, s sharding.Timeouts) { t.Timeouts = s },
			dataplane.Timeouts.WithDefaults),
		ofType(inType("Limits", "dataplane", "Limits"), func(t *entity, l sharding.Limits) { t.Limits = l },
			dataplane.Limits.WithDefaults),
	}
}

func passivationGroups() []Group {
	return []Group{
		ofType(strategy("Strategy", "sharding.EntityType.Passivation.Strategy"),
			func(t *entity, s passivation.Strategy) { t.Passivation.Strategy = s },
			passivation.Strategy.WithDefaults),
		ofType(strategy("Admission", "passivation.Strategy.Admission"), func(t *entity, a passivation.Admission) {
			t.Passivation.Strategy = passivation.Strategy{ActiveEntityLimit: 1000, Admission: a}
		}, func(a passivation.Admission) passivation.Admission { return admission().Admission }),
		ofType(strategy("Window", "passivation.Strategy.Admission.Window"), func(t *entity, w passivation.Window) {
			s := admission()
			w.Policy, w.HillClimbing = passivation.LeastRecentlyUsed, true
			s.Admission.Window = w
			t.Passivation.Strategy = s
		}, func(passivation.Window) passivation.Window { return admission().Admission.Window }),
		ofType(strategy("Climb", "passivation.Strategy.Admission.Window.Climb"), func(t *entity, w passivation.Climb) {
			s := admission()
			s.Admission.Window.Climb = w
			t.Passivation.Strategy = s
		}, func(passivation.Climb) passivation.Climb { return admission().Admission.Window.Climb }),
		ofType(strategy("Sketch", "passivation.Strategy.Admission.Sketch"), func(t *entity, w passivation.Sketch) {
			s := admission()
			s.Admission.Sketch = w
			t.Passivation.Strategy = s
		}, func(passivation.Sketch) passivation.Sketch { return admission().Admission.Sketch }),
	}
}

func allocationGroups() []Group {
	return []Group{
		allocated("LeastShard", allocation.LeastShard{}), allocated("Threshold", allocation.Threshold{}),
		allocated("LoadAware", allocation.LoadAware{}),
		allocated("ConsistentHashing", allocation.ConsistentHashing{}),
	}
}

// strategy is a part of the strategies of passivation.
func strategy(name, below string) Group {
	return Group{
		Name: "passivation." + name, Where: below, Dir: "sharding/passivation", Type: name,
	}
}

// admission is a strategy that has everything.
func admission() passivation.Strategy {
	return passivation.Strategy{ActiveEntityLimit: 1000, Admission: passivation.Admission{
		Window:          passivation.Window{Policy: passivation.LeastRecentlyUsed, HillClimbing: true},
		FrequencySketch: true,
	}}.WithDefaults()
}

// allocated is a strategy that finds homes of shards.
func allocated[T interface{ Validate() error }](name string, _ T) Group {
	return Group{
		Name: "allocation." + name, Where: "sharding.EntityType.Allocation.Strategy",
		Dir: "sharding/allocation", Type: name,
		validate: func(v any) error { return v.(T).Validate() },
	}
}

func otherGroups() []Group {
	projected := Group{Name: "projection.Config", Dir: "sharding/projection", Type: "Config"}
	projected.defaults = func() any { return projection.Config[any]{}.WithDefaults() }
	return []Group{
		of(Group{Name: "delivery.Config", Dir: "sharding/delivery", Type: "Config"}, delivery.Config{ID: "x"}),
		of(Group{Name: "delivery.ConsumerConfig", Dir: "sharding/delivery/protocol", Type: "ConsumerConfig"},
			delivery.ConsumerConfig{}),
		of(Group{Name: "daemon.Config", Dir: "sharding/daemon", Type: "Config"}, daemon.Config{
			Name: "x", Role: "x", Count: 1, Run: func(ctx context.Context, _ daemon.Worker) error { return ctx.Err() },
		}),
		{Name: "eventsourced.Behavior", Dir: "sharding/eventsourced", Type: "Behavior"},
		{Name: "eventsourced.Snapshot", Dir: "sharding/eventsourced", Type: "Snapshot",
			Where: "eventsourced.Behavior.Snapshot"},
		{Name: "durablestate.Behavior", Dir: "sharding/durablestate", Type: "Behavior"},
		of(Group{Name: "batch.Settings", Dir: "sharding/persistence/batch/calls", Type: "Settings",
			Where: "eventsourced.Behavior.Calls, durablestate.Behavior.Calls"}, batch.Settings{}),
		projected,
		{Name: "ledger.Config", Dir: "sharding/ledger", Type: "Config"},
		{Name: "journaled.Config", Dir: "sharding/remember/journaled", Type: "Config"},
		{Name: "postgres.Config", Dir: "sharding/persistence/postgres", Type: "Config"},
		{Name: "readmodel.Config", Dir: "sharding/persistence/postgres/readmodel", Type: "Config"},
		{Name: "postgres.Config of leases", Dir: "ddata/locks/postgres", Type: "Config"},
		{Name: "etcd.Config", Dir: "ddata/locks/etcd", Type: "Config"},
		{Name: "kubernetes.Config", Dir: "ddata/locks/kubernetes", Type: "Config"},
		{Name: "pods.Config", Dir: "ddata/locks/kubernetes/pods", Type: "Config"},
		{Name: "console.Config", Dir: "ddata/console", Type: "Config",
			defaults: func() any { return console.Config{}.WithDefaults() }},
		{Name: "prom.Config", Dir: "ddata/events/prom", Type: "Config"},
		{Name: "otel.TracerConfig", Dir: "ddata/events/otel", Type: "TracerConfig"},
		{Name: "recorder.Config", Dir: "ddata/tracing/recorder", Type: "Config"},
	}
}
