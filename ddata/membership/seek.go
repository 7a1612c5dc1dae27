package membership

import (
	"fmt"
	"slices"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/view"
)

// bootstrap is the state of a node that has no view yet. It probes the nodes that it knows of and
// joins a cluster if it hears of one. Else it founds one with the others that seek, if it is
// configured to.
//
//	probing ──hears of a cluster──► joining ──a view lists it──► (member)
//	   │                               └──silence for BootstrapTimeout──► (ErrStalled)
//	   └──all chosen choose alike──► locked ──all have locked──► (member)
//	                                    └──not so within BootstrapTimeout──► (ErrStalled)
//
// Invariants: once cluster is set this incarnation founds nothing; once lock is set it locks to
// nothing else.
type bootstrap struct {
	targets    []string // addresses to probe, in the order in which they became known
	candidates map[UID]founder
	discovered discovered
	probeAt    time.Time
	pause      time.Duration // between two rounds; doubles: nodes that start together do not listen at once
	turn       int           // which target that is no seed was asked last
	cluster    ClusterID
	heard      Epoch     // the newest of the cluster
	first      Epoch     // the first of it that was heard of
	contacts   []string  // the addresses to ask, as a member said last
	heardAt    time.Time // when the cluster was last heard; moved by countAwake, as is lockedAt
	lock       *View
	lockHash   Hash
	lockRecord uint64 // which has the lock
	lockedAt   time.Time
	locked     map[UID]Hash    // the founders that have locked themselves, and to what
	strangers  map[string]bool // seeds at which a member of another cluster than that of this node's disk refused it
	waiting    string          // why nothing goes on, as last said
}

// founder is another seeking node, as it last described itself.
type founder struct {
	probe  Probe
	since  time.Time // when it was first heard
	until  time.Time
	direct bool // it reaches this node at the address that this node advertises
}

// hears reports whether the founder counts a node as heard, which it does when that node reaches it
// at its own address.
func (f founder) hears(u UID) bool {
	return slices.ContainsFunc(f.probe.Peers, func(c Contact) bool { return c.UID == u })
}

func (s *bootstrap) init(m *Machine) {
	s.candidates = make(map[UID]founder)
	s.locked = make(map[UID]Hash)
	s.strangers = make(map[string]bool)
	for _, a := range m.cfg.Seeds {
		s.addTarget(m, a)
	}
	for _, v := range []*View{m.record.Last, m.record.Pending} {
		if v == nil {
			continue
		}
		for _, o := range v.Members {
			s.addTarget(m, o.Addr)
		}
	}
}

func (s *bootstrap) addTarget(m *Machine, addr string) {
	switch {
	case addr == "" || len(addr) > view.AddrMax || addr == m.cfg.Addr || slices.Contains(s.targets, addr):
	case len(s.targets) >= 2*contactsMax+hintsMax:
		m.stats.DroppedFull++
	default:
		s.targets = append(s.targets, addr)
		s.probeSoon(m.now.Add(m.cfg.HeartbeatInterval / 8))
		m.wake = true
	}
}

func (s *bootstrap) probeSoon(at time.Time) {
	if at.Before(s.probeAt) {
		s.probeAt = at
	}
}

// String says what the seeker does.
func (s *bootstrap) String() string {
	switch {
	case s.lock != nil:
		return fmt.Sprintf("locked to %v", s.lock)
	case s.cluster != 0:
		return fmt.Sprintf("joining %v", s.cluster)
	}
	return fmt.Sprintf("%d candidates", len(s.candidates))
}

// advanceBootstrap probes, and founds when it is time.
func (m *Machine) advanceBootstrap() {
	s := &m.bootstrap
	m.dropSilentCandidates()
	if m.bootstrapStalled() {
		m.becomeDone(m.stalled())
		return
	}
	if s.lock == nil && s.cluster == 0 {
		m.maybeFound()
		if m.view != nil {
			return
		}
	}
	if !m.now.Before(s.probeAt) {
		s.pause = min(max(2*s.pause, m.cfg.HeartbeatInterval/8), m.cfg.HeartbeatInterval)
		s.probeAt = m.now.Add(s.pause)
		if s.lock != nil { // it is taken: no node may count on it or let it join
			m.sendLock()
			m.awaitLocks()
		} else {
			m.probe()
		}
	}
	m.dueAt(s.probeAt)
}

func (m *Machine) dropSilentCandidates() {
	for _, u := range sortedKeys(m.bootstrap.candidates) {
		if !m.now.Before(m.bootstrap.candidates[u].until) {
			delete(m.bootstrap.candidates, u)
		}
	}
}

// bootstrapStalled: what was begun has not come to an end. A new incarnation can safely start from
// the beginning, this one cannot: it may have been counted on.
func (m *Machine) bootstrapStalled() bool {
	s := &m.bootstrap
	var since time.Time
	switch {
	case s.lock != nil:
		since = s.lockedAt
	case s.cluster != 0:
		since = s.heardAt
	default:
		return false
	}
	limit := since.Add(m.cfg.BootstrapTimeout)
	if !m.now.Before(limit) {
		return true
	}
	m.dueAt(limit)
	return false
}

// probe asks all that it knows of; while members answer, the members that they name.
func (m *Machine) probe() {
	s := &m.bootstrap
	if len(s.contacts) > 0 && m.now.Before(s.heardAt.Add(2*m.cfg.HeartbeatInterval)) {
		m.probeAt(s.contacts)
		return
	}
	m.probeAt(m.asked())
}

// askedMax is how many of the addresses that it was not given a node that only joins asks in one
// round.
const askedMax = 8

// asked are the targets of one round. A node that only joins needs to hear of a cluster from one of
// them. So it asks its seeds, and the others in turn: hundreds that start together do not all ask
// each other. A founder has to hear all other founders.
func (m *Machine) asked() []string {
	s := &m.bootstrap
	given := min(len(s.targets), len(m.cfg.Seeds))
	others := s.targets[given:]
	if m.cfg.BootstrapExpect > 0 || len(others) <= askedMax {
		return s.targets
	}
	asked := slices.Clone(s.targets[:given])
	for range askedMax {
		s.turn = (s.turn + 1) % len(others)
		asked = append(asked, others[s.turn])
	}
	return asked
}

func (m *Machine) probeAt(to []string) {
	s := &m.bootstrap
	msg := Probe{
		Protocol: Protocol, Name: m.cfg.Name, Settings: m.settings, Durable: m.cfg.DurableKeys, Self: m.cfg.self(),
		Expect: uint32(m.cfg.BootstrapExpect), AnyDisks: m.cfg.BootstrapAnyDisks, Heard: s.heard, First: s.first, Knows: m.record.knows(),
		Waits: m.now.Before(m.leasesOver()),
	}
	for _, u := range sortedKeys(s.candidates) {
		f := s.candidates[u]
		if len(msg.Peers) < contactsMax && f.direct && f.probe.Expect > 0 { // only founders help to find a cluster
			msg.Peers = append(msg.Peers, Contact{UID: u, Addr: f.probe.Self.Addr})
		}
	}
	if s.cluster == 0 {
		msg.Choice = m.choice()
	}
	for _, a := range to {
		msg.At = a
		m.send(0, a, msg)
	}
}

// onCandidate hears another seeking node. Two that only join do not go on asking each other,
// because hundreds may start at once. The node that is asked by another tells it of the founders
// that it has heard.
func (m *Machine) onCandidate(p Probe) {
	s := &m.bootstrap
	joins := m.cfg.BootstrapExpect == 0 && p.Expect == 0
	if !joins {
		s.addTarget(m, p.Self.Addr)
	} else if !slices.Contains(s.targets, p.Self.Addr) && p.Self.Addr != m.cfg.Addr {
		m.probeAt([]string{p.Self.Addr})
	}
	if reason, text := m.mismatch(p); reason != 0 {
		m.wait(fmt.Sprintf("%v@%s does not fit: %s (%v)", p.Self.UID, p.Self.Addr, text, reason))
		return
	}
	for _, c := range p.Peers {
		s.addTarget(m, c.Addr)
	}
	if p.Self.Addr == m.cfg.Addr {
		return
	}
	for _, u := range sortedKeys(s.candidates) {
		if u != p.Self.UID && s.candidates[u].probe.Self.Addr == p.Self.Addr {
			delete(s.candidates, u)
		}
	}
	before, known := s.candidates[p.Self.UID]
	if !known && (len(s.candidates) >= contactsMax || p.Expect == 0 && len(s.candidates) >= contactsMax/2) { // founders must find room
		m.stats.DroppedFull++
		return
	}
	if !known {
		before.since = m.now
	}
	f := founder{probe: p, since: before.since, until: m.now.Add(m.joinerTTL()), direct: before.direct || p.At == m.cfg.Addr}
	s.candidates[p.Self.UID] = f
	news := !known || f.direct != before.direct || f.hears(m.cfg.UID) != before.hears(m.cfg.UID) || !slices.Equal(before.probe.Choice, p.Choice)
	if news && !joins {
		m.wake = true
		s.probeSoon(m.now.Add(m.cfg.HeartbeatInterval / 8)) // let it know, too
	}
}

// wait says why nothing goes on, once per reason; in the first moments that is nothing worth
// saying.
func (m *Machine) wait(reason string) {
	if m.bootstrap.waiting != reason && !m.now.Before(m.start.Add(2*m.cfg.HeartbeatInterval)) {
		m.bootstrap.waiting = reason
		m.event(Waiting{reason})
	}
}

// heardCluster notes that there is a cluster: from now on this node joins it or nothing.
func (m *Machine) heardCluster(c ClusterID) {
	s := &m.bootstrap
	if m.isStranger(c) {
		return
	}
	if s.cluster == 0 && s.lock == nil {
		s.cluster = c
		m.wake = true
	}
	if s.cluster == c {
		s.heardAt = m.now
	}
}

func (m *Machine) onJoinReply(r Receive, h JoinReply) {
	if m.view != nil {
		m.stats.DroppedStale++
		return
	}
	s := &m.bootstrap
	if m.isStranger(h.Cluster) {
		m.wait(m.strangerText(h.Cluster, r.FromAddr))
		return
	}
	m.heardCluster(h.Cluster)
	if s.lock == nil && s.cluster != h.Cluster {
		m.wait(fmt.Sprintf("two clusters of one name: %v, and %v at %s", s.cluster, h.Cluster, r.FromAddr))
		return
	}
	switch {
	case s.lock != nil:
	case h.Closing:
		m.wait(fmt.Sprintf("cluster %v is being shut down, and no node can join; this node will found it anew with the others", h.Cluster))
	case h.Moving:
		m.wait(fmt.Sprintf("cluster %v lets this node join when the keys of another node have become durable (event KeysWaiting there)", h.Cluster))
	default:
		m.wait(fmt.Sprintf("cluster %v was asked to let this node join and has not decided it yet; it needs a majority of its members", h.Cluster))
	}
	s.contacts = s.contacts[:0]
	for _, c := range h.Contacts {
		s.addTarget(m, c.Addr)
		if c.Addr != m.cfg.Addr {
			s.contacts = append(s.contacts, c.Addr)
		}
	}
	if s.lock == nil && s.heard < h.Epoch { // it will be taken when it says so
		if s.heard == 0 {
			s.first = h.Epoch
		}
		s.heard, m.wake = h.Epoch, true
		s.probeSoon(m.now)
	}
}

func (m *Machine) onRefuse(r Receive, f Refuse) {
	if m.view != nil || f.To != m.cfg.UID {
		m.stats.DroppedStale++
		return
	}
	if m.isStranger(f.Cluster) && !m.allSeedsAreStrangers(f) {
		m.wait(m.strangerText(f.Cluster, r.FromAddr))
		return
	}
	if f.Reason == ReasonGone { // it never ran anything, and another uid will be taken
		m.becomeDone(&StalledError{Waiting: f.Text})
		return
	}
	if m.bootstrap.lock != nil {
		m.stats.DroppedStale++
		return
	}
	m.becomeDone(&RefusedError{By: r.FromAddr, Reason: f.Reason, Text: f.Text})
}
