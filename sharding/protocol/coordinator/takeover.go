package coordinator

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/coterie-go/coterie/ddata/membership"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// takeover is what a new coordinator gathers before it acts: the table and the regions as a
// majority knows them, and what every member that may host or route says itself.
type takeover struct {
	homes, regions protocol.StateRead // ID 0: done
	locations      protocol.StateRead // likewise, if the strategy needs them
	table          []protocol.Entry
	listed         []protocol.UID
	tries          int
	awaiting       []protocol.UID // whose reports are not complete
	reports        map[protocol.UID]*gathered
	registers      map[protocol.UID]protocol.Register // regions that registered meanwhile
	shards         []protocol.ShardID                 // with remembered ids, as far as known
}

// gathered is the report of one member, part by part.
type gathered struct {
	life    uint32
	parts   map[uint32]bool
	proxy   bool
	leaving bool
	left    bool
	shards  []protocol.Hosted
}

func (c *Coordinator) becomeIdle() {
	if c.mode == active {
		c.notify(protocol.Event{Kind: protocol.CoordinatorStopped})
	}
	c.mode = idle
	c.releaseLease()
	c.takeover = takeover{}
	c.shards, c.moves, c.peers, c.waiters = nil, map[protocol.ShardID]*move{}, map[protocol.UID]*peer{}, map[protocol.ShardID][]protocol.UID{}
	c.stops, c.departed, c.passed = map[protocol.ShardID][]protocol.UID{}, map[protocol.ShardID]time.Time{}, map[protocol.UID]time.Time{}
	c.unallocated, c.opened, c.alloc, c.grouped, c.records, c.locations, c.moving = nil, false, nil, nil, nil, nil, false
	c.asked.shards, c.asked.rebalance = nil, false // an answer may still come
	c.writes, c.failed, c.remembered = map[uint64]protocol.StateWrite{}, nil, protocol.StateRead{}
	c.tableWrites, c.storeFailures = 0, nil
	c.outOfRange = outOfRange{}
	c.out = outbox{}
	c.retryAt, c.rebalanceAt = time.Time{}, time.Time{}
}

// becomeReading begins a reign: first the state that a majority knows.
func (c *Coordinator) becomeReading() {
	c.mode = reading
	c.floor = c.next()
	c.shards = make([]shardState, c.cfg.Shards)
	c.takeover = takeover{reports: map[protocol.UID]*gathered{}, registers: map[protocol.UID]protocol.Register{}}
	c.takeover.homes = c.read(protocol.StateHomes)
	c.takeover.regions = c.read(protocol.StateRegions)
	if c.cfg.Remember {
		c.remembered = c.read(protocol.StateRemembered)
	}
	if c.needs.Locations {
		c.locations = map[protocol.ShardID]string{}
		c.takeover.locations = c.read(protocol.StateLocations)
	}
	if c.needs.Loads {
		c.records = make([]record, c.cfg.Shards)
	}
	c.retryAt = c.now.Add(c.cfg.RetryInterval / 4)
	c.compareRoles()
}

func (c *Coordinator) read(k protocol.StateKind) protocol.StateRead {
	return c.readAs(protocol.StateRead{Kind: k})
}

// readAs reads, under an ID of its own.
func (c *Coordinator) readAs(r protocol.StateRead) protocol.StateRead {
	r.ID = c.nextID()
	c.fx.Read = append(c.fx.Read, r)
	return r
}

// onRead takes what was read. A read that failed is repeated with the next tick; its ID is given up
// until then.
func (c *Coordinator) onRead(in protocol.DidRead) {
	t := &c.takeover
	var r *protocol.StateRead
	switch in.ID {
	case t.homes.ID:
		r = &t.homes
	case t.regions.ID:
		r = &t.regions
	case t.locations.ID:
		r = &t.locations
	case c.remembered.ID:
		r = &c.remembered
	case c.outOfRange.read.ID:
		r = &c.outOfRange.read
	}
	if r == nil || in.ID == 0 {
		c.counts[protocol.CountLate]++
		return
	}
	if in.Err != nil {
		r.ID = failedRead
		r.Failed++
		c.stateFailed(readOp(*r), in.Err)
		return
	}
	c.stateWorks(readOp(*r))
	switch r.Kind {
	case protocol.StateHomes:
		t.table = in.Homes
	case protocol.StateRegions:
		t.listed = in.Regions
	case protocol.StateLocations:
		clear(c.locations)
		c.onLocations(protocol.LocationsChanged{Put: in.Locations})
	case protocol.StateRemembered:
		*r = protocol.StateRead{}
		c.onRemembered(in.Shards)
		return
	case protocol.StateIDs:
		c.onOutOfRangeRead(in.IDs)
		return
	}
	*r = protocol.StateRead{}
	if c.mode == reading && t.homes.ID == 0 && t.regions.ID == 0 && t.locations.ID == 0 {
		c.becomeInquiring()
	}
}

// failedRead stands in the ID of a read that must be repeated.
const failedRead = ^uint64(0)

func (c *Coordinator) retryRead(r *protocol.StateRead) {
	if r.ID == failedRead {
		*r = c.readAs(*r)
	}
}

func (c *Coordinator) retryTakeover() {
	c.retryRead(&c.takeover.homes)
	c.retryRead(&c.takeover.regions)
	c.retryRead(&c.takeover.locations)
	c.retryRead(&c.remembered)
	for _, u := range c.takeover.awaiting {
		c.counts[protocol.CountRetries]++
		c.inquire(u)
	}
	if c.takeover.tries++; c.takeover.tries == reportTries && len(c.takeover.awaiting) > 0 {
		c.notify(protocol.Event{Kind: protocol.ReportAwaited, Peer: c.takeover.awaiting[0], Count: len(c.takeover.awaiting), Text: fmt.Sprint(c.takeover.awaiting)})
	}
	c.maybeActivate()
}

// becomeInquiring asks every member that may host, and every listed proxy, what it hosts and for
// which hand-offs it buffers. By its answer each of them refuses earlier coordinators from now on.
// Members that join later cannot host: only this coordinator commands them.
func (c *Coordinator) becomeInquiring() {
	c.mode = inquiring
	for _, m := range c.view.Members {
		hosts := m.HasRole(c.cfg.Role) && m.Status != membership.Joining
		if hosts || slices.Contains(c.takeover.listed, m.UID) {
			c.takeover.awaiting = append(c.takeover.awaiting, m.UID)
			c.inquire(m.UID)
		}
	}
}

func (c *Coordinator) inquire(u protocol.UID) {
	c.out.send(u, protocol.Inquire{Floor: c.floor, Role: c.cfg.Role})
}

func (c *Coordinator) onReport(from protocol.UID, m protocol.Report) {
	t := &c.takeover
	if m.Floor != c.floor || !slices.Contains(t.awaiting, from) || m.Part >= m.Parts {
		c.counts[protocol.CountLate]++
		return
	}
	member, _ := c.view.Member(from)
	if c.sayMismatch(member, m.Proxy, m.Compatibility) && !m.Compatibility.RoutesAs(c.cfg.Compatibility()) {
		c.onReportOfOtherRole(from, m)
		return
	}
	g := t.reports[from]
	if g == nil {
		g = &gathered{parts: map[uint32]bool{}}
		t.reports[from] = g
	}
	if g.parts[m.Part] {
		return
	}
	g.parts[m.Part] = true
	g.life, g.proxy, g.leaving, g.left = m.Life, m.Proxy, m.Leaving, m.Left
	g.shards = append(g.shards, m.Shards...)
	if len(g.parts) == int(m.Parts) {
		t.awaiting = protocol.Without(t.awaiting, from)
		c.maybeActivate()
	}
}

// onReportOfOtherRole takes the report of a region whose ids go to other shards. One that hosts
// nothing is no peer, and takes no part. One that hosts holds the takeover up: its entities run,
// and a coordinator that acted would have them run a second time in other shards.
func (c *Coordinator) onReportOfOtherRole(from protocol.UID, m protocol.Report) {
	if m.Parts == 1 && !slices.ContainsFunc(m.Shards, func(h protocol.Hosted) bool { return h.Phase != protocol.PhaseNone }) {
		c.takeover.awaiting = protocol.Without(c.takeover.awaiting, from)
		c.maybeActivate()
	}
}

func (c *Coordinator) maybeActivate() {
	if c.mode == inquiring && len(c.takeover.awaiting) == 0 && !c.awaitsRoles() {
		c.becomeActive()
	}
}

// reportTries is how often reports are asked for before an event names the members that have not
// answered. It is about one RetryInterval.
const reportTries = 4

// Awaits are the members that must say what they host before this coordinator acts.
func (c *Coordinator) Awaits() []protocol.UID {
	if c.mode != inquiring {
		return nil
	}
	return c.takeover.awaiting
}

// becomeActive resolves what was found and begins to act.
func (c *Coordinator) becomeActive() {
	t := c.takeover
	c.takeover = takeover{}
	c.mode = active
	c.adoptPeers(t)
	c.resolve(t)
	homes := 0
	for i := range c.shards {
		if c.shards[i].home != 0 {
			homes++
		}
	}
	c.notify(protocol.Event{Kind: protocol.CoordinatorStarted, Token: c.floor, Count: homes})
	for _, u := range slices.Sorted(maps.Keys(t.registers)) {
		c.onRegister(u, t.registers[u])
	}
	c.onRemembered(t.shards)
	c.allocateAll()
	c.drainLeaving()
	if c.cfg.RebalanceInterval > 0 {
		c.rebalanceAt = c.now.Add(c.cfg.RebalanceInterval)
	}
}

// adoptPeers registers all that have reported, and brings the list of regions in line with them.
func (c *Coordinator) adoptPeers(t takeover) {
	var add, remove []protocol.UID
	for _, u := range slices.Sorted(maps.Keys(t.reports)) {
		g := t.reports[u]
		m, _ := c.view.Member(u)
		c.peers[u] = &peer{
			uid: u, life: g.life, proxy: g.proxy, leaving: g.leaving || m.Status == membership.Leaving, left: g.left, acked: true, sure: true,
		}
		if !slices.Contains(t.listed, u) {
			add = append(add, u)
		}
	}
	for _, u := range t.listed {
		if !c.view.Has(u) {
			remove = append(remove, u)
		}
	}
	c.regionsChanged()
	c.writeRegions(add, remove)
}

// finding is what the reports say together about one shard.
type finding struct {
	entry   protocol.Entry // of the table; Home 0: none
	host    protocol.UID   // the region that hosts it; 0: none
	phase   protocol.Phase // there
	token   protocol.Token // by which
	barrier protocol.Token // the highest for which anyone buffers, an owner that has stopped included
}

func (c *Coordinator) resolve(t takeover) {
	found := make([]finding, len(c.shards))
	for _, e := range t.table {
		if _, ok := c.at(e.Shard); ok && found[e.Shard].entry.Token.Less(e.Token) {
			found[e.Shard].entry = e
		}
	}
	for _, u := range slices.Sorted(maps.Keys(t.reports)) {
		for _, h := range t.reports[u].shards {
			if _, ok := c.at(h.Shard); ok {
				c.merge(&found[h.Shard], u, h)
			}
		}
	}
	for s := range found {
		f := &found[s]
		c.opened = c.opened || f.host != 0 || !f.entry.Token.IsZero() // the gate of MinRegions was passed under an earlier coordinator
		c.surpass(f.entry.Token)
		c.surpass(f.token)
		c.surpass(f.barrier)
	}
	for s := range found {
		c.settle(protocol.ShardID(s), &found[s])
	}
}

// surpass makes the next token be above t. In the epoch of this reign there are others where a
// coordinator was started again on its node.
func (c *Coordinator) surpass(t protocol.Token) {
	if t.Epoch == uint64(c.view.Epoch) {
		c.seq = max(c.seq, t.Seq)
	}
}

func (c *Coordinator) merge(f *finding, u protocol.UID, h protocol.Hosted) {
	if f.barrier.Less(h.Barrier) {
		f.barrier = h.Barrier
	}
	switch {
	case h.Phase == protocol.PhaseStopped || h.Phase == protocol.PhaseNone:
	case f.host == 0 || f.token.Less(h.Token):
		if f.host != 0 {
			c.notify(protocol.Event{Kind: protocol.DoubleHost, Shard: h.Shard, Peer: f.host, Token: f.token})
		}
		f.host, f.phase, f.token = u, h.Phase, h.Token
	default:
		c.notify(protocol.Event{Kind: protocol.DoubleHost, Shard: h.Shard, Peer: u, Token: h.Token})
	}
}

// settle decides about one shard after a takeover. A region that hosts the shard keeps it. Its
// entry stands if it fits and no region waits for a later one. Otherwise the shard gets a new
// token, which takes back every hand-off in progress and releases all buffers. A shard without a
// host goes to the home that the table names if no later hand-off has begun. That home missed its
// command, and buffers may have been released to it already, so messages to any other home would
// arrive out of order. A shard that was stopped for good stays so. A region that still waits for a
// hand-off before that stop is told again. Otherwise the strategy chooses.
func (c *Coordinator) settle(s protocol.ShardID, f *finding) {
	st := &c.shards[s]
	fits := f.entry.Home == f.host && f.entry.Token == f.token && !f.entry.Token.Less(f.barrier)
	switch {
	case f.host != 0 && fits && f.phase <= protocol.PhaseRunning:
		st.state, st.home, st.token = stateHosted, f.host, f.token
		c.load(f.host, s, true)
	case f.host != 0:
		st.moved = true
		c.place(s, f.host)
	case f.entry.Home == 0 && f.barrier.IsZero():
		st.token = f.entry.Token // of one that was stopped for good
	case c.view.Closing:
		c.lose(s, true)
	case f.entry.Home == 0 && !f.entry.Token.IsZero() && !f.entry.Token.Less(f.barrier):
		c.clear(s)
	case f.entry.Home != 0 && !f.entry.Token.Less(f.barrier) && c.mayStillHost(f.entry.Home):
		st.moved = true
		c.place(s, f.entry.Home)
	default:
		st.moved = true
		c.want(s)
	}
}

// mayStillHost says whether a home that the table names may be told to go on.
func (c *Coordinator) mayStillHost(u protocol.UID) bool { p := c.peers[u]; return p != nil && !p.left }
