package parting

import (
	"time"

	"github.com/coterie-go/coterie/ddata/membership/downing"
	"github.com/coterie-go/coterie/ddata/membership/report"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/ddata/runloop/timer"
	"github.com/coterie-go/coterie/proptest/defect"
)

// answersIn is for how many quarters of a heartbeat interval a node that parts waits for one that is
// silent. A node that runs is heard within each interval.
const answersIn = 6

// Config is what the configuration of a node says of parting.
type Config struct {
	Self    view.UID      // this node
	Beat    time.Duration // the time between heartbeats
	Most    time.Duration // for how long a node parts at most
	Defects defect.Set    // planted by a test
}

// Parting is the last part of the life of a node that has stopped.
//
// Invariant: err is set only with without.
type Parting struct {
	cfg     Config
	since   time.Time  // when it began; zero = not yet
	stopped view.Epoch // of the installed view of which all have stopped, as this node knows; 0 = none
	tellAt  time.Time  // when the nodes that have not answered are told again
	without *view.View // a decided view without this node; nil = this node is still in the installed one
	err     error      // how this node then ends; nil = it is not parting by such a view
	last    uint64     // the record that says how it ended; 0 = none
	company time.Time  // when a node able to decide this stopped node's removal was last there
}

// New returns the Parting of a node that has not begun to part.
func New(cfg Config) *Parting { return &Parting{cfg: cfg} }

// Begun reports whether the node parts.
func (p *Parting) Begun() bool { return !p.since.IsZero() }

// Undo notes that another node runs again: this node does not part yet.
func (p *Parting) Undo() { p.since, p.stopped = time.Time{}, 0 }

// AllStopped reports whether the node parts because all members of the view of this epoch have stopped
// that could decide its removal.
func (p *Parting) AllStopped(e view.Epoch) bool { return p.stopped == e }

// Exclude notes a decided view without this node.
func (p *Parting) Exclude(v *view.View) { p.without = v }

// Without returns the decided view without this node, nil when there is none.
func (p *Parting) Without() *view.View { return p.without }

// End notes how the node ends once all that it owes the word have it. It is in no view any more.
func (p *Parting) End(err error) { p.err = err }

// Err returns how the node ends; nil = End was not called.
func (p *Parting) Err() error { return p.err }

// Close notes the record that says how the node has ended. Nothing takes that back.
func (p *Parting) Close(record uint64) { p.last = record }

// Closed returns the record that says how the node has ended; 0 = none.
func (p *Parting) Closed() uint64 { return p.last }

// Accompany notes that a node that could decide this node's removal is there now, or that its
// absence counts from now on.
func (p *Parting) Accompany(now time.Time) { p.company = now }

// Company returns when such a node was last there.
func (p *Parting) Company() time.Time { return p.company }

// Awake keeps time during which the process stood still out of Company.
func (p *Parting) Awake(gap time.Duration) { p.company = p.company.Add(gap) }

// Scene is what a node knows at one moment.
type Scene struct {
	Now     time.Time
	View    *view.Installed
	Debts   *Debts
	Reports *report.Table
	Reach   *downing.Reach
}

// Round is what a node that parts does at one moment.
type Round struct {
	Words      []Word
	Waits      bool // it waits for answers
	timer.Next      // when to call Advance again at the latest
}

// Word is what one node is told: a decided view, if View is not nil, and then a heartbeat, if Beat
// is set.
type Word struct {
	To   view.UID
	Addr string
	View *view.View
	Beat bool
}

// Advance returns what is told to the nodes that have not said that they know what this node knows.
// The first call begins the parting.
func (p *Parting) Advance(s Scene) (r Round) {
	if p.since.IsZero() {
		p.since, p.tellAt = s.Now, s.Now
	}
	v := s.View.View
	if p.without != nil {
		v = p.without
	}
	tell := !s.Now.Before(p.tellAt)
	if tell {
		p.tellAt = s.Now.Add(p.cfg.Beat / 8)
	}
	for _, u := range s.Debts.uids() {
		if x := s.Debts.owed[u]; p.waitsFor(&r, s.Now, x.heard) {
			r.Waits = true
			if tell {
				r.Words = append(r.Words, Word{To: u, Addr: x.addr, View: v})
			}
		}
	}
	if p.without == nil && p.last == 0 {
		p.tellStopped(&r, s, tell)
	}
	if r.Waits {
		r.DueAt(p.tellAt)
	}
	return r
}

// waitsFor reports whether a node that has not answered, and was last heard then, may still do so.
func (p *Parting) waitsFor(r *Round, now, heard time.Time) bool {
	if p.cfg.Defects.Planted(defect.GoesUntold) {
		return false
	}
	if heard.Before(p.since) {
		heard = p.since
	}
	limit := heard.Add(answersIn * p.cfg.Beat / 4)
	most := p.since.Add(p.cfg.Most)
	if !now.Before(limit) || !now.Before(most) {
		return false
	}
	r.DueAt(limit)
	r.DueAt(most)
	return true
}

// tellStopped tells the members, which have all stopped, that this node has, and of its view. A
// member that parts itself waits for nothing.
func (p *Parting) tellStopped(r *Round, s Scene, tell bool) {
	p.stopped = s.View.Epoch
	for _, o := range s.View.Members {
		if o.UID == p.cfg.Self || !s.Reach.Watches(o.UID) || !s.Reach.Hears(o.UID) ||
			s.Reports.Flags(o.UID)&report.Parting != 0 || !p.waitsFor(r, s.Now, s.Reach.LastHeard(o.UID)) {
			continue
		}
		known, knowsStopped := s.Reports.Knows(o.UID)
		knowsView := known >= s.View.Epoch
		if knowsView && knowsStopped {
			continue
		}
		r.Waits = true
		if !tell {
			continue
		}
		w := Word{To: o.UID, Addr: o.Addr, Beat: true}
		if !knowsView {
			w.View = s.View.View
		}
		r.Words = append(r.Words, w)
	}
}
