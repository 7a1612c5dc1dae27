package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/coterie-go/coterie/bench/child"
	"github.com/coterie-go/coterie/bench/measure"
	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/proptest/ports"
)

// runDetect kills a process of three with kill -9 and measures on the other two nodes. It measures
// until the process counts as unreachable, until a view without it is installed, and until both go
// on under that view. Then they hold their leases and have written to a majority. The last of the
// two counts each time.
func runDetect(ctx context.Context, _ options) error {
	for _, preset := range []ddata.Preset{ddata.Local, ddata.LAN} {
		var f measure.Figures
		if err := detect(ctx, preset, &f); err != nil {
			return fmt.Errorf("%v: %w", preset, err)
		}
		measure.Report("detect", "kill-9-"+preset.String(), f)
	}
	return nil
}

func detectConfig(addr string, seeds []string, preset ddata.Preset) ddata.Config {
	return ddata.Config{
		Name: "bench", Bind: addr, Seeds: seeds, BootstrapExpect: len(seeds), Roles: []string{role}, Preset: preset,
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	}
}

// presetOf is the preset that prints itself so.
func presetOf(name string) ddata.Preset {
	if name == ddata.Local.String() {
		return ddata.Local
	}
	return ddata.LAN
}

// runDetectChild is the process that is killed.
func runDetectChild(ctx context.Context, preset string, addr string, seeds []string) error {
	n, err := ddata.Start(ctx, detectConfig(addr, seeds, presetOf(preset)))
	if err != nil {
		return err
	}
	fmt.Println("up")
	<-n.Done()
	return n.Err()
}

// sightings are when each of the two saw something for the first time, in the order of seeing.
type sightings struct {
	mu          sync.Mutex
	unreachable []time.Time
	removed     []time.Time
	both        chan struct{} // closed when both have seen the removal
}

// hear is the listener of both.
func (s *sightings) hear(e events.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch e.(type) {
	case events.MemberUnreachable:
		s.unreachable = append(s.unreachable, time.Now())
	case events.MemberRemoved:
		if s.removed = append(s.removed, time.Now()); len(s.removed) == 2 {
			close(s.both)
		}
	}
}

func detect(ctx context.Context, preset ddata.Preset, f *measure.Figures) error {
	addrs, err := ports.Free(3)
	if err != nil {
		return err
	}
	victim, err := child.Start(ctx, "detect", preset, addrs[2], addrs[0], addrs[1], addrs[2])
	if err != nil {
		return err
	}
	defer func() {
		_ = victim.Cmd.Process.Kill() // also when it has not come to that
		victim.End()
	}()
	seen := &sightings{both: make(chan struct{})}
	nodes := make([]*ddata.Node, 2)
	errs := make(chan error, len(nodes))
	for i := range nodes {
		cfg := detectConfig(addrs[i], addrs, preset)
		cfg.OnEvent = seen.hear
		go func() {
			var err error
			nodes[i], err = ddata.Start(ctx, cfg)
			errs <- err
		}()
	}
	for range nodes {
		if err := <-errs; err != nil {
			return err
		}
	}
	defer func() {
		for _, n := range nodes {
			_ = n.Close()
		}
	}()
	for _, n := range nodes { // the process has answered both: there are connections that can end
		if err := writeOnce(ctx, n, ddata.WriteAll); err != nil {
			return err
		}
	}
	killed := time.Now()
	if err := victim.Cmd.Process.Kill(); err != nil {
		return err
	}
	select {
	case <-seen.both:
	case <-ctx.Done():
		return ctx.Err()
	}
	for _, n := range nodes {
		if err := writeOnce(ctx, n, ddata.WriteMajority); err != nil {
			return err
		}
	}
	settled := time.Since(killed)
	seen.mu.Lock()
	defer seen.mu.Unlock()
	f.Add("unreachable_ms", lastOf(seen.unreachable).Sub(killed).Milliseconds())
	f.Add("downed_ms", lastOf(seen.removed).Sub(killed).Milliseconds())
	f.Add("settled_ms", settled.Milliseconds())
	f.Add("unreachable_events", len(seen.unreachable))
	return nil
}

func lastOf(ts []time.Time) (last time.Time) {
	for _, t := range ts {
		if t.After(last) {
			last = t
		}
	}
	return last
}

func writeOnce(ctx context.Context, n *ddata.Node, w ddata.WriteLevel) error {
	r, err := n.Replicator(role)
	if err != nil {
		return err
	}
	return ddata.Update(ctx, r, detectKey, w,
		func(c *crdt.GCounterTx) error { return c.Increment(1) })
}

var detectKey = ddata.NewKey[crdt.GCounter]("detect")
