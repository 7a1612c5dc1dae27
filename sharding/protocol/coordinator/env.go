package coordinator

import (
	"maps"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/proptest/defect"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// env is what all parts of a coordinator share, and what outlives its terms: the time of the Step,
// the view, the count of tokens, the effects and the counters. The parts point to one env.
type env struct {
	cfg    protocol.Config
	fx     protocol.CoordinatorEffects
	now    time.Time
	counts protocol.Counters

	view  *view.View
	me    view.Member // this node in view
	lease bool
	seq   uint64 // of the last token
	ids   uint64 // of reads, writes and questions
	ticks uint32 // counts retry ticks, so that what was just sent is not repeated

	unreachable map[protocol.UID]bool
	absent      map[protocol.UID]bool // members of the view that have not started the type, as they said
	refused     map[protocol.UID]bool // of the view, whose settings are others and which was told
	unguarded   map[protocol.UID]bool // of the view, whose leases are others; told of
	told        map[protocol.UID]told // of the view, whose settings fit

	stateStore *protocol.StoreID // of the first region that told it, on a node that needs none and knows none
}

// begin begins a Step.
func (e *env) begin(now time.Time) {
	e.fx = protocol.CoordinatorEffects{
		Write: e.fx.Write[:0], Read: e.fx.Read[:0], Lease: e.fx.Lease[:0], Send: e.fx.Send[:0],
		Forward: e.fx.Forward[:0],
		Consult: e.fx.Consult[:0], Notify: e.fx.Notify[:0],
	}
	e.now = now
}

// install takes a view, and forgets what was said of members that are gone.
func (e *env) install(v *view.View) {
	e.view = v
	gone := func(u protocol.UID, _ bool) bool { return !v.Has(u) }
	maps.DeleteFunc(e.unreachable, gone)
	maps.DeleteFunc(e.absent, gone)
	maps.DeleteFunc(e.told, func(u protocol.UID, _ told) bool { return !v.Has(u) })
}

func (e *env) onReachable(u protocol.UID, ok bool) {
	if ok {
		delete(e.unreachable, u)
	} else {
		e.unreachable[u] = true
	}
}

func (e *env) notify(ev protocol.Event) { e.fx.Notify = append(e.fx.Notify, ev) }

// next makes the token of the next decision.
func (e *env) next() protocol.Token {
	e.seq++
	if e.seq > protocol.SeqMax || e.me.UpNumber > protocol.UpMax {
		panic("sharding/protocol: tokens are exhausted")
	}
	return protocol.Token{Epoch: uint64(e.view.Epoch), Up: e.me.UpNumber, Seq: e.seq}
}

// surpass makes the next token be above t. In the epoch of this term there are others where a
// coordinator was started again on its node.
func (e *env) surpass(t protocol.Token) {
	if t.Epoch == uint64(e.view.Epoch) {
		e.seq = max(e.seq, t.Seq)
	}
}

func (e *env) nextID() uint64 {
	e.ids++
	return e.ids
}

// sayMismatch reports whether the settings of a region are others than this coordinator's, and
// tells of it, once for each. Such a region is not registered: it routes nothing to others and is
// never told to host.
func (e *env) sayMismatch(m view.Member, proxy bool, theirs protocol.Compatibility) bool {
	own := e.cfg.Compatibility()
	learns := e.cfg.Proxy && own.StateStore == ""
	switch {
	case learns && e.stateStore == nil:
		own.StateStore = theirs.StateStore
	case learns:
		own.StateStore = *e.stateStore
	}
	own = own.ForRegion(theirs, m, e.cfg.Role, proxy)
	if e.cfg.Planted(defect.MixesShards) {
		own.Shards = theirs.Shards
	}
	if own.Fits(theirs) && (own == theirs || !e.cfg.Planted(defect.RefusesAnnounced)) {
		delete(e.refused, m.UID)
		e.told[m.UID] = told{settings: theirs, proxy: proxy}
		if told := theirs.Strategy != ""; learns && told && !proxy && m.HasRole(e.cfg.Role) {
			e.stateStore = &theirs.StateStore
		}
		e.sayUnguarded(m.UID, own, theirs)
		return false
	}
	delete(e.told, m.UID)
	if !e.refused[m.UID] {
		maps.DeleteFunc(e.refused, func(u protocol.UID, _ bool) bool { return !e.view.Has(u) })
		e.refused[m.UID] = true
		e.notify(protocol.Event{Kind: protocol.TypeMismatch, Peer: m.UID, Text: own.Differences(theirs, "there")})
	}
	return true
}

// sayUnguarded tells, once for each region, that its leases are others than this coordinator's, or that it takes none:
// while there are such regions no lease guards what it is for.
func (e *env) sayUnguarded(u protocol.UID, own, theirs protocol.Compatibility) {
	if own == theirs {
		delete(e.unguarded, u)
		return
	}
	if !e.unguarded[u] {
		maps.DeleteFunc(e.unguarded, func(u protocol.UID, _ bool) bool { return !e.view.Has(u) })
		e.unguarded[u] = true
		e.notify(protocol.Event{Kind: protocol.LeasesDiffer, Peer: u, Text: own.LeaseDifferences(theirs, "there")})
	}
}

// leavesView reports whether a member is leaving or gone.
func (e *env) leavesView(u protocol.UID) bool {
	m, ok := e.view.Member(u)
	return !ok || m.Status == view.Leaving
}
