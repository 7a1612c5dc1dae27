// Command workers spreads four workers over three nodes. Each worker takes the jobs of its number from
// replicated data. When a node dies, its workers go on elsewhere with what is left. No worker runs on
// two nodes at one time.
//
//	go run ./examples/workers
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/examples/local"
	"github.com/coterie-go/coterie/sharding/daemon"
)

const (
	workers = 4
	jobs    = 40
)

// done is what was computed, by job.
var done = ddata.NewKey[crdt.LWWMap[int, int]]("done")

// jobsOf is the key of the jobs that a worker has yet to do.
func jobsOf(worker int) ddata.Key[crdt.ORSet[int]] {
	return ddata.NewKey[crdt.ORSet[int]](fmt.Sprint("jobs/", worker))
}

// enqueue gives a job to the worker of its number.
func enqueue(ctx context.Context, data *ddata.Replicator, job int) error {
	return ddata.Update(ctx, data, jobsOf(job%workers), ddata.WriteMajority, func(s *crdt.ORSetTx[int]) error {
		return s.Add(job)
	})
}

// work is one worker. It returns when ctx ends: the worker moves then, or its node ends.
func work(ctx context.Context, data *ddata.Replicator, worker int) error {
	for change, err := range ddata.Watch(ctx, data, jobsOf(worker)) {
		if err != nil {
			return err
		}
		for job := range change.Value.All() {
			if err := finish(ctx, data, worker, job, job*job); err != nil {
				return err
			}
		}
	}
	return ctx.Err()
}

// finish notes a result, and then takes the job away. A worker that dies between has its job done
// again, with the same result.
func finish(ctx context.Context, data *ddata.Replicator, worker, job, result int) error {
	err := ddata.Update(ctx, data, done, ddata.WriteMajority, func(m *crdt.LWWMapTx[int, int]) error {
		return m.Put(job, result)
	})
	if err != nil {
		return err
	}
	return ddata.Update(ctx, data, jobsOf(worker), ddata.WriteMajority, func(s *crdt.ORSetTx[int]) error {
		return s.Remove(job)
	})
}

func main() {
	if err := run(os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// start takes part in the work on a node.
func start(n *ddata.Node) (*ddata.Replicator, error) {
	data, err := n.Replicator("worker")
	if err != nil {
		return nil, err
	}
	_, err = daemon.Start(n, daemon.Config{
		Name: "squares", Role: "worker", Count: workers, KeepAliveInterval: time.Second, KeepAliveThrottle: -1,
		Run: func(ctx context.Context, w daemon.Worker) error { return work(ctx, data, w.Number) },
	})
	return data, err
}

func run(out io.Writer) error {
	cfg := ddata.Config{Name: "jobs", Roles: []string{"worker"}}
	return local.Run(3, cfg, start, func(ctx context.Context, nodes []*ddata.Node, data []*ddata.Replicator) error {
		for job := range jobs {
			if err := enqueue(ctx, data[0], job); err != nil {
				return err
			}
			if job == jobs/2 { // a node dies with its workers
				if err := nodes[2].Close(); err != nil {
					return err
				}
			}
		}
		for change, err := range ddata.Watch(ctx, data[0], done) {
			if err != nil {
				return err
			}
			if change.Value.Len() == jobs {
				last, _ := change.Value.Get(jobs - 1)
				fmt.Fprintf(out, "%d jobs are done; the square of %d is %d\n", jobs, jobs-1, last)
				break
			}
		}
		return nil
	})
}
