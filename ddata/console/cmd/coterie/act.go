package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/coterie-go/coterie/ddata/console/api"
)

// wish is an action as the words of a command line say it, and what a person is asked before; empty:
// nothing.
type wish struct {
	api.Action
	sure string
}

// acting prepares a command that has something done.
func acting(of func(words []string) (wish, error)) func(*flag.FlagSet) task {
	return func(flags *flag.FlagSet) task { return actingWith(flags, of, nil) }
}

// actingWith does what comes after the action, too, if that is not nil.
func actingWith(flags *flag.FlagSet, of func(words []string) (wish, error), after question) task {
	yes := flags.Bool("yes", false, "do not ask before")
	return lasting(flags, func(ctx context.Context, r *remote, words []string) error {
		w, err := of(words)
		if err != nil {
			return err
		}
		if err := confirm(r.stdio, w.sure, *yes); err != nil {
			return err
		}
		if err := done(ctx, r, w.Action); err != nil || after == nil {
			return err
		}
		return after(ctx, r, words)
	})
}

// done has an action done, and prints what became of it.
func done(ctx context.Context, r *remote, a api.Action) error {
	ctx, cancel := r.within(ctx)
	defer cancel()
	x, err := r.Act(ctx, a)
	if err != nil {
		return explained(r, err)
	}
	return show(r, x, nil, func(t *table, x api.Result) { t.row(x.Text) })
}

// confirm asks a person. Without a terminal the flag must have been given.
func confirm(c stdio, sure string, yes bool) error {
	if sure == "" || yes {
		return nil
	}
	if !c.terminal {
		return fmt.Errorf("%w: %s -yes is needed where there is no terminal to ask on", errUsage, sure)
	}
	fmt.Fprintf(c.errs, "%s Go on? [y/N] ", plain(sure))
	line, _ := bufio.NewReader(c.in).ReadString('\n')
	if answer := strings.ToLower(strings.TrimSpace(line)); answer != "y" && answer != "yes" {
		return fmt.Errorf("nothing was done")
	}
	return nil
}

func down(w []string) (wish, error) {
	return wish{api.Action{Do: api.DoDown, Node: w[0]},
		fmt.Sprintf("The cluster will go on without %s, which ends if it still runs.", w[0])}, nil
}

func leave(w []string) (wish, error) {
	return wish{api.Action{Do: api.DoLeave, Node: w[0]}, fmt.Sprintf("%s will leave the cluster, and end.", w[0])}, nil
}

func prepareShutdown([]string) (wish, error) {
	return wish{api.Action{Do: api.DoPrepare},
		"No shard will move any more, and no node joins, until the whole cluster was stopped; this cannot be taken " +
			"back."}, nil
}

func rebalance(w []string) (wish, error) {
	return wish{Action: api.Action{Do: api.DoRebalance, Type: w[0]}}, nil
}

func stopShards(w []string) (wish, error) {
	numbers, err := shardNumbers(w[1:])
	return wish{api.Action{Do: api.DoStopShards, Type: w[0], Shards: numbers},
		fmt.Sprintf("%d shards of %s will stop, with their entities.", len(numbers), w[0])}, err
}

func passivate(w []string) (wish, error) {
	return wish{Action: api.Action{Do: api.DoPassivate, Type: w[0], Entity: w[1]}}, nil
}

func moveCommand(flags *flag.FlagSet) task {
	to := flags.String("to", "", "`node` on which the shards shall live")
	return actingWith(flags, func(w []string) (wish, error) {
		if *to == "" {
			return wish{}, fmt.Errorf("%w: move: -to is missing", errUsage)
		}
		numbers, err := shardNumbers(w[1:])
		return wish{Action: api.Action{Do: api.DoMove, Node: *to, Type: w[0], Shards: numbers}}, err
	}, nil)
}

func limitCommand(flags *flag.FlagSet) task {
	node := flags.String("node", "", "`node` whose limit it is (default: the one that is asked)")
	return actingWith(flags, func(w []string) (wish, error) {
		n, err := strconv.Atoi(w[1])
		if err != nil || n < 1 {
			return wish{}, fmt.Errorf("%w: limit: %q is no number above 0", errUsage, w[1])
		}
		return wish{Action: api.Action{Do: api.DoLimit, Node: *node, Type: w[0], Limit: n}}, nil
	}, nil)
}

// shardNumbers reads numbers and ranges, such as 3 and 10-19.
func shardNumbers(words []string) (all []int, err error) {
	for _, w := range words {
		from, to, ranged := strings.Cut(w, "-")
		first, err := strconv.Atoi(from)
		last := first
		if ranged && err == nil {
			last, err = strconv.Atoi(to)
		}
		if err != nil || first < 0 || last < first || last-first >= api.ShardsMax {
			return nil, fmt.Errorf("%w: %q is no number of a shard, and no range of at most %d", errUsage, w,
				api.ShardsMax)
		}
		for n := first; n <= last; n++ {
			all = append(all, n)
		}
	}
	return all, nil
}

func eventsCommand(flags *flag.FlagSet) task {
	limit := flags.Int("limit", 50, "how many, at most")
	return asking(func(ctx context.Context, r *remote, _ []string) error {
		if *limit < 1 || *limit > api.EventsMax {
			return fmt.Errorf("%w: -limit %d, want 1 to %d", errUsage, *limit, api.EventsMax)
		}
		x, err := r.Events(ctx, *limit)
		if err != nil {
			return explained(r, err)
		}
		return show(r, x, x.Unanswered, func(t *table, x api.Events) {
			for _, e := range x.Events {
				t.row(clock(e.At), e.Level, api.Short(e.Node), e.Text)
			}
		})
	})(flags)
}

// watchLeast is the shortest time between two looks at events.
const watchLeast = 200 * time.Millisecond

func watchCommand(flags *flag.FlagSet) task {
	every := flags.Duration("every", time.Second, "time between two looks")
	return lasting(flags, func(ctx context.Context, r *remote, _ []string) error {
		if *every < watchLeast {
			return fmt.Errorf("%w: -every %v, want %v at least", errUsage, *every, watchLeast)
		}
		return watch(ctx, r, *every)
	})
}
