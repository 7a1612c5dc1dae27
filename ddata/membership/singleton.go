package membership

import (
	"fmt"
	"slices"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/view"
)

// Singleton decides whether this node runs what has to run on one node of a role at a time: on its
// oldest member. It is a pure machine of its own beside the Machine, whose views and lease it is
// told of. One that leaves hands over before it is out: the next in age asks, hears that the
// stopping is in progress, then that it is done, and starts. After a crash the next in age starts
// with the view that no longer lists the dead one, whose lease is over then.
//
//	standby ──oldest of the role, lease──► running ──lease lost, Leave, no longer listed──► stopping ──Exited──► standby, handed over
//	   │                                      └──Exited: RestartAfter──► standby
//	   └──all older ones are leaving──► asking ──all have said Done──► running
//
// Invariant: running or stopping only between a Start and the Exited that answers it; handed over
// is for good.
type Singleton struct {
	cfg     SingletonConfig
	fx      SingletonEffects
	view    *View
	held    bool           // the lease
	leaving bool           // never starts again
	state   SingletonState // as last told
	handed  map[UID]bool   // members that leave and have said Done; of the view, and as lasting as their uids
	slow    bool           // a node has said that stopping is in progress
	askers  []UID          // the nodes that are owed Done
	askAt   time.Time
	startAt time.Time // not started before, after it has ended by itself
	starts  uint64    // on this node so far
}

// SingletonConfig configures a Singleton. It is copied in.
type SingletonConfig struct {
	Self UID    // this node
	Role string // whose oldest member runs it; "" = all members
	// AskAgain is how often one that leaves is asked. Default 1 s.
	AskAgain time.Duration
	// RestartAfter is when it is started again after it has ended by itself. Default 1 s.
	RestartAfter time.Duration
	Defects      Defects // planted errors; zero = none
}

// SingletonState is how far a node's Singleton is.
type SingletonState uint8

// The states of a Singleton.
const (
	SingletonStandby    SingletonState = iota // another node runs it, or none may
	SingletonAsking                           // the one that runs it leaves, and was asked to hand over
	SingletonInProgress                       // it has said that it is stopping
	SingletonRunning                          // it runs here
	SingletonStopping                         // it was told to stop here and has not ended yet
	SingletonHandedOver                       // this node leaves, and runs it no more
)

// String names the state.
func (s SingletonState) String() string {
	switch s {
	case SingletonStandby:
		return "standby"
	case SingletonAsking:
		return "asking"
	case SingletonInProgress:
		return "in progress elsewhere"
	case SingletonRunning:
		return "running"
	case SingletonStopping:
		return "stopping"
	case SingletonHandedOver:
		return "handed over"
	}
	return fmt.Sprintf("SingletonState(%d)", uint8(s))
}

// SingletonInput is what a Singleton is stepped with.
type SingletonInput interface {
	fmt.Stringer
	singletonInput()
}

type (
	// SingletonTick says that time has passed.
	SingletonTick struct{}
	// SingletonView is an installed view; nil when the node is no member any more.
	SingletonView struct{ View *View }
	// SingletonLease says that the node holds its lease, or not.
	SingletonLease struct{ Held bool }
	// SingletonLeave says that the node leaves: hand over.
	SingletonLeave struct{}
	// SingletonExited says that what was started has ended, told to or not.
	SingletonExited struct{}
	// SingletonReceive is what another node's Singleton of the same name says.
	SingletonReceive struct {
		From UID
		Word SingletonWord
	}
)

func (SingletonTick) singletonInput()    {}
func (SingletonView) singletonInput()    {}
func (SingletonLease) singletonInput()   {}
func (SingletonLeave) singletonInput()   {}
func (SingletonExited) singletonInput()  {}
func (SingletonReceive) singletonInput() {}

// String prints the input.
func (SingletonTick) String() string { return "tick" }

// String prints the view.
func (s SingletonView) String() string { return s.View.String() }

// String prints whether the lease is held.
func (s SingletonLease) String() string { return fmt.Sprintf("lease %t", s.Held) }

// String prints the input.
func (SingletonLeave) String() string { return "leave" }

// String prints the input.
func (SingletonExited) String() string { return "exited" }

// String prints the word and its sender.
func (s SingletonReceive) String() string { return fmt.Sprintf("%v from %v", s.Word, s.From) }

// SingletonWord is what one Singleton says to another. Words may be lost, late or doubled.
type SingletonWord uint8

// The words of a hand-over.
const (
	SingletonRequest  SingletonWord = iota + 1 // hand over to me
	SingletonStopsNow                          // asked to stop, and not ended yet: in progress
	SingletonDone                              // it does not run here, and never will again
)

// String names the word.
func (w SingletonWord) String() string {
	switch w {
	case SingletonRequest:
		return "request"
	case SingletonStopsNow:
		return "in progress"
	case SingletonDone:
		return "done"
	}
	return fmt.Sprintf("SingletonWord(%d)", uint8(w))
}

// SingletonEnvelope is a word for another member.
type SingletonEnvelope struct {
	To   UID
	Word SingletonWord
}

// SingletonEffects is what a step wants done. It is reused: valid until the next Step.
type SingletonEffects struct {
	Send []SingletonEnvelope // words for other members
	// Start begins it. The driver asks the lease again at that very moment; if it does not hold, it
	// says Exited.
	Start bool
	// Token, with Start, is higher than in any start before, on this node or another: for what lies
	// outside.
	Token Token
	Stop  bool            // tells what runs to stop; Exited follows
	State *SingletonState // when it has changed
}

// NewSingleton returns a Singleton without a view.
func NewSingleton(cfg SingletonConfig) *Singleton {
	if cfg.AskAgain == 0 {
		cfg.AskAgain = time.Second
	}
	if cfg.RestartAfter == 0 {
		cfg.RestartAfter = time.Second
	}
	return &Singleton{cfg: cfg, handed: make(map[UID]bool)}
}

// Step takes one input.
func (s *Singleton) Step(now time.Time, in SingletonInput) *SingletonEffects {
	s.fx = SingletonEffects{Send: s.fx.Send[:0]}
	switch in := in.(type) {
	case SingletonTick:
	case SingletonView:
		s.onView(in.View)
	case SingletonLease:
		s.held = in.Held
	case SingletonLeave:
		s.leaving = true
	case SingletonExited:
		s.onExited(now)
	case SingletonReceive:
		s.onWord(in)
	}
	s.advance(now)
	return &s.fx
}

// Deadline is when to step SingletonTick; zero = never.
func (s *Singleton) Deadline() time.Time {
	switch s.state {
	case SingletonAsking, SingletonInProgress:
		return s.askAt
	case SingletonStandby:
		return s.startAt
	}
	return time.Time{}
}

// State is how far it is.
func (s *Singleton) State() SingletonState { return s.state }

func (s *Singleton) onView(v *View) {
	s.view = v
	for u := range s.handed { // order: each is looked at by itself
		if v == nil || !v.Has(u) {
			delete(s.handed, u)
		}
	}
}

func (s *Singleton) onExited(now time.Time) {
	if s.state == SingletonRunning {
		s.startAt = now.Add(s.cfg.RestartAfter)
	}
	if s.state == SingletonRunning || s.state == SingletonStopping {
		s.become(SingletonStandby)
	}
}

func (s *Singleton) onWord(r SingletonReceive) {
	if s.view == nil || !s.view.Has(r.From) {
		return
	}
	switch r.Word {
	case SingletonRequest:
		if !slices.Contains(s.askers, r.From) && len(s.askers) < view.MembersMax {
			s.askers = append(s.askers, r.From)
		}
	case SingletonStopsNow:
		s.slow = true
	case SingletonDone:
		s.handed[r.From] = true
	}
}

func (s *Singleton) advance(now time.Time) {
	if !now.Before(s.startAt) {
		s.startAt = time.Time{}
	}
	older, may := s.older()
	switch s.state {
	case SingletonRunning:
		if !may || s.leaving {
			s.fx.Stop = true
			s.become(SingletonStopping)
		}
	case SingletonStandby, SingletonAsking, SingletonInProgress:
		switch {
		case s.leaving:
			s.become(SingletonHandedOver)
		case !may:
			s.become(SingletonStandby)
		case len(older) > 0:
			s.ask(now, older)
		case !s.startAt.IsZero() || s.listed() != Up:
		default:
			s.start()
		}
	}
	s.answer()
}

// start begins it. In one view it goes from an older member to a younger one and never back, so
// that the up number orders the starts of a view on several nodes, and the count those on one.
func (s *Singleton) start() {
	me, _ := s.view.Member(s.cfg.Self)
	s.slow = false
	s.starts++
	s.fx.Start, s.fx.Token = true, Token{Era: s.view.Era, Epoch: s.view.Epoch, Up: me.UpNumber, Seq: s.starts}
	s.become(SingletonRunning)
}

// older returns the members before this node that leave and have not handed over. may is false if a
// member before it does not leave, or this node may run nothing.
func (s *Singleton) older() (older []UID, may bool) {
	if s.view == nil || !s.held {
		return nil, false
	}
	me, ok := s.view.Member(s.cfg.Self)
	if !ok || me.Status == Joining || !me.HasRole(s.cfg.Role) {
		return nil, false
	}
	for _, o := range s.view.Members {
		switch {
		case !o.Full() || o.Status == Joining || !o.HasRole(s.cfg.Role) || o.UpNumber >= me.UpNumber:
		case s.handed[o.UID]:
		case o.Status != Leaving:
			return nil, false
		default:
			older = append(older, o.UID)
		}
	}
	return older, true
}

// listed is this node's status in the view. One that leaves starts nothing, whether it has heard of
// that or not.
func (s *Singleton) listed() Status {
	me, _ := s.view.Member(s.cfg.Self)
	return me.Status
}

func (s *Singleton) ask(now time.Time, older []UID) {
	if s.state == SingletonStandby || !now.Before(s.askAt) {
		s.askAt = now.Add(s.cfg.AskAgain)
		for _, u := range older {
			s.send(u, SingletonRequest)
		}
	}
	if s.slow {
		s.become(SingletonInProgress)
	} else {
		s.become(SingletonAsking)
	}
}

// answer tells the nodes that have asked. A node that does not leave says nothing: it was asked
// because of a view that it will hear of.
func (s *Singleton) answer() {
	if !s.leaving {
		return
	}
	word := SingletonStopsNow
	if s.state == SingletonHandedOver || s.cfg.Defects.DoneTooEarly {
		word = SingletonDone
	}
	for _, u := range s.askers {
		s.send(u, word)
	}
	if word == SingletonDone {
		s.askers = nil
	}
}

func (s *Singleton) send(to UID, w SingletonWord) {
	s.fx.Send = append(s.fx.Send, SingletonEnvelope{To: to, Word: w})
}

func (s *Singleton) become(state SingletonState) {
	if s.state != state {
		s.state = state
		s.fx.State = &state
	}
}
