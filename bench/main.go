// Command bench measures Coterie. Each case prints one line of name=value figures, with the unit in the name; where a raw limit or a peer
// ran beside it in the same run, limit_… and ratio stand on the same line.
//
//	go run ./bench           the list
//	go run ./bench all       every bench
//	go run ./bench majority  one of them
//
// The figures of a shared machine are hints; the ratios hold better, as both sides ran in the same run, one after the other.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"time"
)

// bench is one program of this command.
type bench struct {
	name  string
	about string
	run   func(ctx context.Context, d time.Duration) error
}

var benches = []bench{
	{"local", "local reads and writes of replicated data on one node, beside a locked map", runLocal},
	{"majority", "WriteMajority and ReadMajority over three nodes on loopback, beside a raw multiplexed ping-pong", runMajority},
	{"tell", "entity messages on one node, by id and by reference, beside a mutex-and-slice mailbox", runTell},
	{"remote", "entity messages between two processes, tell and ask, beside raw framed TCP", runRemote},
}

func main() {
	d := flag.Duration("d", 2*time.Second, "how long each case runs")
	limit := flag.Duration("timeout", 5*time.Minute, "when to give up")
	flag.Parse()
	if role := os.Getenv(childEnv); role != "" {
		exit(runChild(role))
	}
	if flag.NArg() == 0 {
		for _, b := range benches {
			fmt.Printf("%-10s %s\n", b.name, b.about)
		}
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), *limit)
	defer cancel()
	for _, name := range flag.Args() {
		exit(runNamed(ctx, name, *d))
	}
}

func runNamed(ctx context.Context, name string, d time.Duration) error {
	if name == "all" {
		for _, b := range benches {
			if err := b.run(ctx, d); err != nil {
				return fmt.Errorf("%s: %w", b.name, err)
			}
		}
		return nil
	}
	i := slices.IndexFunc(benches, func(b bench) bool { return b.name == name })
	if i < 0 {
		return fmt.Errorf("no bench %q; run without arguments for the list", name)
	}
	return benches[i].run(ctx, d)
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	if os.Getenv(childEnv) != "" {
		os.Exit(0)
	}
}
