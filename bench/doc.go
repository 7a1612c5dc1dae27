// Command bench measures Coterie. Each case prints one line of name=value figures, with the unit in
// the name. A case that runs a baseline in the same run, one after the other, prints it on the same
// line as limit_… and ratio.
//
//	go run ./bench                    lists the benches
//	go run ./bench all                runs every bench
//	go run ./bench majority get       runs some of them
//	go run ./bench -n 10000 types     uses fewer elements, for a first look
//	go run ./bench -d 10s tell        runs each case longer
//	go run ./bench -count 5 -json a.json -text a.txt get
//	                                  runs five times, and keeps all figures; prints medians, too
//
// make compare OLD=a.txt NEW=b.txt compares two such texts, by benchstat. Package results says what is kept.
// make peers measures other libraries beside these benches; command bench/peers says how.
//
// -cpuprofile FILE and -memprofile FILE write a profile; flags stand before the names. A second process writes its
// profile to FILE.node, FILE.raw and so on. go tool pprof -top -cum FILE reads one. On a shared machine, the ratios
// and the cpu_… figures hold better than others. Above 200 handover_ns what one processor says to the other takes long.
//
// # What each bench measures
//
// The targets of time were set on a machine whose raw multiplexed ping-pong makes 57 k/s with one
// caller and 735 k/s with 64. On a slower machine, compare the ratios.
//
//	bench      what it measures                                  baseline                   target
//	types      add, remove and merge in sets and maps            a plain map                ≤ 1 µs, merge ≤ 2 µs, ≤ 24 bytes per element encoded
//	get        local reads, one and several goroutines           a plain map, a sync.Map    ≤ 150 ns, no lock, no allocation
//	apply      events of other replicas, one core                a plain map                1 M/s
//	local      reads and writes on one node                      a locked map
//	replicate  changes of one key to two other nodes             raw framed TCP             300 k/s
//	majority   quorum writes and reads of three nodes            raw ping-pong              p50 ≤ 60 µs, 0.34 of the ping-pong with 64 callers
//	reserved   a coordinator's writes under users' floods        the same in users' data    a p99 near that of quiet
//	idle       gossip of two equal replicas; one key differs     none                       ≤ 100 bytes; repaired in ≤ 2 rounds
//	reconcile  replicas that differ and have no log              sending the whole state    ≤ 5, 40, 300 KB for 100, 1 k, 10 k differences
//	icde19     elements shipped in the paper's mesh and tree     sending whole states       ≤ 81,035 elements in the mesh
//	join       an empty node becomes a full member               encoding and merging
//	durable    durable inserts, 1 to 256 callers                 raw LMDB                   flat within 10 % up to 1 M elements
//	load       the start of a node with 1 M rows                 none
//	large      100 M rows: a start, pauses, a joiner, a repair   a pass over the rows; the same, quiet
//	frames     frames between two transports                     raw framed TCP             0.6 of it
//	lanes      the control lane beside a flood                   a raw connection
//	form       nodes that start together until all are Up        none
//	thousand   1,000 nodes, 100,000 shards, in virtual time      none                       a step ≤ 5 ms
//	detect     kill -9 until the others go on without the node   none
//	stopall    SIGTERM to all processes at once                  none
//	tell       entity messages on one node                       a mutex and a slice        8 M/s by id, 12 M/s by reference
//	allocate   homes for 100,000 shards                          none                       5 s
//	remember   1 M remembered entities, start and full restart   none                       restart 20 s
//	remind     1 M reminders that wait, and 20,000 that come     none                       no goroutine each
//	persist    commits and recovery of event-sourced entities    the store alone            0.7 of as many writers of its own and of batches by shard, 64 and more
//	balance    10,000 shards with Zipf loads                     the strategy by counts
//	pause      SIGSTOP, then SIGCONT, of one process of three    none                       no message delivered
//	remote     entity messages between two processes             raw framed TCP             3 M/s, asks at 0.66 of the ping-pong
//	askloss    10 M asks between two processes                   none                       none lost, none handled twice
//	activate   first messages, and the cost of idle entities     a goroutine each           ≤ 400 bytes each, no goroutine
//	rebalance  moves of shards under numbered messages           none                       none lost, none reordered
//	failover   kill -9 under asks until all entities answer      none                       1 s after the decision
//	tails      asks and writes at 70 % load, all moving          the same, quiet            p99.9 ≤ 5 times that
//	telemetry  entity messages with a Tracer, and with a Meter   the same without           no cost when off
//	rollout    processes replaced under asks, a new type, back   none                       none failed
package main
