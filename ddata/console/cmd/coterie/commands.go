package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// task carries out a command whose flags are parsed.
type task func(ctx context.Context, c stdio, args []string) error

// command is what a word of the command line does.
type command struct {
	name    string
	args    string // as help shows them
	text    string // in a few words
	least   int    // arguments
	most    int    // negative: any number
	prepare func(*flag.FlagSet) task
}

// commands are all of them, in the order of help. It is a function, for some of them list all.
func commands() []command {
	return []command{
		{"status", "[-alarms D]", "the cluster in a few lines, and what is not well", 0, 0, statusCommand},
		{"members", "", "the members, by age", 0, 0, asking(members)},
		{"roles", "", "the replicas of each role: keys, clocks, lag", 0, 0, asking(roles)},
		{"types", "", "the entity types, all nodes together", 0, 0, asking(types)},
		{"times", "", "what took how long in the last minute", 0, 0, asking(times)},
		{"shards", "TYPE", "where the shards of a type are", 1, 1, asking(shards)},
		{"where", "TYPE ID", "where an entity is, why it was passivated, what waits", 2, 2, asking(where)},
		{"events", "[-limit N]", "the latest events of all nodes", 0, 0, eventsCommand},
		{"watch", "[-every D]", "events as they come, until it is interrupted", 0, 0, watchCommand},
		{"runbook", "ALARM", "what an alarm means, what causes it, what to do", 1, 1, asking(runbook)},

		{"down", "NODE", "NODE is gone for good: go on without it", 1, 1, acting(down)},
		{"leave", "NODE", "NODE leaves, and ends", 1, 1, acting(leave)},
		{"drain", "[-wait] NODE [TYPE]", "NODE hands over the shards of TYPE, or of all, and stays a member", 1, 2,
			drainCommand},
		{"prepare-shutdown", "", "the whole cluster is about to be stopped", 0, 0, acting(prepareShutdown)},
		{"rebalance", "TYPE", "look at the balance of shards now", 1, 1, acting(rebalance)},
		{"move", "-to NODE TYPE SHARD…", "shards shall live on NODE (types with allocation.External)", 2, -1,
			moveCommand},
		{"stop-shards", "TYPE SHARD…", "shards stop, until a message asks for them", 2, -1, acting(stopShards)},
		{"passivate", "TYPE ID", "an entity ends its incarnation", 2, 2, acting(passivate)},
		{"limit", "[-node NODE] TYPE N", "N entities of TYPE may be active on NODE", 2, 2, limitCommand},

		{"data", "inspect|verify|compact|remove … DIR", "the directory of a node that is not running", 1, -1,
			dataCommand},
		{"doctor", "[MANIFEST…]", "what will go wrong with manifests of Kubernetes, and with this machine", 0, -1,
			doctorCommand},
		{"completion", "bash|zsh|fish", "a script that completes commands and flags", 1, 1, completionCommand},
		{"version", "", "which build this is, and which formats it knows", 0, 0, versionCommand},
	}
}

func find(name string) (command, bool) {
	for _, c := range commands() {
		if c.name == name {
			return c, true
		}
	}
	return command{}, false
}

// help prints what there is, or the flags of one command.
func help(args []string, out io.Writer) error {
	if len(args) > 0 && args[0] == "data" {
		fmt.Fprint(out, dataUsage)
		return nil
	}
	if len(args) > 0 {
		c, ok := find(args[0])
		if !ok {
			return fmt.Errorf("%w: %q is unknown", errUsage, args[0])
		}
		fmt.Fprintf(out, "coterie %s %s\n\n  %s\n\n", c.name, c.args, c.text)
		flags := flag.NewFlagSet(c.name, flag.ContinueOnError)
		flags.SetOutput(out)
		c.prepare(flags)
		flags.PrintDefaults()
		return nil
	}
	fmt.Fprint(out, "coterie shows a cluster and steers it, and looks after directories of stopped nodes.\n\n")
	w := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	for _, c := range commands() {
		fmt.Fprintf(w, "  coterie %s\t%s\n", strings.TrimSpace(c.name+" "+c.args), c.text)
	}
	fmt.Fprintf(w, "  coterie help [COMMAND]\tthis text, or the flags of a command\n")
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprint(out, "\nThe console of a running node is asked at -url or COTERIE_URL, with the token of "+
		"COTERIE_TOKEN.\n"+
		"Exit codes: 0 done, 1 failed, 2 usage, 3 some nodes did not answer, 4 refused, 5 not all nodes are ready, "+
		"6 alarms.\n")
	return nil
}
