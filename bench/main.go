package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"runtime/pprof"
	"slices"
	"strconv"
	"time"

	"github.com/coterie-go/coterie/bench/child"
	"github.com/coterie-go/coterie/bench/floods"
	"github.com/coterie-go/coterie/bench/large"
	"github.com/coterie-go/coterie/bench/results"
	"github.com/coterie-go/coterie/bench/tails"
	"github.com/coterie-go/coterie/bench/telemetry"
	"github.com/coterie-go/coterie/bench/thousand"
	"github.com/coterie-go/coterie/ddata/events/prom"
)

// bench is one program of this command.
type bench struct {
	name  string
	about string
	run   func(ctx context.Context, o options) error
}

// options are what the flags say.
type options struct {
	d        time.Duration // how long each case runs
	n        int           // the most elements, keys or events of a case; 0: as many as it is about
	thousand thousand.Settings
}

// size is how many elements a case takes that is about full of them.
func (o options) size(full int) int {
	if o.n > 0 {
		return min(full, o.n)
	}
	return full
}

var benches = []bench{
	{"types", "add, remove and merge in sets and maps of 1 k, 100 k and 1 M, beside a plain map; bytes on the " +
		"wire and in memory", runTypes},
	{"get", "local reads from one and several goroutines, beside a plain map and a sync.Map", runGet},
	{"apply", "events of others taken by one core, by the store and by the whole machine, beside a plain map",
		runApply},
	{"local", "local reads and writes of replicated data on one node, beside a locked map", runLocal},
	{"replicate", "changes of one key brought to two other nodes, the caller held back, beside raw framed TCP",
		runReplicate},
	{"majority", "WriteMajority and ReadMajority over three nodes on loopback, beside a raw multiplexed ping-pong",
		runMajority},
	{"reserved", "a coordinator's writes under floods of users' writes, in the users' data and in the reserved data",
		func(ctx context.Context, o options) error { return floods.Run(ctx, startNodes, o.d, o.size(1_000_000)) }},
	{"idle", "what two replicas of 1 M keys say to each other when nothing changes, and when one key differs", runIdle},
	{"reconcile", "two replicas of a set of 1 M that differ in 1 to 10,000 and have no log, beside sending the " +
		"whole state", runReconcile},
	{"icde19", "elements and bytes shipped in the mesh and the tree of the ICDE 2019 paper, beside sending whole " +
		"states", runICDE19},
	{"join", "an empty node becomes a full member of one with 1 M items, beside encoding and merging them in place",
		runJoin},
	{"durable", "durable inserts, 1 to 256 callers beside raw LMDB, and into one set from 1 to 1 M elements",
		runDurable},
	{"load", "the start of a node with 1 M rows in its directory",
		func(ctx context.Context, o options) error { return large.Load(ctx, o.size(1_000_000)) }},
	{"large", "nodes with 100 M rows, or as many as there is memory for: pauses while garbage is collected, a joiner " +
		"that takes all, a thousand differences",
		func(ctx context.Context, o options) error { return large.Run(ctx, o.d, o.size(100_000_000)) }},
	{"frames", "frames between two transports, one way and ping-pong, 1 and 64 callers, beside raw framed TCP",
		runFrames},
	{"lanes", "latency of the control lane beside a flood of data and a snapshot of 100 MB, beside a raw connection",
		runLanes},
	{"form", "3, 10 and 50 nodes that start together until all see all Up, idle cost; 100 and 1,000 membership " +
		"machines in virtual time", runForm},
	{"thousand", "1,000 nodes with sharding in virtual time: join, homes, idle, a rolling restart, loss of a tenth",
		func(ctx context.Context, o options) error { return thousand.Run(ctx, o.thousand, o.size) }},
	{"detect", "kill -9 of a process of three: until it is unreachable, downed, and the others go on in a view " +
		"without it", runDetect},
	{"stopall", "SIGTERM to all processes of clusters of three at once, 50 times, after half a minute of life: " +
		"until the last has ended", runStopAll},
	{"tell", "entity messages on one node, by id and by reference, beside a mutex-and-slice mailbox", runTell},
	{"allocate", "homes for 100,000 shards on three nodes, found by one coordinator", runAllocate},
	{"remember", "1 M remembered entities in one shard and over 1,000 on three nodes: their first start, and a " +
		"restart of the whole cluster", runRemember},
	{"remind", "1 M reminders that wait on one node: memory for each, and how late those come that are due", runRemind},
	{"persist", "event-sourced entities on LMDB, replicated data and PostgreSQL: commits of 1, 64 and 1,000 writers " +
		"beside the store alone, and the recovery of 100,000 entities, 10,000 in replicated data", runPersist},
	{"balance", "10,000 shards with Zipf loads on 100 simulated nodes: by load, beside by counts", runBalance},
	{"pause", "SIGSTOP to one process of three for 30 times -d, then SIGCONT: what its entities still do, and how " +
		"long the others did without", runPause},
	{"remote", "entity messages between two processes, tell and ask, beside raw framed TCP", runRemote},
	{"askloss", "10 M asks of 256 callers between two processes: replies that are lost, or reach another question",
		runAskLoss},
	{"activate", "the first message to entities that are not there yet, and what an idle one takes, beside a " +
		"goroutine for each", runActivate},
	{"rebalance", "shards move from node to node while numbered messages come for them: pause per shard, lost, " +
		"reordered", runRebalance},
	{"failover", "kill -9 of a process of three under asks: until each of its hundred entities answers elsewhere, " +
		"and what failed; with the timers for one machine and for a network", runFailover},
	{"tails", "asks and majority writes at 70 % of what three nodes can do, quiet, and while snapshots, repairs, " +
		"compactions and moves of shards go on",
		func(ctx context.Context, o options) error { return tails.Run(ctx, o.d, o.size(300_000)) }},
	{"telemetry", "entity messages with a Tracer and a Meter, on one node and between two, beside the same without",
		func(ctx context.Context, o options) error { return telemetry.RunAll(ctx, o.d, prom.New(prom.Config{})) }},
	{"rollout", "three processes are replaced one by one under asks, by ones with a new entity type and back: asks " +
		"that failed, the longest, and when the new type answered", runRollout},
}

func main() {
	var o options
	flag.DurationVar(&o.d, "d", 2*time.Second, "how long each case runs")
	flag.IntVar(&o.n, "n", 0, "the most elements, keys or events of a case; 0: as many as it is about")
	profile := flag.String("cpuprofile", "", "write a profile of the processor time to this file")
	allocs := flag.String("memprofile", "", "write a profile of all allocations to this file")
	o.thousand.Flags(flag.CommandLine)
	limit := flag.Duration("timeout", time.Hour, "when to give up")
	var k results.Keep
	k.Flags(flag.CommandLine)
	flag.Parse()
	if role := os.Getenv(child.Env); role != "" {
		exit(profiled(os.Getenv(child.ProfileEnv), func() error { return runChild(role) }))
	}
	if flag.NArg() == 0 {
		for _, b := range benches {
			fmt.Printf("%-10s %s\n", b.name, b.about)
		}
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), *limit)
	defer cancel()
	if k.Wanted() {
		exit(keep(ctx, k, *profile+*allocs, o))
		return
	}
	exit(profiled(*profile, func() error {
		for _, name := range flag.Args() {
			if err := runNamed(ctx, name, o); err != nil {
				return err
			}
		}
		return writeAllocs(*allocs)
	}))
}

// keep runs the benches in processes of their own.
func keep(ctx context.Context, k results.Keep, profiles string, o options) error {
	if profiles != "" {
		return errors.New("a profile is of one run: leave -count, -json and -text out")
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	args := slices.Concat([]string{"-d", o.d.String(), "-n", strconv.Itoa(o.n)}, o.thousand.Args(), flag.Args())
	return k.Run(ctx, os.Stdout, func(ctx context.Context) *exec.Cmd {
		c := exec.CommandContext(ctx, self, args...)
		c.Stderr = os.Stderr
		return c
	})
}

// writeAllocs writes a profile of the allocations so far, if that is wanted.
func writeAllocs(file string) error {
	if file == "" {
		return nil
	}
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer f.Close()
	return pprof.Lookup("allocs").WriteTo(f, 0)
}

// profiled runs fn and writes a profile of it, if that is wanted.
func profiled(file string, fn func() error) error {
	if file == "" {
		return fn()
	}
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := pprof.StartCPUProfile(f); err != nil {
		return err
	}
	defer pprof.StopCPUProfile()
	return fn()
}

func runNamed(ctx context.Context, name string, o options) error {
	if name == "all" {
		for _, b := range benches {
			if err := b.run(ctx, o); err != nil {
				return fmt.Errorf("%s: %w", b.name, err)
			}
		}
		return nil
	}
	i := slices.IndexFunc(benches, func(b bench) bool { return b.name == name })
	if i < 0 {
		return fmt.Errorf("no bench %q; run without arguments for the list", name)
	}
	return benches[i].run(ctx, o)
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	if os.Getenv(child.Env) != "" {
		os.Exit(0)
	}
}
