package ddata

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/ddata/membership"
	"github.com/coterie-go/coterie/ddata/runloop"
	"github.com/coterie-go/coterie/ddata/transport"
)

// members drives the membership machine: its messages travel in the Control lane, its views go to
// the replicators and the watchers, its lease is published after every step.
type members struct {
	n    *Node
	m    *membership.Machine
	loop *runloop.Loop[memberInput]

	admission *runloop.Admission
	arbiter   *arbiter  // nil without Config.Leases
	records   *recorder // nil without Config.Dir

	told struct { // the view that was sent last, as it is sent
		view    *membership.View
		payload []byte
	}

	last   time.Time              // time of the last step, to notice a suspend
	reason atomic.Pointer[string] // what the node waits for

	linked  map[transport.NodeID]string // the peers of the transport, and their addresses
	oldest  map[string]membership.UID   // by role, as it was told
	named   bool                        // it was told which durable keys this node does not name
	dropped [transport.Drops]uint64     // as it was told
	dropsAt time.Time
	closers map[chan<- struct{}]bool // callers that wait until all members close

	stats latest[membership.Stats] // for the Meter
}

// memberInput is an input of the machine, or something to do on its goroutine.
type memberInput struct {
	in   membership.Input
	from runloop.Permit // of another node's message
	do   func()
}

// suspendSlack is how far wall time may run ahead of monotonic time between two steps before it
// counts as a suspend.
const suspendSlack = time.Second

func newMembers(n *Node) (*members, error) {
	m := &members{n: n, admission: newAdmission(n), last: time.Now(), linked: map[transport.NodeID]string{},
		oldest: map[string]membership.UID{}, closers: map[chan<- struct{}]bool{}}
	cfg := n.cfg.membership()
	cfg.UID, cfg.Addr, cfg.Compatibility = n.uid, n.net.Addr(), compatibility(n.cfg)
	var record []byte
	if n.disk != nil {
		cfg.Disk, cfg.DiskSince, record = n.disk.id(), n.disk.since, n.disk.record()
	}
	machine, err := membership.New(cfg, rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64())), record)
	if errors.Is(err, membership.ErrForeign) {
		return nil, fmt.Errorf("ddata: Config.Dir %s: %w; give this node an empty directory of its own, or set Config.Name right", n.cfg.Dir, err)
	}
	if err != nil {
		return nil, fmt.Errorf("ddata: %w", err)
	}
	m.m = machine
	m.loop = runloop.New(m, inboxMax)
	m.loop.WhenBroken(func(b runloop.Broken) { n.broken("membership", b, machine) })
	if m.arbiter, err = startArbiter(n, m.post); err == nil && n.disk != nil {
		m.records = startRecorder(n.disk.putRecord, m.post)
	}
	return m, err
}

func (m *members) start() {
	m.n.net.Handle(membershipChannel, transport.HandlerFunc(m.receive))
	m.n.net.Handle(singletonChannel, transport.HandlerFunc(func(from transport.NodeID, payload []byte) {
		m.n.singletons.hear(from, payload, m.n.reports)
	}))
	m.loop.Start()
}

var membershipChannel = transport.ChannelOf("membership")

// inboxMax bounds what callers may have waiting in front of a machine.
const inboxMax = 64 << 10

// compatibility is what all nodes must have configured alike, beside what the membership itself
// compares.
func compatibility(c Config) []membership.Setting {
	dir, leases := "not set", "none"
	switch {
	case c.Dir != "" && len(c.DurableKeys) > 0:
		dir = "set"
	case c.Dir != "":
		dir = "set, with DurableKeys empty"
	}
	if c.Leases != nil {
		leases = c.Leases.ID()
	}
	return []membership.Setting{
		membership.NewSetting("Dir", dir), membership.NewSetting("Leases", leases),
		membership.NewSetting("Replication.DigestSeed", c.Replication.DigestSeed),
		membership.NewSetting("Replication.FrameMax", c.Replication.FrameMax), membership.NewSetting("Replication.GroupMax", c.Replication.GroupMax),
	}
}

func (m *members) post(in membership.Input) { m.loop.Force(memberInput{in: in}) }

func (m *members) receive(from transport.NodeID, payload []byte) {
	place, ok := m.admission.Admit(uint64(from), len(payload))
	if !ok {
		return
	}
	msg, err := membership.DecodeMessage(payload)
	if err != nil {
		place.Release()
		m.n.reports.emit(events.MessageMalformed{What: "membership", Peer: membership.UID(from), Err: err})
		return
	}
	addr, _ := m.n.net.PeerAddr(from)
	m.loop.Force(memberInput{in: membership.Receive{From: membership.UID(from), FromAddr: addr, Msg: msg}, from: place})
}

// Step implements runloop.Machine.
func (m *members) Step(now time.Time, q memberInput) {
	q.from.Release()
	if q.do != nil {
		q.do()
		return
	}
	wall := now.Round(0).Sub(m.last.Round(0))
	if wall-now.Sub(m.last) > suspendSlack {
		m.last = now
		m.carry(m.m.Step(now, membership.Suspended{}))
	}
	m.last = now
	if m.arbiter != nil {
		if in, changed := m.arbiter.prolonged(); changed {
			m.carry(m.m.Step(now, in))
		}
	}
	m.carry(m.m.Step(now, q.in))
}

// Flush implements runloop.Machine.
func (m *members) Flush() {
	m.tellDrops()
	m.tellClosers()
	if m.n.cfg.Meter != nil {
		m.stats.store(m.m.Stats())
	}
}

// Deadline implements runloop.Machine.
func (m *members) Deadline() time.Time { return m.m.Deadline() }

// Tick implements runloop.Machine.
func (m *members) Tick() memberInput { return memberInput{in: membership.Tick{}} }

func (m *members) carry(fx *membership.Effects) {
	m.n.lease.set(m.m.Lease())
	if fx.Persist != nil {
		m.records.write(fx.Persist)
	}
	for _, v := range fx.Install {
		m.connect(v) // before sending: new members become peers
	}
	for _, e := range fx.Send {
		m.send(e)
	}
	if len(fx.Install) > 0 {
		m.disconnect() // after it: members that go are told so over the links that they have
	}
	for _, v := range fx.Install {
		m.install(v)
	}
	for _, op := range fx.Arbiter {
		m.arbiter.ops <- op
	}
	for _, e := range fx.Events {
		m.event(e)
	}
	if fx.Done != nil {
		m.n.finish(withAdvice(fx.Done, m.n.cfg.Dir))
	}
}

// withAdvice says which setting of this node mends a refusal.
func withAdvice(err error, dir string) error {
	var refused *membership.RefusedError
	if !errors.As(err, &refused) {
		return err
	}
	switch refused.Reason {
	case membership.ReasonConfig:
		return fmt.Errorf("%w; Downing (the strategy), VotersMax, LeaseDuration and Epsilon (by Preset or Timing), and the sizes and the seed "+
			"of Replication must be the same on all nodes, Leases must be one store, and Dir set on all or on none, with nothing durable (an empty DurableKeys) on all or on none", err)
	case membership.ReasonDisk:
		return fmt.Errorf("%w; Config.Seeds name another cluster than the one whose data Config.Dir %s holds: set Seeds right, or, to join that cluster as a "+
			"new node, give this node another directory and keep this one", err, dir)
	case membership.ReasonCopy:
		return fmt.Errorf("%w; Config.Dir %s is a copy of that node's directory: remove it, this node then starts from empty and fetches everything "+
			"from its peers", err, dir)
	}
	return err
}

func (m *members) send(e membership.Envelope) {
	if g, ok := e.Msg.(membership.Grant); ok && g.Granted && m.n.disk != nil && !m.n.disk.marks.covers(m.last) {
		m.n.reports.emit(events.MessageUnsent{What: "membership", To: e.String(), Err: errUnmarked})
		return
	}
	payload := m.encode(e.Msg)
	var err error
	if _, linked := m.linked[transport.NodeID(e.To)]; linked {
		err = m.n.net.Send(transport.NodeID(e.To), transport.Control, 0, membershipChannel, payload)
	} else {
		err = m.n.net.SendAddr(e.Addr, membershipChannel, payload)
	}
	if err != nil {
		m.n.reports.emit(events.MessageUnsent{What: "membership", To: e.String(), Err: err})
	}
}

// encode encodes a message; a view that goes to all, which grows with their number, once.
func (m *members) encode(msg membership.Message) []byte {
	c, ok := msg.(membership.Commit)
	if !ok {
		return membership.AppendMessage(nil, msg)
	}
	if m.told.view != c.View {
		m.told.view, m.told.payload = c.View, membership.AppendMessage(nil, msg)
	}
	return m.told.payload
}

// connect makes the members of a view peers of the transport, beside those of the views before.
func (m *members) connect(v *membership.View) {
	for _, x := range v.Members {
		if id := transport.NodeID(x.UID); x.UID != m.n.uid {
			_ = m.n.net.AddPeer(id, x.Addr)
			m.linked[id] = x.Addr
		}
	}
	m.n.view.Store(v)
}

// disconnect gives up the links to nodes that the installed view does not list. What they hold is
// still written.
func (m *members) disconnect() {
	v := m.n.View()
	maps.DeleteFunc(m.linked, func(id transport.NodeID, _ string) bool { return !v.Has(membership.UID(id)) })
	_ = m.n.net.SetPeers(m.linked)
	if m.n.swim != nil {
		m.n.swim.SetWanted(maps.Clone(m.linked))
	}
}

func (m *members) install(v *membership.View) {
	m.n.reports.emit(events.ViewInstalled{View: v})
	m.tellUnnamed(v)
	m.tellOldest(v)
	for _, r := range m.n.replicas {
		r.install(v)
	}
	m.n.watchers.tellView(v)
	m.n.maybeUp()
}

func (m *members) event(e membership.Event) {
	switch e := e.(type) {
	case membership.MemberUnreachable:
		m.reachable(e.Member.UID, false)
	case membership.MemberReachable:
		m.reachable(e.Member.UID, true)
	case membership.LeaseLost:
		m.n.watchers.tellLease(false)
	case membership.LeaseRegained:
		m.n.watchers.tellLease(true)
		m.n.maybeUp()
	case membership.Waiting:
		m.reason.Store(&e.Reason)
	}
	m.n.reports.emit(events.OfMembership(e))
}

// tellUnnamed tells once which durable keys of the cluster this node does not name.
func (m *members) tellUnnamed(v *membership.View) {
	if m.named {
		return
	}
	m.named = true
	ours := m.n.cfg.DurableKeys
	unnamed := slices.DeleteFunc(slices.Concat(v.Durable, v.Moving), func(p string) bool { return slices.Contains(ours, p) })
	if len(unnamed) > 0 {
		m.n.reports.emit(events.UnnamedKeys{Patterns: unnamed})
	}
}

// tellOldest says where the singletons of this node's roles are, when that has changed.
func (m *members) tellOldest(v *membership.View) {
	for _, role := range m.n.cfg.Roles {
		if x, ok := v.Oldest(role); x.UID != m.oldest[role] {
			m.oldest[role] = x.UID
			m.n.reports.emit(events.OldestChanged{Role: role, Member: x, Self: ok && x.UID == m.n.uid})
		}
	}
}

// dropsEach spaces out looks at what the transport has dropped.
const dropsEach = time.Second

// tellDrops says what the transport has dropped since the last look.
func (m *members) tellDrops() {
	if m.last.Before(m.dropsAt) {
		return
	}
	m.dropsAt = m.last.Add(dropsEach)
	now := m.n.net.Stats().Dropped
	for d, n := range now {
		if n > m.dropped[d] {
			m.n.reports.emit(events.FramesDropped{Reason: transport.Drop(d), Count: n - m.dropped[d]})
		}
	}
	m.dropped = now
}

func (m *members) reachable(uid membership.UID, yes bool) {
	for _, r := range m.n.replicas {
		r.reachable(uid, yes)
	}
	m.n.watchers.tellReachable(uid, yes)
}
