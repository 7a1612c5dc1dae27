package replicator

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/repair"
)

// Loaded is what the rows of the durable space held at start; the zero value is an empty disk.
type Loaded struct {
	Clock   *crdt.Clock // nil: empty
	Digest  crdt.Digest
	Items   iter.Seq2[crdt.Item, error] // those that count; read once, and not kept; nil: none. An error ends them, and fails New
	Partial PartialBatch
}

// Partial is what a crash has left of a batch that was written in parts; the zero value says that
// there was none.
type PartialBatch struct {
	Counts Counts     // as the last part said
	Drop   []crdt.Dot // the rows that do not count
	Marks  int        // the number of the last mark
}

// Machine is one Replicator: the state of one role on one node, and its part in the protocol. It
// belongs to one goroutine.
//
//	no view ──Install──► learner ──all that a majority had──► serving ──Install without self──► no view
//	                        └────────── Install{Founded} ────────┘
type Machine struct {
	cfg    Config
	rng    *rand.Rand
	now    time.Time
	eff    Effects
	routes *Routes
	spaces [spaces]*space

	view   View
	voter  bool    // self is a voter of the view
	member bool    // self is in the view at all
	serves bool    // caught up: may serve quorum operations, ack and donate (R4, R11)
	peers  []*peer // the other members, by id

	pending  int // operations that wait
	timeouts timeouts
	spare    []*op // for operations to come
	subs     subscriptions
	large    map[string]int // by key, its size when that was last said to be large
	expiry   expiry
	folding  folding
	move     move
	donors   repair.Donors

	oldest  crdt.Origin // of the voters
	heardOf uint64      // the newest epoch that a member has named

	gossipAt time.Time // next gossip
	tidyAt   time.Time // next round of tidying
	linkAt   time.Time // the earliest of what the links wait for
	stats    Stats
}

// New makes a machine without a view. It fails when the config is wrong, or when the loaded rows do
// not belong together (crdt.ErrDigest). The machine keeps rng for itself.
func New(cfg Config, rng *rand.Rand, loaded Loaded) (*Machine, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	cfg.DurableKeys = slices.Clone(cfg.DurableKeys)
	m := &Machine{cfg: cfg, rng: rng, routes: newRoutes(cfg.DurableKeys), expiry: newExpiry(cfg.Expire)}
	for i := range m.spaces {
		m.spaces[i] = newSpace(m, Space(i))
	}
	if loaded.Clock != nil {
		if err := m.spaces[Durable].load(loaded); err != nil {
			return nil, fmt.Errorf("replicator: %w", err)
		}
	}
	m.showLiving(cfg.Self) // whether the owners of the rest live is not known yet
	return m, nil
}

// Step takes one input and returns what to do. The Effects are valid until the next Step.
func (m *Machine) Step(now time.Time, in Input) *Effects {
	m.now = now
	m.eff.reset()
	switch in := in.(type) {
	case Update:
		m.onUpdate(in)
	case Delete:
		m.onDelete(in)
	case DeleteForever:
		m.onDeleteForever(in)
	case Get:
		m.onGet(in)
	case Subscribe:
		m.onSubscribe(in)
	case Cancel:
		m.onCancel(in.IDs)
	case Unsubscribe:
		m.subs.remove(in.ID)
	case Receive:
		m.onReceive(in.From, in.Msg)
	case Persisted:
		m.spaces[Durable].onPersisted(in.ID, in.Err)
	case Install:
		m.onInstall(in.View)
	case Reachable:
		m.onReachable(in.Origin, in.Is)
	case Tick:
	}
	m.onTime()
	m.finish()
	return &m.eff
}

// onReceive drops messages from strangers and malformed ones, and hands each other message to its
// handler.
func (m *Machine) onReceive(from crdt.Origin, msg Message) {
	p := m.peer(from)
	if p == nil {
		m.stats.Strangers++
		return
	}
	if msg == nil || !m.wellFormed(msg) {
		m.malformed(p)
		return
	}
	m.heard(p, msg.epochOf())
	switch msg := msg.(type) {
	case *Push:
		m.spaces[msg.Space].onPush(p, msg)
	case *Ack:
		m.spaces[msg.Space].onAck(p, msg)
	case *Status:
		m.onStatus(p, msg)
	case *Clock:
		m.spaces[msg.Space].onClock(p, msg)
	case *Fetch:
		m.spaces[msg.Space].onFetch(p, msg)
	case *LogTruncated:
		m.spaces[msg.Space].onLogTruncated(p)
	case *Ask:
		m.spaces[msg.Space].onAsk(p, msg)
	case *Answer:
		m.spaces[msg.Space].onAnswer(p, msg)
	case *Compare:
		m.spaces[msg.Space].onCompare(p, msg)
	case *Compared:
		m.spaces[msg.Space].onCompared(p, msg)
	case *Unstored:
		m.spaces[Durable].onUnstored(p, msg)
	case *Report:
		m.spaces[msg.Space].onReport(p, msg)
	case *Pull:
		m.onPull(p, msg)
	case *Head:
		m.spaces[msg.Space].onHead(p, msg)
	case *MoreCells:
		m.onMoreCells(p, msg)
	case *Cells:
		m.spaces[msg.Space].onCells(p, msg)
	case *FetchItems:
		m.onFetchItems(p, msg)
	case *Items:
		m.spaces[msg.Space].onItems(p, msg)
	case *Done:
		m.onDone(p, msg)
	case *Refuse:
		m.spaces[msg.Space].onRefuse(p, msg)
	case *Part:
		m.onPart(p, msg)
	case *PartAck:
		m.onPartAck(p, msg)
	}
}

// heard notes which view the peer has installed. The peer's acks count only while that view is our
// own (V7).
func (m *Machine) heard(p *peer, epoch uint64) {
	if epoch <= p.epoch {
		return
	}
	p.epoch = epoch
	m.heardOf = max(m.heardOf, epoch)
	if epoch == m.view.Epoch {
		for _, s := range m.spaces {
			s.acksMoved = true
		}
	}
}

// onTime does what has fallen due.
func (m *Machine) onTime() {
	for o := m.timeouts.first(); o != nil && !m.now.Before(o.deadline); o = m.timeouts.first() {
		m.expire(o)
	}
	if !m.member {
		return
	}
	if m.due(&m.linkAt) {
		m.retryLinks()
	}
	for _, s := range m.spaces {
		s.onTime()
	}
	m.onDonorTime()
	if m.due(&m.gossipAt) {
		m.gossip()
	}
	if m.due(&m.move.at) {
		m.askMove()
	}
	if m.due(&m.tidyAt) {
		m.tidy()
	}
	if at := m.expiry.next(m); !at.IsZero() && !m.now.Before(at) {
		m.askExpiry()
	}
}

// due reports whether a time has come, and clears it.
func (m *Machine) due(t *time.Time) bool {
	if t.IsZero() || m.now.Before(*t) {
		return false
	}
	*t = time.Time{}
	return true
}

// finish draws the consequences of the step that come once, whatever caused them.
func (m *Machine) finish() {
	m.advanceMove()
	for _, s := range m.spaces {
		s.admit()
		s.evaluate()
	}
	m.maybeCaughtUp()
	for _, s := range m.spaces {
		s.finish()
	}
	m.planTidying()
	m.notify()
}

// Deadline is when to step a Tick at the latest; zero: never.
func (m *Machine) Deadline() time.Time {
	var d time.Time
	if o := m.timeouts.first(); o != nil {
		d = o.deadline
	}
	if at, ok := m.spaces[Durable].disk.due(); ok {
		d = earlier(d, at)
	}
	if !m.member {
		return d
	}
	d = earlier(earlier(earlier(d, m.linkAt), m.gossipAt), earlier(m.move.at, m.tidyDeadline()))
	for _, s := range m.spaces {
		d = earlier(earlier(d, s.waiting.AskAt()), earlier(earlier(s.roundAt, s.compareAt), s.settlement.at))
		d = earlier(d, s.thawAt)
		d = earlier(d, s.puller.Deadline())
	}
	return earlier(d, m.donors.Deadline(m.now))
}

// earlier returns the earlier of two times, of which a zero one means never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// send sends a message: in parts if its clocks are larger than a frame, and behind what it must not
// overtake.
func (m *Machine) send(p *peer, lane Lane, msg Message) {
	size := clockBytes(msg)
	c, compares := msg.(*Compare)
	if size > m.cfg.FrameMax || compares && p.flows.CarriesKind(kindCompare, uint8(c.Space)) {
		if !m.sendLarge(p, cargoOf(msg), msg, size) {
			m.stats.FlowsDropped++ // it is asked for again
		}
		return
	}
	m.eff.Send = append(m.eff.Send, Envelope{To: p.id, Lane: lane, Msg: msg})
}

// Snapshot returns the state of a space at this moment; any number of goroutines may read it.
func (m *Machine) Snapshot(s Space) *crdt.Snapshot { return m.spaces[s].store.Snapshot() }

// SpaceOf says in which space a key lives.
func (m *Machine) SpaceOf(key string) Space { return m.routes.SpaceOf(key) }

// Routes returns what SpaceOf answers from, for other goroutines. It goes with a Snapshot that was
// taken between the same two Steps.
func (m *Machine) Routes() *Routes { return m.routes }

// CaughtUp reports whether this replica may serve quorum operations, acknowledge and donate.
func (m *Machine) CaughtUp() bool { return m.serves }

// Settled returns the newest epoch, at most that of the installed view, whose view is known to be
// settled in both spaces; 0: none.
func (m *Machine) Settled() uint64 {
	return min(m.view.Epoch, m.spaces[Volatile].settlement.chain.Newest(), m.spaces[Durable].settlement.chain.Newest())
}

// Stats returns the counters.
func (m *Machine) Stats() Stats { return m.stats }

// String prints the state on a few lines.
func (m *Machine) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "replicator %s %v%s pending %d\n", short(m.cfg.Self), m.view, flags("voter", m.voter, "serves", m.serves), m.pending)
	for _, s := range m.spaces {
		fmt.Fprintf(&b, "  %v\n", s)
	}
	return b.String()
}
