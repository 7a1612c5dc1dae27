package local

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/proptest/ports"
)

// Start starts a cluster of n nodes on free ports of this machine. They found it together, so they
// start side by side. Each node has c, and below c.Dir, if that is set, a directory of its own.
func Start(ctx context.Context, n int, c ddata.Config) (nodes []*ddata.Node, err error) {
	binds, err := ports.Free(n)
	if err != nil {
		return nil, err
	}
	return StartAt(ctx, binds, c)
}

// StartAt is Start at given addresses.
func StartAt(ctx context.Context, binds []string, c ddata.Config) (nodes []*ddata.Node, err error) {
	nodes, errs := make([]*ddata.Node, len(binds)), make([]error, len(binds))
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var all sync.WaitGroup
	for i, bind := range binds {
		c := c
		c.Bind, c.Seeds, c.BootstrapExpect, c.Preset = bind, binds, len(binds), ddata.Local
		if c.Dir != "" {
			c.Dir = filepath.Join(c.Dir, fmt.Sprint("node", i+1))
		}
		if c.Logger == nil {
			c.Logger = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
		}
		all.Go(func() {
			if nodes[i], errs[i] = ddata.Start(ctx, c); errs[i] != nil {
				cancel() // the others wait for it in vain
			}
		})
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		for _, n := range nodes {
			if n != nil {
				err = errors.Join(err, n.Close())
			}
		}
		return nil, err
	}
	return nodes, nil
}

// Stop stops the whole cluster in order. Nodes that have ended before are left out.
func Stop(ctx context.Context, nodes []*ddata.Node) error {
	var errs []error
	for _, n := range nodes {
		if n.Err() != nil {
			continue
		}
		if len(errs) == 0 {
			errs = append(errs, n.PrepareForShutdown(ctx))
		}
		errs = append(errs, n.Leave(ctx))
	}
	return errors.Join(errs...)
}
