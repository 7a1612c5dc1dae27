package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"

	"github.com/coterie-go/coterie/sharding/persistence/postgres/postgrestest"
)

// recoverMost is how many entities recover by default: as many as those of the embedded store. On two busy
// cores the case took 18 minutes, of which 8 stored the ten million events.
const recoverMost = 100_000

func main() {
	d := flag.Duration("d", 2*time.Second, "how long each case runs")
	n := flag.Int("n", 0, "the most entities that recover; 0: 100,000")
	reminders := flag.Int("reminders", 0, "measure so many reminders, and nothing else")
	flag.Parse()
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	defer cancel()
	entities := recoverMost
	if *n > 0 {
		entities = min(*n, recoverMost)
	}
	err := run(ctx, *d, entities, *reminders)
	switch {
	case errors.Is(err, postgrestest.ErrMissing) && !postgrestest.Required():
		fmt.Println("PostgreSQL: NOT TRIED:", err)
	case err != nil:
		fmt.Fprintln(os.Stderr, "commitbench:", err)
		os.Exit(1)
	}
}

// run starts a server that waits for the disk, as those of production do, and measures.
func run(ctx context.Context, d time.Duration, entities, reminders int) (err error) {
	server, err := postgrestest.New(ctx, "fsync = on", "shared_buffers = 256MB", "max_wal_size = 4GB")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	if reminders > 0 {
		return remind(ctx, server.DSN(), reminders, 5*d)
	}
	return errors.Join(commit(ctx, server.DSN(), d), recovery(ctx, server.DSN(), entities))
}
