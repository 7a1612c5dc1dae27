package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/coterie-go/coterie/bench/results"
)

// options are what the flags say.
type options struct {
	d, warm  time.Duration // how long a case runs, and how long it runs before that, unmeasured
	n        int           // remembered entities; ten times as many are weighed, and keys too
	sets     []int         // sizes of sets
	standing time.Duration // how long a process is stopped
	watched  time.Duration // how long it is looked at after that
}

// weighed is how many entities and keys there are when their memory is measured.
func (o options) weighed() int { return 10 * o.n }

// args are the flags of go run ./bench for cases of n elements.
func (o options) args(n int, names ...string) []string {
	return append([]string{"-d", o.d.String(), "-n", strconv.Itoa(n)}, names...)
}

// group are works that one run of Coterie's benches and one of each peer's program measure.
type group struct {
	name, about string
	works       func(o options) []work
	coterie     func(o options) [][]string // runs of go run ./bench
	run         func(ctx context.Context, p *peer, o options, f *results.File) error
	raw         func(ctx context.Context, o options, f *results.File) error // nil: Coterie's lines have the limits
}

var groups = []group{
	{
		name: "ddata", about: "updates and reads of replicated data at majority, of three nodes in one process",
		works:   ddataWorks,
		coterie: func(o options) [][]string { return [][]string{o.args(0, "majority")} },
		run: func(ctx context.Context, p *peer, o options, f *results.File) error {
			return p.once(ctx, f, "ddata", o.d.Milliseconds(), o.warm.Milliseconds())
		},
	},
	{
		name: "sets", about: "adds to a set, and merges of another replica's adds, without a cluster",
		works: setWorks,
		coterie: func(o options) (runs [][]string) {
			for _, n := range o.sets {
				runs = append(runs, o.args(n, "types"))
			}
			return runs
		},
		run: func(ctx context.Context, p *peer, o options, f *results.File) error {
			for _, n := range o.sets {
				if err := p.once(ctx, f, "sets", n, o.d.Milliseconds(), o.warm.Milliseconds()); err != nil {
					return err
				}
			}
			return nil
		},
	},
	{
		name: "messages", about: "tell and ask to entities of a second process",
		works:   messageWorks,
		coterie: func(o options) [][]string { return [][]string{o.args(0, "remote")} },
		run:     runMessages,
	},
	{
		name: "remember", about: "remembered entities on three nodes in one process: first start, and full restart",
		works:   rememberWorks,
		coterie: func(o options) [][]string { return [][]string{o.args(o.n, "remember")} },
		run:     runRemember,
		raw:     rawRemember,
	},
	{
		name: "failover", about: "kill -9 of a process of three under asks, until its entities answer elsewhere",
		works:   failoverWorks,
		coterie: func(o options) [][]string { return [][]string{o.args(0, "failover")} },
		run:     runFailover,
		raw:     rawKill,
	},
	{
		name: "failover-defaults", about: "the same, beside nodes of Coterie with its default timers",
		works:   defaultFailoverWorks,
		coterie: func(o options) [][]string { return [][]string{o.args(0, "detect")} },
		run:     runFailover,
		raw:     rawKill,
	},
	{
		name: "entity-memory", about: "memory of an idle entity",
		works:   entityMemoryWorks,
		coterie: func(o options) [][]string { return [][]string{o.args(o.weighed(), "activate")} },
		run: func(ctx context.Context, p *peer, o options, f *results.File) error {
			return p.once(ctx, f, "entities", o.weighed())
		},
		raw: rawEntities,
	},
	{
		name: "key-memory", about: "memory of a counter in replicated data",
		works:   keyMemoryWorks,
		coterie: func(o options) [][]string { return [][]string{o.args(o.weighed(), "types")} },
		run: func(ctx context.Context, p *peer, o options, f *results.File) error {
			return p.once(ctx, f, "keys", o.weighed())
		},
	},
	{
		name: "pause", about: "SIGSTOP of a process of three, then SIGCONT",
		works: pauseWorks,
		coterie: func(o options) [][]string { // it stops the process for 30 times -d
			return [][]string{{"-d", (o.standing / 30).String(), "pause"}}
		},
		run: runPause,
	},
}

func ddataWorks(options) (all []work) {
	for _, callers := range []int{1, 64} {
		for _, op := range []string{"increment", "add", "read"} {
			name := fmt.Sprintf("%s-%d-callers", op, callers)
			all = append(all, work{
				name: "ddata-" + name, peer: name, coterie: "majority/" + name,
				figure: "ops_per_s", limit: "limit_ops_per_s", more: []string{"p50_us", "p99_us"},
			})
		}
	}
	return all
}

func setWorks(o options) (all []work) {
	for _, n := range o.sets {
		for _, op := range []string{"add", "merge"} {
			name := fmt.Sprintf("orset-%s-%d", op, n)
			all = append(all, work{
				name: name, peer: name, coterie: "types/" + name, figure: "ns_per_op", limit: "limit_cpu_ns_per_op",
				cost: true,
			})
		}
	}
	return all
}

func messageWorks(options) []work {
	return []work{
		{name: "tell-1-sender", peer: "tell-1-sender", coterie: "remote/tell-1-sender", figure: "ops_per_s",
			limit: "limit_ops_per_s", more: []string{"lost"}},
		{name: "ask-1-callers", peer: "ask-1-callers", coterie: "remote/ask-1-callers", figure: "ops_per_s",
			limit: "limit_ops_per_s", more: []string{"p50_us", "p99_us"}},
		{name: "ask-64-callers", peer: "ask-64-callers", coterie: "remote/ask-64-callers", figure: "ops_per_s",
			limit: "limit_ops_per_s", more: []string{"p50_us", "p99_us"}},
	}
}

// rememberShards are those of Coterie's bench.
func rememberShards(o options) []int { return []int{1, min(1000, max(1, o.n/10))} }

func rememberWorks(o options) (all []work) {
	for _, shards := range rememberShards(o) {
		of := fmt.Sprintf("%d-in-%d-shards", o.n, shards)
		line := fmt.Sprintf("remember/%d-shards", shards)
		all = append(all,
			work{name: "remember-start-" + of, peer: line, coterie: line, figure: "starts_per_s", raw: "remember"},
			work{name: "remember-restart-" + of, peer: line, coterie: line, figure: "restart_seconds", raw: "remember",
				cost: true})
	}
	return all
}

func failoverWorks(options) []work {
	return []work{
		{name: "failover-median", peer: "failover", coterie: "failover/owner", figure: "median_ms", raw: "kill",
			cost: true, more: []string{"entities"}},
		{name: "failover-last", peer: "failover", coterie: "failover/owner", figure: "last_ms", raw: "kill",
			cost: true, more: []string{"failed"}},
	}
}

func defaultFailoverWorks(options) []work {
	return []work{{
		name: "failover-defaults", peer: "failover", coterie: "detect/kill-9-LAN", figure: "last_ms",
		own: "settled_ms", raw: "kill", cost: true,
		words: "Coterie: until the other nodes go on without the killed one and have written to a majority; its " +
			"entities start after that",
	}}
}

func entityMemoryWorks(o options) []work {
	return []work{{name: fmt.Sprintf("memory-of-an-entity-%d", o.weighed()), peer: "entities",
		coterie: "activate/tell-1-senders", figure: "bytes_per_idle_entity", raw: "entities", cost: true}}
}

func keyMemoryWorks(o options) []work {
	return []work{{name: fmt.Sprintf("memory-of-a-key-%d", o.weighed()), peer: "keys",
		coterie: fmt.Sprintf("types/memory-counters-%d", o.weighed()), figure: "bytes_per_key",
		limit: "limit_bytes_per_key", cost: true}}
}

func pauseWorks(o options) []work {
	return []work{{
		name: fmt.Sprintf("sigstop-%.0f-s", o.standing.Seconds()), peer: "pause", coterie: "pause/sigstop",
		figure: "all_answer_again_ms", cost: true,
		more: []string{"entities", "deliveries_after_sigcont", "effects_after_sigcont", "live_twice", "ended_ms"},
		words: "no raw limit: a stopped process closes no connection, and how long to wait for it is a choice; " +
			"effects_after_sigcont are of the process that was stopped, while the others have the same entities",
	}}
}
