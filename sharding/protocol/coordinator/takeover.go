package coordinator

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/coterie-go/coterie/ddata/membership/view"
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

// gathered is the report of one member, part by part. All parts are of one answer: what the region
// hosts may have changed before it answered again.
type gathered struct {
	life    uint32
	answer  uint32
	parts   map[uint32]bool
	proxy   bool
	leaving bool
	left    bool
	shards  []protocol.Hosted
}

// olderThan reports whether a part belongs to a later answer.
func (g *gathered) olderThan(m protocol.Report) bool {
	return g.life < m.Life || g.life == m.Life && g.answer < m.Answer
}

// reported ends the wait for a member.
func (to *takeover) reported(from protocol.UID) { to.awaiting = protocol.Without(to.awaiting, from) }

// becomeReading begins a term: first the state that a majority knows.
func (tm *term) becomeReading() {
	tm.mode = reading
	tm.rise()
	tm.homes.begin()
	tm.takeover = takeover{reports: map[protocol.UID]*gathered{}, registers: map[protocol.UID]protocol.Register{}}
	tm.takeover.homes = tm.store.read(protocol.StateHomes)
	tm.takeover.regions = tm.store.read(protocol.StateRegions)
	if tm.cfg.Remember.Entities {
		tm.remembered = tm.store.read(protocol.StateRemembered)
	}
	if tm.homes.picture.needs.Locations {
		tm.takeover.locations = tm.store.read(protocol.StateLocations)
	}
	tm.retryAt = tm.now.Add(tm.cfg.Coordination.RetryInterval / 4)
	tm.roles.begin(&tm.homes.out)
}

// rise gives the term a token above all that this coordinator has made.
func (tm *term) rise() {
	t := tm.next()
	tm.registrar.floor = t
	tm.store.term = protocol.Term{Era: tm.view.Era, Epoch: tm.view.Epoch, Up: t.Up, Seq: t.Seq}
}

// onRead takes what was read. A read that failed is repeated with the next tick; its ID is given up
// until then.
func (tm *term) onRead(in protocol.DidRead) {
	t := &tm.takeover
	var r *protocol.StateRead
	switch in.ID {
	case t.homes.ID:
		r = &t.homes
	case t.regions.ID:
		r = &t.regions
	case t.locations.ID:
		r = &t.locations
	case tm.remembered.ID:
		r = &tm.remembered
	case tm.outOfRange.read.ID:
		r = &tm.outOfRange.read
	}
	if r == nil || in.ID == 0 {
		tm.counts[protocol.CountLate]++
		return
	}
	if in.Err != nil {
		tm.store.readFailed(r, in.Err)
		if tm.mode == reading && errors.Is(in.Err, protocol.ErrDeposed) {
			tm.rise() // no region knows of the refused token yet; the next may be of a later view
		}
		return
	}
	tm.store.opWorks(readOp(*r))
	switch r.Kind {
	case protocol.StateHomes:
		t.table = in.Homes
	case protocol.StateRegions:
		t.listed = in.Regions
	case protocol.StateLocations:
		clear(tm.homes.picture.locations)
		tm.homes.picture.follow(protocol.LocationsChanged{Put: in.Locations})
	case protocol.StateRemembered:
		*r = protocol.StateRead{}
		tm.onRemembered(in.Shards)
		return
	case protocol.StateIDs:
		tm.outOfRange.onRead(&tm.store, in.IDs)
		return
	}
	*r = protocol.StateRead{}
	if tm.mode == reading && t.homes.ID == 0 && t.regions.ID == 0 && t.locations.ID == 0 {
		tm.becomeInquiring()
	}
}

func (tm *term) retryTakeover() {
	tm.store.retryRead(&tm.takeover.homes)
	tm.store.retryRead(&tm.takeover.regions)
	tm.store.retryRead(&tm.takeover.locations)
	tm.store.retryRead(&tm.remembered)
	for _, u := range tm.takeover.awaiting {
		tm.counts[protocol.CountRetries]++
		tm.registrar.inquire(&tm.homes, u)
	}
	if tm.takeover.tries++; tm.takeover.tries == reportTries && len(tm.takeover.awaiting) > 0 {
		tm.notify(protocol.Event{
			Kind: protocol.ReportAwaited, Peer: tm.takeover.awaiting[0], Count: len(tm.takeover.awaiting),
			Text: fmt.Sprint(tm.takeover.awaiting),
		})
	}
	tm.maybeActivate()
}

// becomeInquiring asks every member that may host, and every listed proxy, what it hosts and for
// which hand-offs it buffers. By its answer each of them refuses earlier coordinators from now on.
// Members that join later cannot host: only this coordinator commands them.
func (tm *term) becomeInquiring() {
	tm.mode = inquiring
	for _, m := range tm.view.Members {
		hosts := m.HasRole(tm.cfg.Role) && m.Status != view.Joining
		if hosts || slices.Contains(tm.takeover.listed, m.UID) {
			tm.takeover.awaiting = append(tm.takeover.awaiting, m.UID)
			tm.registrar.inquire(&tm.homes, m.UID)
		}
	}
}

func (tm *term) onReport(from protocol.UID, m protocol.Report) {
	t := &tm.takeover
	if m.Floor != tm.registrar.floor || !slices.Contains(t.awaiting, from) || m.Part >= m.Parts {
		tm.counts[protocol.CountLate]++
		return
	}
	member, _ := tm.view.Member(from)
	if tm.sayMismatch(member, m.Proxy, m.Compatibility) && !m.Compatibility.RoutesAs(tm.cfg.Compatibility()) {
		tm.onReportOfOtherRole(from, m)
		return
	}
	g := t.reports[from]
	switch {
	case g == nil || g.olderThan(m):
		g = &gathered{
			life: m.Life, answer: m.Answer, proxy: m.Proxy, leaving: m.Leaving, left: m.Left,
			parts: map[uint32]bool{},
		}
		t.reports[from] = g
	case g.life != m.Life || g.answer != m.Answer || g.parts[m.Part]:
		tm.counts[protocol.CountLate]++
		return
	}
	g.parts[m.Part] = true
	g.shards = append(g.shards, m.Shards...)
	if len(g.parts) == int(m.Parts) {
		t.reported(from)
		tm.maybeActivate()
	}
}

// onReportOfOtherRole takes the report of a region whose ids go to other shards. One that hosts
// nothing is no peer, and takes no part. One that hosts holds the takeover up: its entities run,
// and a coordinator that acted would have them run a second time in other shards.
func (tm *term) onReportOfOtherRole(from protocol.UID, m protocol.Report) {
	if m.Parts == 1 && !slices.ContainsFunc(m.Shards, func(h protocol.Hosted) bool {
		return h.Phase != protocol.PhaseNone
	}) {
		tm.takeover.reported(from)
		tm.maybeActivate()
	}
}

func (tm *term) maybeActivate() {
	if tm.mode == inquiring && len(tm.takeover.awaiting) == 0 && !tm.roles.awaits(tm.takeover.tries) {
		tm.becomeActive()
	}
}

// reportTries is how often reports are asked for before an event names the members that have not
// answered. It is about one RetryInterval.
const reportTries = 4

// becomeActive resolves what was found and begins to act.
func (tm *term) becomeActive() {
	t := tm.takeover
	tm.takeover = takeover{}
	tm.mode = active
	tm.adoptPeers(t)
	tm.resolve(t)
	homes := 0
	for i := range tm.homes.shards {
		if tm.homes.shards[i].home != 0 {
			homes++
		}
	}
	tm.notify(protocol.Event{Kind: protocol.CoordinatorStarted, Token: tm.registrar.floor, Count: homes})
	for _, u := range slices.Sorted(maps.Keys(t.registers)) {
		tm.onRegister(u, t.registers[u])
	}
	tm.onRemembered(t.shards)
	tm.allocateAll()
	tm.registrar.drainLeaving(&tm.homes)
	if tm.cfg.Rebalance.Interval > 0 {
		tm.rebalanceAt = tm.now.Add(tm.cfg.Rebalance.Interval)
	}
}

// adoptPeers registers all that have reported, and brings the list of regions in line with them.
func (tm *term) adoptPeers(t takeover) {
	var add, remove []protocol.UID
	for _, u := range slices.Sorted(maps.Keys(t.reports)) {
		g := t.reports[u]
		m, _ := tm.view.Member(u)
		tm.homes.regions.peers[u] = &peer{
			uid: u, life: g.life, proxy: g.proxy, leaving: g.leaving || m.Status == view.Leaving, left: g.left,
			acked: true, sure: true,
		}
		if !slices.Contains(t.listed, u) {
			add = append(add, u)
		}
	}
	for _, u := range t.listed {
		if !tm.view.Has(u) {
			remove = append(remove, u)
		}
	}
	tm.homes.picture.regionsChanged(tm.now)
	tm.homes.out.writeRegions(add, remove)
}

// finding is what the reports say together about one shard.
type finding struct {
	entry   protocol.Entry // of the table; Home 0: none
	host    protocol.UID   // the region that hosts it; 0: none
	phase   protocol.Phase // there
	token   protocol.Token // by which
	barrier protocol.Token // the highest for which any region buffers, an owner that has stopped included
}

// add takes what a region reports of the shard. If two host it, double names the one that must not.
func (f *finding) add(u protocol.UID, h protocol.Hosted) (double protocol.Event, is bool) {
	if f.barrier.Less(h.Barrier) {
		f.barrier = h.Barrier
	}
	switch {
	case h.Phase == protocol.PhaseStopped || h.Phase == protocol.PhaseNone:
	case f.host == 0 || f.token.Less(h.Token):
		double, is = protocol.Event{
			Kind: protocol.DoubleHost, Shard: h.Shard, Peer: f.host, Token: f.token,
		}, f.host != 0
		f.host, f.phase, f.token = u, h.Phase, h.Token
	default:
		return protocol.Event{Kind: protocol.DoubleHost, Shard: h.Shard, Peer: u, Token: h.Token}, true
	}
	return double, is
}

// resolve decides about each shard by what was found.
func (tm *term) resolve(t takeover) {
	found := make([]finding, len(tm.homes.shards))
	for _, e := range t.table {
		if _, ok := tm.homes.at(e.Shard); ok && found[e.Shard].entry.Token.Less(e.Token) {
			found[e.Shard].entry = e
		}
	}
	for _, u := range slices.Sorted(maps.Keys(t.reports)) {
		for _, h := range t.reports[u].shards {
			if _, ok := tm.homes.at(h.Shard); ok {
				if double, is := found[h.Shard].add(u, h); is {
					tm.notify(double)
				}
			}
		}
	}
	for s := range found {
		f := &found[s]
		// the gate of MinRegions was passed under an earlier coordinator
		tm.homes.regions.opened = tm.homes.regions.opened || f.host != 0 || !f.entry.Token.IsZero()
		if f.host != 0 && (tm.kept.IsZero() || f.token.Less(tm.kept)) {
			tm.kept = f.token
		}
		tm.surpass(f.entry.Token)
		tm.surpass(f.token)
		tm.surpass(f.barrier)
	}
	for s := range found {
		tm.homes.settle(protocol.ShardID(s), &found[s])
	}
}

// settle decides about one shard after a takeover. A region that hosts the shard keeps it. Its
// entry stands if it fits and no region waits for a later one. Otherwise the shard gets a new
// token, which takes back every hand-off in progress and releases all buffers. A shard without a
// host goes to the home that the table names if no later hand-off has begun. That home missed its
// command, and buffers may have been released to it already, so messages to any other home would
// arrive out of order. A shard that was stopped for good stays so. A region that still waits for a
// hand-off before that stop is told again. Otherwise the strategy chooses.
func (h *homes) settle(s protocol.ShardID, f *finding) {
	st := &h.shards[s]
	fits := f.entry.Home == f.host && f.entry.Token == f.token && !f.entry.Token.Less(f.barrier)
	switch {
	case f.host != 0 && fits && f.phase <= protocol.PhaseRunning:
		st.state, st.token = stateHosted, f.token
		h.byHome.set(h.shards, s, f.host)
		h.load(f.host, s, true)
	case f.host != 0:
		st.moved = true
		h.place(s, f.host)
	case f.entry.Home == 0 && f.barrier.IsZero():
		st.token = f.entry.Token // of one that was stopped for good
	case h.view.Closing:
		h.lose(s, true)
	case f.entry.Home == 0 && !f.entry.Token.IsZero() && !f.entry.Token.Less(f.barrier):
		h.clear(s)
	case f.entry.Home != 0 && !f.entry.Token.Less(f.barrier) && h.regions.mayStillHost(f.entry.Home):
		st.moved = true
		h.place(s, f.entry.Home)
	default:
		st.moved = true
		h.want(s)
	}
}

// forgetReports goes on with a takeover in a new view: a member that is gone hosts nothing.
func (tm *term) forgetReports() {
	gone := func(u protocol.UID) bool { return !tm.view.Has(u) }
	tm.takeover.awaiting = slices.DeleteFunc(tm.takeover.awaiting, gone)
	maps.DeleteFunc(tm.takeover.reports, func(u protocol.UID, _ *gathered) bool { return gone(u) })
	tm.maybeActivate()
}

// disown takes the word of a member that it runs the type under another role: it hosts nothing for
// this coordinator.
func (tm *term) disown(from protocol.UID) {
	tm.takeover.reported(from)
	if tm.homes.regions.peers[from] == nil {
		tm.absent[from] = true
	}
}
