package bootstrap

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/view"
)

// Disk is where a node locks itself to a founding.
type Disk interface {
	// Lock has it stored that this node is locked to a view, and returns the number of the record.
	Lock(v *view.View) (record uint64)
	// IsStored reports whether a record, or one that replaced it, is on disk.
	IsStored(record uint64) bool
}

// Seeker is the part of a node that has no view yet. It probes the nodes that it knows of and joins
// a cluster if it hears of one. Else it founds one with the others that seek, if it is configured
// to.
//
//	probing ──hears of a cluster──► joining ──a view lists it──► (Output.Install)
//	   │                               └──silence for Timeout──► (Output.Stalled)
//	   └──all chosen choose alike──► locked ──all have locked──► (Output.Install)
//	                                    └──not so within Timeout──► (Output.Stalled)
//
// Invariants: once cluster is set this incarnation founds nothing; once lock is set it locks to
// nothing else.
type Seeker struct {
	cfg    Config
	rng    *rand.Rand
	disk   Disk
	memory Memory
	out    Output

	now        time.Time // of the call in progress
	start      time.Time // of the first call
	targets    targets
	candidates candidates
	discovered discovered
	joining    joining
	locking    locking
	strangers  strangers
	waiting    string // why nothing goes on, as last said
	oldLeases  oldLeases
}

// New returns a Seeker that probes its seeds, and the members that its disk remembers.
func New(cfg Config, rng *rand.Rand, disk Disk, memory Memory) *Seeker {
	s := &Seeker{
		cfg: cfg, rng: rng, disk: disk, memory: memory,
	}
	s.targets, s.discovered.cfg = targets{cfg: &s.cfg}, &s.cfg
	s.candidates = candidates{cfg: &s.cfg, memory: &s.memory}
	s.locking.said = make(map[view.UID]view.Hash)
	for _, a := range cfg.Seeds {
		s.target(a)
	}
	for _, v := range []*view.View{memory.Last, memory.Pending} {
		if v == nil {
			continue
		}
		for _, o := range v.Members {
			s.target(o.Addr)
		}
	}
	return s
}

// Output returns what the calls since the last Output want done.
func (s *Seeker) Output() Output {
	out := s.out
	s.out = Output{}
	return out
}

// enter begins a call.
func (s *Seeker) enter(now time.Time) {
	if s.start.IsZero() {
		s.start = now
	}
	s.now = now
}

// Awake keeps time during which the process stood still out of what it gives up after.
func (s *Seeker) Awake(gap time.Duration) {
	s.joining.heardAt = s.joining.heardAt.Add(gap)
	s.locking.at = s.locking.at.Add(gap)
}

// Receive takes what a node at an address says: a JoinReply, a Refuse or a Locked.
func (s *Seeker) Receive(now time.Time, from view.UID, addr string, msg fmt.Stringer) {
	switch msg := msg.(type) {
	case JoinReply:
		s.onJoinReply(now, addr, msg)
	case Refuse:
		s.onRefuse(now, addr, msg)
	case Locked:
		s.onLock(now, from, msg)
	}
}

// Hint takes an address at which a node may be.
func (s *Seeker) Hint(now time.Time, addr string) {
	s.enter(now)
	s.target(addr)
}

// target has an address probed.
func (s *Seeker) target(addr string) { s.targets.add(s.now, addr, &s.out) }

// String says what the seeker does.
func (s *Seeker) String() string {
	switch {
	case s.locking.view != nil:
		return fmt.Sprintf("locked to %v", s.locking.view)
	case s.joining.cluster != 0:
		return fmt.Sprintf("joining %v", s.joining.cluster)
	}
	return fmt.Sprintf("%d candidates", len(s.candidates.of))
}

// Advance probes, and founds when it is time.
func (s *Seeker) Advance(now time.Time) {
	s.enter(now)
	s.candidates.dropSilent(s.now)
	if s.isStalled() {
		s.out.Stalled = fmt.Sprintf("cluster %v was heard of, and nothing more of it for %v",
			s.joining.cluster, s.cfg.Timeout)
		if s.locking.view != nil {
			s.out.Stalled = s.locking.unlocked(s.cfg.Self.UID)
		}
		return
	}
	if s.locking.view == nil && s.joining.cluster == 0 {
		s.maybeFound()
		if len(s.out.Install) > 0 || s.out.Stalled != "" {
			return
		}
	}
	if s.targets.begin(s.now) {
		if s.locking.view != nil { // it is taken: no node may count on it or let it join
			s.locking.tell(s.cfg.Self.UID, &s.out)
			if !s.now.Before(s.locking.at.Add(2 * s.cfg.Beat)) { // longer than a lock and its answer take
				s.wait(s.locking.unlocked(s.cfg.Self.UID))
			}
		} else {
			s.probe()
		}
	}
	s.out.DueAt(s.targets.probeAt)
}

// isStalled: what was begun has not come to an end. A new incarnation can safely start from
// the beginning, this one cannot: it may have been counted on.
func (s *Seeker) isStalled() bool {
	var since time.Time
	switch {
	case s.locking.view != nil:
		since = s.locking.at
	case s.joining.cluster != 0:
		since = s.joining.heardAt
	default:
		return false
	}
	limit := since.Add(s.cfg.Timeout)
	if !s.now.Before(limit) {
		return true
	}
	s.out.DueAt(limit)
	return false
}

// probe asks all that it knows of; while members answer, the members that they name.
func (s *Seeker) probe() {
	if len(s.joining.contacts) > 0 && s.now.Before(s.joining.heardAt.Add(2*s.cfg.Beat)) {
		s.sendProbes(s.joining.contacts)
		return
	}
	s.sendProbes(s.targets.asked())
}

func (s *Seeker) sendProbes(to []string) {
	msg := Probe{
		Name: s.cfg.Name, Settings: s.cfg.Settings, Durable: s.cfg.Durable, Self: s.cfg.Self,
		Expect: uint32(s.cfg.Expect), AnyDisks: s.cfg.AnyDisks, Heard: s.joining.heard, First: s.joining.first,
		Knows: s.memory.Knows(),
		Waits: s.now.Before(s.memory.leasesOver(&s.cfg, s.start)), Peers: s.candidates.contacts(),
		Ended: s.cfg.DiskEnded, Clean: s.memory.Clean,
	}
	if s.joining.cluster == 0 {
		msg.Choice = s.choice()
	}
	for _, a := range to {
		msg.At = a
		s.out.send(0, a, msg)
	}
}

// OnProbe hears another seeking node. Two that only join do not go on asking each other,
// because hundreds may start at once. The node that is asked by another tells it of the founders
// that it has heard.
func (s *Seeker) OnProbe(now time.Time, p Probe) {
	s.enter(now)
	joins := s.cfg.Expect == 0 && p.Expect == 0
	if !joins {
		s.target(p.Self.Addr)
	} else if !s.targets.has(p.Self.Addr) && p.Self.Addr != s.cfg.Self.Addr {
		s.sendProbes([]string{p.Self.Addr})
	}
	if reason, text := s.cfg.Mismatch(p); reason != 0 {
		s.wait(fmt.Sprintf("%v@%s does not fit: %s (%v)", p.Self.UID, p.Self.Addr, text, reason))
		return
	}
	for _, c := range p.Peers {
		s.target(c.Addr)
	}
	if p.Self.Addr == s.cfg.Self.Addr {
		return
	}
	news, ok := s.candidates.hear(s.now, p)
	if !ok {
		s.out.Dropped.Full++
		return
	}
	if news && !joins {
		s.out.Wake = true
		s.targets.soon(s.now.Add(s.cfg.Beat / 8)) // let it know, too
	}
}

// wait says why nothing goes on, once per reason; in the first moments that is nothing worth
// saying.
func (s *Seeker) wait(reason string) {
	if s.waiting != reason && !s.now.Before(s.start.Add(2*s.cfg.Beat)) {
		s.waiting = reason
		s.out.Waiting = append(s.out.Waiting, reason)
	}
}
