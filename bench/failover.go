package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/coterie-go/coterie/bench/child"
	"github.com/coterie-go/coterie/bench/measure"
	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/proptest/ports"
	"github.com/coterie-go/coterie/sharding"
)

const (
	failHosts    = 3
	failEntities = 100
	failShards   = 30
	failTarget   = time.Second // after the downing decision
)

// runFailover kills a process of three with kill -9 while a hundred callers in a fourth one, which
// hosts nothing, ask its hundred entities again and again. It measures until each of them answers
// elsewhere. It does so once with a process that hosts only, and once with the one in which the
// coordinator is, too; with the timers for one machine, and with those for a network.
func runFailover(ctx context.Context, _ options) error {
	for i, name := range []string{"owner", "owner-and-coordinator", "LAN-owner", "LAN-owner-and-coordinator"} {
		preset := []ddata.Preset{ddata.Local, ddata.LAN}[i/2]
		if err := failover(ctx, name, preset, i%2 == 1); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

func failover(ctx context.Context, name string, preset ddata.Preset, coordinates bool) error {
	addrs, err := ports.Free(failHosts + 1)
	if err != nil {
		return err
	}
	hosts := map[string]*child.Process{} // by address
	for _, addr := range addrs[1:] {
		t, err := child.Start(ctx, "failover", preset, addr, strings.Join(addrs, " "))
		if err != nil {
			return err
		}
		defer func() {
			_ = t.Cmd.Process.Kill()
			t.End()
		}()
		hosts[addr] = t
	}
	var removed atomic.Int64 // when, in Unix nanoseconds, a view without the victim was installed here
	var cut atomic.Int64     // when this node last lost a connection to a node before that
	n, err := startFailing(ctx, preset, addrs[0], addrs, "caller", func(e events.Event) {
		switch e.(type) {
		case events.MemberRemoved:
			removed.CompareAndSwap(0, time.Now().UnixNano())
		case events.LinkDown:
			if removed.Load() == 0 {
				cut.Store(time.Now().UnixNano())
			}
		}
	})
	if err != nil {
		return err
	}
	defer n.Close()
	for _, t := range hosts {
		if _, err := t.Answer(); err != nil {
			return err
		}
	}
	region, err := startFailoverType(n)
	if err != nil {
		return err
	}
	victim, ids, err := victimOf(ctx, n, region, coordinates)
	if err != nil {
		return err
	}
	calls := newPatients(region, ids)
	defer calls.end()
	if err := calls.answered(ctx, time.Now()); err != nil { // each is in the middle of it
		return err
	}
	killed := time.Now()
	if err := hosts[victim.Addr].Cmd.Process.Kill(); err != nil {
		return err
	}
	if err := calls.answered(ctx, killed); err != nil {
		return err
	}
	calls.end()
	f := failoverFigures(calls, killed, time.Unix(0, cut.Load()), time.Unix(0, removed.Load()))
	measure.Report("failover", name, f)
	return nil
}

// failoverFigures tells asks that began before the connections to the victim were seen to be gone,
// which may have been sent and lost, from those that waited.
func failoverFigures(calls *askLoad, killed, cut, downed time.Time) (f measure.Figures) {
	back := calls.back(killed)
	f.Add("entities", len(back))
	f.Add("cut_ms", measure.Millis(cut.Sub(killed)))
	f.Add("downed_ms", measure.Millis(downed.Sub(killed)))
	f.Add("median_after_downed_ms", measure.Millis(measure.PercentileOf(back, 0.5)-downed.Sub(killed)))
	f.Add("max_after_downed_ms", measure.Millis(measure.PercentileOf(back, 1)-downed.Sub(killed)))
	f.Add("last_ms", measure.Millis(measure.PercentileOf(back, 1)))
	f.Add("target_ms", failTarget.Milliseconds())
	for _, part := range []struct {
		name     string
		from, to time.Time
	}{
		{"before_kill", time.Time{}, killed}, {"until_cut", killed, cut}, {"until_downed", cut, downed},
		{"after_downed", downed, time.Now()},
	} {
		asks, failed, first := calls.begun(part.from, part.to)
		f.Add("asks_"+part.name, asks)
		f.Add("failed_"+part.name, failed)
		if first != nil {
			f.Add("first_error_"+part.name, strconv.Quote(first.Error()))
		}
	}
	return f
}

func startFailing(ctx context.Context, preset ddata.Preset, bind string, seeds []string, role string,
	l events.Listener) (*ddata.Node, error) {
	return ddata.Start(ctx, ddata.Config{
		Name: "bench", Bind: bind, Seeds: seeds, BootstrapExpect: len(seeds), Roles: []string{role},
		Preset: preset, OnEvent: l,
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
}

func startFailoverType(n *ddata.Node) (*sharding.Region[Message], error) {
	return sharding.Start(n, sharding.EntityType[Message]{
		Identity:     sharding.Identity{Name: "Failing", Role: role, Shards: failShards},
		Coordination: sharding.Coordination{MinRegions: failHosts},
		Messages:     sharding.CBOR[Message](Query{}),
		New:          func(*sharding.Context[Message]) sharding.Entity[Message] { return &sink{} },
	})
}

// failoverChild is main of a process that hosts entities.
func failoverChild(ctx context.Context, preset, bind string, seeds []string) error {
	n, err := startFailing(ctx, presetOf(preset), bind, seeds, role, nil)
	if err != nil {
		return err
	}
	if _, err := startFailoverType(n); err != nil {
		return err
	}
	fmt.Println("up")
	<-n.Done()
	return n.Err()
}

// victimOf is the node with the coordinator, or another, and entities that live there.
func victimOf(ctx context.Context, n *ddata.Node, region *sharding.Region[Message],
	coordinates bool) (victim view.Member, ids []string, err error) {
	if _, err := sharding.Ask(ctx, region.Ref("entity-0"), Query{}); err != nil { // it knows the coordinator then
		return victim, nil, err
	}
	v := n.View()
	for _, m := range v.ByRole(role) {
		if (m.UID == region.Coordinator()) == coordinates {
			victim = m
		}
	}
	for i := 0; len(ids) < failEntities; i++ {
		id := "entity-" + strconv.Itoa(i)
		if _, err := sharding.Ask(ctx, region.Ref(id), Query{}); err != nil {
			return victim, nil, err
		}
		if at, err := region.Where(ctx, id, sharding.LookHere); err == nil && at.Node == victim.UID {
			ids = append(ids, id)
		}
	}
	return victim, ids, nil
}
