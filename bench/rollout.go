package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/coterie-go/coterie/bench/child"
	"github.com/coterie-go/coterie/bench/measure"
	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/proptest/ports"
	"github.com/coterie-go/coterie/sharding"
)

const (
	rollHosts    = 3
	rollEntities = 20 // of each type
	rollRest     = 500 * time.Millisecond
)

// The types of a roll-out: both versions of the program have one, and the new one has another.
const (
	oldType = "Old"
	newType = "New"
)

// rollOut is a cluster whose processes are replaced one after another, each by one at its address that
// runs the other version. The callers are in a node of their own, which hosts nothing.
type rollOut struct {
	addrs  []string // of the caller, then of the hosts
	hosts  map[string]*child.Process
	caller *ddata.Node
}

// runRollout replaces the three processes of a cluster under asks, by ones with a new entity type, and
// then back. It counts the asks that failed, and measures the longest; and how long it took from when
// the first process of the new version was a member until its new type answered.
func runRollout(ctx context.Context, _ options) error {
	addrs, err := ports.Free(rollHosts + 1)
	if err != nil {
		return err
	}
	r := &rollOut{addrs: addrs, hosts: map[string]*child.Process{}}
	defer r.end()
	for _, addr := range addrs[1:] {
		if err := r.start(ctx, addr, "1"); err != nil {
			return err
		}
	}
	if r.caller, err = startRolling(ctx, addrs[0], addrs, "caller", "1"); err != nil {
		return err
	}
	for _, addr := range addrs[1:] {
		if _, err := r.hosts[addr].Answer(); err != nil {
			return err
		}
	}
	old, err := startRollingType(r.caller, oldType)
	if err != nil {
		return err
	}
	olds, began := newPatients(old, rollIDs()), time.Now()
	defer olds.end()
	if err := olds.answered(ctx, began); err != nil {
		return err
	}
	news, err := r.forth(ctx, olds)
	if err != nil {
		return fmt.Errorf("forth: %w", err)
	}
	news.end() // the type goes with its last process
	began = time.Now()
	for _, addr := range addrs[1:] {
		if _, err := r.replace(ctx, addr, "1"); err != nil {
			return fmt.Errorf("back: %w", err)
		}
		if err := rest(ctx); err != nil {
			return err
		}
	}
	olds.end()
	var f measure.Figures
	addAsks(&f, "old", olds, began)
	measure.Report("rollout", "back", f)
	return nil
}

// forth brings the new version, and returns the callers of its new type.
func (r *rollOut) forth(ctx context.Context, olds *askLoad) (news *askLoad, err error) {
	began := time.Now()
	var firstUp time.Time
	for _, addr := range r.addrs[1:] {
		up, err := r.replace(ctx, addr, "2")
		if err != nil {
			return nil, err
		}
		if news == nil {
			firstUp = up
			region, err := startRollingType(r.caller, newType)
			if err != nil {
				return nil, err
			}
			news = newPatients(region, rollIDs())
		}
		if err := errors.Join(news.answered(ctx, firstUp), rest(ctx)); err != nil {
			news.end()
			return nil, err
		}
	}
	served := news.back(firstUp)
	var f measure.Figures
	addAsks(&f, "old", olds, began)
	addAsks(&f, "new", news, began)
	f.Add("new_type_after_ms", measure.Millis(measure.PercentileOf(served, 1)))
	measure.Report("rollout", "forth", f)
	return news, nil
}

// addAsks adds what became of the questions since a time that have been answered, or have failed.
func addAsks(f *measure.Figures, name string, l *askLoad, since time.Time) {
	asks, failed, first := l.begun(since, time.Now())
	f.Add("asks_"+name, asks)
	f.Add("failed_"+name, failed)
	f.Add("longest_"+name+"_ms", measure.Millis(l.longest(since)))
	if first != nil {
		f.Add("first_error_"+name, strconv.Quote(first.Error()))
	}
}

func rollIDs() (ids []string) {
	for i := range rollEntities {
		ids = append(ids, "entity-"+strconv.Itoa(i))
	}
	return ids
}

// start starts the process of a host. It says "up" when it is ready.
func (r *rollOut) start(ctx context.Context, addr, version string) (err error) {
	r.hosts[addr], err = child.Start(ctx, "rollout", addr, version, strings.Join(r.addrs, " "))
	return err
}

// replace has the process at an address leave, and starts one of a version in its place. It returns when
// that is ready, and when that was.
func (r *rollOut) replace(ctx context.Context, addr, version string) (up time.Time, err error) {
	if _, err := r.hosts[addr].Ask("leave"); err != nil {
		return up, err
	}
	r.hosts[addr].End()
	if err := r.start(ctx, addr, version); err != nil {
		return up, err
	}
	if _, err := r.hosts[addr].Answer(); err != nil {
		return up, err
	}
	return time.Now(), nil
}

// rest lets some time pass, as a roll-out does between two processes.
func rest(ctx context.Context) error {
	select {
	case <-time.After(rollRest):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (r *rollOut) end() {
	if r.caller != nil {
		_ = r.caller.Close()
	}
	for _, c := range r.hosts {
		_ = c.Cmd.Process.Kill()
		c.End()
	}
}

func startRolling(ctx context.Context, bind string, seeds []string, role, version string) (*ddata.Node, error) {
	return ddata.Start(ctx, ddata.Config{
		Name: "bench", Bind: bind, Seeds: seeds, BootstrapExpect: len(seeds), Roles: []string{role},
		Preset: ddata.Local, AppVersion: version, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
}

func startRollingType(n *ddata.Node, name string) (*sharding.Region[Message], error) {
	return sharding.Start(n, sharding.EntityType[Message]{
		Identity: sharding.Identity{Name: name, Role: role, Shards: failShards},
		Messages: sharding.CBOR[Message](Query{}),
		New:      func(*sharding.Context[Message]) sharding.Entity[Message] { return &sink{} },
	})
}

// rolloutChild is main of a process that hosts entities of the types of a version. It leaves when it is
// told to.
func rolloutChild(ctx context.Context, bind, version string, seeds []string) error {
	n, err := startRolling(ctx, bind, seeds, role, version)
	if err != nil {
		return err
	}
	types := []string{oldType}
	if version != "1" {
		types = append(types, newType)
	}
	for _, name := range types {
		if _, err := startRollingType(n, name); err != nil {
			return err
		}
	}
	for !n.Health().Ready { // as a readiness probe asks
		select {
		case <-n.Done():
			return n.Err()
		case <-time.After(patientPace):
		}
	}
	fmt.Println("up")
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		return err
	}
	err = n.Leave(ctx)
	fmt.Println("left", err)
	return err
}
