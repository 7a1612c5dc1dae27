package singleton

import (
	"fmt"
	"slices"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/proptest/defect"
)

// Machine decides whether this node runs what has to run on one node of a role at a time: on its
// oldest member. It is told of the views and of the lease of this node. One that leaves hands over
// before it is out: the next in age asks, hears that the stopping is in progress, then that it is
// done, and starts. After a crash the next in age starts with the view that no longer lists the
// dead one, whose lease is over then.
//
//	standby ──oldest of the role, lease──► running ──lease lost, Leave, no longer listed──► stopping ──Exited──► standby, handed over
//	   │                                      └──Exited: RestartAfter──► standby
//	   └──all older ones are leaving──► asking ──all have said Done──► running
//
// Invariant: running or stopping only between a Start and the Exited that answers it; handed over
// is for good.
type Machine struct {
	cfg     Config
	fx      Effects
	view    *view.View
	held    bool              // the lease
	leaving bool              // never starts again
	state   State             // as last told
	handed  map[view.UID]bool // members that leave and have said Done; of the view, and as lasting as their uids
	slow    bool              // a node has said that stopping is in progress
	askers  []view.UID        // the nodes that are owed Done
	askAt   time.Time
	startAt time.Time // not started before, after it has ended by itself
	starts  uint64    // on this node so far
}

// Config configures a Machine. It is copied in.
type Config struct {
	Self view.UID // this node
	Role string   // whose oldest member runs it; "" = all members
	// AskAgain is how often one that leaves is asked. Default 1 s.
	AskAgain time.Duration
	// RestartAfter is when it is started again after it has ended by itself. Default 1 s.
	RestartAfter time.Duration

	planted
}

// planted is the errors that a test has planted.
type planted = defect.Set

// State is how far a node's Machine is.
type State uint8

// The states of a Machine.
const (
	Standby    State = iota // another node runs it, or none may
	Asking                  // the one that runs it leaves, and was asked to hand over
	InProgress              // it has said that it is stopping
	Running                 // it runs here
	Stopping                // it was told to stop here and has not ended yet
	HandedOver              // this node leaves, and runs it no more
)

// String names the state.
func (s State) String() string {
	switch s {
	case Standby:
		return "standby"
	case Asking:
		return "asking"
	case InProgress:
		return "in progress elsewhere"
	case Running:
		return "running"
	case Stopping:
		return "stopping"
	case HandedOver:
		return "handed over"
	}
	return fmt.Sprintf("State(%d)", uint8(s))
}

// Input is what a Machine is stepped with.
type Input interface {
	fmt.Stringer
	input()
}

type (
	// Tick says that time has passed.
	Tick struct{}
	// ViewChanged says that a view was installed; nil when the node is no member any more.
	ViewChanged struct{ View *view.View }
	// LeaseChanged says that the node holds its lease, or not.
	LeaseChanged struct{ Held bool }
	// Leave says that the node leaves: hand over.
	Leave struct{}
	// Exited says that what was started has ended, told to or not.
	Exited struct{}
	// Receive is what another node's Machine of the same name says.
	Receive struct {
		From view.UID
		Word Word
	}
)

func (Tick) input()         {}
func (ViewChanged) input()  {}
func (LeaseChanged) input() {}
func (Leave) input()        {}
func (Exited) input()       {}
func (Receive) input()      {}

// String prints the input.
func (Tick) String() string { return "tick" }

// String prints the view.
func (s ViewChanged) String() string { return s.View.String() }

// String prints whether the lease is held.
func (s LeaseChanged) String() string { return fmt.Sprintf("lease %t", s.Held) }

// String prints the input.
func (Leave) String() string { return "leave" }

// String prints the input.
func (Exited) String() string { return "exited" }

// String prints the word and its sender.
func (s Receive) String() string { return fmt.Sprintf("%v from %v", s.Word, s.From) }

// Word is what one Machine says to another. Words may be lost, late or doubled.
type Word uint8

// The words of a hand-over.
const (
	Request  Word = iota + 1 // hand over to me
	StopsNow                 // asked to stop, and not ended yet: in progress
	Done                     // it does not run here, and never will again
)

// String names the word.
func (w Word) String() string {
	switch w {
	case Request:
		return "request"
	case StopsNow:
		return "in progress"
	case Done:
		return "done"
	}
	return fmt.Sprintf("Word(%d)", uint8(w))
}

// Envelope is a word for another member.
type Envelope struct {
	To   view.UID
	Word Word
}

// Effects is what a step wants done. It is reused: valid until the next Step.
type Effects struct {
	Send []Envelope // words for other members
	// Start begins it. The driver asks the lease again at that very moment; if it does not hold, it
	// says Exited.
	Start bool
	// Token, with Start, is higher than in any start before, on this node or another: for what lies
	// outside.
	Token FencingToken
	Stop  bool   // tells what runs to stop; Exited follows
	State *State // when it has changed
}

// New returns a Machine without a view.
func New(cfg Config) *Machine {
	if cfg.AskAgain == 0 {
		cfg.AskAgain = time.Second
	}
	if cfg.RestartAfter == 0 {
		cfg.RestartAfter = time.Second
	}
	return &Machine{cfg: cfg, handed: make(map[view.UID]bool)}
}

// Step takes one input.
func (s *Machine) Step(now time.Time, in Input) *Effects {
	s.fx = Effects{Send: s.fx.Send[:0]}
	switch in := in.(type) {
	case Tick:
	case ViewChanged:
		s.onView(in.View)
	case LeaseChanged:
		s.held = in.Held
	case Leave:
		s.leaving = true
	case Exited:
		s.onExited(now)
	case Receive:
		s.onWord(in)
	}
	s.advance(now)
	return &s.fx
}

// Deadline is when to step Tick; zero = never.
func (s *Machine) Deadline() time.Time {
	switch s.state {
	case Asking, InProgress:
		return s.askAt
	case Standby:
		return s.startAt
	}
	return time.Time{}
}

// State is how far it is.
func (s *Machine) State() State { return s.state }

func (s *Machine) onView(v *view.View) {
	s.view = v
	for u := range s.handed { // order: each is looked at by itself
		if v == nil || !v.Has(u) {
			delete(s.handed, u)
		}
	}
}

func (s *Machine) onExited(now time.Time) {
	if s.state == Running {
		s.startAt = now.Add(s.cfg.RestartAfter)
	}
	if s.state == Running || s.state == Stopping {
		s.become(Standby)
	}
}

func (s *Machine) onWord(r Receive) {
	if s.view == nil || !s.view.Has(r.From) {
		return
	}
	switch r.Word {
	case Request:
		if !slices.Contains(s.askers, r.From) && len(s.askers) < view.MembersMax {
			s.askers = append(s.askers, r.From)
		}
	case StopsNow:
		s.slow = true
	case Done:
		s.handed[r.From] = true
	}
}

func (s *Machine) advance(now time.Time) {
	if !now.Before(s.startAt) {
		s.startAt = time.Time{}
	}
	older, may := s.older()
	switch s.state {
	case Running:
		if !may || s.leaving {
			s.fx.Stop = true
			s.become(Stopping)
		}
	case Standby, Asking, InProgress:
		switch {
		case s.leaving:
			s.become(HandedOver)
		case !may:
			s.become(Standby)
		case len(older) > 0:
			s.ask(now, older)
		case !s.startAt.IsZero() || s.listed() != view.Up:
		default:
			s.start()
		}
	}
	s.answer()
}

// start begins it. In one view it goes from an older member to a younger one and never back. So the
// up number orders the starts of a view on several nodes, and the count orders those on one.
func (s *Machine) start() {
	me, _ := s.view.Member(s.cfg.Self)
	s.slow = false
	s.starts++
	s.fx.Start, s.fx.Token = true, FencingToken{Era: s.view.Era, Epoch: s.view.Epoch, Up: me.UpNumber, Seq: s.starts}
	s.become(Running)
}

// older returns the members before this node that leave and have not handed over. may is false if a
// member before it does not leave, or this node may run nothing.
func (s *Machine) older() (older []view.UID, may bool) {
	if s.view == nil || !s.held {
		return nil, false
	}
	me, ok := s.view.Member(s.cfg.Self)
	if !ok || me.Status == view.Joining || !me.HasRole(s.cfg.Role) {
		return nil, false
	}
	for _, o := range s.view.Members {
		switch {
		case !o.Full() || o.Status == view.Joining || !o.HasRole(s.cfg.Role) || o.UpNumber >= me.UpNumber:
		case s.handed[o.UID]:
		case o.Status != view.Leaving:
			return nil, false
		default:
			older = append(older, o.UID)
		}
	}
	return older, true
}

// listed is this node's status in the view. One that leaves starts nothing, whether it has heard of
// that or not.
func (s *Machine) listed() view.Status {
	me, _ := s.view.Member(s.cfg.Self)
	return me.Status
}

func (s *Machine) ask(now time.Time, older []view.UID) {
	if s.state == Standby || !now.Before(s.askAt) {
		s.askAt = now.Add(s.cfg.AskAgain)
		for _, u := range older {
			s.send(u, Request)
		}
	}
	if s.slow {
		s.become(InProgress)
	} else {
		s.become(Asking)
	}
}

// answer tells the nodes that have asked. A node that does not leave says nothing: it was asked
// because of a view that it will hear of.
func (s *Machine) answer() {
	if !s.leaving {
		return
	}
	word := StopsNow
	if s.state == HandedOver || s.cfg.Planted(defect.DoneTooEarly) {
		word = Done
	}
	for _, u := range s.askers {
		s.send(u, word)
	}
	if word == Done {
		s.askers = nil
	}
}

func (s *Machine) send(to view.UID, w Word) {
	s.fx.Send = append(s.fx.Send, Envelope{To: to, Word: w})
}

func (s *Machine) become(state State) {
	if s.state != state {
		s.state = state
		s.fx.State = &state
	}
}
