package tidy

import (
	"slices"
	"strings"
)

// rankRow places one package, or with a trailing "/..." a folder of packages.
type rankRow struct {
	dir    string
	rank   int
	pure   bool
	reason string
}

// ranks is the architecture: a package imports only packages of a lower rank. Tests are exempt, for
// a test may use the simulator or the laws.
var ranks = []rankRow{
	{"crdt/iblt", -13, true, "a sketch of numbers knows nothing of what they name"},
	{"crdt/ring", -14, true, "a queue knows nothing of what it holds"},
	{"crdt/runs", -13, true, "where events stand is known by their numbers"},
	{"crdt/escaped", -13, true, "a string of bytes is written so that it ends by itself, whatever it says"},
	{"crdt/form", -13, true, "in what form a Go type is written does not depend on where"},
	{"crdt/digest", -13, true, "a sum of hashes knows nothing of what is hashed"},
	{"crdt/origins", -13, true, "a table of numbers, whatever is encoded with it"},
	{"crdt/index", -13, true, "entries are found by their dots, whatever they are"},
	{"crdt/tree", -13, true, "a sorted map knows nothing of what it holds"},
	{"crdt/cbor", -19, true, "data items of CBOR know nothing of what is encoded"},
	{"crdt/cbor/cbortest", -19, false, "encodings of whatever kind are drawn for its tests"},
	{"crdt/dots", -14, true, "sets of the names of events know nothing of what the events are"},
	{"crdt", -12, true, "items, clock, store and types know nothing of nodes"},
	{"durable", 1, false, "the port to a disk knows rows, not what they mean"},
	{"replicator/keyspace", -11, true, "which keys live where is a matter of names"},
	{"replicator/fifo", -13, true, "a queue knows nothing of what it holds"},
	{"replicator/storage", -10, true,
		"which rows to write next depends on what changed and what is written, whatever a disk is"},
	{"replicator/deadline", -12, true, "what waits is ordered by time, whatever it waits for"},
	{"replicator/idle", -10, true, "how long a key may be idle is a matter of names and times"},
	{"replicator/subscription", -10, true,
		"which keys are listened to, and which have changed, needs hashes of items only"},
	{"replicator/push", -11, true, "what is on its way is bookkeeping; it knows no view and sends nothing"},
	{"replicator/repair", -11, true,
		"a repair compares two stores and says what to ask; it knows no view and no message"},
	{"replicator/quorum", -11, true,
		"which members count is a matter of views and levels; it knows no message and no store"},
	{"replicator/wire", -10, true,
		"a message is a value with one encoding; whether it makes sense is known to the machine"},
	{"replicator/wire/wiretest", -9, true, "messages for the tests of whatever encodes or takes them"},
	{"replicator/settings", -10, true, "what can be set is known before anything runs"},
	{"replicator/effect", -9, true, "what a step asks for is a value, whatever asked for it"},
	{"replicator/replica", -8, true, "what a replica and its peers hold is known without any operation"},
	{"replicator/operation", -7, true, "what waits, and how it ends, does not depend on what it waits for"},
	{"replicator/exchange", -7, true, "groups go from replica to replica, whatever waits for them"},
	{"replicator/write", -6, true, "a write waits for acks, whatever is read meanwhile"},
	{"replicator/read", -6, true, "a read asks and fetches, and changes nothing"},
	{"replicator/settlement", -6, true, "views are settled by what members report, whatever waits for that"},
	{"replicator", 1, true, "the protocol between replicas knows crdt and names its peers by origin only"},
	{"ddata/membership/view", -8, true, "ids, members and views are values, whatever is decided about them"},
	{"ddata/membership/paxos", -7, true, "ballots decide one view after another, whatever stands in it"},
	{"ddata/membership/nodelease", -7, true,
		"what a node may rely on and has promised is a matter of times and voters"},
	{"ddata/membership/downing", -6, true,
		"which side of a partition goes on depends on the nodes that it hears, and on rules"},
	{"ddata/membership/bootstrap", -5, true,
		"looking for a cluster needs views and a rule of quorums, and nothing of what comes after"},
	{"ddata/membership/retiring", -6, true,
		"when incarnations retire follows from views and what members have said, whatever proposes it"},
	{"ddata/membership/report", -7, true, "what members say of themselves is remembered, whatever follows from it"},
	{"ddata/membership/joiners", -4, true, "which nodes ask to be let in, and why not, is said without letting any in"},
	{"ddata/membership/nextview", -3, true, "the next view is computed from what a node knows, whatever decides it"},
	{"ddata/membership/arbitration", -3, true,
		"the vote of an arbiter is carried by what a node knows, whatever is decided with it"},
	{"ddata/membership/message", -4, true, "messages are values with a form on the wire, whatever follows from them"},
	{"ddata/membership/voting", -2, true,
		"a member takes part in decisions by what it knows, and neither sends nor installs"},
	{"ddata/membership/record", -7, true, "what a disk keeps of the membership, for nodes and for tools"},
	{"ddata/membership/parting", -3, true, "what a node still owes to others when it ends is told from what it knows"},
	{"ddata/membership/singleton", -5, true,
		"what runs on the oldest of a role needs the views and the lease, and not how they are decided"},
	{"ddata/membership", 1, true, "the members and the oldest of them are decided without data"},
	{"ddata/format", -19, true, "levels of formats are numbers, whatever has the form"},
	{"ddata/config", -20, true, "what is wrong with a setting is told, whatever it sets"},
	{"ddata/address", -2, false, "host:port, whatever listens there"},
	{"ddata/discovery", 0, false, "it lists addresses where nodes may be, and knows nothing of the nodes"},
	{"ddata/discovery/dnstest", 1, false, "a name server for the tests of whatever asks names"},
	{"ddata/transport/frame", -1, false, "frames and their memory know no node and no connection"},
	{"ddata/transport/receipt", 0, false,
		"what is kept until a receipt comes is frames, whatever link and node they are of"},
	{"ddata/transport/tcp", 0, false, "connections that end when the other side is gone, whatever they carry"},
	{"ddata/transport", 1, false, "frames between node ids, whatever they carry"},
	{"ddata/transport/...", 2, false, "adapters on the transport, such as gossip over the same port"},
	{"ddata/transport/pki/pkitest", 3, false, "certificates for the tests of whatever uses them"},
	{"ddata/locks", 0, false, "the port to an arbiter knows names and bytes, not what they are for"},
	{"ddata/locks/door", 1, false, "calls take turns and holds end, whatever system the lease is in"},
	{"ddata/locks/...", 2, false, "implementations of the lease port, and its laws"},
	{"ddata/locks/kubernetes/apiclient", 1, false, "calls of an API server are made, whatever the objects are for"},
	{"ddata/scheduler", -1, false, "time, and running beside each other, whatever runs"},
	{"ddata/runloop/timer", -20, true, "times are compared, and pauses grow, whatever waits for them"},
	{"ddata/runloop", 0, false, "one goroutine around one machine, whichever it is, and waiting for what it does"},
	{"durable/storetest", 2, false, "the laws of the durable port, for every implementation"},
	{"durable/rows", 2, false, "the rows of a replica's items, for the node, the simulator and the admin's command"},
	{"durable/lmdb", 2, false, "one implementation of the durable port"},
	{"ddata/turn", -1, false, "a function waits for another goroutine, whatever it does there"},
	{"ddata/registered", -1, false, "what is registered is kept until that is cancelled, whatever it is"},
	{"ddata/shutdown", 1, false, "phases and tasks, whatever they end"},
	{"ddata/events", 2, false, "what can be seen of a node names what the machines and the transport tell"},
	{"ddata/events/...", 3, false, "adapters of what can be seen, such as Prometheus"},
	{"ddata/tracing", -1, false, "spans and headers know nothing of what is traced"},
	{"ddata/tracing/...", 0, false, "a system of traces for the tests of whatever is traced"},
	{"ddata/tracing/story", -1, false, "what happened is records, whatever it happened to"},
	{"ddata/tracing/viewer", 0, false, "a story is shown, whatever told it"},
	{"ddata/tracing/recorder", 3, false, "a node tells its story to a file, whatever runs on it"},
	{"ddata/tracing/cmd/traceview", 4, false, "a person looks at the stories of nodes"},
	{"ddata/requests", 3, false, "reads and writes are timed and traced, whatever carries them out"},
	{"sharding/linear", 0, true, "which chain a hash belongs to is a matter of numbers"},
	{"sharding/passivation", 0, true, "which entities go when too many are active is a matter of numbers"},
	{"sharding/delivery/protocol", 1, true, "producer and consumer know numbers and bytes, not what carries them"},
	{"sharding/allocation", 2, true, "the choice of a home needs the members, and no machine"},
	{"sharding/protocol", 3, true,
		"ids, tokens, messages and settings stand on views, on replicated state and on strategies"},
	{"sharding/protocol/coordinator", 4, true, "it decides where shards live, and talks with regions by messages only"},
	{"sharding/protocol/region", 4, true,
		"it routes and hosts on one node, and knows the other machines by messages and inputs only"},
	{"sharding/protocol/shard", 4, true, "the life of one shard's entities needs no other machine"},
	{"sharding/codec", 3, false, "bytes of messages and frames know nothing of where they go"},
	{"sharding/failure", 4, false, "why something failed is a value, whatever it was sent to"},
	{"sharding/remember", 4, false, "the port to where ids are kept knows ids and shards, not what runs"},
	{"sharding/persistence", 4, false, "the port to the state of entities knows ids and shards, not what runs"},
	{"sharding/persistence/persistencetest", 5, false, "the laws of that port, for every adapter"},
	{"sharding/persistence/memory", 5, false, "the state of entities in memory, for the tests of whatever needs it"},
	{"sharding/persistence/lmdb", 5, false, "a directory keeps the state of entities, whatever writes it"},
	{"sharding/persistence/replicated", 6, false, "the nodes of a role keep the state of entities, whatever writes it"},
	{"sharding/persistence/schema", 5, false, "stored values have names and versions, whatever they are stored for"},
	{"sharding/persistence/batch", 6, false, "calls of a store are made, whatever the entities are"},
	{"sharding/persistence/batch/calls", 4, true, "which call comes next is a matter of shards, sizes and times"},
	{"sharding/persistence/postgres/direct", 1, false, "arguments have the form of the wire, whatever they say"},
	{"sharding/persistence/postgres", 5, false, "tables keep the state of entities, whatever writes it"},
	{"sharding/persistence/postgres/postgrestest", 1, false, "a server runs for a test, whatever is kept in it"},
	{"proptest/nodetest", 1, false, "processes run for a test, whatever program they are"},
	{"sharding/persistence/postgres/survival", 6, false, "entities are killed with all that is below them"},
	{"sharding/persistence/postgres/diskless", 8, false, "clusters are stopped that keep nothing themselves"},
	{"sharding/persistence/postgres/cmd/coterie-postgres", 10, false, "a person looks after what is kept there"},
	{"sharding/persistence/history", 6, false, "a value is what events have made of it, whatever it means"},
	{"sharding/ledger", 7, false, "homes and regions are one more state that a journal keeps"},
	{"sharding/remember/directories", 8, false, "remembered ids lie in the tables of stopped nodes"},
	{"sharding/remember/transfer", 9, false, "remembered ids go from one store to another"},
	{"sharding/remember/journaled", 7, false, "remembered ids are one more state that a journal keeps"},
	{"sharding/remember/remembertest", 5, false, "the laws of that port, for every implementation"},
	{"sharding/remind", 4, true, "the port to where reminders are kept knows times and shards, not what runs"},
	{"sharding/remind/agenda", 5, true, "which reminders are handled next is a matter of times, whatever stores them"},
	{"sharding/remind/memory", 5, false, "reminders in memory, for the tests of whatever needs them"},
	{"sharding/remind/remindtest", 5, false, "the laws of that port, for every implementation"},
	{"sharding/remind/rehash", 6, false, "reminders lie in the shards of their entities, whatever keeps them"},
	{"sharding/remind/replicated", 5, false, "reminders are entries of replicated data, whatever fires them"},
	{"ddata/disk", 3, false, "a directory keeps what it is given, whatever a node makes of it"},
	{"ddata/figures", 3, false, "what replicas hold is told to a system of metrics, whatever asks for it"},
	{"ddata/roles", 3, false, "settings of single roles are values, whatever follows them"},
	{"ddata/host", 3, false,
		"what a node lends to its extensions names the ports, and neither the node nor an extension"},
	{"ddata/host/hosttest", 4, false, "a node without protocols, for the tests of whatever stands on nodes"},
	{"ddata/advice", 2, false, "what mends a refusal is said, whatever node was refused"},
	{"ddata/drivers", 2, true, "what a machine wants is carried out by whatever host there is, running or simulated"},
	{"ddata/singletons", 4, false, "what runs on one node at a time stands on any node, running or simulated"},
	{"ddata", 5, false, "the running node drives the machines beneath"},
	{"ddata/doctor", 6, false, "a configuration of a node is judged before there is a node"},
	{"ddata/doctor/manifests", 7, false, "pods are judged by their manifests, whatever asks for that"},
	{"ddata/events/recent", 3, false, "metrics are kept for a minute, whatever looks at them"},
	{"ddata/console/api", -20, true, "what a console says is values, whatever it says it of"},
	{"ddata/console/client", 0, false, "a console is asked over HTTP, whatever runs it"},
	{"ddata/console/answers", 0, false, "an answer serves all that ask for it, whatever it says"},
	{"ddata/console/timeline", 3, false, "the last events are kept, whatever tells them"},
	{"ddata/console/peers", 4, false, "questions go to other nodes, whatever they ask"},
	{"ddata/console/section", 4, false, "the port by which an extension shows what it has"},
	{"ddata/console", 6, false, "operators see and steer a node, and what its extensions show"},
	{"ddata/console/cmd/coterie", 11, false,
		"a person asks consoles, and reads what nodes and entity types have written"},
	{"ddata/console/browser", 14, false, "a browser sees entities move from node to node"},
	{"ddata/ddatatest", 6, false, "clusters of real nodes for the tests of whatever runs on them"},
	{"sharding/dataplane/asks", 5, false, "a question waits for its answer, whatever carries the two"},
	{"sharding/dataplane/spans", 5, false, "a span has a name, whatever begins and ends it"},
	{"sharding/dataplane/mailbox", 5, false, "messages wait for one worker at a time, whatever that does with them"},
	{"sharding/dataplane/pool", 5, false, "workers run whatever tasks have something to do"},
	{"sharding/dataplane/lease", 5, false, "a lease is held or not, whatever acts under it"},
	{"sharding/dataplane/outside", 5, false, "a call has a turn and a time limit, whatever it asks of a store"},
	{"sharding/dataplane/entities", 6, false, "entities handle what reaches them, whatever route it took"},
	{"sharding/dataplane/reminders", 7, false, "reminders are put into mailboxes, whatever decides about shards"},
	{"sharding/dataplane/routes", 7, false, "a route leads to a shard or to a node, however messages travel"},
	{"sharding/figures", 9, false, "what a type is like on a node is read, whatever shows it"},
	{"sharding/dataplane", 8, false, "messages meet routes, mailboxes and workers, whatever decides about shards"},
	{"sharding/control", 9, false, "machines are stepped, and their effects carried out, whatever users see"},
	{"sharding", 10, false, "entities live on a running node"},
	{"sharding/shardingtest", 11, false, "entities of users are tested, whatever they do"},
	{"sharding/leasetest", 11, false, "shards take leases and nodes are killed, whatever store has the leases"},
	{"sharding/daemon", 11, false, "workers are entities, kept alive by a singleton"},
	{"sharding/delivery", 11, false, "producers stand on a region, and consumers before an entity"},
	{"sharding/persistence/incarnation", 11, false, "an entity waits for its store, whatever it keeps there"},
	{"sharding/eventsourced", 12, false, "entities with events stand on a region and on a journal"},
	{"sharding/durablestate", 12, false, "entities with a stored value stand on a region and on a store of states"},
	{"sharding/projection/pace", 4, true, "when to save and to rest is a matter of numbers and times"},
	{"sharding/projection", 13, false, "events of entities reach a handler, by workers, whatever wrote them"},
	{"sharding/projection/replicated", 14, false, "offsets are registers of replicated data, whatever is carried"},
	{"sharding/projection/projectiontest", 14, false, "the laws of the port to offsets, for every implementation"},
	{"sharding/doc", 14, false, "guides of entities are code that users would write"},
	{"sharding/persistence/postgres/readmodel", 14, false,
		"effects and offsets share a transaction, whatever the events are"},
	{"proptest/defect", -20, true, "the errors that can be planted are names, whatever machine has them"},
	{"proptest/failing", 0, false, "what fails on purpose, whatever shows it"},
	{"proptest/bubble", 0, false, "synthetic time, whatever is tested in it"},
	{"proptest/routine", 0, false, "functions of one process take turns in virtual time, whatever they do"},
	{"proptest/hosts", 0, false, "a network between processes, whatever they say"},
	{"proptest/ports", 0, false, "numbers of ports, whatever listens there"},
	{"proptest/program", -1, false, "programs of others are found, whatever a test does with them"},
	{"proptest/golden", 6, false, "scripts for the tests of any machine, of which it knows none"},
	{"proptest/tidy", 6, false, "reads the source and imports none of it"},
	{"examples/local", 13, false, "starts nodes as a service does"},
	{"examples/local/localtest", 13, false, "runs what prints or serves"},
	{"crdt/doc", 20, false, "guides of data types, and the code that they show"},
	{"ddata/doc", 20, false, "guides of replicated data and of clusters, and the code that they show"},
	{"proptest/documents", 0, false, "documents are texts beside the source, and no code of the library"},
	{"proptest/documents/cmd/documents", 1, false, "a person has the excerpts in documents written anew"},
	{"proptest/instances", 15, false, "reads what the compiler has left of packages, whatever they are"},
	{"proptest/settings", 15, false, "reads the source of all settings, and applies their defaults"},
	{"proptest/settings/cmd/settings", 16, false, "writes the page that a test of settings looks for"},
	{"proptest/upgrade", 11, false, "processes of two builds run for a test, whatever differs between them"},
	{"proptest/sim/random", 0, false, "numbers are drawn, whatever they decide"},
	{"proptest/sim/history", 0, false, "what clients were told is judged without a look at any machine"},
	{"proptest/sim/network", 2, false, "packets are carried between processes, whatever they say"},
	{"proptest/sim/disks", 2, false, "a disk keeps the laws of the durable port, whatever stands on it"},
	{"proptest/sim/arbiter", 2, false, "a lock with a record keeps its laws, whatever is decided under it"},
	{"proptest/sim/leases", 2, false, "a store of leases keeps its laws, whatever is leased"},
	{"proptest/sim/judge", 2, false, "what a store has and clients were told is judged without a look at any entity"},
	{"proptest/sim/journals", 7, false, "a store keeps the laws of its port, whatever is kept in it"},
	{"proptest/sim/options", 11, false, "what a world is like is drawn before anything runs in it"},
	{"proptest/sim/handlers", 12, false, "what a handler does is drawn, whatever runs it"},
	{"proptest/sim/origins", 2, false, "what clocks keep of incarnations is judged by the views that replicas install"},
	{"proptest/sim/views", 2, false, "views form a chain or do not, whatever decided them"},
	{"proptest/sim/builds", 2, false, "what a process speaks is a range, whatever it says"},
	{"proptest/sim/rollout", 12, false, "what a process does with leases is a stage, whatever it is for"},
	{"proptest/sim/queue", 0, false, "events are ordered by time, whatever happens then"},
	{"proptest/sim/sequence", 4, false, "the order of messages is judged, whatever moves their entities"},
	{"proptest/sim/stall", 12, false, "how long a world may wait is a sum of its settings, whatever runs in it"},
	{"proptest/sim/packets", 15, false, "what packets carry is told to whatever watches a world"},
	{"proptest/sim/clock", 1, false, "a clock shows virtual time with an error, whatever asks"},
	{"proptest/sim/sights", 2, false, "what a replica shows is followed at the cost of what differs"},
	{"proptest/sim/sums", 2, false, "what a replica holds is hashed, whatever it says of it itself"},
	{"proptest/sim/trace", 1, false, "a story is folded and printed, whatever it tells"},
	{"proptest/sim/ledgers", 12, false, "what coordinators write and tell is judged, whatever world they live in"},
	{"proptest/sim/persisted", 13, false, "entities keep their state, whatever the world does to them"},
	{"proptest/sim/reminded", 14, false, "reminders come, whatever the world does to them"},
	{"proptest/sim/delivered", 14, false, "what is delivered is judged, whatever the world does to it"},
	{"proptest/sim/counts", 15, false, "what worlds did is a sum, whatever it was"},
	{"proptest/sim/planted", 12, false, "what can be planted is a list, whatever world has it"},
	{"proptest/sim/worstcase", 11, false, "what a script does to a world is steering, whatever it is made of"},
	{"proptest/sim", 16, false, "drives the real machines and planes in virtual time"},
	{"proptest/sim/workload", 8, false, "what users run in a world is a script and ports, whatever world it is"},
	{"proptest/simtest", 17, false, "users' own entities meet a simulated world, and a model of theirs"},
	{"proptest", 11, false, "laws for every type, the users' own among them"},
	{"proptest/sim/soak", 17, false, "seeds are played until a time is over, whatever they draw"},
	{"proptest/sim/cmd/...", 18, false, "the simulator's command line"},
	{"bench/measure", 1, false, "what was measured is numbers, whatever they are of"},
	{"bench/child", 1, false, "a program starts itself again, whatever it measures"},
	{"bench/results", 1, false, "what was printed is kept, whatever it is of"},
	{"bench/commits", 13, false, "commits of entities are measured, whatever the store is"},
	{"sharding/persistence/postgres/commitbench", 14, false, "measures commits in tables, as bench does elsewhere"},
	{"ddata/events/otel/cost", 14, false, "measures what OpenTelemetry costs, as bench does elsewhere"},
	{"bench", 14, false, "measures everything"},
	{"bench/...", 11, false, "measures everything"},
	{"examples/...", 14, false, "uses what users use"},
}

// rowOf finds the row of a folder: an exact one first, else the longest "/..." that holds it.
func rowOf(dir string) (rankRow, bool) {
	best, found := rankRow{}, false
	for _, r := range ranks {
		if r.dir == dir {
			return r, true
		}
		if base, wild := strings.CutSuffix(r.dir, "/..."); wild && strings.HasPrefix(dir, base+"/") &&
			len(r.dir) > len(best.dir) {
			best, found = r, true
		}
	}
	return best, found
}

// isPure reports whether the package in dir is a pure one.
func isPure(dir string) bool {
	r, ok := rowOf(dir)
	return ok && r.pure
}

func checkRanks(m *Module) []Finding {
	var out []Finding
	for _, p := range m.Packages {
		row, ok := rowOf(p.Dir)
		if !ok {
			out = append(out, Finding{
				File: p.Dir, Rule: "ranks", Text: "package has no row in the table of ranks; add one with its reason",
			})
			continue
		}
		for _, f := range p.Files {
			for _, spec := range f.AST.Imports {
				_, path := importName(spec)
				dir, inside := strings.CutPrefix(path, m.Path+"/")
				if !inside {
					continue
				}
				target, ok := rowOf(dir)
				switch {
				case !ok || target.rank >= row.rank:
					out = append(out, m.at(spec.Pos(), "ranks", "%s (rank %d) imports %s (rank %d): %s",
						p.Dir, row.rank, dir, target.rank, row.reason))
				case row.pure && !target.pure:
					out = append(out, m.at(spec.Pos(), "ranks", "%s is pure and imports %s, which is not", p.Dir, dir))
				}
			}
		}
	}
	return sorted(out)
}

// topLevel is the root of the module as its users fixed it; hidden names are free.
var topLevel = []string{
	"go.mod", "go.sum", "ddata", "replicator", "crdt", "sharding", "durable", "examples", "proptest", "bench",
	"Makefile", "README.md", "LICENSE",
}

func checkTopLevel(m *Module) []Finding {
	var out []Finding
	for _, name := range m.TopLevel {
		if !strings.HasPrefix(name, ".") && !slices.Contains(topLevel, name) {
			out = append(out, Finding{File: name, Rule: "toplevel", Text: "not one of " + strings.Join(topLevel, " ")})
		}
	}
	return out
}
