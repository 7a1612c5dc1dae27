package ddata

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"github.com/coterie-go/coterie/ddata/advice"
	"github.com/coterie-go/coterie/ddata/disk"
	"github.com/coterie-go/coterie/ddata/drivers"
	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/ddata/format"
	"github.com/coterie-go/coterie/ddata/membership"
	"github.com/coterie-go/coterie/ddata/membership/arbitration"
	"github.com/coterie-go/coterie/ddata/membership/bootstrap"
	"github.com/coterie-go/coterie/ddata/membership/message"
	"github.com/coterie-go/coterie/ddata/membership/nodelease"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/ddata/runloop"
	"github.com/coterie-go/coterie/ddata/scheduler"
	"github.com/coterie-go/coterie/ddata/singletons"
	"github.com/coterie-go/coterie/ddata/transport"
)

// members is the membership machine of a running node, on its loop. It is the Host of the machine's
// Driver: messages travel in the Control lane, views go to the replicators and the watchers.
type members struct {
	n    *Node
	d    any // a *drivers.Members, see membersDriver
	loop runloop.Loop[memberInput]

	admission *runloop.Admission
	arbiter   *arbiter       // nil without Config.Leases
	records   *disk.Recorder // nil without Config.Dir

	reason atomic.Pointer[string] // what the node waits for

	linked  map[transport.NodeID]string // the peers of the transport, and their addresses
	oldest  map[string]view.UID         // by role, as it was told
	named   bool                        // it was told which durable keys this node does not name
	dropped [transport.Drops]uint64     // as it was told
	dropsAt time.Time
	closers map[chan<- struct{}]bool // callers that wait until all members close

	stats latest[membership.Stats] // for the Meter
}

// membersDriver returns the driver of the membership, which is not to be seen, as that of driverOf.
func membersDriver(m *members) *drivers.Members { return m.d.(*drivers.Members) }

var _ drivers.MembersHost = (*members)(nil)

// memberInput is an input of the machine, or something to do on its goroutine.
type memberInput struct {
	in   membership.Input
	from runloop.Permit // of another node's message
	do   func()
}

func newMembers(n *Node) (*members, error) {
	m := &members{n: n, admission: newAdmission(n), linked: map[transport.NodeID]string{},
		oldest: map[string]view.UID{}, closers: map[chan<- struct{}]bool{}}
	cfg := n.cfg.membership()
	cfg.UID, cfg.Addr, cfg.Compatibility = n.uid, n.net.Addr(), compatibility(n.cfg)
	var record []byte
	if n.disk != nil {
		cfg.Disk, cfg.DiskSince, cfg.DiskEnded, record = n.disk.ID(), n.disk.Since(), n.disk.Ended(), n.disk.Record()
	}
	machine, err := membership.New(cfg, rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64())), record)
	if errors.Is(err, membership.ErrForeign) {
		return nil, fmt.Errorf("ddata: Config.Dir %s: %w; give this node an empty directory of its own, or set "+
			"Config.Name right", n.cfg.Dir, err)
	}
	if errors.Is(err, format.ErrUnspoken) {
		return nil, fmt.Errorf("ddata: Config.Dir %s: %w; the directory is left as it is: run a build that speaks "+
			"that level, and let Config.FormatMax not hold it below; if the cluster refuses that build, it has "+
			"gone on without this node: give it an empty directory", n.cfg.Dir, err)
	}
	if err != nil {
		return nil, fmt.Errorf("ddata: %w", err)
	}
	m.d = drivers.NewMembers(machine, m, time.Now())
	m.loop = runloop.New(scheduler.Goroutines{}, m, inboxMax)
	m.loop.WhenBroken(func(b runloop.Broken) { n.broken("membership", b, machine) })
	if m.arbiter, err = startArbiter(n, m.post); err == nil && n.disk != nil {
		m.records = disk.StartRecorder(n.disk.PutRecord, m.post)
	}
	return m, err
}

func (m *members) start() {
	m.n.net.Handle(membershipChannel, transport.HandlerFunc(m.receive))
	singletons.Of(m.n.Host()) // which hears from now on
	m.loop.Start()
}

var membershipChannel = transport.ChannelOf("membership")

// inboxMax bounds what callers may have waiting in front of a machine.
const inboxMax = 64 << 10

// compatibility is what all nodes must have configured alike, beside what the membership itself
// compares.
func compatibility(c Config) []bootstrap.Setting {
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
	return []bootstrap.Setting{
		bootstrap.NewSetting("Dir", dir), bootstrap.NewSetting("Leases", leases),
		bootstrap.NewSetting("Replication.DigestSeed", c.Replication.DigestSeed),
		bootstrap.NewSetting("Replication.FrameMax", c.Replication.FrameMax),
		bootstrap.NewSetting("Replication.GroupMax", c.Replication.GroupMax),
	}
}

func (m *members) post(in membership.Input) { m.loop.Force(memberInput{in: in}) }

func (m *members) receive(from transport.NodeID, payload []byte) {
	place, ok := m.admission.Admit(uint64(from), len(payload))
	if !ok {
		return
	}
	msg, err := message.Decode(payload)
	if err != nil {
		place.Release()
		m.n.reports.emit(events.MessageMalformed{What: "membership", Peer: view.UID(from), Err: err})
		return
	}
	addr, _ := m.n.net.PeerAddr(from)
	m.loop.Force(memberInput{in: membership.Receive{From: view.UID(from), FromAddr: addr, Msg: msg}, from: place})
}

// Step implements runloop.Machine.
func (m *members) Step(now time.Time, q memberInput) {
	q.from.Release()
	if q.do != nil {
		q.do()
		return
	}
	membersDriver(m).Step(now, q.in)
}

// Flush implements runloop.Machine.
func (m *members) Flush() {
	m.tellDrops()
	m.tellClosers()
	if m.n.cfg.Meter != nil {
		m.stats.store(membersDriver(m).Machine().Stats())
	}
}

// Deadline implements runloop.Machine.
func (m *members) Deadline() time.Time { return membersDriver(m).Machine().Deadline() }

// Tick implements runloop.Machine.
func (m *members) Tick() memberInput { return memberInput{in: membership.Tick{}} }

// Publish implements drivers.MembersHost.
func (m *members) Publish(l nodelease.Lease) { m.n.lease.set(l) }

// Write implements drivers.MembersHost.
func (m *members) Write(record []byte) { m.records.Write(record) }

// Covers implements drivers.MembersHost.
func (m *members) Covers(now time.Time) bool { return m.n.disk == nil || m.n.disk.Covers(now) }

// Unmarked implements drivers.MembersHost.
func (m *members) Unmarked(e message.Envelope) { m.unsent(e, disk.ErrUnmarked) }

func (m *members) unsent(e message.Envelope, err error) {
	m.n.reports.emit(events.MessageUnsent{What: "membership", To: e.String(), Err: err})
}

// Arbitrate implements drivers.MembersHost.
func (m *members) Arbitrate(op arbitration.Op) { m.arbiter.ops <- op }

// Prolonged implements drivers.MembersHost.
func (m *members) Prolonged() (membership.ArbiterProlonged, bool) {
	if m.arbiter == nil {
		return membership.ArbiterProlonged{}, false
	}
	return m.arbiter.prolonged()
}

// Done implements drivers.MembersHost.
func (m *members) Done(err error) { m.n.end.finish(advice.Of(err, m.n.cfg.Dir)) }

// Send implements drivers.MembersHost.
func (m *members) Send(e message.Envelope, payload []byte) {
	var err error
	if _, linked := m.linked[transport.NodeID(e.To)]; linked {
		err = m.n.net.Send(transport.NodeID(e.To), transport.Control, 0, membershipChannel, payload)
	} else {
		err = m.n.net.SendAddr(e.Addr, membershipChannel, payload)
	}
	if err != nil {
		m.unsent(e, err)
	}
}

// Connect implements drivers.MembersHost.
func (m *members) Connect(v *view.View) {
	for _, x := range v.Members {
		if id := transport.NodeID(x.UID); x.UID != m.n.uid {
			_ = m.n.net.AddPeer(id, x.Addr)
			m.linked[id] = x.Addr
		}
	}
	m.n.view.Store(v)
}

// Disconnect implements drivers.MembersHost. What the links hold is still written.
func (m *members) Disconnect() {
	v := m.n.View()
	maps.DeleteFunc(m.linked, func(id transport.NodeID, _ string) bool { return !v.Has(view.UID(id)) })
	_ = m.n.net.SetPeers(m.linked)
	if m.n.swim != nil {
		m.n.swim.SetWanted(maps.Clone(m.linked))
	}
}

// Install implements drivers.MembersHost.
func (m *members) Install(v *view.View) {
	m.n.reports.emit(events.ViewInstalled{View: v})
	m.n.silences.Follow(v)
	m.tellUnnamed(v)
	m.tellOldest(v)
	for _, r := range m.n.replicas {
		r.install(v, membersDriver(m).Machine().Clean())
	}
	m.n.watchers.TellView(v)
	m.n.maybeUp()
}

// Event implements drivers.MembersHost.
func (m *members) Event(e membership.Event) {
	switch e := e.(type) {
	case membership.MemberUnreachable:
		m.reachable(e.Member.UID, false)
	case membership.MemberReachable:
		m.reachable(e.Member.UID, true)
	case membership.LeaseLost:
		m.n.watchers.TellLease(false)
	case membership.LeaseRegained:
		m.n.watchers.TellLease(true)
		m.n.maybeUp()
	case membership.Waiting:
		m.reason.Store(&e.Reason)
	}
	m.n.reports.emit(events.OfMembership(e))
}

// concerned reports whether a pattern of a view is about data of this node.
func concerned(roles []string, pattern string) bool {
	return slices.ContainsFunc(roles, func(r string) bool { return len(view.PatternsOf([]string{pattern}, r)) > 0 })
}

// tellUnnamed tells once which durable keys of the cluster this node does not name.
func (m *members) tellUnnamed(v *view.View) {
	if m.named {
		return
	}
	m.named = true
	ours := m.n.cfg.DurableKeys
	unnamed := slices.DeleteFunc(slices.Concat(v.Durable, v.Moving),
		func(p string) bool { return slices.Contains(ours, p) || !concerned(m.n.cfg.Roles, p) })
	if len(unnamed) > 0 {
		m.n.reports.emit(events.UnnamedKeys{Patterns: view.Shown(unnamed)})
	}
}

// tellOldest says where the singletons of this node's roles are, when that has changed.
func (m *members) tellOldest(v *view.View) {
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
	last := membersDriver(m).Last()
	if last.Before(m.dropsAt) {
		return
	}
	m.dropsAt = last.Add(dropsEach)
	now := m.n.net.Stats().Dropped
	for d, n := range now {
		if n > m.dropped[d] {
			m.n.reports.emit(events.FramesDropped{Reason: transport.Drop(d), Count: n - m.dropped[d]})
		}
	}
	m.dropped = now
}

func (m *members) reachable(uid view.UID, yes bool) {
	m.n.silences.Note(uid, yes, membersDriver(m).Last())
	for _, r := range m.n.replicas {
		r.reachable(uid, yes)
	}
	m.n.watchers.TellReachable(uid, yes)
}
