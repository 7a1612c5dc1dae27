package main

import (
	"context"
	"io"
	"log/slog"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/proptest/ports"
)

const role = "bench"

// startNodes starts n nodes on loopback in this process. dirs, if not nil, gives each its
// directory.
func startNodes(ctx context.Context, n int, dirs []string) ([]*ddata.Node, func(), error) {
	return startNodesWith(ctx, n, dirs, ddata.Local)
}

// startNodesWith is startNodes with the timers of a preset.
func startNodesWith(ctx context.Context, n int, dirs []string, preset ddata.Preset) ([]*ddata.Node, func(), error) {
	addrs, err := ports.Free(n)
	if err != nil {
		return nil, nil, err
	}
	nodes := make([]*ddata.Node, n)
	errs := make(chan error, n)
	for i := range nodes {
		go func() {
			var err error
			cfg := ddata.Config{
				Name: "bench", Bind: addrs[i], Seeds: addrs, BootstrapExpect: n, Roles: []string{role}, Preset: preset,
				Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
			}
			if dirs != nil {
				cfg.Dir, cfg.DurableKeys = dirs[i], []string{"kept/*"}
			}
			nodes[i], err = ddata.Start(ctx, cfg)
			errs <- err
		}()
	}
	for range nodes {
		if err := <-errs; err != nil {
			return nil, nil, err
		}
	}
	return nodes, func() {
		for _, x := range nodes {
			_ = x.Close()
		}
	}, nil
}
