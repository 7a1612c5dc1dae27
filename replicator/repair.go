package replicator

import (
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata/runloop/timer"
	"github.com/coterie-go/coterie/replicator/effect"
	"github.com/coterie-go/coterie/replicator/exchange"
	"github.com/coterie-go/coterie/replicator/repair"
	"github.com/coterie-go/coterie/replicator/replica"
	"github.com/coterie-go/coterie/replicator/wire"
)

// repairs is the repairs of one space by which this replica gets what no log has any more.
type repairs struct {
	*replica.Replica
	intake  *exchange.Intake
	puller  *repair.Puller
	taking  *taking   // nil: nothing is being taken
	alarmAt time.Time // digest alarms before this are not acted upon
}

// repairHost is a replica as package repair sees it: a host and a line.
type repairHost struct{ r *repairs }

var (
	_ repair.Host = repairHost{}
	_ repair.Line = repairHost{}
)

func newPuller(r *repairs) *repair.Puller {
	cfg, st := &r.Cfg, &r.Counters
	return repair.NewPuller(repair.Env{
		Limits: repair.Limits{
			FrameMax: cfg.FrameMax, PieceWindow: cfg.PieceWindow, SuppliersMax: cfg.SuppliersMax,
			SketchMax: cfg.SketchMax,
		},
		Counters: repair.Counters{
			DonorsReplaced: &st.DonorsReplaced, RepairAlarms: &st.RepairAlarms, SketchCells: &st.SketchCells,
			SketchesFailed: &st.SketchesFailed, RangeRepairs: &st.RangeRepairs,
		},
		Host: repairHost{r}, Line: repairHost{r}, Rand: r.Rng, Store: r.Store, Defects: cfg.Defects(),
	})
}

// Now is the time of the step.
func (h repairHost) Now() time.Time { return h.r.Now }

// RetryAt is when to ask again after so many vain tries.
func (h repairHost) RetryAt(tries int) time.Time { return h.r.Now.Add(h.r.Backoff(tries)) }

// Suppliers are the voters among the peers, the reachable ones first.
func (h repairHost) Suppliers() (out []repair.Supplier) {
	for _, p := range h.r.Favoured(h.r.Peers, false) {
		if p.Voter {
			out = append(out, repair.Supplier{ID: p.ID, Reachable: p.Reachable})
		}
	}
	return out
}

// Progress is how messages in parts get on between a peer and this replica.
func (h repairHost) Progress(of crdt.Origin, session uint64) repair.Progress {
	p := h.r.Peer(of)
	if p == nil {
		return repair.Progress{}
	}
	flow, open := p.Coming.Coming()
	return repair.Progress{
		Moved: p.Flows.Moved() + p.Coming.Moved(), Coming: flow, Open: open, Carries: p.Flows.Carries(session),
	}
}

// Malformed notes that what a peer sent makes no sense.
func (h repairHost) Malformed(from crdt.Origin) {
	if p := h.r.Peer(from); p != nil {
		h.r.Malformed(p)
	}
}

// Broken notes that a repair has ended without its end.
func (h repairHost) Broken(from crdt.Origin, began time.Time) {
	h.r.Counters.RepairsBroken++
	h.r.tell(from, effect.RepairBroken, 0, began)
}

// Pull asks a donor to begin.
func (h repairHost) Pull(to crdt.Origin, session uint64, content *crdt.Clock) {
	h.send(to, &wire.Pull{Epoch: h.r.View.Epoch, Space: h.r.ID, Session: session, Content: content})
}

// MoreCells asks for cells of the donor's sketch.
func (h repairHost) MoreCells(to crdt.Origin, session, key uint64, from, count uint32) {
	h.send(to, &wire.MoreCells{
		Epoch: h.r.View.Epoch, Space: h.r.ID, Session: session, Key: key, From: from, Count: count,
	})
}

// Ask asks about dots.
func (h repairHost) Ask(to crdt.Origin, session uint64, id uint32, kind repair.Kind, dots *crdt.Clock, sizes []uint64) {
	h.send(to, &wire.FetchItems{
		Epoch: h.r.View.Epoch, Space: h.r.ID, Session: session, ID: id, Kind: kind, Dots: dots, Sizes: sizes,
	})
}

// Done tells a donor that it need not keep the session any more.
func (h repairHost) Done(to crdt.Origin, session uint64) {
	h.send(to, &wire.Done{Epoch: h.r.View.Epoch, Space: h.r.ID, Session: session})
}

func (h repairHost) send(to crdt.Origin, msg wire.Message) {
	if p := h.r.Peer(to); p != nil {
		h.r.Send(p, effect.Prompt, msg)
	}
}

// begin begins a repair; union: the clocks are equal and the digests are not.
func (r *repairs) begin(p *replica.Peer, union bool) {
	r.puller.Begin(p.ID, union)
	r.tell(p.ID, effect.RepairBegan, 0, r.Now)
}

func (r *repairs) onHead(p *replica.Peer, msg *wire.Head) {
	r.take(r.puller.OnHead(p.ID, msg.Session, msg.Clock, msg.Digest, msg.Items))
}

func (r *repairs) onCells(p *replica.Peer, msg *wire.Cells) {
	r.take(r.puller.OnCells(p.ID, msg.Session, repair.Cells{Key: msg.Key, From: msg.From, Cells: msg.Cells}))
}

func (r *repairs) onItems(p *replica.Peer, msg *wire.Items) {
	a := repair.Answer{ID: msg.ID, UpTo: msg.UpTo, Names: msg.Names, Sums: msg.Sums, Items: msg.Items}
	r.take(r.puller.OnItems(p.ID, msg.Session, a))
}

func (r *repairs) onRefuse(p *replica.Peer, msg *wire.Refuse) {
	r.take(r.puller.OnRefuse(p.ID, msg.Session))
}

// onTime goes on with the repair that runs, or with what it has brought.
func (r *repairs) onTime() {
	if r.taking != nil {
		r.takeMore()
		return
	}
	if at := r.puller.Deadline(); r.puller.Running() && !r.Now.Before(at) {
		r.take(r.puller.OnTime())
	}
}

// taking is what a repair has brought and is being made part of the store.
type taking struct {
	*repair.Staged
	merge *crdt.Merging
}

// take begins to make what adds up part of the store.
func (r *repairs) take(g *repair.Staged) {
	if g == nil {
		return
	}
	if g.Union {
		r.puller.Taken()
		r.unite(r.Peer(g.From), g)
		return
	}
	r.intake.GiveWay()
	m, err := g.Merge(r.Items)
	if err != nil {
		r.refuse(g)
		return
	}
	r.taking = &taking{Staged: g, merge: m}
	r.takeMore()
}

// takeMore goes on for one step. What was taken counts at once when it is complete, and not before.
func (r *repairs) takeMore() {
	g := r.taking
	done, err := g.merge.Work(r.Cfg.StepItems)
	switch {
	case err != nil:
		r.taking = nil
		r.refuse(g.Staged)
		return
	case !done:
		return
	}
	r.taking = nil
	r.puller.Taken()
	r.AbsorbLater(g.merge.Take())
	r.repaired(g.Staged)
	r.intake.Release()
	if p := r.Peer(g.From); p != nil {
		r.LearnContent(p, g.Clock)
		// What the donor has got since comes from its log. The donor may lack what is here.
		r.TellClock(p, true)
	}
}

// refuse drops what makes no sense.
func (r *repairs) refuse(g *repair.Staged) {
	r.puller.Taken()
	repairHost{r}.Malformed(g.From)
	repairHost{r}.Broken(g.From, g.Since)
}

// forget ends what members that have left have a part in: they are not asked any more, and what one of them has
// given is not taken, because the members that are left have told each other what they know of it.
func (r *repairs) forget(left func(crdt.Origin) bool) {
	r.puller.Forget(left)
	if r.taking != nil && left(r.taking.From) {
		repairHost{r}.Broken(r.taking.From, r.taking.Since)
		r.stop()
	}
}

// stop forgets the repair without a word.
func (r *repairs) stop() {
	if r.taking != nil {
		r.taking.merge.Drop()
		r.taking = nil
	}
	r.puller.Stop()
}

// deadline is when to call onTime; zero: never.
func (r *repairs) deadline() time.Time {
	if r.taking != nil {
		return r.Now
	}
	return r.puller.Deadline()
}

func (r *repairs) repaired(g *repair.Staged) {
	r.Counters.Repairs++
	r.tell(g.From, effect.RepairDone, g.Count, g.Since)
}

// unite adds what an equal clock's store has and this one lost. If this replica has moved on, lost
// items cannot be told from removed ones any more: then the next alarm tries again.
func (r *repairs) unite(p *replica.Peer, g *repair.Staged) {
	var items []crdt.Item
	for _, b := range g.Batches() {
		for _, it := range b {
			items = append(items, *it)
		}
	}
	r.agree(p, items)
	if !g.Clock.Equal(r.Content()) {
		repairHost{r}.Broken(g.From, g.Since)
		return
	}
	r.Items.Union(items, &r.Changes)
	r.repaired(g)
	r.Absorb()
}

// agree sees that one dot stands for one item: of two that differ, both sides keep the one whose
// hash is lower. It is right whatever has happened since, for both are alive.
func (r *repairs) agree(from *replica.Peer, items []crdt.Item) {
	lower, differ := r.Store.Yield(items, &r.Changes)
	r.Absorb() // first out, then in: for the disk they are one row
	r.Items.Union(lower, &r.Changes)
	r.Absorb()
	r.Counters.Diverged += uint64(len(differ))
	for _, d := range differ[:min(len(differ), divergedMax)] {
		if it, ok := r.Store.Item(d); ok {
			r.Eff.Diverged = append(r.Eff.Diverged, effect.Divergence{
				Space: r.ID, Peer: from.ID, Dot: d, Key: it.Key, Dots: len(differ),
			})
		}
	}
}

// onLogTruncated starts a repair from the peer, because the peer's log cannot help.
func (r *repairs) onLogTruncated(p *replica.Peer) {
	if !r.puller.Running() {
		r.begin(p, false)
	}
}

// alarm counts a state that should be impossible, and repairs it by union (R5). It tells the peer,
// so that the peer does the same.
func (r *repairs) alarm(p *replica.Peer) {
	if r.Now.Before(r.alarmAt) {
		return
	}
	l := p.Link(r.ID)
	if r.Now.Before(l.AlarmAt) {
		return
	}
	r.alarmAt = r.Now.Add(2 * r.Cfg.GossipInterval)
	// what did not help is tried ever more rarely
	first := 2 * r.Cfg.GossipInterval
	l.AlarmAt = r.Now.Add(timer.Backoff(first, first<<alarmsMax, l.Alarms))
	l.Alarms++
	r.Counters.DigestAlarms++
	r.SendHoldings(p, false)
	if !r.puller.Running() {
		r.begin(p, true)
	}
}

func (r *repairs) tell(peer crdt.Origin, state effect.RepairState, items uint64, since time.Time) {
	r.Eff.Repairs = append(r.Eff.Repairs, effect.Repair{
		Space: r.ID, Peer: peer, State: state, Items: items, Took: r.Now.Sub(since),
	})
}

// Bounds of alarms.
const (
	divergedMax = 8 // dots told of one repair
	alarmsMax   = 6 // doublings of the time between two repairs that do not help
)
