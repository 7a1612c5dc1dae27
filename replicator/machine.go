package replicator

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata/runloop/timer"
	"github.com/coterie-go/coterie/replicator/effect"
	"github.com/coterie-go/coterie/replicator/keyspace"
	"github.com/coterie-go/coterie/replicator/operation"
	"github.com/coterie-go/coterie/replicator/replica"
	"github.com/coterie-go/coterie/replicator/settings"
	"github.com/coterie-go/coterie/replicator/storage"
	"github.com/coterie-go/coterie/replicator/wire"
)

// Loaded is what the rows of the durable space held at start; the zero value is an empty disk.
type Loaded struct {
	Clock  *crdt.Clock // nil: empty
	Digest crdt.Digest
	// those that count; read once, and not kept; nil: none. An error ends them, and fails New
	Items   iter.Seq2[crdt.Item, error]
	Partial storage.PartialBatch
}

// Machine is one Replicator: the state of one role on one node, and its part in the protocol. It
// belongs to one goroutine.
//
//	no view ──Install──► learner ──all that a majority had──► serving ──Install without self──► no view
//	                        └────────── Install{Founded} ────────┘
type Machine struct {
	site   replica.Site
	spaces [keyspace.Count]*space

	ops      operation.Inflight
	subs     subscriptions
	large    largeKeys
	tidying  tidying
	move     move
	retiring retirement
	donating donating
	transit  transit
	gossip   gossip
}

// New makes a machine without a view. It fails when the config is wrong, or when the loaded rows do
// not belong together (crdt.ErrDigest). The machine keeps rng for itself.
func New(cfg settings.Config, rng *rand.Rand, loaded Loaded) (*Machine, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg = cfg.WithDefaults()
	m := &Machine{
		site: replica.NewSite(cfg, rng),
	}
	m.ops = operation.NewInflight(&m.site)
	m.large.Site, m.subs.Site, m.donating.Site = &m.site, &m.site, &m.site
	for i := range m.spaces {
		s := newSpace(&m.site, keyspace.Space(i), &m.ops)
		s.Watchers = []replica.Watcher{&m.subs, &m.large, &m.tidying.expiry}
		m.spaces[i], m.donating.spaces[i], m.subs.replicas[i] = s, s, s.Replica
	}
	m.move = newMove(m.spaces[keyspace.Volatile], m.spaces[keyspace.Durable], &m.ops)
	m.retiring = newRetirement(&m.site, m.spaces)
	m.tidying = newTidying(&m.site, m.spaces, &m.ops, &m.move)
	m.transit = transit{Site: &m.site, spaces: m.spaces}
	m.gossip = gossip{Site: &m.site, spaces: m.spaces}
	m.site.Summarize = m.gossip.summary
	if loaded.Clock != nil {
		if err := m.spaces[keyspace.Durable].Load(loaded.Clock, loaded.Digest, loaded.Items,
			loaded.Partial); err != nil {
			return nil, fmt.Errorf("replicator: %w", err)
		}
	}
	m.showLiving(cfg.Self) // whether the owners of the rest live is not known yet
	return m, nil
}

// Step takes one input and returns what to do. The Effects are valid until the next Step.
func (m *Machine) Step(now time.Time, in Input) *effect.Effects {
	m.site.Now = now
	m.site.Eff.Reset()
	switch in := in.(type) {
	case Update:
		m.write(in.op(&m.ops), in.Timeout)
	case Delete:
		m.write(in.op(&m.ops), in.Timeout)
	case DeleteForever:
		m.write(in.op(&m.ops), in.Timeout)
	case Get:
		m.onGet(in)
	case Subscribe:
		m.subs.add(in)
	case Cancel:
		m.onCancel(in.IDs)
	case Unsubscribe:
		m.subs.Remove(in.ID)
	case *Receive:
		m.onReceive(in.From, in.Msg)
	case Decoded:
		if p := m.site.Peer(in.From); p != nil {
			m.transit.onDecoded(p, in.Flow)
		}
		m.onReceive(in.From, in.Msg)
	case Persisted:
		m.spaces[keyspace.Durable].onPersisted(in.ID, in.Err)
	case Install:
		m.onInstall(in.View)
	case Reachable:
		m.transit.onReachable(in.Origin, in.Is)
	case Tick:
	}
	for _, s := range m.spaces {
		s.FollowLate()
	}
	m.onTime()
	m.finish()
	return &m.site.Eff
}

// onReceive drops messages from strangers and malformed ones, and hands each other message to its
// handler.
func (m *Machine) onReceive(from crdt.Origin, msg wire.Message) {
	p := m.site.Peer(from)
	if p == nil {
		m.site.Counters.Strangers++
		return
	}
	if msg == nil || !wellFormed(&m.spaces, msg) {
		m.site.Malformed(p)
		return
	}
	if m.site.Heard(p, wire.EpochOf(msg)) { // the peer's acks count only while its view is our own (R15)
		for _, s := range m.spaces {
			s.NoteAcks()
		}
	}
	switch msg := msg.(type) {
	case *wire.Push:
		m.spaces[msg.Space].intake.OnPush(p, msg)
	case *wire.Ack:
		m.spaces[msg.Space].onAck(p, msg)
	case *wire.Holdings:
		m.gossip.onHoldings(p, msg)
	case *wire.Clock:
		m.heed(p, msg)
		m.spaces[msg.Space].onClock(p, msg, m.retiring.behind(p, msg))
	case *wire.Fetch:
		m.spaces[msg.Space].gaps.OnFetch(p, msg)
	case *wire.LogTruncated:
		if !m.donating.donors.Reconciling(p.ID, uint8(msg.Space)) { // else less differs after that repair
			m.spaces[msg.Space].repairs.onLogTruncated(p)
		}
	case *wire.Ask:
		m.spaces[msg.Space].reads.OnAsk(p, msg)
	case *wire.Answer:
		m.spaces[msg.Space].reads.OnAnswer(p, msg)
	case *wire.Compare:
		m.spaces[msg.Space].compares.OnCompare(p, msg)
	case *wire.Compared:
		m.spaces[msg.Space].compares.OnCompared(p, msg)
	case *wire.Unstored:
		m.spaces[keyspace.Durable].writes.OnUnstored(p, msg)
	case *wire.Report:
		m.spaces[msg.Space].settlement.OnReport(p, msg)
	case *wire.Pull:
		m.donating.onPull(p, msg)
	case *wire.Head:
		m.spaces[msg.Space].repairs.onHead(p, msg)
	case *wire.MoreCells:
		m.donating.onMoreCells(p, msg)
	case *wire.Cells:
		m.spaces[msg.Space].repairs.onCells(p, msg)
	case *wire.FetchItems:
		m.donating.onFetchItems(p, msg)
	case *wire.Items:
		m.spaces[msg.Space].repairs.onItems(p, msg)
	case *wire.Done:
		m.donating.onDone(p, msg)
	case *wire.Refuse:
		m.spaces[msg.Space].repairs.onRefuse(p, msg)
	case *wire.Part:
		m.transit.onPart(p, msg)
	case *wire.PartAck:
		m.transit.onPartAck(p, msg)
	}
}

// onTime does what has fallen due.
func (m *Machine) onTime() {
	for o, ok := m.ops.Next(); ok && !m.site.Now.Before(o.Deadline()); o, ok = m.ops.Next() {
		m.ops.End(o, m.timedOut(o))
	}
	if !m.site.Member {
		return
	}
	if m.site.Due(&m.site.LinkAt) {
		m.transit.retry()
	}
	for _, s := range m.spaces {
		s.onTime()
	}
	m.donating.onTime()
	m.gossip.onTime()
	if m.site.Due(&m.move.at) {
		m.move.ask()
	}
	m.tidying.onTime()
}

// finish draws the consequences of the step that come once, whatever caused them.
func (m *Machine) finish() {
	m.move.advance()
	m.retiring.advance()
	m.tidying.closed.listen()
	for _, s := range m.spaces {
		s.holding.Admit(func(o *operation.Op) { s.update(o, 0) })
		s.evaluate()
	}
	m.maybeCaughtUp()
	for _, s := range m.spaces {
		s.finish()
	}
	m.tidying.plan()
	m.subs.notify()
}

// Deadline is when to step a Tick at the latest; zero: never.
func (m *Machine) Deadline() time.Time {
	var d timer.Next
	if o, ok := m.ops.Next(); ok {
		d.DueAt(o.Deadline())
	}
	if at, ok := m.spaces[keyspace.Durable].Disk.Due(); ok {
		d.DueAt(at)
	}
	for _, s := range m.spaces {
		d.DueAt(s.Deadline())
	}
	if !m.site.Member {
		return d.Due
	}
	d.DueAt(m.site.LinkAt)
	d.DueAt(m.gossip.at)
	d.DueAt(m.move.at)
	d.DueAt(m.retiring.at)
	d.DueAt(m.tidying.at)
	d.DueAt(m.tidying.expiry.next())
	for _, s := range m.spaces {
		s.dueAt(&d)
	}
	d.DueAt(m.donating.donors.Deadline(m.site.Now))
	return d.Due
}

// Snapshot returns the state of a space at this moment; any number of goroutines may read it.
func (m *Machine) Snapshot(s keyspace.Space) *crdt.Snapshot { return m.spaces[s].Store.Snapshot() }

// Content returns the clock and the digest of what a space holds now. The clock changes with the machine.
func (m *Machine) Content(s keyspace.Space) (*crdt.Clock, crdt.Digest) {
	return m.spaces[s].Store.Clock(), m.spaces[s].Store.Digest()
}

// Peek returns the state of a key of a space, for reads that end before the next Step. It costs nothing, where a
// Snapshot costs the next change copies of what it changes.
func (m *Machine) Peek(s keyspace.Space, key string) crdt.Reader { return m.spaces[s].Store.Peek(key) }

// SpaceOf says in which space a key lives.
func (m *Machine) SpaceOf(key string) keyspace.Space { return m.site.Routing.SpaceOf(key) }

// Routes returns what SpaceOf answers from, for other goroutines. It goes with a Snapshot that was
// taken between the same two Steps.
func (m *Machine) Routes() *keyspace.Routes { return m.site.Routing }

// CaughtUp reports whether this replica may serve quorum operations, acknowledge and donate.
func (m *Machine) CaughtUp() bool { return m.site.Serves }

// Settled returns the newest epoch, at most that of the installed view, whose view is known to be
// settled in both spaces; 0: none.
func (m *Machine) Settled() uint64 {
	return min(m.site.View.Epoch, m.spaces[keyspace.Volatile].Chain.Newest(),
		m.spaces[keyspace.Durable].Chain.Newest())
}

// Stats returns the counters.
func (m *Machine) Stats() effect.Stats { return m.site.Counters }

// String prints the state on a few lines.
func (m *Machine) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "replicator %s %v%s pending %d\n",
		wire.Short(m.site.Cfg.Self), m.site.View,
		wire.Flags("voter", m.site.Voter, "serves", m.site.Serves), m.ops.Pending())
	for _, s := range m.spaces {
		fmt.Fprintf(&b, "  %v\n", s)
	}
	return b.String()
}

// dropOps ends everything that waits, when the node is no longer a member.
func (m *Machine) dropOps(err error) {
	for o, ok := m.ops.Next(); ok; o, ok = m.ops.Next() {
		m.ops.End(o, err)
	}
	for _, s := range m.spaces {
		s.writes.Drop()
		s.reads.Drop()
		s.holding.Drop()
		s.compares.Drop()
		s.lookback.Drop()
	}
}

// heed keeps what a peer tells under the installed view, as long as a fold or a move waits for
// that.
func (m *Machine) heed(p *replica.Peer, msg *wire.Clock) {
	if m.move.waits() || m.tidying.folding.listens() {
		m.move.heed(p, msg)
	}
	m.retiring.heed(p, msg)
}
