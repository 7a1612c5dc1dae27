package leasetest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/coterie-go/coterie/proptest/ports"
)

// Process is a process that runs a Node. Package nodetest has one.
type Process interface {
	// Setup starts the node with its Settings.
	Setup(ctx context.Context, settings any) error
	// Call has the node answer.
	Call(ctx context.Context, name string, in, out any) error
	// Kill kills the process with SIGKILL, and returns when it is gone.
	Kill()
}

const (
	nodes = 3
	// limit is how long a test may take.
	limit = time.Minute
)

// Run starts three nodes, kills the one that runs the shard, and waits until another one does. That
// must not be before the lease of the killed one may have ended, and never may two run it. where is
// the place of the store of leases for the processes, and ttl the TTL of its leases.
func Run(t *testing.T, start func() Process, where string, ttl time.Duration) {
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	addrs, err := ports.Free(nodes)
	if err != nil {
		t.Fatal(err)
	}
	marks, began := t.TempDir(), make(chan error, nodes)
	processes := map[string]Process{}
	for _, addr := range addrs {
		p := start()
		processes[addr] = p
		go func() { began <- p.Setup(ctx, Settings{Addr: addr, Seeds: addrs, Marks: marks, Leases: where}) }()
	}
	for range nodes {
		err = errors.Join(err, <-began)
	}
	if err != nil {
		t.Fatal(err)
	}
	first := owner(ctx, t, processes[addrs[0]])
	for _, p := range processes {
		if o := owner(ctx, t, p); o != first {
			t.Fatalf("the shard is at %s and at %s", first.Addr, o.Addr)
		}
	}
	killed := time.Now()
	processes[first.Addr].Kill()
	delete(processes, first.Addr)
	var next Owner
	for _, p := range processes {
		o := owner(ctx, t, p)
		if o.Addr == first.Addr || next.Addr != "" && o != next {
			t.Errorf("after a kill of %s the shard is at %s and at %s", first.Addr, next.Addr, o.Addr)
		}
		next = o
	}
	if took := time.Since(killed); took < ttl/2 {
		t.Errorf("the shard was taken over after %v, with a TTL of %v", took, ttl)
	} else {
		t.Logf("the shard was taken over after %v", took)
	}
}

// owner asks a process until it knows the owner, which must have the entity for itself.
func owner(ctx context.Context, t *testing.T, p Process) (o Owner) {
	t.Helper()
	for {
		err := p.Call(ctx, ownerCall, nil, &o)
		switch {
		case err == nil && !o.Alone:
			t.Fatal("two processes run the shard; one is ", o.Addr)
		case err == nil:
			return o
		case ctx.Err() != nil:
			t.Fatal("no answer: ", err)
		}
	}
}
