package tidy

// surface are the packages that users import, each with what for. A type that one of them exports is
// shown by an Example.
var surface = map[string]string{
	"crdt":                                    "data types",
	"ddata":                                   "nodes and replicated data",
	"ddata/console":                           "the console",
	"ddata/ddatatest":                         "tests of what runs on nodes",
	"ddata/discovery":                         "finding other nodes",
	"ddata/doctor":                            "checks of a configuration",
	"ddata/events":                            "what happens on a node",
	"ddata/events/otel":                       "metrics for OpenTelemetry",
	"ddata/events/prom":                       "metrics for Prometheus",
	"ddata/events/recent":                     "metrics for the console",
	"ddata/locks":                             "leases outside of the cluster",
	"ddata/locks/etcd":                        "leases outside of the cluster",
	"ddata/locks/file":                        "leases outside of the cluster",
	"ddata/locks/kubernetes":                  "leases outside of the cluster",
	"ddata/locks/postgres":                    "leases outside of the cluster",
	"ddata/membership/downing":                "strategies for a partition",
	"ddata/shutdown":                          "tasks of a service that ends",
	"ddata/tracing":                           "a system of traces",
	"ddata/transport/pki":                     "certificates",
	"durable":                                 "a store of one's own for nodes",
	"durable/lmdb":                            "looking after the directory of a node",
	"proptest":                                "laws of a data type of one's own",
	"proptest/simtest":                        "entity types in the simulator",
	"sharding":                                "entities",
	"sharding/allocation":                     "strategies for homes",
	"sharding/daemon":                         "workers",
	"sharding/delivery":                       "reliable delivery",
	"sharding/durablestate":                   "entities that keep a value",
	"sharding/eventsourced":                   "entities that keep events",
	"sharding/ledger":                         "homes in a journal",
	"sharding/passivation":                    "strategies for passivation",
	"sharding/persistence":                    "a store of one's own for entities",
	"sharding/persistence/lmdb":               "a store of entities",
	"sharding/persistence/memory":             "a store of entities for tests",
	"sharding/persistence/postgres":           "a store of entities",
	"sharding/persistence/postgres/readmodel": "projections into PostgreSQL",
	"sharding/persistence/replicated":         "a store of entities",
	"sharding/persistence/schema":             "names and versions of stored types",
	"sharding/projection":                     "projections",
	"sharding/projection/replicated":          "offsets of projections",
	"sharding/remember":                       "a store of one's own for ids",
	"sharding/remember/journaled":             "a store of ids",
	"sharding/remind":                         "a store of one's own for reminders",
	"sharding/remind/memory":                  "a store of reminders for tests",
	"sharding/shardingtest":                   "tests of an entity",
}

// unrun are the packages whose examples do not run by themselves, with the reason. They are compiled.
var unrun = map[string]string{
	"ddata/locks/etcd":                        "they need etcd",
	"ddata/locks/kubernetes":                  "they need the API server of Kubernetes",
	"ddata/locks/postgres":                    "they need PostgreSQL",
	"proptest":                                "Check needs a *testing.T: TestHighest runs them",
	"proptest/simtest":                        "Check needs a *testing.T: TestExamples runs them",
	"sharding/persistence/postgres":           "they need PostgreSQL",
	"sharding/persistence/postgres/readmodel": "they need PostgreSQL",
}

// exception is some types of a package that no Example shows.
type exception struct {
	Dir   string
	Types string // with spaces between them
	Why   string
}

// unshown are the exceptions.
var unshown = []exception{
	{"crdt", "Checker Dot DotFinder Event Pinned Range Sketcher", "for package replicator and for other protocols"},
	{"ddata/discovery", "Loop", "the node runs it; a user gives it a Source"},
	{"ddata/events", "ArbiterFailing ArbiterGiven ArbiterTaken CaughtUp ConnectionFault ConnectionRefused Discovered " +
		"Diverged Downed Forked FormatRaised FramesDropped Gossiped KeyLarge KeysDurable KeysMoving KeysWaiting " +
		"LeaseGained LeaseLost LinkDown LinkUp MachineBroken MajorityLost MemberJoined MemberLeaving MemberReachable " +
		"MemberRemoved MemberUnreachable MessageMalformed MessageUnsent NodeRefused OldestChanged PeerMalformed " +
		"RepairBegan RepairEnded RetirementBegan RetirementEnded RetirementWaiting SecondCluster " +
		"ShutdownPhase SingletonChanged SingletonOutlived StaleRole StoreCompacted StoreFailed StoreGrown " +
		"StoreUnmarked UnnamedKeys UserCodePanicked ViewInstalled Waiting WritersHeld",
		"events that print themselves; the Example of Listener shows how they are taken, and a table lists them"},
	{"ddata/events", "Counters Counts", "for what reports metrics to a Meter; a user implements or takes a Meter"},
	{"ddata/membership/downing", "Change Reach Verdicts", "for the machine of package membership"},
	{"ddata/shutdown", "Ended Sequence", "the node has one; a user registers tasks by Node.OnShutdown"},
	{"proptest", "Past", "for tests that play operations by themselves, as simtest does"},
	{"sharding", "Continuer", "for packages that stand before the entities of a type, as delivery does"},
	{"sharding", "Ports", "Start fills it in; others are simulators"},
	{"sharding/allocation", "Advice Choice Consultation Meter", "for the coordinator, which asks strategies by them"},
	{"sharding/daemon", "Halt Run", "what workers are told; a user's Adapt sees their interface, Command"},
	{"sharding/delivery", "ProducerBroken", "the event of a defect"},
	{"sharding/delivery", "Step", "for simulators"},
}
