package thousand

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/coterie-go/coterie/ddata/drivers"
	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/ddata/host"
	"github.com/coterie-go/coterie/ddata/membership"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/ddata/scheduler"
	"github.com/coterie-go/coterie/ddata/shutdown"
	"github.com/coterie-go/coterie/proptest/routine"
	"github.com/coterie-go/coterie/replicator/keyspace"
	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/control"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// role is that of all nodes.
const role = "bench"

// node is one incarnation: the real machines of a node, and what stands for its goroutines.
type node struct {
	w     *world
	slot  *slot
	uid   uint64
	rng   *rand.Rand
	alive bool
	left  func() // what follows when it has left; nil: it does not leave

	mem      *memberHost
	data     []*replicaHost // of the users, and reserved
	progress *drivers.Progress
	rt       *routine.Process
	wires    *wires
	watchers host.Watchers
	phases   *shutdown.Sequence
	attached host.Attached
	reason   error // why it ends; nil: it does not
	region   *sharding.Region[Message]
	plane    *control.Plane // nil: no machine has taken a step

	stepPart  part // whose step is under way, and since when
	stepBegan time.Duration
}

// startNode starts a new incarnation on a slot.
func (w *world) startNode(s *slot) error {
	uid := view.DrawUID(w.clock(), 0, w.ids.Uint64())
	n := &node{w: w, slot: s, uid: uint64(uid), rng: w.rs.Stream("node", uint64(uid)), alive: true}
	n.rt = routine.NewProcess(&timeline{n})
	n.phases = shutdown.New(n.rt, nil, nil)
	n.wires = newWires(n)
	n.progress = drivers.NewProgress([]string{role}, func(in membership.Input) {
		n.soon(func() { n.mem.step(in) })
	})
	var err error
	if n.mem, err = newMemberHost(n); err != nil {
		return err
	}
	for _, set := range keyspace.Datasets([]string{role}) {
		r, err := newReplicaHost(n, set)
		if err != nil {
			return err
		}
		n.data = append(n.data, r)
	}
	s.node = n
	w.nodes[n.uid] = n
	n.mem.step(membership.Tick{})
	for _, r := range n.data {
		r.start()
	}
	n.enter(func() {
		if n.region, err = n.startType(); err != nil {
			w.fail("%s does not start the type: %v", s.addr, err)
		}
	})
	return nil
}

// soon has something happen to the node a moment later, as between two goroutines.
func (n *node) soon(run func()) { n.w.after(time.Duration(n.rng.Int64N(50_000)), n, run) }

// timer is the one that a driver arms for its machine.
type timer struct {
	due time.Time
	gen int
}

// arm sets the timer to a machine's deadline; zero: to none.
func (t *timer) arm(n *node, due time.Time, fire func()) {
	if due.Equal(t.due) || !n.alive {
		return
	}
	t.due = due
	t.gen++
	if due.IsZero() {
		return
	}
	gen := t.gen
	n.w.after(max(due.Sub(n.w.clock()), 1), n, func() {
		if t.gen == gen {
			t.due = time.Time{}
			fire()
		}
	})
}

// enter runs something of sharding.
func (n *node) enter(fn func()) {
	n.w.meter.within(n, planePart, func() { n.rt.Enter(fn) })
}

// timeline is the queue of the world as a node sees it.
type timeline struct{ n *node }

var _ routine.Timeline = (*timeline)(nil)

// Now implements routine.Timeline.
func (t *timeline) Now() time.Time { return t.n.w.clock() }

// At implements routine.Timeline.
func (t *timeline) At(due time.Time, fn func()) {
	t.n.w.after(due.Sub(t.n.w.clock()), t.n, func() { t.n.w.meter.within(t.n, planePart, fn) })
}

// Soon implements routine.Timeline.
func (t *timeline) Soon(fn func()) {
	t.n.soon(func() { t.n.w.meter.within(t.n, planePart, fn) })
}

// Uint64 implements routine.Timeline.
func (t *timeline) Uint64() uint64 { return t.n.rng.Uint64() }

// host is the port of the node.
func (n *node) host() host.Host {
	return host.Host{
		Self: host.Self{
			ClusterName: "bench", Addr: n.slot.addr, Roles: []string{role}, Volatile: true,
			Heartbeat: n.mem.m.HeartbeatInterval(),
		},
		Cluster: cluster{n}, Lease: lease{n}, Channels: n.wires, Lifecycle: life{n}, Attached: &n.attached,
		Scheduler: n.rt, Log: slog.New(slog.DiscardHandler), Emit: func(events.Event) {},
		Data:     func(string) (host.Data, error) { return drivers.Data{Host: n.data[1]}, nil },
		UserData: func(string) (host.Data, error) { return drivers.Data{Host: n.data[0]}, nil },
	}
}

// install tells all of a view.
func (n *node) install(v *view.View) {
	for _, r := range n.data {
		n.soon(func() { r.install(v) })
	}
	n.enter(func() { n.watchers.TellView(v) })
}

// handOver are the phases before the members decide a view without the node.
var handOver = []shutdown.Phase{shutdown.ClusterLeave, shutdown.ShardingShutdownRegion, shutdown.ClusterExiting}

// leave has the node leave in order. then is called when it has.
func (n *node) leave(then func()) {
	n.left = then
	n.mem.step(membership.Leave{})
	n.enter(func() {
		n.rt.Go(func() {
			if n.phases.Run(context.Background(), handOver...) == nil {
				n.w.after(0, n, func() { n.mem.step(membership.Stopped{}) })
			}
		})
	})
}

// done ends the node by its own decision, when what runs on it has ended.
func (n *node) done(why error) {
	if n.reason != nil {
		return
	}
	n.reason = why
	if !errors.Is(why, membership.ErrLeft) || n.left == nil {
		n.w.fail("%s ends: %v", n.slot.addr, why)
	}
	n.enter(func() {
		n.rt.Go(func() {
			all := scheduler.NewGroup(n.rt)
			for _, end := range n.watchers.End(why) {
				all.Go(func() { end(why) })
			}
			all.Wait()
			n.w.after(0, n, func() {
				n.kill()
				n.left()
			})
		})
	})
}

// kill ends the node at once.
func (n *node) kill() {
	n.alive, n.slot.node = false, nil
	delete(n.w.nodes, n.uid)
	n.w.owners.died(n.uid)
	n.rt.Kill()
	n.w.q.Void(func(owner *node) bool { return owner == n }) // some are hours away, and the node is megabytes
}

// serves reports whether the node is Up in a view of so many, and its region is registered.
func (n *node) serves() bool {
	if n.mem.view == nil || n.plane == nil || n.plane.R.Standing.IsNew() {
		return false
	}
	me, ok := n.mem.view.Member(view.UID(n.uid))
	return ok && me.Status == view.Up
}

// stepping and stepped look at a step of a machine of sharding.
func (n *node) stepping(m control.Machine) {
	n.stepPart = partOf(m)
	n.w.meter.enter(n, n.stepPart)
	n.stepBegan = n.w.meter.last
}

func (n *node) stepped(c *control.Plane, _ control.Machine, _ protocol.ShardID, in, fx any) {
	n.w.meter.enter(n, planePart)
	n.w.meter.note(n.stepPart, n.w.meter.last-n.stepBegan, in)
	n.plane = c
	if in, is := in.(protocol.TableChanged); is && len(in.Entries) > protocol.BatchMax {
		n.w.fail("a step of a %v takes %d entries of the table, at most %d", partNames[n.stepPart], len(in.Entries),
			protocol.BatchMax)
	}
	r, is := fx.(*protocol.RegionEffects)
	if !is {
		return
	}
	for _, a := range r.Do {
		switch a := a.(type) {
		case protocol.StartShard:
			n.w.owners.starts(n.uid, a.Shard)
		case protocol.CloseShard:
			n.w.owners.ends(n.uid, a.Shard)
		case protocol.KillShard:
			n.w.owners.ends(n.uid, a.Shard)
		}
	}
}
