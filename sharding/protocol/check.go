package protocol

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// faultList gathers everything that is wrong, so that one run shows it all.
type faultList []error

func (f *faultList) check(ok bool, format string, args ...any) {
	if !ok {
		*f = append(*f, fmt.Errorf(format, args...))
	}
}

// Check reports every broken invariant of the coordinator.
func (c *Coordinator) Check() error {
	var f faultList
	f.check((c.mode <= leaseWaiting) == (c.shards == nil), "mode %s with the states of %d shards", modeNames[c.mode], len(c.shards))
	f.check(c.mode <= leaseWaiting || !c.cfg.CoordinatorLease || c.leaseState.state == leaseHeld, "a reign while the lease is %s", leaseStepNames[c.leaseState.state])
	f.check(c.mode == idle || c.view != nil && c.me.UID == c.cfg.Self, "a reign without a view")
	counts := map[UID]int{}
	unallocated := map[ShardID]bool{}
	for _, s := range slices.Concat(c.unallocated, c.asked.shards) {
		unallocated[s] = true
	}
	for i := range c.shards {
		c.checkShard(&f, ShardID(i), &c.shards[i])
		f.check(c.shards[i].state != stateWanted || unallocated[ShardID(i)], "shard %d is wanted and not among the unallocated", i)
		if c.shards[i].counts() {
			counts[c.shards[i].home]++
		}
	}
	for _, p := range c.peersByUID() {
		f.check(p.count == counts[p.uid], "region %v counts %d shards, has %d", p.uid, p.count, counts[p.uid])
		f.check(c.view.Has(p.uid), "region %v is no member", p.uid)
	}
	if c.alloc != nil {
		for _, r := range c.alloc.Regions {
			f.check(r.Count == counts[r.UID], "the strategy sees %d shards of %v, it has %d", r.Count, r.UID, counts[r.UID])
		}
	}
	f.check(c.needs.Loads == (c.records != nil) || c.mode <= leaseWaiting, "records of %d shards", len(c.records))
	for _, s := range slices.Sorted(maps.Keys(c.departed)) {
		f.check(c.shards[s].moved, "shard %v is on its way, and did not move", s)
	}
	for _, s := range slices.Sorted(maps.Keys(c.moves)) {
		st := c.shards[s].state
		f.check(st == stateFencing || st == stateStopping, "hand-off of shard %v, which is %s", s, shardStepNames[st])
	}
	return errors.Join(f...)
}

func (c *Coordinator) checkShard(f *faultList, s ShardID, st *shardState) {
	f.check((st.home != 0) == (st.state > stateEnded), "shard %v is %s with home %v", s, shardStepNames[st.state], st.home)
	f.check(st.state <= stateEnded || !st.token.IsZero(), "shard %v is %s without a token", s, shardStepNames[st.state])
	moving := st.state == stateFencing || st.state == stateStopping
	f.check(moving == (c.moves[s] != nil), "shard %v is %s, hand-off %v", s, shardStepNames[st.state], c.moves[s] != nil)
	if m := c.moves[s]; m != nil {
		f.check(st.token.Less(m.id), "shard %v: hand-off %v is not above the entry's %v", s, m.id, st.token)
		f.check(st.state == stateFencing || len(m.waiting) == 0, "shard %v is stopping and waits for answers to Begin", s)
	}
	f.check(st.home == 0 || c.view.Has(st.home), "shard %v lives on %v, which is no member", s, st.home)
}

// String prints the state of the coordinator; shards that live somewhere quietly are only counted.
func (c *Coordinator) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "coordinator %s lease=%v", modeNames[c.mode], c.lease)
	if c.mode <= leaseWaiting {
		return b.String()
	}
	fmt.Fprintf(&b, " floor=%v", c.floor)
	for _, p := range c.peersByUID() {
		fmt.Fprintf(&b, " %v:%d", p.uid, p.count)
		if p.leaving {
			b.WriteString("(leaving)")
		}
	}
	for i := range c.shards {
		if st := &c.shards[i]; st.state != stateUnallocated && st.state != stateHosted {
			fmt.Fprintf(&b, "\n  %d %s %v@%v", i, shardStepNames[st.state], st.home, st.token)
			if m := c.moves[ShardID(i)]; m != nil {
				fmt.Fprintf(&b, " hand-off %v waiting%s", m.id, list(m.waiting))
			}
		}
	}
	return b.String()
}

// Check reports every broken invariant of the region.
func (r *Region) Check() error {
	var f faultList
	f.check(!r.dropped || r.Deadline().IsZero(), "dropped, and wants a Tick at %v", r.Deadline())
	wanted, hosted, stopped := 0, 0, 0
	for i := range r.shards {
		s, p := ShardID(i), &r.shards[i]
		wanted += count(p.wanted)
		hosted += count(p.hosts())
		stopped += count(p.phase == PhaseStopped)
		f.check(r.dropped || p.route == r.routeOf(p), "shard %v: published route %v, should be %v", s, p.route, r.routeOf(p))
		f.check(!p.wanted || p.route.State.Buffers(), "shard %v: messages wait although the route is %v", s, p.route)
		gives := p.phase >= PhaseFencing
		f.check(!gives || r.moves[s] != nil, "shard %v is %v without a hand-off", s, p.phase)
		f.check(r.moves[s] == nil || gives || p.phase == PhaseStarting, "shard %v is %v with a hand-off", s, p.phase)
		f.check(!p.hosts() || !r.cfg.Proxy, "a proxy hosts shard %v", s)
		f.check(p.phase != PhaseFencing || len(r.moves[s].need) > 0, "shard %v is fencing and waits for nobody", s)
	}
	f.check(wanted == r.wanted, "%d shards are wanted, counted %d", wanted, r.wanted)
	f.check(hosted == r.hosted, "%d shards are hosted, counted %d", hosted, r.hosted)
	f.check(stopped == r.stopped, "%d shards are stopped, counted %d", stopped, r.stopped)
	f.check(!r.left || hosted == 0, "left with %d shards", hosted)
	return errors.Join(f...)
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

// String prints the state of the region; shards with an ordinary remote route are only counted.
func (r *Region) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "region of %v coordinator=%v floor=%v known=%v joined=%v", r.self(), r.coordinator, r.floor, r.known, r.joined)
	remote := 0
	for i := range r.shards {
		p := &r.shards[i]
		switch {
		case p.phase != PhaseNone || p.wanted || p.held():
			fmt.Fprintf(&b, "\n  %d %v %v", i, p.phase, p.route)
			if p.wanted {
				b.WriteString(" wanted")
			}
			if g := r.moves[ShardID(i)]; g != nil {
				fmt.Fprintf(&b, " hand-off %v needs%s", g.id, list(g.need))
			}
		case p.route.State == RouteRemote:
			remote++
		}
	}
	fmt.Fprintf(&b, "\n  remote %d", remote)
	return b.String()
}

// Check reports every broken invariant of the shard.
func (s *Shard) Check() error {
	var f faultList
	changing, running := 0, 0
	for id, e := range s.entities { // order: only counted; errors name one id each and are rare
		changing += count(e.changing())
		running += count(e.running())
		f.check(e.state != EntityAbsent, "entity %v is kept although it is absent", id)
		needs := e.state == EntityRemembered || e.state == RememberingStart || e.state == RememberingStop || e.state == WaitingForRestart
		f.check(s.cfg.Remember || !needs, "entity %v is %v in a shard that remembers nothing", id, e.state)
	}
	f.check(changing == s.changing, "%d entities change, counted %d", changing, s.changing)
	f.check(running == s.running, "%d entities run, counted %d", running, s.running)
	f.check(s.phase < shardReturning || len(s.entities) == 0, "stopped with %d entities", len(s.entities))
	f.check(s.phase != shardDrained || s.changing == 0 || s.cfg.Faults.NoRememberWait, "drained while %d entities change", s.changing)
	f.check(s.phase != shardStopping || !s.stopAt.IsZero() || s.running == 0 || s.forced, "stopping without a limit")
	holds := s.phase >= shardLoading && s.phase < shardReturning
	f.check(!holds || !s.cfg.Lease || s.leaseState.state == leaseHeld || s.cfg.Faults.KeepLostLease, "%s while the lease is %s",
		shardPhaseNames[s.phase], leaseStepNames[s.leaseState.state])
	f.check(!s.store.failed || s.store.write.ID != 0, "a failed write without a write")
	return errors.Join(f...)
}

func (s *Shard) String() string {
	return fmt.Sprintf("shard %v %s entities=%d running=%d changing=%d adds=%d removes=%d writing=%d",
		s.id, shardPhaseNames[s.phase], len(s.entities), s.running, s.changing, len(s.store.adds), len(s.store.removes), s.store.write.ID)
}
