package main

import (
	"context"
	"os"

	"github.com/coterie-go/coterie/bench/measure"
	"github.com/coterie-go/coterie/bench/wakeups"
	"github.com/coterie-go/coterie/ddata"
)

// runRemind has 1 M reminders wait, in a node's directory and then in PostgreSQL, and wakes 20,000 entities.
func runRemind(ctx context.Context, o options) error {
	dir, err := os.MkdirTemp("", "bench-remind")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	nodes, stop, err := startNodesWith(ctx, 1, []string{dir}, ddata.LAN)
	if err != nil {
		return err
	}
	defer stop()
	var f measure.Figures
	if err := wakeups.Run(ctx, nodes[0], role, nil, o.size(1_000_000), 5*o.d, &f); err != nil {
		return err
	}
	measure.Report("remind", "one-node", f)
	return benchPostgres(ctx, o, "-reminders", o.size(1_000_000))
}
